"""What a paged allocator reserves, beside the bytes that the mathematics needs.

A paged cache hands out blocks. Here every layer has its own: a block holds `block` tokens of a layer's keys, values or
latents; where one entry stands for several tokens it holds the entries of `block` tokens, but at least one. The last block
of a sequence is whole however little of it is used. Recurrent states and compressor tails are one piece each. So a layer
wastes less than one block for each thing that it caches, and nothing with blocks of one token.

Some servers put states and caches of a hybrid into pages of one size; `unified_block` says how many tokens such a page has.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from lib.cost.memory import Bytes, entry_bytes, latent_bytes, stored, window_entry_bytes
from lib.cost.system import System, cache_share
from lib.data.mechanisms import Csa, Dsa, Hca, Linear, Mla, Softmax, Window
from lib.data.model import Model, Precision


class Growth(NamedTuple):
    """One thing that a layer caches: an entry of `entry` bytes for every `ratio` tokens, of the last `last` tokens if it is a
    window, counted in the `part` of `lib.cost.memory.Bytes`."""

    part: str
    entry: int
    ratio: int = 1
    last: int | None = None

    def entries(self, tokens):
        """Entries after `tokens` tokens."""
        return np.asarray(tokens) // self.ratio if self.last is None else np.minimum(tokens, self.last)

    def block(self, block: int) -> int:
        """Entries that a block of `block` tokens holds."""
        return max(1, block // self.ratio)

    def reserved(self, tokens, block: int):
        """Bytes of the blocks that hold the entries."""
        size = self.block(block)
        return -(-self.entries(tokens) // size) * size * self.entry


@singledispatch
def growth(m, p: Precision) -> tuple[Growth, ...]:
    """What one layer caches token by token; nothing for a linear layer."""
    raise TypeError(f"mixer {type(m).__name__}: wanted a mechanism of lib.data.mechanisms")


@growth.register(Linear)
def _(m, p: Precision) -> tuple[Growth, ...]:
    return ()


@growth.register
def _(m: Softmax, p: Precision) -> tuple[Growth, ...]:
    return (Growth("kv", m.kv_heads * (p.of("kv").bytes_for(m.key_dim) + p.of("kv").bytes_for(m.value_dim))),)


@growth.register
def _(m: Window, p: Precision) -> tuple[Growth, ...]:
    return (Growth("window", window_entry_bytes(m, p), last=m.window),)


@growth.register
def _(m: Mla, p: Precision) -> tuple[Growth, ...]:
    return (Growth("kv", latent_bytes(m, p)),)


@growth.register
def _(m: Dsa, p: Precision) -> tuple[Growth, ...]:
    keys = Growth("index", p.of("index").bytes_for(m.index_dim), m.index_pool)
    return (Growth("kv", latent_bytes(m, p)), *((keys,) if m.indexer == "own" else ()))


@growth.register
def _(m: Csa, p: Precision) -> tuple[Growth, ...]:
    one = entry_bytes(m.head_dim, m.rope, p)
    keys = Growth("index", p.of("index").bytes_for(m.index_dim), m.ratio)
    return (Growth("kv", one, m.ratio), keys, Growth("window", one, last=m.window))


@growth.register
def _(m: Hca, p: Precision) -> tuple[Growth, ...]:
    one = entry_bytes(m.head_dim, m.rope, p)
    return (Growth("kv", one, m.ratio), Growth("window", one, last=m.window))


def reserved(m, tokens, p: Precision, block: int) -> dict[str, np.ndarray]:
    """Bytes by part that one layer reserves after `tokens` tokens."""
    parts = dict.fromkeys(Bytes._fields[:-1], np.zeros(np.shape(tokens)))
    parts["state"] = parts["state"] + stored(m, tokens, p)[2]
    for thing in growth(m, p):
        parts[thing.part] = parts[thing.part] + thing.reserved(tokens, block)
    return parts


def _check(context, block: int) -> None:
    if np.any(np.asarray(context) < 0):
        raise ValueError(f"context={context!r}: wanted tokens >= 0")
    if isinstance(block, bool) or not isinstance(block, int) or block < 1:
        raise ValueError(f"block={block!r}: wanted a whole number of tokens, 1 or more")


def reserved_bytes(model: Model, context, *, block: int, precision: Precision | None = None) -> Bytes:
    """Bytes that a paged allocator reserves for one sequence of `context` tokens, by part, on one chip."""
    tokens, p = np.asarray(context), precision or model.precision
    _check(context, block)
    sums = dict.fromkeys(Bytes._fields[:-1], np.zeros(tokens.shape))
    for mixer, count in model.mixer_counts:
        for part, size in reserved(mixer, tokens, p, block).items():
            sums[part] = sums[part] + count * size
    return Bytes(**sums, total=sum(sums.values()))


def reserved_held(
    model: Model, system: System, context, *, block: int, precision: Precision | None = None
) -> np.ndarray:
    """Bytes that one chip reserves for one sequence of its replica, each layer's share as `cache_share` says. Chips that split
    a context round up together here: at most a block a layer and chip too little."""
    tokens, p = np.asarray(context), precision or model.precision
    _check(context, block)
    total = np.zeros(tokens.shape)
    for mixer, count in model.mixer_counts:
        share = cache_share(mixer, system.tensor, system.context)
        total = total + count * share * sum(reserved(mixer, tokens, p, block).values())
    return total


class Page(NamedTuple):
    """`block` tokens in a page, `waste`: the part by which it is larger than the state that must fit."""

    block: int
    waste: float


def unified_block(model: Model, *, tensor: int = 1, align: int = 64, precision: Precision | None = None) -> Page:
    """Tokens in a page of a growing layer that is to hold a recurrent state too, on one of `tensor` chips: the least multiple
    of `align` whose keys, values or latents take as many bytes as the largest state. ValueError for a model without both."""
    p = precision or model.precision
    mixers = [mixer for mixer, _ in model.mixer_counts]
    states = [stored(m, 0, p)[2] * cache_share(m, tensor) for m in mixers if isinstance(m, Linear)]
    tokens = [
        one.entry * cache_share(m, tensor)
        for m in mixers
        for one in growth(m, p)
        if one.part == "kv" and one.ratio == 1
    ]
    if not states or not tokens:
        raise ValueError(f"model {model.name}: wanted linear layers and layers whose cache grows with each token")
    need = max(states) / min(tokens)
    block = int(-(-need // align) * align)
    return Page(block, block / need - 1)
