"""Gated DeltaNet: a delta rule whose state forgets at one rate a head.

Letters: B batch, T time, H heads, K key dim, V value dim. `log_decay [B, T, H] <= 0` is the natural log of the decay.
Equation: Gated Delta Networks (arXiv 2412.06464), eq. 10; Kimi Linear, eq. 1 with alpha_t the same in all channels:
    S_t = alpha_t (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T,   o_t = S_t^T q_t.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention import checks, chunkwise, delta, streaming
from lib.attention.chunkwise import TILE


def step(
    state: Tensor, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, *,
    scale: float | None = None, check: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One token: `q, k [B, H, K]`, `v [B, H, V]`, `log_decay, beta [B, H]` -> `out [B, H, V]`, `state [B, H, K, V]`.

    As `recurrent` with T = 1, for decoding; the state that is given stays as it is. Kimi Linear, eq. 1.
    """
    delta.token(state, q, k, v, log_decay, beta, decay="B H", check=check)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if q.is_cuda and not streaming.differentiable(q, k, v, log_decay, beta, state):
        from lib.attention.triton import kda as kernel

        return kernel.step(state, q, k, v, log_decay[..., None].expand_as(k), beta, scale=scale)
    return delta.step(state, q, k, v, log_decay[..., None], beta, scale)


def recurrent(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, *,
    state: Tensor | None = None, scale: float | None = None, check: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The definition, token by token (Gated Delta Networks, eq. 10).

    `q, k [B, T, H, K]`, `v [B, T, H, V]`, `log_decay, beta [B, T, H]` -> `out [B, T, H, V]` in their dtype and the last
    `state [B, H, K, V]` in float32 (float64 for float64), which is zeros at first unless given. `scale` multiplies q,
    `K ** -0.5` by default. `check=False` leaves out the look at every log decay, which must not be positive.
    """
    S = delta.sequence(q, k, v, log_decay, beta, state, decay="B T H", check=check)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    outs = [v[:, :0]]
    for t in range(q.shape[1]):
        q_t, k_t, v_t, g_t, b_t = (x[:, t].to(S.dtype) for x in (q, k, v, log_decay, beta))
        S = torch.exp(g_t)[..., None, None] * S  # [B, H, K, V] forget, all of a head alike
        u_t = b_t[..., None] * (v_t - torch.einsum("bhkv,bhk->bhv", S, k_t))  # what the decayed state does not know
        S = S + torch.einsum("bhk,bhv->bhkv", k_t, u_t)  # write it
        outs.append(torch.einsum("bhkv,bhk->bhv", S, scale * q_t)[:, None].to(v.dtype))  # read after the write
    return torch.cat(outs, 1), S


def chunked(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, *,
    state: Tensor | None = None, scale: float | None = None, chunk: int = 64, check: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The same as `recurrent`, in matrix products over chunks of `chunk` tokens (Gated Delta Networks, section 3.3).

    Arguments and results as `recurrent`; any T. Memory beyond the output does not grow with T unless a gradient is wanted.
    """
    state = delta.sequence(q, k, v, log_decay, beta, state, decay="B T H", check=check)
    checks.at_least("chunk", chunk, 1)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    tensors = (q, k, v, log_decay, beta)
    if q.is_cuda and not streaming.differentiable(*tensors, state):
        from lib.attention.triton import kda as kernel

        channels = log_decay[..., None].expand_as(k)  # strides of 0: nothing is copied
        return kernel.chunked(q, k, v, channels, beta, state=state, scale=scale)
    return chunkwise.run(decays, recurrent, tensors, state, scale, chunk)


def decays(both: Tensor, log_decay: Tensor) -> chunkwise.Chunk:
    """Decay a chunk's keys and queries: `both [N, n, 2, 16, K]`, `log_decay [N, n, 16, 1]`.

    One decay a head leaves the products of keys as they are: the decay between two tokens multiplies them afterwards.
    """
    tiles, keys = both.shape[1], both[:, :, 0].flatten(1, 2)  # [N, C, K]
    between = _between(log_decay.flatten(1))  # [N, C, C]
    products = torch.bmm(both.flatten(1, 3), keys.transpose(1, 2)).unflatten(1, both.shape[1:4])
    decay = torch.exp(between).unflatten(1, (tiles, 1, TILE))  # [N, n, 1, 16, C]
    seen = torch.ones(2, *between.shape[1:], dtype=torch.bool, device=both.device).tril_()
    seen[0].fill_diagonal_(False)
    within = torch.where(seen.unflatten(1, (tiles, TILE)).transpose(0, 1), products * decay, 0)
    begun = torch.exp(torch.cumsum(log_decay.flatten(1), 1))  # [N, C] decay since the chunk began
    rows = both * begun.unflatten(1, (tiles, 1, TILE))[..., None]
    return chunkwise.Chunk(within, rows, keys * torch.exp(between[:, -1])[..., None], begun[:, -1, None, None])


def _between(log_decay: Tensor) -> Tensor:
    """`[N, C]` -> `[N, C, C]`, entry i, j the log decay from token j to token i >= j, 0 above the diagonal.

    Summed row by row rather than as a difference of two sums from the beginning, which loses a weak decay after strong ones.
    """
    size = log_decay.shape[1]
    later = torch.ones(size, size, dtype=torch.bool, device=log_decay.device).tril(-1)
    steps = torch.where(later, log_decay[:, :, None], 0)  # entry m, j is the log decay of step m > j
    return torch.cumsum(steps, 1).tril()
