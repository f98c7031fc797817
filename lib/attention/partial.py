"""Partial attentions: each over its own keys, joined afterwards by their log-sum-exp.

Any split of the keys will do: blocks of a stream, threads, ranks of a cluster. Letters: P parts, V value dim.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lib.attention import checks


def merge(outs: Sequence[Tensor] | Tensor, lses: Sequence[Tensor] | Tensor) -> tuple[Tensor, Tensor]:
    """Attention over the union of disjoint key sets, from the attention over each.

    `outs` P tensors [..., V] and `lses` P tensors [...] (natural log), as lists or stacked along dim 0.
    With `lse = log sum_p exp(lse_p)` the result is `out = sum_p exp(lse_p - lse) out_p`: the split softmax of
    Flash-Decoding. A part over no key (`lse = -inf`) adds nothing, whatever its `out` holds.
    Returns `out` in the dtype of `outs`, `lse` in the dtype of `lses`.
    """
    if len(outs) == 0 or len(outs) != len(lses):
        raise ValueError(f"outs, lses: got {len(outs)} and {len(lses)} parts, wanted the same number, at least 1")
    for i, (out, lse) in enumerate(zip(outs, lses, strict=True)):
        if out.shape != outs[0].shape or lse.shape != out.shape[:-1]:
            wanted = f"{tuple(outs[0].shape)} and its leading part"
            raise ValueError(f"outs[{i}], lses[{i}]: got {tuple(out.shape)} and {tuple(lse.shape)}, wanted {wanted}")
    stacked = torch.stack(list(lses))  # [P, ...]
    lse = torch.logsumexp(stacked, 0)
    weight = torch.exp(stacked - lse.masked_fill(lse == -torch.inf, 0))[..., None]
    parts = torch.stack(list(outs)).to(torch.promote_types(checks.accumulating(outs[0].dtype), lse.dtype))
    return (weight * parts.masked_fill(weight == 0, 0)).sum(0).to(outs[0].dtype), lse


def sink(out: Tensor, lse: Tensor, sinks: Tensor) -> Tensor:
    """Put each head's sink logit into the denominator of a finished attention.

    `out [..., H, V]`, `lse [..., H]`, `sinks [H]` -> `out * exp(lse) / (exp(lse) + exp(sink))`; the log-sum-exp
    stays that of the keys, so that parts merge first and the sink is counted once (DeepSeek-V4 section 2.3).
    """
    return (out * torch.sigmoid(lse - sinks.to(lse.dtype))[..., None].to(out.dtype)) if out.numel() else out
