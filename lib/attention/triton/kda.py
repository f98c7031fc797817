"""The gated delta rule on a GPU: one step, and a sequence in tiles of 16 tokens. Letters as in `lib.attention.kda`.

A program keeps some columns of one head's state in registers and goes through the sequence; columns are independent,
since the rule mixes keys only. Within a tile it is the unit-triangular system of `lib.attention.chunkwise`; decays
between two tokens are sums of their log decays, built up row by row, and never a difference of long sums.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from lib.attention import checks
from lib.attention.chunkwise import LEAST, TILE
from lib.attention.triton import language, padded, scaled

COLUMNS = 32  # of the state, for one program: four programs a head of 128 fill a GPU from 32 heads on


@triton.jit
def _step(
    state, q, k, v, log_decay, beta, out, last, scale, heads,
    s_b, s_h, s_k, s_v, q_b, q_h, q_k, k_b, k_h, k_k, v_b, v_h, v_v, g_b, g_h, g_k, b_b, b_h,
    K: tl.constexpr, K_PAD: tl.constexpr, V: tl.constexpr, COLS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """One token of one head, some columns: the state is read once and written once."""
    row, h = tl.program_id(0), tl.program_id(0) % heads
    b = (row // heads).to(tl.int64)
    c, e = tl.arange(0, K_PAD), tl.program_id(1) * COLS + tl.arange(0, COLS)
    some, inside = c < K, (c[:, None] < K) & (e[None, :] < V)
    key = tl.load(k + b * k_b + h * k_h + c * k_k, mask=some, other=0.0).to(WIDE)
    query = tl.load(q + b * q_b + h * q_h + c * q_k, mask=some, other=0.0).to(WIDE) * scale
    decay = tl.exp(tl.load(log_decay + b * g_b + h * g_h + c * g_k, mask=some, other=0.0).to(WIDE))
    value = tl.load(v + b * v_b + h * v_h + e * v_v, mask=e < V, other=0.0).to(WIDE)
    weight = tl.load(beta + b * b_b + h * b_h).to(WIDE)
    S = tl.load(state + b * s_b + h * s_h + c[:, None] * s_k + e[None, :] * s_v, mask=inside, other=0.0)
    S = S * decay[:, None]
    new = weight * (value - tl.sum(S * key[:, None], 0))
    S += key[:, None] * new[None, :]
    place = row.to(tl.int64)
    tl.store(out + place * V + e, tl.sum(S * query[:, None], 0).to(out.dtype.element_ty), mask=e < V)
    tl.store(last + (place * K + c[:, None]) * V + e[None, :], S, mask=inside)


@triton.jit
def _tiles(
    state, q, k, v, log_decay, beta, out, last, scale, heads, time,
    q_b, q_t, q_h, q_k, k_b, k_t, k_h, k_k, v_b, v_t, v_h, v_v, g_b, g_t, g_h, g_k, b_b, b_t, b_h,
    K: tl.constexpr, K_PAD: tl.constexpr, V: tl.constexpr, COLS: tl.constexpr, TILE: tl.constexpr,
    FLOOR: tl.constexpr, WIDE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """A whole sequence of one head, some columns, tile after tile. `state, last [B, H, K, V]`, `out [B, T, H, V]`, dense."""
    h = tl.program_id(0) % heads
    b = (tl.program_id(0) // heads).to(tl.int64)
    i, c, e = tl.arange(0, TILE), tl.arange(0, K_PAD), tl.program_id(1) * COLS + tl.arange(0, COLS)
    inside = (c[:, None] < K) & (e[None, :] < V)
    place = (tl.program_id(0).to(tl.int64) * K + c[:, None]) * V + e[None, :]
    S = tl.load(state + place, mask=inside, other=0.0)
    for start in range(0, time, TILE):
        t = (start + i).to(tl.int64)
        seen, columns = (t[:, None] < time) & (c[None, :] < K), (t[:, None] < time) & (e[None, :] < V)
        # tokens that miss have zero beta and zero log decay, and leave the state as it is
        keys = tl.load(k + b * k_b + t[:, None] * k_t + h * k_h + c[None, :] * k_k, mask=seen, other=0.0).to(WIDE)
        queries = tl.load(q + b * q_b + t[:, None] * q_t + h * q_h + c[None, :] * q_k, mask=seen, other=0.0).to(WIDE)
        at = log_decay + b * g_b + t[:, None] * g_t + h * g_h + c[None, :] * g_k
        logs = tl.maximum(tl.load(at, mask=seen, other=0.0).to(WIDE), FLOOR)
        values = tl.load(v + b * v_b + t[:, None] * v_t + h * v_h + e[None, :] * v_v, mask=columns, other=0.0).to(WIDE)
        weight = tl.load(beta + b * b_b + t * b_t + h * b_h, mask=t < time, other=0.0).to(WIDE)
        between = tl.zeros([TILE, K_PAD], WIDE)  # row j: log decay from token j to the row at hand
        lower, mixed = tl.zeros([TILE, TILE], WIDE), tl.zeros([TILE, TILE], WIDE)
        for r in range(TILE):
            row = (i == r)[:, None]
            between = tl.where((i < r)[:, None], between + tl.sum(tl.where(row, logs, 0.0), 0)[None, :], 0.0)
            decayed = tl.where((i <= r)[:, None], keys * tl.exp(between), 0.0)
            with_key = tl.sum(decayed * tl.sum(tl.where(row, keys, 0.0), 0)[None, :], 1)
            with_query = tl.sum(decayed * tl.sum(tl.where(row, queries, 0.0), 0)[None, :], 1)
            lower = tl.where(row & (i < r)[None, :], with_key[None, :], lower)
            mixed = tl.where(row & (i <= r)[None, :], with_query[None, :], mixed)
        lower = lower * weight[:, None]
        inverse = tl.where(i[:, None] == i[None, :], 1.0, 0.0).to(WIDE)  # of I + lower, row by row
        for r in range(1, TILE):
            row = (i == r)[:, None]
            coefficients = tl.sum(tl.where(row, lower, 0.0), 0)
            done = tl.sum(coefficients[:, None] * inverse, 0)
            inverse = tl.where(row, inverse - done[None, :], inverse)
        since = tl.exp(tl.cumsum(logs, 0))
        known = tl.dot(keys * since, S, input_precision=PRECISION).to(WIDE)
        read = tl.dot(queries * since, S, input_precision=PRECISION).to(WIDE)
        written = tl.dot(inverse, (values - known) * weight[:, None], input_precision=PRECISION).to(WIDE)
        answer = scale * (read + tl.dot(mixed, written, input_precision=PRECISION).to(WIDE))
        at = out + ((b * time + t[:, None]) * heads + h) * V + e[None, :]
        tl.store(at, answer.to(out.dtype.element_ty), mask=columns)
        ends = keys * tl.exp(between)  # after the last row: decay from each token to the tile's end
        S = S * tl.exp(tl.sum(logs, 0))[:, None]
        S += tl.dot(tl.trans(ends), written, input_precision=PRECISION).to(WIDE)
    tl.store(last + place, S, mask=inside)


def step(
    state: Tensor, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, *, scale: float
) -> tuple[Tensor, Tensor]:
    """`lib.attention.kda.step`; `log_decay [B, H, K]` may be broadcast; arguments already checked."""
    (batch, heads, keys), values = k.shape, v.shape[-1]
    out, last = torch.empty_like(v, memory_format=torch.contiguous_format), torch.empty(state.shape, dtype=state.dtype, device=state.device)  # fmt: skip
    q, scale = scaled(q, scale)
    if last.numel():
        _step[(batch * heads, -(-values // COLUMNS))](
            state, q, k, v, log_decay, beta, out, last, scale, heads,
            *state.stride(), *q.stride(), *k.stride(), *v.stride(), *log_decay.stride(), *beta.stride(),
            K=keys, K_PAD=padded(keys), V=values, COLS=COLUMNS, WIDE=language(q)[0], num_warps=4,
        )  # fmt: skip
    return out, last


def chunked(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, *, state: Tensor, scale: float
) -> tuple[Tensor, Tensor]:
    """`lib.attention.kda.chunked`; `log_decay [B, T, H, K]` may be broadcast; arguments already checked.

    A NaN or an infinity goes through the definition instead: in a product it would reach earlier tokens, as 0 * NaN is
    NaN. bfloat16 inputs meet the float32 state in TF32, whose rounding is finer than theirs.
    """
    (batch, time, heads, keys), values = k.shape, v.shape[-1]
    out, last = torch.empty_like(v, memory_format=torch.contiguous_format), torch.empty(state.shape, dtype=state.dtype, device=state.device)  # fmt: skip
    queries, factor = scaled(q, scale)
    if last.numel():
        _tiles[(batch * heads, -(-values // COLUMNS))](
            state.contiguous(), queries, k, v, log_decay, beta, out, last, factor, heads, time,
            *queries.stride(), *k.stride(), *v.stride(), *log_decay.stride(), *beta.stride(),
            K=keys, K_PAD=padded(keys), V=values, COLS=COLUMNS, TILE=TILE, FLOOR=LEAST, WIDE=language(q)[0],
            PRECISION="tf32" if checks.accumulating(q.dtype) != q.dtype else "ieee", num_warps=4,
        )  # fmt: skip
    if not bool(torch.isfinite(out).all() & torch.isfinite(last).all()):
        from lib.attention import kda

        return kda.recurrent(q, k, v, log_decay, beta, state=state, scale=scale, check=False)
    return out, last
