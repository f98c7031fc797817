"""What linear layers do to their projections beside the delta rule: decays from logits, norms, output gates.

Letters: B batch, T time, H heads, K key dim, V value dim; `...` any leading dims. Everything is computed in at least
float32 and returned in the dtype of the first argument.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from lib.attention import checks


def decay(logits: Tensor, a_log: Tensor, bias: Tensor) -> Tensor:
    """Log decay `-exp(a_log) softplus(logits + bias)`, in (-inf, 0): Kimi Linear, section 4, and Gated DeltaNet.

    `logits, bias [..., H, K]` with `a_log [H, 1]`, or `[..., H]` with `a_log [H]`: one rate a head, broadcast.
    """
    z, rate = _wide(logits) + _wide(bias), torch.exp(_wide(a_log))
    return (-rate * softplus(z)).to(logits.dtype)


def bounded_decay(logits: Tensor, a_log: Tensor, bias: Tensor, *, lower_bound: float) -> Tensor:
    """Log decay `lower_bound * sigmoid(exp(a_log) (logits + bias))`, in (lower_bound, 0): Kimi K3, eq. 5.

    Another activation than `decay`, not its clamp: bounded below, so that a tile of 16 tokens decays by a known most.
    """
    if not lower_bound < 0:
        raise ValueError(f"lower_bound: got {lower_bound}, wanted a log decay < 0")
    z, rate = _wide(logits) + _wide(bias), torch.exp(_wide(a_log))
    return (lower_bound * torch.sigmoid(rate * z)).to(logits.dtype)


def unit(x: Tensor, *, eps: float = 1e-6) -> Tensor:
    """L2 norm over the last dim, for queries and keys: `x / sqrt(|x|^2 + eps)`. Kimi Linear, section 4."""
    wide = _wide(x)
    return (wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + eps)).to(x.dtype)


def rms_norm(x: Tensor, weight: Tensor, *, eps: float = 1e-5) -> Tensor:
    """`weight x / sqrt(mean(x^2) + eps)` over the last dim: `x [..., V]`, `weight [V]`."""
    wide = _wide(x)
    return (_wide(weight) * wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype)


def _wide(x: Tensor) -> Tensor:
    return x.to(checks.accumulating(x.dtype))
