"""MLA layers, dense and sparse: the cache is one latent and one rotary key a token (and an index key for DSA).

Over a sequence heads meet expanded keys and values; a step is absorbed, and reads the cache as it is stored.
Letters: B batch, T time, S tokens in the cache, H heads, C latent dim, R rotary dim, D hidden, N selected tokens.
Equations: DeepSeek-V2, section 2.1; DeepSeek-V3.2, section 2. Gated: Kimi K3, section 2.1.2.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear

from lib.attention import checks, dsa, gates, mla
from lib.attention.layers.growing import Rows
from lib.attention.layers.weights import Weights

BLOCK = 128  # queries that a sequence's sparse attention takes at a time: memory H x 128 x S, not H x T x S


class LatentCache(NamedTuple):
    """`latent.rows [B, S, C + R]`: the normed latent, then the rotary key."""

    latent: Rows


class SparseCache(NamedTuple):
    """As `LatentCache`, with `keys.rows [B, S, Di]` for the indexer (None where another layer's selection is used)."""

    latent: Rows
    keys: Rows | None


class MlaLayer(nn.Module):
    """Multi-head latent attention. `q_rank`: width of the compressed query, None where it is not compressed.

    `output_gate`: a full-rank sigmoid gate on the heads' output. `rotary=False` leaves the rotary dims unrotated (Kimi).
    """

    def __init__(
        self, hidden: int, *, heads: int, latent: int, rope: int, nope: int, value: int, q_rank: int | None,
        output_gate: bool, rotary: bool = True, base: float = 10000.0, **weights,
    ):  # fmt: skip
        super().__init__()
        self.heads, self.latent, self.rope, self.nope = heads, latent, rope, nope
        self.rotary, self.base = rotary and rope > 0, base
        make = Weights(**weights)
        self.w_q_down = None if q_rank is None else make.matrix(q_rank, hidden)
        self.q_norm = None if q_rank is None else make.ones(q_rank)
        self.w_q = make.matrix(heads * (nope + rope), hidden if q_rank is None else q_rank)
        self.w_down, self.latent_norm = make.matrix(latent + rope, hidden), make.ones(latent)
        self.w_uk, self.w_uv = make.matrix(heads, nope, latent), make.matrix(heads, value, latent)
        self.w_gate = make.matrix(heads * value, hidden) if output_gate else None
        self.w_out = make.matrix(hidden, heads * value)

    @property
    def scale(self) -> float:
        """On the scores: from the dims of an expanded key, not of a cache row."""
        return (self.nope + self.rope) ** -0.5

    def empty(self, batch: int) -> LatentCache:
        """The cache before the first token."""
        return LatentCache(Rows.empty(batch, self.latent + self.rope, self.w_q))

    def forward(self, x: Tensor, cache: LatentCache | None = None) -> tuple[Tensor, LatentCache]:
        """`x [B, T, D]` -> `y [B, T, D]` and the cache with T rows more."""
        past = (self.empty(x.shape[0]) if cache is None else cache).latent
        positions = _positions(len(past), x)
        latent = past.append(self._rows(x, positions))
        q = self._heads(self._compressed(x), positions)
        out, _ = mla.forward(q, latent.rows, self.w_uk, self.w_uv, scale=self.scale)
        return self._output(x, out), LatentCache(latent)

    def step(self, x: Tensor, cache: LatentCache) -> tuple[Tensor, LatentCache]:
        """One token `x [B, D]` -> `y [B, D]` and the next cache, absorbed."""
        x, positions = x[:, None], _positions(len(cache.latent), x[:, None])
        latent = cache.latent.append(self._rows(x, positions))
        q = mla.absorb(self._heads(self._compressed(x), positions)[:, 0], self.w_uk)
        out, _ = mla.decode(q, latent.rows, latent_dim=self.latent, scale=self.scale)
        return self._output(x[:, 0], mla.lift(out, self.w_uv)), LatentCache(latent)

    def _compressed(self, x: Tensor) -> Tensor:
        """What queries are made from: `[B, T, D]`, or the normed low-rank projection `[B, T, q_rank]`."""
        return x if self.w_q_down is None else gates.rms_norm(linear(x, self.w_q_down), self.q_norm)

    def _heads(self, narrow: Tensor, positions: Tensor) -> Tensor:
        """Queries `[B, T, H, K + R]`."""
        q = linear(narrow, self.w_q).unflatten(-1, (self.heads, self.nope + self.rope))
        return mla.rotate(q, positions[:, None], self.rope, base=self.base) if self.rotary else q

    def _rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Cache rows `[B, T, C + R]` of these tokens."""
        latent, key = linear(x, self.w_down).split((self.latent, self.rope), -1)
        rows = torch.cat((gates.rms_norm(latent, self.latent_norm), key), -1)
        return mla.rotate(rows, positions, self.rope, base=self.base) if self.rotary else rows

    def _output(self, x: Tensor, out: Tensor) -> Tensor:
        out = out.flatten(-2)
        return linear(out if self.w_gate is None else torch.sigmoid(linear(x, self.w_gate)) * out, self.w_out)


class DsaLayer(MlaLayer):
    """MLA over the `top_k` tokens that a lightning indexer picks for each query (DeepSeek-V3.2, eq. 1 and 2).

    With `own_indexer=False` it keeps no index keys and takes `indices` from an earlier layer (GLM-5.2's IndexShare); a
    layer with an indexer shows what it picked in `selection` of `forward` and `step`.
    """

    def __init__(
        self, hidden: int, *, index_heads: int, index_dim: int, top_k: int, own_indexer: bool = True, seed: int = 0,
        dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu", **dims,
    ):  # fmt: skip
        super().__init__(hidden, seed=seed, dtype=dtype, device=device, **dims)
        if self.w_q_down is None:
            raise ValueError("q_rank: got None, wanted a size: index queries come from the compressed query")
        self.index_heads, self.index_dim, self.top_k, self.own_indexer = index_heads, index_dim, top_k, own_indexer
        if own_indexer:
            make = Weights(seed=seed + 1, dtype=dtype, device=device)
            self.w_index_q = make.matrix(index_heads * index_dim, self.w_q_down.shape[0])
            self.w_index_k, self.w_index_weights = make.matrix(index_dim, hidden), make.matrix(index_heads, hidden)
            self.index_norm, self.index_bias = make.ones(index_dim), make.zeros(index_dim)

    def empty(self, batch: int) -> SparseCache:
        """The cache before the first token."""
        keys = Rows.empty(batch, self.index_dim, self.w_q) if self.own_indexer else None
        return SparseCache(super().empty(batch).latent, keys)

    def forward(
        self, x: Tensor, cache: SparseCache | None = None, *, indices: Tensor | None = None
    ) -> tuple[Tensor, SparseCache]:
        """`x [B, T, D]` -> `y [B, T, D]` and the cache with T rows more. `indices [B, T, N]`: another layer's selection."""
        cache = self.empty(x.shape[0]) if cache is None else cache
        cache, positions = self._grown(x, cache)
        narrow = self._compressed(x)
        chosen = self.selection(x, cache, indices=indices)  # [B, T, N]
        q = self._heads(narrow, positions)
        k, v = mla.expand(cache.latent.rows, self.w_uk, self.w_uv)
        outs = [_sparse(q[:, i : i + BLOCK], k, v, chosen[:, i : i + BLOCK], self.scale)
                for i in range(0, x.shape[1], BLOCK)]  # fmt: skip
        return self._output(x, torch.cat(outs, 1) if outs else v[:, :0]), cache

    def step(self, x: Tensor, cache: SparseCache, *, indices: Tensor | None = None) -> tuple[Tensor, SparseCache]:
        """One token `x [B, D]` -> `y [B, D]` and the next cache, absorbed. `indices [B, N]`: another layer's selection."""
        x = x[:, None]
        cache, positions = self._grown(x, cache)
        chosen = self.selection(x, cache, indices=None if indices is None else indices[:, None])[:, 0]
        q = mla.absorb(self._heads(self._compressed(x), positions)[:, 0], self.w_uk)
        out, _ = dsa.decode(q, cache.latent.rows, chosen, latent_dim=self.latent, scale=self.scale)
        return self._output(x[:, 0], mla.lift(out, self.w_uv)), cache

    def selection(self, x: Tensor, cache: SparseCache, *, indices: Tensor | None = None) -> Tensor:
        """The tokens `[B, T, N]` that each of the cache's last T tokens, `x [B, T, D]`, attends to; -1 is none.

        Each query chooses among itself and earlier tokens. Given `indices` are passed on where there is no indexer.
        """
        if (indices is None) != self.own_indexer:
            wanted = "none: this layer has an indexer" if self.own_indexer else "an earlier layer's selection"
            raise ValueError(f"indices: got {'none' if indices is None else 'a selection'}, wanted {wanted}")
        if indices is not None:
            return indices
        keys, start = cache.keys.rows, len(cache.keys) - x.shape[1]
        q, weights = self._index_queries(x, _positions(start, x))
        chosen = [
            dsa.select(dsa.index_scores(q[:, t], weights[:, t], keys[:, : start + t + 1]), self.top_k)
            for t in range(x.shape[1])
        ]
        return torch.stack(chosen, 1) if chosen else keys.new_empty(x.shape[0], 0, self.top_k, dtype=torch.int64)

    def _grown(self, x: Tensor, cache: SparseCache) -> tuple[SparseCache, Tensor]:
        positions = _positions(len(cache.latent), x)
        keys = cache.keys.append(self._index_keys(x, positions)) if self.own_indexer else None
        return SparseCache(cache.latent.append(self._rows(x, positions)), keys), positions

    def _index_keys(self, x: Tensor, positions: Tensor) -> Tensor:
        keys = layer_norm(linear(x, self.w_index_k), (self.index_dim,), self.index_norm, self.index_bias)
        return dsa.rotate(keys, positions, self.rope, base=self.base) if self.rotary else keys

    def _index_queries(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Index queries `[B, T, Hi, Di]` and the weights of their heads `[B, T, Hi]`."""
        q = linear(self._compressed(x), self.w_index_q).unflatten(-1, (self.index_heads, self.index_dim))
        q = dsa.rotate(q, positions[:, None], self.rope, base=self.base) if self.rotary else q
        return q, linear(x, self.w_index_weights) * (self.index_heads * self.index_dim) ** -0.5


def _positions(start: int, x: Tensor) -> Tensor:
    return torch.arange(start, start + x.shape[1], device=x.device)


def _sparse(q: Tensor, k: Tensor, v: Tensor, chosen: Tensor, scale: float) -> Tensor:
    """Softmax over the chosen tokens: `q [B, t, H, K]`, `k [B, S, H, K]`, `v [B, S, H, V]`, `chosen [B, t, N]`."""
    seen = torch.zeros(*chosen.shape[:2], k.shape[1] + 1, dtype=torch.bool, device=q.device)
    seen.scatter_(2, chosen % (k.shape[1] + 1), True)  # -1 falls on the column too many
    scores = scale * torch.einsum("bthk,bshk->bhts", q, k)
    scores = scores.masked_fill(~seen[:, None, :, :-1], -torch.inf)
    weights = torch.softmax(scores, -1, dtype=checks.accumulating(q.dtype)).to(q.dtype)
    return torch.einsum("bhts,bshv->bthv", weights, v)
