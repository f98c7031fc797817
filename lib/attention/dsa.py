"""DeepSeek sparse attention: a light indexer scores every token, the attention reads the best N latents only.

Letters: B batch, T time, H heads, D index dim, N selected tokens, C latent dim, R rotary dim.
Equations: DeepSeek-V3.2 paper, eq. 1 (index score), eq. 2 (selection and core attention); the core is MLA in MQA
mode. The indexer's rotary layout is NOT that of MLA: see `rotate`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.attention import checks, mla, rope, streaming
from lib.attention.partial import merge

BLOCK = 2048  # keys a block: 2048 x 128 float32 and its 2048 x 64 scores (1.5 MB) stay in a core's caches

LISTED = 2048  # rows that are gathered at a time: all that a published indexer selects, one product for both threads


def rotate(x: Tensor, positions: Tensor, rotary: int = 64, *, base: float = 10000.0) -> Tensor:
    """The indexer's rotary layout: the first `rotary` dims, pairs (i, i + rotary/2).

    MLA in the same layer turns its last dims in pairs (2i, 2i+1); the indexer code first published took that
    layout, and its erratum of 17 November 2025 says so.
    """
    return rope.rotate_first(x, positions, rotary, interleaved=False, base=base)


def definition_scores(q: Tensor, weights: Tensor, keys: Tensor) -> Tensor:
    """`I[t] = sum_h w[h] relu(q[h] . k[t])`, all at once (DeepSeek-V3.2, eq. 1). Arguments as `index_scores`."""
    _check_index(q, weights, keys)
    q, w, k = (x.to(checks.accumulating(keys.dtype)) for x in (q, weights, keys))
    return torch.einsum("bh,bht->bt", w, torch.relu(torch.einsum("bhd,btd->bht", q, k))).to(keys.dtype)


def index_scores(q: Tensor, weights: Tensor, keys: Tensor) -> Tensor:
    """How much each token matters to the query: `sum_h w[h] relu(q[h] . k[t])`, streaming over the tokens.

    `q [B, H, D]`, `weights [B, H]`, `keys [B, T, D]` -> `[B, T]` in their dtype, summed in at least float32.
    `weights` carry whatever scale the model gives them (V3.2: `H ** -0.5 * D ** -0.5`). DeepSeek-V3.2, eq. 1.
    """
    _check_index(q, weights, keys)
    if q.is_cuda:
        from lib.attention.triton import dsa as kernel

        return kernel.index_scores(q, weights, keys)
    if len(q) == 0:
        return keys.new_zeros(keys.shape[:2])
    return torch.stack([_score_row(*row) for row in zip(q, weights, keys, strict=True)])


def _score_row(q: Tensor, weights: Tensor, keys: Tensor) -> Tensor:
    """One sequence: `q [H, D]`, `weights [H]`, `keys [T, D]` -> `[T]`."""
    wide = checks.accumulating(keys.dtype)
    inplace = not streaming.differentiable(q, weights, keys)
    query, weights = q.to(wide).T.contiguous(), weights.to(wide)

    if not inplace:
        return (torch.relu(keys.to(wide) @ query) @ weights).to(keys.dtype)
    result = keys.new_empty(len(keys))

    def work(low: int, high: int) -> None:
        rows = streaming.Widen(keys, wide, min(BLOCK, high - low), inplace)
        room, sums = query.new_empty(BLOCK, query.shape[1]), query.new_empty(BLOCK)
        for i, j in streaming.blocks(low, high, BLOCK):
            n = j - i
            torch.mm(rows(i, j), query, out=room[:n])  # [n, H]
            result[i:j] = torch.mv(room[:n].relu_(), weights, out=sums[:n])

    streaming.in_parts(0, len(keys), work, smallest=8 * BLOCK)
    return result


def select(scores: Tensor, n: int, *, valid: Tensor | None = None) -> Tensor:
    """The n tokens of the highest score, best first: `scores [B, T]` -> int64 indices `[B, n]`.

    `valid [B, T]` (bool) says which tokens may be chosen; where fewer than n may, the rest is -1. Among equal
    scores any may be chosen. What an invalid token's score holds, NaN included, does not matter; a valid NaN
    counts as the highest. DeepSeek-V3.2, eq. 2.
    """
    sizes = checks.shapes(scores=(scores, "B T"))
    checks.same_dtype(scores=scores)
    checks.at_least("n", n, 0)
    if valid is not None:
        checks.shapes(scores=(scores, "B T"), valid=(valid, "B T"))
        checks.dtype_is("valid", valid, torch.bool)
        checks.same_device(scores=scores, valid=valid)
        scores = scores.masked_fill(~valid, -torch.inf)
    indices = scores.detach().topk(min(n, sizes["T"]), dim=-1).indices
    if valid is not None:
        # a valid -inf may stand behind an invalid one: sort by validity first, keeping the order within
        picked = valid.gather(1, indices)
        order = torch.argsort((~picked).to(torch.uint8), dim=-1, stable=True)
        indices = torch.where(picked, indices, -1).gather(1, order)
    return torch.nn.functional.pad(indices, (0, n - indices.shape[1]), value=-1)


def definition(
    q: Tensor, cache: Tensor, indices: Tensor, *, latent_dim: int, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """Dense absorbed attention over a cache cut down, sequence by sequence, to the selected rows. As `decode`."""
    scale = _check_sparse(q, cache, indices, latent_dim, scale)
    rows = [
        mla.definition(q[b : b + 1], cache[b, chosen[chosen >= 0]][None], latent_dim=latent_dim, scale=scale)
        for b, chosen in enumerate(indices)
    ]
    if not rows:
        return mla.definition(q, cache, latent_dim=latent_dim, scale=scale)
    return torch.cat([out for out, _ in rows]), torch.cat([lse for _, lse in rows])


def decode(
    q: Tensor, cache: Tensor, indices: Tensor, *, latent_dim: int, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """One query a sequence against the selected rows of its cache, absorbed.

    `q [B, H, C + R]`, `cache [B, T, C + R]`, `indices [B, N]` (int32 or int64; -1 is no token) ->
    `out [B, H, C]` in the dtype of q, `lse [B, H]`, natural log, float32 (float64 for float64). A token listed twice
    counts twice, as in the published kernels. No token: zeros and -inf. DeepSeek-V3.2, eq. 2.
    """
    scale = _check_sparse(q, cache, indices, latent_dim, scale)
    if q.is_cuda:
        from lib.attention.triton import dsa as kernel

        return kernel.decode(q, cache, indices, latent_dim=latent_dim, scale=scale)
    rows = [attend_row(*row, latent_dim, scale) for row in zip(q, cache, indices, strict=True)]
    if not rows:
        return mla.definition(q, cache, latent_dim=latent_dim, scale=scale)
    return torch.stack([out for out, _ in rows]).to(q.dtype), torch.stack([lse for _, lse in rows])


def attend_row(q: Tensor, cache: Tensor, indices: Tensor, latent_dim: int, scale: float) -> tuple[Tensor, Tensor]:
    """One sequence: `q [H, C + R]`, `cache [T, C + R]`, `indices [N]` -> `out [H, C]` not yet rounded, `lse [H]`."""
    wide = checks.accumulating(q.dtype)
    inplace = not streaming.differentiable(q, cache)
    query = (q.to(wide) * scale).T.contiguous()  # [C + R, H]
    # -1 is dropped, not masked: there is no row that may be read in its place
    chosen = indices if bool((indices >= 0).all()) else indices[indices >= 0]

    def work(low: int, high: int) -> tuple[Tensor, Tensor]:
        running = streaming.Softmax((len(q),), latent_dim, query, inplace=inplace)
        room = cache.new_empty(min(LISTED, high - low), cache.shape[1]) if inplace else None
        rows = streaming.Widen(cache if room is None else room, wide, LISTED, inplace)
        for i, j in streaming.blocks(low, high, LISTED):
            if inplace:
                torch.index_select(cache, 0, chosen[i:j], out=room[: j - i])
                c = rows(0, j - i)  # [n, C + R]
            else:
                c = cache.index_select(0, chosen[i:j]).to(wide)
            running.fold((c @ query).T, c[:, :latent_dim])
        return running.finish()

    parts = streaming.in_parts(0, len(chosen), work, smallest=LISTED) if inplace else [work(0, len(chosen))]
    return merge([out for out, _ in parts], [lse for _, lse in parts])


def _check_index(q: Tensor, weights: Tensor, keys: Tensor) -> None:
    checks.alike(q=q, weights=weights, keys=keys)
    checks.shapes(q=(q, "B H D"), weights=(weights, "B H"), keys=(keys, "B T D"))


def _check_sparse(q: Tensor, cache: Tensor, indices: Tensor, latent_dim: int, scale: float | None) -> float:
    scale, _ = mla.check(q, cache, latent_dim, scale, None)
    checks.shapes(q=(q, "B * *"), indices=(indices, "B N"))
    checks.same_device(q=q, indices=indices)
    checks.index_range("indices", indices, -1, cache.shape[1])
    return scale
