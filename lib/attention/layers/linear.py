"""KDA and Gated DeltaNet layers: short convolution, SiLU, unit queries and keys, the delta rule, norm and gate a head.

Letters: B batch, T time, H heads, K key dim, V value dim, D hidden.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, silu

from lib.attention import checks, gated_delta, gates, kda, short_conv
from lib.attention.layers.weights import Weights


class DeltaCache(NamedTuple):
    """All that a linear layer keeps of the past, of one size for any context."""

    conv: Tensor  # [B, W - 1, 2 Hk K + H V] the last inputs of the convolution
    state: Tensor  # [B, H, K, V] float32 (float64 for float64)


class KdaLayer(nn.Module):
    """Kimi Delta Attention: Kimi Linear, section 4 (eq. 10); with `lower_bound` and a full-rank gate, Kimi K3, section 2.1.1.

    `decay_rank`: width of the low-rank decay projection. `gate_rank`: that of the output gate's, None at full rank.
    `lower_bound`: least log decay of a step (`gates.bounded_decay`); None: `gates.decay`.
    """

    def __init__(
        self, hidden: int, *, heads: int, key_dim: int, value_dim: int, conv: int, decay_rank: int,
        gate_rank: int | None, lower_bound: float | None, **weights,
    ):  # fmt: skip
        super().__init__()
        self.heads, self.key_dim, self.value_dim, self.lower_bound = heads, key_dim, value_dim, lower_bound
        keys, values, make = heads * key_dim, heads * value_dim, Weights(**weights)
        self.w_qkv, self.conv = make.matrix(2 * keys + values, hidden), make.matrix(2 * keys + values, conv)
        self.w_decay_down, self.w_decay_up = make.matrix(decay_rank, hidden), make.matrix(keys, decay_rank)
        self.a_log = make.log_rates(heads) if lower_bound is None else make.zeros(heads)
        self.decay_bias = make.decay_bias(keys) if lower_bound is None else make.zeros(keys)
        self.w_beta = make.matrix(heads, hidden)
        low = gate_rank is not None
        self.w_gate_down = make.matrix(gate_rank, hidden) if low else None
        self.w_gate_up = make.matrix(values, gate_rank if low else hidden)
        self.norm, self.w_out = make.ones(value_dim), make.matrix(hidden, values)

    def empty(self, batch: int) -> DeltaCache:
        """The cache before the first token."""
        return _empty(batch, self.conv, self.heads, self.key_dim, self.value_dim)

    def forward(self, x: Tensor, cache: DeltaCache | None = None) -> tuple[Tensor, DeltaCache]:
        """`x [B, T, D]` -> `y [B, T, D]` and the cache after the last token."""
        cache = self.empty(x.shape[0]) if cache is None else cache
        mixed, conv = short_conv.forward(linear(x, self.w_qkv), self.conv, cache=cache.conv)
        out, state = kda.chunked(*self._inputs(x, mixed), state=cache.state, check=False)
        return self._output(x, out), DeltaCache(conv, state)

    def step(self, x: Tensor, cache: DeltaCache) -> tuple[Tensor, DeltaCache]:
        """One token `x [B, D]` -> `y [B, D]` and the next cache."""
        mixed, conv = short_conv.step(linear(x, self.w_qkv), self.conv, cache.conv)
        out, state = kda.step(cache.state, *self._inputs(x, mixed), check=False)
        return self._output(x, out), DeltaCache(conv, state)

    def log_decay(self, x: Tensor) -> Tensor:
        """`x [..., D]` -> log decays `[..., H, K]`."""
        shape = (self.heads, self.key_dim)
        logits = linear(linear(x, self.w_decay_down), self.w_decay_up).unflatten(-1, shape)
        rate, bias = self.a_log[:, None], self.decay_bias.view(shape)
        if self.lower_bound is None:
            return gates.decay(logits, rate, bias)
        return gates.bounded_decay(logits, rate, bias, lower_bound=self.lower_bound)

    def _inputs(self, x: Tensor, mixed: Tensor) -> tuple[Tensor, ...]:
        q, k, v = _split(mixed, self.heads, self.heads, self.key_dim, self.value_dim)
        return gates.unit(q), gates.unit(k), v, self.log_decay(x), torch.sigmoid(linear(x, self.w_beta))

    def _output(self, x: Tensor, out: Tensor) -> Tensor:
        narrow = x if self.w_gate_down is None else linear(x, self.w_gate_down)
        gate = torch.sigmoid(linear(narrow, self.w_gate_up))
        return linear(gate * gates.rms_norm(out, self.norm).flatten(-2), self.w_out)


class GatedDeltaLayer(nn.Module):
    """Gated DeltaNet as Qwen3-Next has it: fewer key heads than value heads, one decay a value head, a SiLU gate."""

    def __init__(
        self, hidden: int, *, key_heads: int, value_heads: int, key_dim: int, value_dim: int, conv: int, **weights
    ):
        super().__init__()
        checks.multiple("value_heads", value_heads, "key_heads", key_heads)
        self.key_heads, self.heads, self.key_dim, self.value_dim = key_heads, value_heads, key_dim, value_dim
        keys, values, make = key_heads * key_dim, value_heads * value_dim, Weights(**weights)
        self.w_qkv, self.conv = make.matrix(2 * keys + values, hidden), make.matrix(2 * keys + values, conv)
        self.w_decay, self.a_log = make.matrix(value_heads, hidden), make.log_rates(value_heads)
        self.decay_bias, self.w_beta = make.decay_bias(value_heads), make.matrix(value_heads, hidden)
        self.w_gate, self.norm, self.w_out = (
            make.matrix(values, hidden),
            make.ones(value_dim),
            make.matrix(hidden, values),
        )

    def empty(self, batch: int) -> DeltaCache:
        """The cache before the first token."""
        return _empty(batch, self.conv, self.heads, self.key_dim, self.value_dim)

    def forward(self, x: Tensor, cache: DeltaCache | None = None) -> tuple[Tensor, DeltaCache]:
        """`x [B, T, D]` -> `y [B, T, D]` and the cache after the last token."""
        cache = self.empty(x.shape[0]) if cache is None else cache
        mixed, conv = short_conv.forward(linear(x, self.w_qkv), self.conv, cache=cache.conv)
        out, state = gated_delta.chunked(*self._inputs(x, mixed), state=cache.state, check=False)
        return self._output(x, out), DeltaCache(conv, state)

    def step(self, x: Tensor, cache: DeltaCache) -> tuple[Tensor, DeltaCache]:
        """One token `x [B, D]` -> `y [B, D]` and the next cache."""
        mixed, conv = short_conv.step(linear(x, self.w_qkv), self.conv, cache.conv)
        out, state = gated_delta.step(cache.state, *self._inputs(x, mixed), check=False)
        return self._output(x, out), DeltaCache(conv, state)

    def _inputs(self, x: Tensor, mixed: Tensor) -> tuple[Tensor, ...]:
        q, k, v = _split(mixed, self.key_heads, self.heads, self.key_dim, self.value_dim)
        # key head g serves the value heads g H / G … (g + 1) H / G - 1
        q, k = (gates.unit(y).repeat_interleave(self.heads // self.key_heads, -2) for y in (q, k))
        log_decay = gates.decay(linear(x, self.w_decay), self.a_log, self.decay_bias)
        return q, k, v, log_decay, torch.sigmoid(linear(x, self.w_beta))

    def _output(self, x: Tensor, out: Tensor) -> Tensor:
        return linear(silu(linear(x, self.w_gate)) * gates.rms_norm(out, self.norm).flatten(-2), self.w_out)


def _split(mixed: Tensor, key_heads: int, heads: int, key_dim: int, value_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """SiLU of the convolved channels as heads: q and k `[..., Hk, K]`, v `[..., H, V]`."""
    q, k, v = silu(mixed).split((key_heads * key_dim, key_heads * key_dim, heads * value_dim), -1)
    return (
        q.unflatten(-1, (key_heads, key_dim)),
        k.unflatten(-1, (key_heads, key_dim)),
        v.unflatten(-1, (heads, value_dim)),
    )


def _empty(batch: int, conv: Tensor, heads: int, key_dim: int, value_dim: int) -> DeltaCache:
    state = conv.new_zeros(batch, heads, key_dim, value_dim, dtype=checks.accumulating(conv.dtype))
    return DeltaCache(conv.new_zeros(batch, conv.shape[1] - 1, conv.shape[0]), state)
