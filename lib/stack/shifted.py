"""A short convolution before an attention layer, as linear layers have one inside.

Recall takes two steps: bring a key beside its value, then look the key up. Linear layers get the first from their convolution;
softmax layers must form a head for it, which at this size takes fifty times as many examples. With the same convolution
before every layer, what is compared is how layers remember.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from lib.attention import short_conv
from lib.attention.layers.weights import Weights


class ShiftedCache(NamedTuple):
    """The convolution's last inputs and the layer's own cache."""

    conv: Tensor
    inner: object


class Shifted(nn.Module):
    """`layer(x + conv(x))`."""

    def __init__(self, layer: nn.Module, hidden: int, conv: int, seed: int):
        super().__init__()
        self.layer, self.conv = layer, Weights(seed=seed).matrix(hidden, conv)

    def empty(self, batch: int) -> ShiftedCache:
        tail = self.conv.new_zeros(batch, self.conv.shape[1] - 1, self.conv.shape[0])
        return ShiftedCache(tail, self.layer.empty(batch))

    def forward(self, x: Tensor, cache: ShiftedCache | None = None) -> tuple[Tensor, ShiftedCache]:
        """`x [B, T, D]` -> `y [B, T, D]` and the cache after the last token."""
        cache = self.empty(x.shape[0]) if cache is None else cache
        near, conv = short_conv.forward(x, self.conv, cache=cache.conv)
        y, inner = self.layer(x + near, cache.inner)
        return y, ShiftedCache(conv, inner)

    def step(self, x: Tensor, cache: ShiftedCache) -> tuple[Tensor, ShiftedCache]:
        """One token `x [B, D]`."""
        near, conv = short_conv.step(x, self.conv, cache.conv)
        y, inner = self.layer.step(x + near, cache.inner)
        return y, ShiftedCache(conv, inner)
