"""Grouped-query decode, keys split over programs. Letters as in `lib.attention.softmax`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from lib.attention import checks
from lib.attention import window as windows
from lib.attention.partial import merge
from lib.attention.triton import language, padded, scaled, splits


@triton.jit
def _attend(
    q, k, v, firsts, lengths, out, lse, scale, parts,
    q_b, q_h, q_k, k_b, k_s, k_g, k_k, v_b, v_s, v_g, v_v,
    M: tl.constexpr, M_PAD: tl.constexpr, K: tl.constexpr, K_PAD: tl.constexpr, V: tl.constexpr, V_PAD: tl.constexpr,
    KEYS: tl.constexpr, WIDE: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    """The heads of one group of one sequence over one part of its keys: `out [B, P, H, V]`, `lse [B, P, H]`."""
    b, g, part = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    groups = tl.num_programs(1)
    first, length = tl.load(firsts + b), tl.load(lengths + b)
    share = tl.cdiv(tl.cdiv(length - first, parts), KEYS) * KEYS  # whole blocks
    low, high = first + part * share, tl.minimum(length, first + (part + 1) * share)
    m, d, e = tl.arange(0, M_PAD), tl.arange(0, K_PAD), tl.arange(0, V_PAD)
    h = g * M + m
    query_at = q + b * q_b + h[:, None] * q_h + d[None, :] * q_k
    queries = tl.load(query_at, mask=(m[:, None] < M) & (d[None, :] < K), other=0.0).to(DOT)
    peak = tl.full([M_PAD], -1e30, WIDE)  # finite, so that a row without keys makes no NaN
    total = tl.zeros([M_PAD], WIDE)
    acc = tl.zeros([M_PAD, V_PAD], WIDE)
    for start in range(low, high, KEYS):
        n = start + tl.arange(0, KEYS)
        seen = n < high
        row = n.to(tl.int64)[:, None]
        at = k + b * k_b + row * k_s + g * k_g + d[None, :] * k_k
        keys = tl.load(at, mask=seen[:, None] & (d[None, :] < K), other=0.0).to(DOT)  # [n, K]
        s = tl.dot(queries, tl.trans(keys), input_precision="ieee").to(WIDE) * scale
        s = tl.where(seen[None, :], s, -1e30)
        higher = tl.maximum(peak, tl.max(s, 1))
        weight = tl.where(seen[None, :], tl.exp(s - higher[:, None]), 0.0)
        shrink = tl.exp(peak - higher)
        total = total * shrink + tl.sum(weight, 1)
        value_at = v + b * v_b + row * v_s + g * v_g + e[None, :] * v_v
        values = tl.load(value_at, mask=seen[:, None] & (e[None, :] < V), other=0.0).to(DOT)  # [n, V]
        acc = acc * shrink[:, None] + tl.dot(weight.to(DOT), values, input_precision="ieee").to(WIDE)
        peak = higher
    empty = total == 0.0
    acc = acc / tl.where(empty, 1.0, total)[:, None]
    place = (b * parts + part) * groups * M + h
    tl.store(out + place[:, None] * V + e[None, :], acc, mask=(m[:, None] < M) & (e[None, :] < V))
    tl.store(lse + place, tl.where(empty, float("-inf"), peak + tl.log(tl.where(empty, 1.0, total))), mask=m < M)


def decode(
    q: Tensor, k: Tensor, v: Tensor, *, scale: float, window: int | None, lengths: list[int]
) -> tuple[Tensor, Tensor]:
    """`lib.attention.softmax.decode` before its sinks; arguments already checked. `out` is not yet rounded."""
    (batch, heads, key_dim), groups, value_dim = q.shape, k.shape[2], v.shape[-1]
    wide = checks.accumulating(q.dtype)
    firsts = [windows.first_key(t - 1, window) for t in lengths]
    block = 64 if q.element_size() == 2 else 32
    longest = max((t - f for t, f in zip(lengths, firsts, strict=True)), default=0)
    parts = splits(batch * groups, longest, block, q.device)
    out = torch.empty(batch, parts, heads, value_dim, dtype=wide, device=q.device)
    lse = torch.empty(batch, parts, heads, dtype=wide, device=q.device)
    q, scale = scaled(q, scale)
    bounds = torch.tensor([firsts, lengths], dtype=torch.int32, device=q.device)
    if out.numel():
        _attend[(batch, groups, parts)](
            q, k, v, bounds[0], bounds[1], out, lse, scale, parts, *q.stride(), *k.stride(), *v.stride(),
            M=heads // groups, M_PAD=padded(heads // groups), K=key_dim, K_PAD=padded(key_dim),
            V=value_dim, V_PAD=padded(value_dim), KEYS=block,
            WIDE=language(q)[0], DOT=language(q)[1], num_warps=4, num_stages=2,
        )  # fmt: skip
    return merge(out.transpose(0, 1), lse.transpose(0, 1))
