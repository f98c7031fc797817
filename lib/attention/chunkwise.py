"""The chunk form of the gated delta rule, whatever makes its decay: what `kda.chunked` and `gated_delta.chunked` share.

Inside a chunk of C tokens the rule is a unit-triangular system (the WY or UT form); between chunks it is a few matrix
products with the state. Kimi Linear, section 3.1: with D the values that the tokens really write,
    (I + StrictTril(beta A_k)) D = beta (V - (decay K) S),     O = (decay Q) S + Tril(A_q) D,
    S' = decay_C S + (decay to the chunk's end K)^T D.
D is solved for directly; the paper's W = M (decay K) and U = M V give the same as U - W S, with one product more.
Letters: B batch, T time, H heads, K key dim, V value dim, C tokens of a chunk, n tiles of 16 tokens in a chunk,
N rows of a part: batch x some of the heads. Keys and queries travel stacked, `[N, n, 2, 16, ·]`: one product serves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from lib.attention import streaming

TILE = 16  # tokens of a secondary tile (Kimi K3 report, section 2.1.1)
LEAST = -1e4  # below it a decay is 0 in every dtype; finite, so that no difference of infinities arises
GROUP = 16  # rows that a thread takes together: enough work for each product, few enough for its caches
WORTH = 1 << 22  # state numbers x tokens below which a second thread costs more than it brings


class Chunk(NamedTuple):
    """What the decay makes of a chunk's keys and queries, before they meet the state."""

    within: Tensor  # [N, n, 2, 16, C] decayed k.k below the diagonal, decayed q.k up to it, zeros elsewhere
    rows: Tensor  # [N, n, 2, 16, K] keys and queries, times the decay since the chunk began
    ends: Tensor  # [N, C, K] keys, times the decay until the chunk ends
    decay: Tensor  # [N, K, 1] or [N, 1, 1] decay of the whole chunk


Decays = Callable[[Tensor, Tensor], Chunk]  # (keys and queries [N, n, 2, 16, K], log decay [N, n, 16, K or 1])


def run(
    decays: Decays, definition: Callable, tensors: tuple[Tensor, ...], state: Tensor, scale: float, chunk: int
) -> tuple[Tensor, Tensor]:
    """All heads of `tensors` = q, k, v, log_decay, beta, each `[B, T, H, ...]`, from `state [B, H, K, V]`.

    `definition` is the verb that goes token by token: it takes over a chunk that holds a NaN or an infinity, which a
    matrix product would carry to earlier tokens, as 0 * NaN is NaN.
    """
    v = tensors[2]
    batch, time, heads, _ = v.shape
    if streaming.differentiable(*tensors, state):
        outs = [v[:, :0]]
        last = _heads(decays, definition, tensors, state, scale, chunk, lambda start, out: outs.append(out))
        return torch.cat(outs, 1), last
    out, last = torch.empty_like(v, memory_format=torch.contiguous_format), torch.empty_like(state)

    def work(low: int, high: int) -> None:
        step = max(1, GROUP // max(batch, 1))
        for i in range(low, high, step):
            j = min(i + step, high)

            def write(start: int, part: Tensor, i: int = i, j: int = j) -> None:
                out[:, start : start + part.shape[1], i:j] = part

            some = tuple(x[:, :, i:j] for x in tensors)
            last[:, i:j] = _heads(decays, definition, some, state[:, i:j], scale, chunk, write)

    streaming.in_parts(0, heads, work, smallest=1 + WORTH // (1 + time * batch * math.prod(state.shape[2:])))
    return out, last


def _heads(decays, definition, tensors, state: Tensor, scale: float, chunk: int, write: Callable) -> Tensor:
    """Chunk after chunk for some heads; `write(start, out [B, c, h, V])` takes the outputs. Returns the state."""
    batch, time, heads = tensors[2].shape[:3]
    for start in range(0, time, chunk):
        part = tuple(x[:, start : start + chunk] for x in tensors)
        q, k, v, log_decay, beta = (_tiles(x, state.dtype) for x in part)
        fixed = decays(torch.stack((k, q), 2), log_decay.clamp_min(LEAST))
        out, new, written = advance(fixed, state.flatten(0, 1), v, beta, scale)
        if math.isfinite(written.detach().sum()):
            out = out[:, : part[0].shape[1]].unflatten(0, (batch, heads)).transpose(1, 2).to(tensors[2].dtype)
            state = new.view_as(state)
        else:
            out, state = definition(*part, state=state, scale=scale, check=False)
        write(start, out)
    return state


def advance(fixed: Chunk, state: Tensor, v: Tensor, beta: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """One chunk: `state [N, K, V]`, `v [N, n, 16, V]`, `beta [N, n, 16, 1]` -> (out, state, written values D)."""
    read = torch.bmm(fixed.rows.flatten(1, 3), state)  # [N, 2 C, V], in the order of the rows
    read = read.unflatten(1, fixed.rows.shape[1:4])  # [N, n, 2, 16, V]
    written = solve(fixed.within[:, :, 0] * beta, (v - read[:, :, 0]) * beta)  # [N, C, V]
    mixed = fixed.within[:, :, 1].flatten(1, 2)
    out = torch.baddbmm(read[:, :, 1].flatten(1, 2), mixed, written, alpha=scale, beta=scale)
    return out, torch.baddbmm(state * fixed.decay, fixed.ends.transpose(1, 2), written), written


def solve(lower: Tensor, right: Tensor) -> Tensor:
    """`(I + lower)^-1 right`, forward substitution by tiles: `lower [N, n, 16, C]`, `right [N, n, 16, V]` -> `[N, C, V]`.

    Only tiles on the diagonal are inverted: a product with the inverse of a tile is faster than a substitution.
    """
    tiles, size = right.shape[1:3]
    diagonal = lower.unflatten(3, (tiles, size)).diagonal(dim1=1, dim2=3).movedim(-1, 1)  # [N, n, 16, 16]
    one = torch.eye(size, dtype=lower.dtype, device=lower.device)
    inverse = torch.linalg.solve_triangular(diagonal, one, upper=False, unitriangular=True)
    done = [torch.bmm(inverse[:, 0], right[:, 0])]
    for i in range(1, tiles):
        before = lower[:, i, :, : i * size]
        rest = torch.baddbmm(right[:, i], before, torch.cat(done, 1), alpha=-1)
        done.append(torch.bmm(inverse[:, i], rest))
    return torch.cat(done, 1)


def _tiles(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Some tokens of an argument, `[B, c, h, X]` or `[B, c, h]`, as tiles `[N, n, 16, X]`; rows that miss are zeros.

    A token with zero beta and zero log decay leaves the state as it is.
    """
    x = (x if x.dim() == 4 else x[..., None]).transpose(1, 2).to(dtype)
    if x.shape[2] % TILE:
        x = pad(x, (0, 0, 0, -x.shape[2] % TILE))
    return x.flatten(0, 1).unflatten(1, (-1, TILE))
