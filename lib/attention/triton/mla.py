"""Absorbed latent attention, dense or over selected rows, keys split over programs. Letters as in `lib.attention.mla`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from lib.attention import checks
from lib.attention.partial import merge
from lib.attention.triton import language, padded, scaled, splits


@triton.jit
def _attend(
    q, cache, indices, lengths, out, lse, scale, heads, parts,
    q_b, q_h, q_c, cache_b, cache_t, cache_c, indices_b, indices_n,
    C: tl.constexpr, C_PAD: tl.constexpr, R: tl.constexpr, R_PAD: tl.constexpr,
    HEADS: tl.constexpr, ROWS: tl.constexpr, GATHER: tl.constexpr,
    WIDE: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    """One tile of heads of one sequence over one part of its rows: `out [B, P, H, C]`, `lse [B, P, H]`."""
    b, tile, part = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    length = tl.load(lengths + b)
    share = tl.cdiv(tl.cdiv(length, parts), ROWS) * ROWS  # whole blocks
    low, high = part * share, tl.minimum(length, (part + 1) * share)
    h, c, r = tile * HEADS + tl.arange(0, HEADS), tl.arange(0, C_PAD), tl.arange(0, R_PAD)
    q += b * q_b + h[:, None] * q_h
    q_latent = tl.load(q + c[None, :] * q_c, mask=(h[:, None] < heads) & (c[None, :] < C), other=0.0).to(DOT)
    if R > 0:
        rotary_at = q + (C + r[None, :]) * q_c
        q_rotary = tl.load(rotary_at, mask=(h[:, None] < heads) & (r[None, :] < R), other=0.0).to(DOT)
    peak = tl.full([HEADS], -1e30, WIDE)  # finite, so that a row without keys makes no NaN
    total = tl.zeros([HEADS], WIDE)
    acc = tl.zeros([HEADS, C_PAD], WIDE)
    for start in range(low, high, ROWS):
        n = start + tl.arange(0, ROWS)
        seen = n < high
        row = n.to(tl.int64)
        if GATHER:
            row = tl.load(indices + b * indices_b + n * indices_n, mask=seen, other=-1).to(tl.int64)
            seen = seen & (row >= 0)
        at = cache + b * cache_b + row[:, None] * cache_t
        latent = tl.load(at + c[None, :] * cache_c, mask=seen[:, None] & (c[None, :] < C), other=0.0).to(DOT)  # [n, C]
        s = tl.dot(q_latent, tl.trans(latent), input_precision="ieee").to(WIDE)
        if R > 0:
            at += (C + r[None, :]) * cache_c
            rotary = tl.load(at, mask=seen[:, None] & (r[None, :] < R), other=0.0).to(DOT)
            s += tl.dot(q_rotary, tl.trans(rotary), input_precision="ieee").to(WIDE)
        s = tl.where(seen[None, :], s * scale, -1e30)
        higher = tl.maximum(peak, tl.max(s, 1))
        weight = tl.where(seen[None, :], tl.exp(s - higher[:, None]), 0.0)
        shrink = tl.exp(peak - higher)
        total = total * shrink + tl.sum(weight, 1)
        acc = acc * shrink[:, None] + tl.dot(weight.to(DOT), latent, input_precision="ieee").to(WIDE)
        peak = higher
    empty = total == 0.0
    acc = acc / tl.where(empty, 1.0, total)[:, None]
    place = (b * parts + part) * heads + h
    tl.store(out + place[:, None] * C + c[None, :], acc, mask=(h[:, None] < heads) & (c[None, :] < C))
    tl.store(lse + place, tl.where(empty, float("-inf"), peak + tl.log(tl.where(empty, 1.0, total))), mask=h < heads)


def decode(
    q: Tensor, cache: Tensor, *, latent_dim: int, scale: float, lengths: list[int], indices: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """`lib.attention.mla.decode`, or with `indices [B, N]` `lib.attention.dsa.decode`; arguments already checked."""
    (batch, heads, width), wide = q.shape, checks.accumulating(q.dtype)
    keys = max(lengths, default=0)
    tile, rows = min(padded(heads), 64 if q.element_size() == 2 else 16), 32 if q.element_size() == 2 else 16
    tiles = -(-heads // tile)
    parts = splits(batch * tiles, keys, rows, q.device)
    out = torch.empty(batch, parts, heads, latent_dim, dtype=wide, device=q.device)
    lse = torch.empty(batch, parts, heads, dtype=wide, device=q.device)
    q, scale = scaled(q, scale)
    wide_dot = language(q)
    listed = cache if indices is None else indices
    if out.numel():
        _attend[(batch, tiles, parts)](
            q, cache, listed, torch.tensor(lengths, dtype=torch.int32, device=q.device), out, lse, scale, heads, parts,
            *q.stride(), *cache.stride(), listed.stride(0), listed.stride(1),
            C=latent_dim, C_PAD=padded(latent_dim), R=width - latent_dim, R_PAD=padded(width - latent_dim),
            HEADS=tile, ROWS=rows, GATHER=indices is not None,
            WIDE=wide_dot[0], DOT=wide_dot[1], num_warps=8, num_stages=2,
        )  # fmt: skip
    out, lse = merge(out.transpose(0, 1), lse.transpose(0, 1))
    return out.to(q.dtype), lse
