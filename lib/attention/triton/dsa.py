"""The indexer's scores, and latent attention over the selected rows. Letters as in `lib.attention.dsa`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from lib.attention.triton import language, mla, padded


@triton.jit
def _scores(
    q, weights, keys, out, heads, tokens, q_b, q_h, q_d, w_b, w_h, k_b, k_t, k_d,
    D: tl.constexpr, D_PAD: tl.constexpr, HEADS: tl.constexpr, ROWS: tl.constexpr,
    WIDE: tl.constexpr, DOT: tl.constexpr,
):  # fmt: skip
    """One block of tokens of one sequence, all heads at once."""
    b, n = tl.program_id(1).to(tl.int64), tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    h, d = tl.arange(0, HEADS), tl.arange(0, D_PAD)
    at = keys + b * k_b + n.to(tl.int64)[:, None] * k_t + d[None, :] * k_d
    k = tl.load(at, mask=(n[:, None] < tokens) & (d[None, :] < D), other=0.0).to(DOT)  # [n, D]
    at = q + b * q_b + h[:, None] * q_h + d[None, :] * q_d
    queries = tl.load(at, mask=(h[:, None] < heads) & (d[None, :] < D), other=0.0).to(DOT)  # [H, D]
    w = tl.load(weights + b * w_b + h * w_h, mask=h < heads, other=0.0).to(WIDE)
    s = tl.dot(k, tl.trans(queries), input_precision="ieee").to(WIDE)  # [n, H]
    total = tl.sum(tl.maximum(s, 0.0) * w[None, :], 1)
    tl.store(out + b * tokens + n, total.to(out.dtype.element_ty), mask=n < tokens)


def index_scores(q: Tensor, weights: Tensor, keys: Tensor) -> Tensor:
    """`lib.attention.dsa.index_scores`; arguments already checked."""
    (batch, heads, dim), tokens = q.shape, keys.shape[1]
    out = torch.empty(batch, tokens, dtype=keys.dtype, device=keys.device)
    rows = 128 if q.element_size() == 2 else 32
    if out.numel():
        _scores[(-(-tokens // rows), batch)](
            q, weights, keys, out, heads, tokens, *q.stride(), *weights.stride(), *keys.stride(),
            D=dim, D_PAD=padded(dim), HEADS=padded(heads), ROWS=rows,
            WIDE=language(q)[0], DOT=language(q)[1], num_warps=4,
        )  # fmt: skip
    return out


def decode(q: Tensor, cache: Tensor, indices: Tensor, *, latent_dim: int, scale: float) -> tuple[Tensor, Tensor]:
    """`lib.attention.dsa.decode`: the dense kernel, whose rows are those listed; arguments already checked."""
    lengths = [indices.shape[1]] * len(q)
    return mla.decode(q, cache, latent_dim=latent_dim, scale=scale, lengths=lengths, indices=indices)
