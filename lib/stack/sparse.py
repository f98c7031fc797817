"""DSA with an indexer that is trained as DeepSeek-V3.2's report says (section 2.1.1): first beside dense attention, then sparse.

The indexer learns to match the attention of the main heads: the Kullback-Leibler divergence from their mean distribution to
the softmax of its scores, over all earlier tokens in the warm-up, over the selected ones after it. Its input is detached:
the language loss does not reach it, and its loss reaches nothing else.
Letters: B batch, T time, S keys, H heads, K key dim, I index heads.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from lib.attention import mla
from lib.attention.layers.latent import DsaLayer, SparseCache

NONE = -1e30  # finite: a softmax over a row that is masked whole would be NaN


class Seen(NamedTuple):
    """What a pass leaves for those who look: the indexer's loss, the share of the dense top-k mass that was selected, and
    the selection itself `[B, T, S]`."""

    loss: Tensor
    recall: Tensor
    chosen: Tensor


class TrainedDsa(DsaLayer):
    """A `DsaLayer` whose sequence pass is differentiable in one piece. `dense=True` is the warm-up: attention sees all."""

    dense = False
    seen: Seen | None = None

    def forward(self, x: Tensor, cache: SparseCache | None = None) -> tuple[Tensor, SparseCache]:
        """`x [B, T, D]` -> `y [B, T, D]` and the cache, as `DsaLayer.forward`; what was seen stays in `seen`."""
        start = 0 if cache is None else len(cache.latent)
        cache = self.empty(x.shape[0]) if cache is None else cache
        cache, positions = self._grown(x, cache)
        q = self._heads(self._compressed(x), positions)
        k, v = mla.expand(cache.latent.rows, self.w_uk, self.w_uv)
        logits = self.scale * torch.einsum("bthk,bshk->bhts", q, k)
        causal = torch.ones(x.shape[1], k.shape[1], dtype=torch.bool, device=x.device).tril(start)
        index = self._scores(x, cache, positions).masked_fill(~causal, NONE)  # [B, T, S]
        chosen = _mask(index, self.top_k) & causal
        allowed = causal if self.dense else chosen
        weights = torch.softmax(logits.masked_fill(~(allowed if allowed.dim() == 2 else allowed[:, None]), NONE), -1)
        self.seen = self._look(weights, logits, index, chosen, causal)
        return self._output(x, torch.einsum("bhts,bshv->bthv", weights, v)), cache

    def selection(self, x: Tensor, cache: SparseCache, *, indices: Tensor | None = None) -> Tensor:
        """As `DsaLayer.selection`; -1 where there are fewer earlier tokens than the top-k."""
        positions = torch.arange(len(cache.keys) - x.shape[1], len(cache.keys), device=x.device)
        index = self._scores(x, cache, positions).masked_fill(
            torch.arange(len(cache.keys), device=x.device) > positions[:, None], NONE
        )
        chosen = largest(index, self.top_k)
        return torch.where(chosen <= positions[:, None], chosen, -1)

    def _scores(self, x: Tensor, cache: SparseCache, positions: Tensor) -> Tensor:
        """Index scores `[B, T, S]` from detached inputs (V3.2, eq. 1)."""
        with torch.no_grad():
            narrow = self._compressed(x)
        q = linear(narrow, self.w_index_q).unflatten(-1, (self.index_heads, self.index_dim))
        q = self._turned(q, positions)
        weights = linear(x.detach(), self.w_index_weights) * (self.index_heads * self.index_dim) ** -0.5
        dots = torch.relu(torch.einsum("btid,bsd->btis", q, cache.keys.rows))
        return torch.einsum("bti,btis->bts", weights, dots)

    def _turned(self, q: Tensor, positions: Tensor) -> Tensor:
        from lib.attention import dsa

        return dsa.rotate(q, positions[:, None], self.rope, base=self.base) if self.rotary else q

    def _index_keys(self, x: Tensor, positions: Tensor) -> Tensor:
        return super()._index_keys(x.detach(), positions)

    def _look(self, weights: Tensor, logits: Tensor, index: Tensor, chosen: Tensor, causal: Tensor) -> Seen:
        target = weights.detach().mean(1)  # [B, T, S] sums to one over s
        seen = causal if self.dense else chosen
        log_share = torch.log_softmax(index.masked_fill(~seen, NONE), -1)
        loss = (
            (torch.special.xlogy(target, target) - target * log_share.clamp_min(NONE))
            .masked_fill(~seen, 0)
            .sum(-1)
            .mean()
        )
        with torch.no_grad():
            full = torch.softmax(logits.masked_fill(~causal, NONE), -1).mean(1)
            best = full.topk(min(self.top_k, full.shape[-1]), -1).values.sum(-1)
            recall = ((full * chosen).sum(-1) / best).clamp_max(1).mean()
        return Seen(loss, recall, chosen)


def largest(scores: Tensor, n: int) -> Tensor:
    """Indices of the n largest of each row. Scores of a ReLU are often equal, namely 0: of equals the later token is taken,
    so that a sequence and its single steps choose alike."""
    backwards = scores.detach().flip(-1)
    order = torch.sort(backwards, dim=-1, descending=True, stable=True).indices[..., :n]
    return scores.shape[-1] - 1 - order


def _mask(scores: Tensor, n: int) -> Tensor:
    return torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, largest(scores, n), True)
