"""Kimi Delta Attention: a delta rule whose state forgets each key channel at its own rate.

Letters: B batch, T time, H heads, K key dim, V value dim. `log_decay <= 0` is the natural log of the decay of one step.
Equation: Kimi Linear, eq. 1, the decay first, the delta rule on the decayed state, then the read:
    S_t = (I - beta_t k_t k_t^T) Diag(alpha_t) S_{t-1} + beta_t k_t v_t^T,   o_t = S_t^T q_t.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from lib.attention import checks, chunkwise, delta, streaming
from lib.attention.chunkwise import TILE

LIMIT = -80.0  # the most that a tile may decay (e^-80) for its rows to be taken from a dense product; K3 needs -75
MIDDLE = 2.0**57  # about e^40: factors between e^-40 and e^40 and their inverses stay far inside float32


def step(
    state: Tensor, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, *,
    scale: float | None = None, check: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One token: `q, k, log_decay [B, H, K]`, `v [B, H, V]`, `beta [B, H]` -> `out [B, H, V]`, `state [B, H, K, V]`.

    As `recurrent` with T = 1, for decoding; the state that is given stays as it is. Kimi Linear, eq. 1.
    """
    delta.token(state, q, k, v, log_decay, beta, decay="B H K", check=check)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    tensors = (q, k, v, log_decay, beta)
    if q.is_cuda and not streaming.differentiable(*tensors, state):
        from lib.attention.triton import kda as kernel

        return kernel.step(state, *tensors, scale=scale)
    return delta.step(state, *tensors, scale)


