"""A context split over ranks of `torch.distributed`: each holds some of the tokens, all get what one would have got.

Start with `torchrun`; gloo on CPUs, nccl on GPUs. Letters as in the mechanisms; P ranks.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from lib.attention import checks
from lib.attention.partial import merge, sink


def span(tokens: int, *, group: dist.ProcessGroup | None = None) -> slice:
    """The tokens that this rank holds: runs as equal as can be, in the order of ranks."""
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    return slice(tokens * rank // ranks, tokens * (rank + 1) // ranks)


def decode(
    verb: Callable,
    q: Tensor,
    *cache: Tensor,
    sinks: Tensor | None = None,
    group: dist.ProcessGroup | None = None,
    **options,
) -> tuple[Tensor, Tensor]:
    """One query a sequence over keys that are split across ranks, by a mechanism's own decode.

    `verb` is `softmax.decode`, `mla.decode` or `dsa.decode`, `q` the same on every rank, `cache` (and indices, if
    any) this rank's share, in any split of the keys, empty shares too. Every rank returns the attention over all
    keys: partial results of H (V + 1) numbers a rank are gathered, not keys. `sinks` join once, after the merge. In
    bfloat16 the partial results are rounded before they merge, which adds half an eps to that of the result.
    """
    if "window" in options:
        raise ValueError("window: got a window, wanted none: give each rank the part of the window that it holds")
    out, lse = verb(q, *cache, **options)
    outs, lses = _gather(out, group), _gather(lse, group)
    out, lse = merge(outs, lses)
    return (out if sinks is None else sink(out, lse, sinks)).to(q.dtype), lse


def prefill(
    verb: Callable,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_decay: Tensor,
    beta: Tensor,
    *,
    state: Tensor | None = None,
    group: dist.ProcessGroup | None = None,
    **options,
) -> tuple[Tensor, Tensor]:
    """A recurrence over tokens that are split across ranks in their order; every rank works at the same time.

    `verb` is `kda.chunked`, `kda.recurrent` or the same of `gated_delta`; `q, k, v, log_decay, beta` this rank's
    tokens, `state` (the same on every rank) what came before the first. Returns this rank's `out` and the state
    after the last token of all, on every rank.

    What a span of tokens does to a state is affine, `S -> A S + b`, and the columns of S never mix. One pass over
    values `[v | 0]` from the state `[0 | I]` therefore gives b and A together, and for every token what it reads of
    its span, `out`, and what it would read of any state before it, `reach`. Only `[b | A]` travels, K (K + V)
    numbers a head.
    """
    batch, _, heads, keys = k.shape
    values, wide = v.shape[-1], checks.accumulating(v.dtype)
    unit = torch.eye(keys, dtype=wide, device=v.device).expand(batch, heads, keys, keys)
    start = torch.cat((unit.new_zeros(batch, heads, keys, values), unit), -1)  # [B, H, K, V + K]
    both = torch.cat((v, v.new_zeros(*v.shape[:-1], keys)), -1)  # [B, T, H, V + K]
    out, end = verb(q, k, both, log_decay, beta, state=start, **options)
    before = start[..., :values] if state is None else state.to(wide)
    after = before
    for rank, span in enumerate(_gather(end, group)):
        if rank == dist.get_rank(group):
            before = after
        after = span[..., values:] @ after + span[..., :values]
    own, reach = out.to(wide).split((values, keys), -1)
    return (own + torch.einsum("bthk,bhkv->bthv", reach, before)).to(v.dtype), after


def _gather(tensor: Tensor, group: dist.ProcessGroup | None) -> list[Tensor]:
    """The tensors of all ranks, in their order."""
    parts = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, tensor.contiguous(), group=group)
    return parts
