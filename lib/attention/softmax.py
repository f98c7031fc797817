"""Softmax attention with grouped key-value heads, sliding windows and sinks: the baseline of every comparison.

Letters: B batch, T queries, S keys, H heads, G key-value heads (head h reads group `h // (H / G)`), K key dim,
V value dim, M = H / G. Query i stands at position `S - T + i`, so that the last query sees the last key.
`lse` is the natural log-sum-exp of the scores; sinks are not part of it, so that partial attentions merge first.
Equations: scaled dot-product attention with grouped heads; sinks as in DeepSeek-V4 section 2.3.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention import checks, streaming
from lib.attention import window as windows
from lib.attention.partial import merge, sink

QUERIES, KEYS = 128, 512  # the tile of `forward`: its scores are all the memory that grows with neither T nor S
BLOCK = 512  # keys a block of `decode`: 512 x 8 x 128 float32 (2 MB), so that a group's product is worth its call


def definition(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = True,
    window: int | None = None,
    sinks: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Query by query, softmax over the keys that it sees and no other. Arguments and results as `forward`."""
    scale, start = _check(q, k, v, window, sinks, scale), k.shape[1] - q.shape[1]
    wide = checks.accumulating(q.dtype)
    out, lse = (
        torch.zeros_like(q[..., :1]).repeat(1, 1, 1, v.shape[-1]),
        torch.full_like(q[..., 0], -torch.inf, dtype=wide),
    )
    k, v = (x.repeat_interleave(q.shape[2] // x.shape[2], 2).to(wide) for x in (k, v))  # [B, S, H, ·]
    for t, seen in enumerate(windows.mask(q.shape[1], k.shape[1], window, causal=causal, start=start)):
        if seen.any():
            s = scale * torch.einsum("bhk,bshk->bhs", q[:, t].to(wide), k[:, seen])
            lse[:, t] = torch.logsumexp(s, -1)
            o = torch.einsum("bhs,bshv->bhv", torch.softmax(s, -1), v[:, seen])
            out[:, t] = (o if sinks is None else sink(o, lse[:, t], sinks)).to(q.dtype)
    return out, lse


def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = True,
    window: int | None = None,
    sinks: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention of T queries over S keys in tiles; memory beyond the result is one tile.

    `q [B, T, H, K]`, `k [B, S, G, K]`, `v [B, S, G, V]` -> `out [B, T, H, V]` in their dtype, `lse [B, T, H]` in
    float32 (float64 for float64). `window=W` keeps exactly W keys, the token itself included; `sinks [H]` are
    logits that join the denominator only. `scale` defaults to `K ** -0.5`. A query that sees no key gives zeros
    and -inf.
    """
    scale = _check(q, k, v, window, sinks, scale)
    wide, groups = checks.accumulating(q.dtype), k.shape[2]
    if q.numel() == 0:
        return q.new_zeros(*q.shape[:3], v.shape[-1]), q.new_zeros(q.shape[:3], dtype=wide)
    outs, lses = [], []
    for low, high in streaming.blocks(0, q.shape[1], QUERIES):
        tile = (q[:, low:high].to(wide) * scale).unflatten(2, (groups, -1)).permute(0, 2, 3, 1, 4)  # [B, G, M, t, K]
        out, lse = _attend(tile.flatten(0, 1), k, v, low + k.shape[1] - q.shape[1], causal, window)
        out, lse = (x.unflatten(0, (len(q), groups)).flatten(1, 2).transpose(1, 2) for x in (out, lse))  # [B, t, H, ·]
        outs.append((out if sinks is None else sink(out, lse, sinks)).to(q.dtype))
        lses.append(lse)
    return torch.cat(outs, 1), torch.cat(lses, 1)


def _attend(q: Tensor, k: Tensor, v: Tensor, start: int, causal: bool, window: int | None) -> tuple[Tensor, Tensor]:
    """A tile of queries `[B·G, M, t, K]`, scaled, from position `start` on, against the keys that it may see."""
    queries, wide = q.shape[2], q.dtype
    running = streaming.Softmax(
        (q.shape[0], q.shape[1] * queries), v.shape[-1], q, inplace=not streaming.differentiable(q, k, v)
    )
    first = windows.first_key(start, window)
    last = min(
        k.shape[1], start + queries if causal else k.shape[1] if window is None else start + queries + window - 1
    )
    for i, j in streaming.blocks(first, last, KEYS):
        keys, values = (x[:, i:j].to(wide).transpose(1, 2).flatten(0, 1) for x in (k, v))  # [B·G, n, ·]
        scores = q.flatten(1, 2) @ keys.transpose(1, 2)  # [B·G, M·t, n]
        seen = windows.mask(queries, j - i, window, causal=causal, start=start - i, device=q.device)
        if seen.all():
            running.fold(scores, values)
        else:
            seen = seen.repeat(q.shape[1], 1)
            running.fold_seen(scores.masked_fill(~seen, -torch.inf), values, seen)
    out, lse = running.finish()
    return out.unflatten(1, (-1, queries)), lse.unflatten(1, (-1, queries))


def decode(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    window: int | None = None,
    sinks: Tensor | None = None,
    scale: float | None = None,
    lengths: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One query a sequence, the last token, against its cache, streaming.

    `q [B, H, K]`, `k [B, S, G, K]`, `v [B, S, G, V]` -> `out [B, H, V]`, `lse [B, H]`, as `forward` on the last
    query. `lengths [B]`: how many rows of each cache are filled; the rest is not read. Extra memory does not grow
    with S.
    """
    scale = _check(q[:, None] if q.dim() == 3 else q, k, v, window, sinks, scale)
    lengths = checks.filled("lengths", lengths, len(q), k.shape[1])
    if q.is_cuda:
        from lib.attention.triton import softmax as kernel

        out, lse = kernel.decode(q, k, v, scale=scale, window=window, lengths=lengths)
        return (out if sinks is None else sink(out, lse, sinks)).to(q.dtype), lse
    if len(q) == 0:
        return q.new_zeros(*q.shape[:2], v.shape[-1]), q.new_zeros(q.shape[:2], dtype=checks.accumulating(q.dtype))
    spans = [(windows.first_key(t - 1, window), t) for t in lengths]
    rows = [attend_row(q[b], k[b, i:j], v[b, i:j], scale) for b, (i, j) in enumerate(spans)]
    out, lse = torch.stack([out for out, _ in rows]), torch.stack([lse for _, lse in rows])
    return (out if sinks is None else sink(out, lse, sinks)).to(q.dtype), lse


def attend_row(q: Tensor, k: Tensor, v: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """One sequence: `q [H, K]`, `k [S, G, K]`, `v [S, G, V]` -> `out [H, V]` not yet rounded, `lse [H]`."""
    wide, groups = checks.accumulating(q.dtype), k.shape[1]
    inplace = not streaming.differentiable(q, k, v)
    query = (q.to(wide) * scale).unflatten(0, (groups, -1))  # [G, M, K]

    def work(low: int, high: int) -> tuple[Tensor, Tensor]:
        running = streaming.Softmax(query.shape[:2], v.shape[-1], query, inplace=inplace)
        keys, values = (streaming.Widen(x, wide, min(BLOCK, high - low), inplace) for x in (k, v))
        room = query.new_empty(*query.shape[:2], BLOCK) if inplace else None
        for i, j in streaming.blocks(low, high, BLOCK):
            block = keys(i, j).permute(1, 2, 0)  # [G, K, n]
            scores = torch.bmm(query, block, out=room if j - i == BLOCK else None)  # [G, M, n]
            running.fold(scores, values(i, j).transpose(0, 1))
        return running.finish()

    parts = streaming.in_parts(0, len(k), work, smallest=8 * BLOCK) if inplace else [work(0, len(k))]
    out, lse = merge([out for out, _ in parts], [lse for _, lse in parts])
    return out.flatten(0, 1), lse.flatten(0, 1)


def _check(q: Tensor, k: Tensor, v: Tensor, window: int | None, sinks: Tensor | None, scale: float | None) -> float:
    checks.alike(q=q, k=k, v=v)
    sizes = checks.shapes(q=(q, "B T H K"), k=(k, "B S G K"), v=(v, "B S G V"))
    checks.multiple("H", sizes["H"], "G", sizes["G"])
    if window is not None:
        checks.at_least("window", window, 1)
    if sinks is not None:
        checks.same_device(q=q, sinks=sinks)
        if tuple(sinks.shape) != (sizes["H"],):
            raise ValueError(f"sinks: got shape {tuple(sinks.shape)}, wanted [H] with H={sizes['H']}")
    return sizes["K"] ** -0.5 if scale is None else scale