def recurrent(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, *,
    state: Tensor | None = None, scale: float | None = None, check: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The definition, token by token (Kimi Linear, eq. 1).

    `q, k, log_decay [B, T, H, K]`, `v [B, T, H, V]`, `beta [B, T, H]` -> `out [B, T, H, V]` in their dtype and the last
    `state [B, H, K, V]` in float32 (float64 for float64), which is zeros at first unless given. `scale` multiplies q,
    `K ** -0.5` by default. `check=False` leaves out the look at every log decay, which must not be positive.
    """
    S = delta.sequence(q, k, v, log_decay, beta, state, decay="B T H K", check=check)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    outs = [v[:, :0]]
    for t in range(q.shape[1]):
        q_t, k_t, v_t, g_t, b_t = (x[:, t].to(S.dtype) for x in (q, k, v, log_decay, beta))
        S = torch.exp(g_t)[..., None] * S  # [B, H, K, V] forget, each key channel at its rate
        u_t = v_t - _read(S, k_t)  # [B, H, V] what the decayed state does not know yet
        S = S + (b_t[..., None] * k_t)[..., None] * u_t[..., None, :]  # write it
        outs.append(_read(S, scale * q_t)[:, None].to(v.dtype))  # read after the write
    return torch.cat(outs, 1), S


def chunked(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, *,
    state: Tensor | None = None, scale: float | None = None, chunk: int = 64, check: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The same as `recurrent`, in matrix products over chunks of `chunk` tokens (Kimi Linear, section 3.1).

    Arguments and results as `recurrent`; any T. Relative decays are computed in log space, within tiles of 16 tokens, so
    that no decay is too strong. Memory beyond the output does not grow with T unless a gradient is wanted.
    """
    state = delta.sequence(q, k, v, log_decay, beta, state, decay="B T H K", check=check)
    checks.at_least("chunk", chunk, 1)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    tensors = (q, k, v, log_decay, beta)
    if q.is_cuda and not streaming.differentiable(*tensors, state):
        from lib.attention.triton import kda as kernel

        return kernel.chunked(*tensors, state=state, scale=scale)
    return chunkwise.run(decays, recurrent, tensors, state, scale, chunk)


def decays(both: Tensor, log_decay: Tensor) -> chunkwise.Chunk:
    """Decay a chunk's keys and queries: `both [N, n, 2, 16, K]`, `log_decay [N, n, 16, K]`.

    Every exponent is a sum of log decays between two tokens, never a difference of long sums: exact however strong.
    """
    tiles, keys = both.shape[1], both[:, :, 0]
    sums = torch.matmul(_sums(log_decay), log_decay)  # [N, n, 32, K]: since the tile began; after the row to its end
    since, until = torch.exp(sums).split(TILE, 2)
    total = since[:, :, -1]  # [N, n, K]
    rows, diagonal = both * since[:, :, None], _diagonal(both, log_decay, sums[:, :, :TILE])
    ends, blocks = (keys * until)[:, 0], [pad(diagonal[:, 0], (0, (tiles - 1) * TILE))]
    for i in range(1, tiles):
        before = torch.bmm(rows[:, i].flatten(1, 2), ends.transpose(1, 2))  # keys decayed up to where tile i begins
        block = torch.cat((before.unflatten(1, (2, TILE)), diagonal[:, i]), -1)
        blocks.append(pad(block, (0, (tiles - 1 - i) * TILE)))
        ends = torch.cat((ends * total[:, i, None], keys[:, i] * until[:, i]), 1)
    begun = pad(torch.cumprod(total, 1)[:, :-1], (0, 0, 1, 0), value=1.0)  # decay before each tile
    last = begun[:, -1] * total[:, -1]
    return chunkwise.Chunk(torch.stack(blocks, 1), rows * begun[:, :, None, None], ends, last[..., None])


def _diagonal(both: Tensor, log_decay: Tensor, since: Tensor) -> Tensor:
    """Products within each tile `[N, n, 2, 16, 16]`: a dense product of decayed rows with keys that are decayed inversely.

    A row whose tile has decayed by more than e^-80 does not fit; it is taken from `_exact`. The choice is made row by
    row from the past alone, so that no later token moves a bit of it.
    """
    relative = since - since[:, :, :1]
    strong = bool((relative[:, :, -1] < LIMIT).any())
    factor = torch.exp(relative.clamp_min(LIMIT) if strong else relative) * MIDDLE  # [N, n, 16, K]
    left = (both * factor[:, :, None]).flatten(2, 3)
    dense = torch.matmul(left, (both[:, :, 0] / factor).transpose(-1, -2)).unflatten(2, (2, TILE))
    if strong:
        fits = (relative >= LIMIT).all(-1)[:, :, None, :, None]
        dense = torch.where(fits, dense, _exact(both, log_decay))
    seen = torch.ones(2, TILE, TILE, dtype=torch.bool, device=both.device).tril_()
    seen[0].fill_diagonal_(False)  # a key meets earlier keys, a query its own key too
    return torch.where(seen, dense, 0)


def _exact(both: Tensor, log_decay: Tensor) -> Tensor:
    """The same products row by row, from the log decay between each two tokens: slower, and right for any decay."""
    between, rows = log_decay[:, :, :0], []
    for i in range(TILE):
        between = pad(between + log_decay[:, :, i : i + 1], (0, 0, 0, 1))  # [N, n, i + 1, K] from each token to token i
        keys = both[:, :, 0, : i + 1] * torch.exp(between)
        rows.append(pad(torch.matmul(both[:, :, :, i], keys.transpose(-1, -2)), (0, TILE - 1 - i)))
    return torch.stack(rows, 3)


def _sums(like: Tensor) -> Tensor:
    """`[32, 16]` of ones and zeros: the sum up to and including each row of a tile, then the sum after it."""
    ones = torch.ones(TILE, TILE, dtype=like.dtype, device=like.device)
    return torch.cat((ones.tril(), ones.triu(1)))


def _read(S: Tensor, x: Tensor) -> Tensor:
    """`S^T x`: `S [B, H, K, V]`, `x [B, H, K]` -> `[B, H, V]`."""
    return torch.matmul(x[..., None, :], S)[..., 0, :]
