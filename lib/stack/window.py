"""Softmax over the last tokens with a sink a head and rotary positions, as MiMo's and gpt-oss's window layers are.

Letters: B batch, T time, H heads, K head dim, D hidden.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from lib.attention import rope, softmax
from lib.attention.layers.weights import Weights


class WindowCache(NamedTuple):
    """The last W - 1 tokens' rotated keys and values `[B, n, H, K]`, and how many tokens have passed."""

    keys: Tensor
    values: Tensor
    passed: int


class WindowLayer(nn.Module):
    """`window` keys, the token itself included; `sinks [H]` join the denominator only."""

    def __init__(self, hidden: int, *, heads: int, dim: int, window: int, base: float = 10000.0, **weights):
        super().__init__()
        self.heads, self.dim, self.window, self.base = heads, dim, window, base
        make = Weights(**weights)
        self.w_qkv, self.w_out = make.matrix(3 * heads * dim, hidden), make.matrix(hidden, heads * dim)
        self.sinks = make.zeros(heads)

    def empty(self, batch: int) -> WindowCache:
        none = self.w_qkv.new_empty(batch, 0, self.heads, self.dim)
        return WindowCache(none, none, 0)

    def forward(self, x: Tensor, cache: WindowCache | None = None) -> tuple[Tensor, WindowCache]:
        """`x [B, T, D]` -> `y [B, T, D]` and the cache after the last token."""
        cache = self.empty(x.shape[0]) if cache is None else cache
        q, k, v = linear(x, self.w_qkv).unflatten(-1, (3, self.heads, self.dim)).unbind(2)
        at = torch.arange(cache.passed, cache.passed + x.shape[1], device=x.device)
        q, k = (rope.rotate(y, at[:, None], interleaved=True, base=self.base) for y in (q, k))
        keys, values = torch.cat((cache.keys, k), 1), torch.cat((cache.values, v), 1)
        out, _ = softmax.forward(q, keys, values, window=self.window, sinks=self.sinks)
        kept = max(keys.shape[1] - self.window + 1, 0)
        return linear(out.flatten(-2), self.w_out), WindowCache(
            keys[:, kept:], values[:, kept:], cache.passed + x.shape[1]
        )

    def step(self, x: Tensor, cache: WindowCache) -> tuple[Tensor, WindowCache]:
        """One token `x [B, D]`."""
        y, cache = self.forward(x[:, None], cache)
        return y[:, 0], cache
