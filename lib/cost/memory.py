"""Bytes of one sequence: what is stored, and what one decode step reads. Two functions, since they differ by design.

Sparse attention stores every token and reads a few; a linear layer stores and reads a state that does not grow. `context` is
the number of tokens in the cache, a number or an array; results broadcast with it. No allocator: these are the lower bounds
that the mathematics sets.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from lib.data.mechanisms import Csa, Dsa, GatedDelta, Hca, Kda, Lightning, Mla, Softmax, Window
from lib.data.model import Model, Precision


class Bytes(NamedTuple):
    """Bytes by part: `kv` grows with context (keys and values, latents, compressed entries), `index` are index keys,
    `state` is recurrent state, convolution and compressor tails, `window` are the last tokens of window branches."""

    kv: np.ndarray
    index: np.ndarray
    state: np.ndarray
    window: np.ndarray
    total: np.ndarray


def _parts(kv=0.0, index=0.0, state=0.0, window=0.0) -> tuple:
    return kv, index, state, window


def keys_seen(tokens, window: int):
    """Keys that a window of `window` tokens holds after `tokens` tokens: the token itself counts."""
    return np.minimum(tokens, window)


def latent_bytes(m: Mla | Dsa, p: Precision) -> int:
    """One token's latent and rotary part in one layer."""
    return p.of("latent").bytes_for(m.latent) + p.of("rope").bytes_for(m.rope)


def entry_bytes(dim: int, rope: int, p: Precision) -> int:
    """One V4 entry: the unrotated part in its format, the rotated part in its own (448 + 8 + 128 = 584 as released)."""
    return p.of("entry").bytes_for(dim - rope) + p.of("rope").bytes_for(rope)


def window_entry_bytes(m: Window, p: Precision) -> int:
    """One token of a window layer."""
    if m.shared_kv:
        return m.kv_heads * entry_bytes(m.key_dim, m.rope, p)
    return m.kv_heads * (p.of("kv").bytes_for(m.key_dim) + p.of("kv").bytes_for(m.value_dim))


def _tail(dim: int, ratio: int, streams: int) -> int:
    """A compressor's unfinished group: values and weights, in float32 (V4 inference code)."""
    return 2 * (streams * ratio) * (streams * dim) * 4


@singledispatch
def stored(m, tokens, p: Precision) -> tuple:
    """(kv, index, state, window) bytes of one layer after `tokens` tokens."""
    raise TypeError(f"mixer {type(m).__name__}: wanted a mechanism of lib.data.mechanisms")


@stored.register
def _(m: Softmax, tokens, p: Precision) -> tuple:
    return _parts(kv=tokens * m.kv_heads * (p.of("kv").bytes_for(m.key_dim) + p.of("kv").bytes_for(m.value_dim)))


@stored.register
def _(m: Window, tokens, p: Precision) -> tuple:
    return _parts(window=keys_seen(tokens, m.window) * window_entry_bytes(m, p))


@stored.register
def _(m: Mla, tokens, p: Precision) -> tuple:
    return _parts(kv=tokens * latent_bytes(m, p))


@stored.register
def _(m: Dsa, tokens, p: Precision) -> tuple:
    index = tokens // m.index_pool * p.of("index").bytes_for(m.index_dim) if m.indexer == "own" else 0.0
    return _parts(kv=tokens * latent_bytes(m, p), index=index)


@stored.register
def _(m: GatedDelta, tokens, p: Precision) -> tuple:
    state = m.value_heads * m.key_dim * m.value_dim
    channels = 2 * m.key_heads * m.key_dim + m.value_heads * m.value_dim
    return _parts(state=p.of("state").bytes_for(state) + (m.conv - 1) * p.of("conv").bytes_for(channels))


@stored.register
def _(m: Kda, tokens, p: Precision) -> tuple:
    state = m.heads * m.key_dim * m.value_dim
    channels = m.heads * (2 * m.key_dim + m.value_dim)
    return _parts(state=p.of("state").bytes_for(state) + (m.conv - 1) * p.of("conv").bytes_for(channels))


@stored.register
def _(m: Lightning, tokens, p: Precision) -> tuple:
    return _parts(state=p.of("state").bytes_for(m.heads * m.key_dim * m.value_dim))


@stored.register
def _(m: Csa, tokens, p: Precision) -> tuple:
    entries, one = tokens // m.ratio, entry_bytes(m.head_dim, m.rope, p)
    tails = _tail(m.head_dim, m.ratio, 2) + _tail(m.index_dim, m.ratio, 2)
    return _parts(
        kv=entries * one,
        index=entries * p.of("index").bytes_for(m.index_dim),
        state=tails,
        window=keys_seen(tokens, m.window) * one,
    )


@stored.register
def _(m: Hca, tokens, p: Precision) -> tuple:
    one = entry_bytes(m.head_dim, m.rope, p)
    return _parts(
        kv=tokens // m.ratio * one, state=_tail(m.head_dim, m.ratio, 1), window=keys_seen(tokens, m.window) * one
    )


def read(m, tokens, p: Precision) -> tuple:
    """(kv, index, state, window) bytes that one layer reads for one token: all that it stores, but for a sparse layer's
    entries, of which it reads the selected ones."""
    kv, index, state, window = stored(m, tokens, p)
    if isinstance(m, Dsa):
        kv = np.minimum(tokens, m.top_k) * latent_bytes(m, p)
    if isinstance(m, Csa):
        kv = np.minimum(tokens // m.ratio, m.top_k) * entry_bytes(m.head_dim, m.rope, p)
    return kv, index, state, window


def _sum_layers(model: Model, context, precision: Precision | None, mtp: bool, one_layer) -> Bytes:
    tokens = np.asarray(context)
    if (tokens < 0).any():
        raise ValueError(f"context={context!r}: wanted tokens >= 0")
    p = precision or model.precision
    sums = [np.zeros(tokens.shape) for _ in range(4)]
    for mixer, count in model.mixers_with(mtp=mtp):
        for i, part in enumerate(one_layer(mixer, tokens, p)):
            sums[i] = sums[i] + count * part
    return Bytes(*sums, total=sum(sums))


def stored_bytes(model: Model, context, *, precision: Precision | None = None, mtp: bool = False) -> Bytes:
    """Bytes that one sequence of `context` tokens keeps, by part. `precision` replaces the model's own; with `mtp` the
    caches of its multi-token-prediction layers count too, as where they draft."""
    return _sum_layers(model, context, precision, mtp, stored)


def read_bytes(model: Model, context, *, precision: Precision | None = None, mtp: bool = False) -> Bytes:
    """Cache bytes that one decode step reads for one sequence of `context` tokens, by part; weights are not in it. With
    `mtp` one draft of each multi-token-prediction layer is in the step."""
    return _sum_layers(model, context, precision, mtp, read)
