"""Inputs for the two delta rules, and the recurrences that other tests compare them with, written for one head."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from lib.attention import gated_delta, kda
from tests.attention.agreement import normal

RULES = [kda, gated_delta]


def inputs(rule, batch=2, time=70, heads=3, keys=8, values=6, *, strength=2.0, dtype=torch.float64, seed=0):
    """q, k, v, log_decay, beta as a layer makes them: unit queries and keys, log decays in (-strength, 0], beta in (0, 1)."""
    q, k = (normalize(normal(batch, time, heads, keys, seed=seed + i), dim=-1) for i in range(2))
    v = normal(batch, time, heads, values, seed=seed + 2)
    decay = (batch, time, heads, keys) if rule is kda else (batch, time, heads)
    log_decay = -strength * torch.sigmoid(2 * normal(*decay, seed=seed + 3))
    beta = torch.sigmoid(normal(batch, time, heads, seed=seed + 4))
    return tuple(x.to(dtype) for x in (q, k, v, log_decay, beta))


def span(tensors, low: int, high: int):
    return tuple(x[:, low:high] for x in tensors)


def linear_attention(q, k, v, log_decay, beta, scale: float) -> tuple[Tensor, Tensor]:
    """Gated linear attention, without a delta rule, as a sum over earlier tokens: no state is carried.

    o_t = sum over s <= t of beta_s (scale q_t . (decay from s to t) k_s) v_s; `log_decay [B, T, H, K]`.
    """
    total = torch.cumsum(log_decay, 1)  # [B, T, H, K]
    between = (total[:, :, None] - total[:, None]).clamp_max(0)  # [B, T, S, H, K]
    scores = torch.einsum("bthk,bshk,btshk->btsh", scale * q, k, torch.exp(between))
    scores = scores * torch.ones(q.shape[1], q.shape[1], dtype=q.dtype).tril()[None, :, :, None]
    state = torch.einsum("bsh,bshk,bshk,bshv->bhkv", beta, torch.exp(between[:, -1]), k, v)
    return torch.einsum("btsh,bsh,bshv->bthv", scores, beta, v), state
