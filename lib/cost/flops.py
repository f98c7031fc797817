"""Floating-point operations of one decode step and of a whole prefill, by part. A multiply and an add are two.

`attention` is what queries do to keys, values or latents, `index` what an indexer does, `state` a recurrent layer's work on its
state, `linear` twice the active parameters. Decode counts MLA in its absorbed form (queries meet latents), prefill in its
expanded form (heads meet keys and values), as they are run.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from lib.cost.memory import keys_seen
from lib.cost.parameters import parameters
from lib.data.mechanisms import Csa, Dsa, GatedDelta, Hca, Kda, Lightning, Mla, Softmax, Window
from lib.data.model import Model

CHUNK = 64  # tokens a chunk in the linear layers' prefill (Kimi Linear, section 3.1)


class Flops(NamedTuple):
    linear: np.ndarray
    attention: np.ndarray
    index: np.ndarray
    state: np.ndarray
    total: np.ndarray


def _parts(attention=0.0, index=0.0, state=0.0) -> tuple:
    return attention, index, state


@singledispatch
def decode(m, tokens) -> tuple:
    """(attention, index, state) FLOPs of one layer for one token that sees `tokens` tokens, itself included."""
    raise TypeError(f"mixer {type(m).__name__}: wanted a mechanism of lib.data.mechanisms")


@decode.register
def _(m: Softmax, tokens) -> tuple:
    return _parts(attention=2.0 * m.heads * (m.key_dim + m.value_dim) * tokens)


@decode.register
def _(m: Window, tokens) -> tuple:
    return _parts(attention=2.0 * m.heads * (m.key_dim + m.value_dim) * keys_seen(tokens, m.window))


@decode.register
def _(m: Mla, tokens) -> tuple:
    return _parts(attention=absorbed_flops(m) * tokens)


@decode.register
def _(m: Dsa, tokens) -> tuple:
    return _parts(
        attention=absorbed_flops(m) * np.minimum(tokens, m.top_k), index=index_flops(m) * (tokens // m.index_pool)
    )


def absorbed_flops(m: Mla | Dsa) -> float:
    """A query against one latent: scores over latent and rotary part, values over the latent."""
    return 2.0 * m.heads * (m.latent + m.rope + m.latent)


def index_flops(m: Dsa | Csa) -> float:
    """An index query against one index key; a shared indexer does none. The ReLU and the weighted sum are left out."""
    return 0.0 if getattr(m, "indexer", "own") == "shared" else 2.0 * m.index_heads * m.index_dim


def step_flops(key_dim: int, value_dim: int, heads: int) -> float:
    """One delta-rule step: decay (1), predict (2), write (2), read (2) on each of the state's numbers."""
    return 7.0 * heads * key_dim * value_dim


@decode.register
def _(m: GatedDelta, tokens) -> tuple:
    return _parts(state=step_flops(m.key_dim, m.value_dim, m.value_heads))


@decode.register
def _(m: Kda, tokens) -> tuple:
    return _parts(state=step_flops(m.key_dim, m.value_dim, m.heads))


@decode.register
def _(m: Lightning, tokens) -> tuple:
    # decay (1), write (2), read (2) on each of the state's numbers: a delta step without its prediction
    return _parts(state=5.0 * m.heads * m.key_dim * m.value_dim)


@decode.register
def _(m: Csa, tokens) -> tuple:
    seen = np.minimum(tokens // m.ratio, m.top_k) + keys_seen(tokens, m.window)
    return _parts(attention=4.0 * m.heads * m.head_dim * seen, index=index_flops(m) * (tokens // m.ratio))


@decode.register
def _(m: Hca, tokens) -> tuple:
    return _parts(attention=4.0 * m.heads * m.head_dim * (tokens // m.ratio + keys_seen(tokens, m.window)))


def decode_flops(model: Model, context, *, mtp: bool = False) -> Flops:
    """FLOPs of one decode step at `context` tokens in the cache, the new one included, for one sequence; with `mtp` one
    draft of each multi-token-prediction layer is in the step."""
    tokens = np.asarray(context)
    if (tokens < 0).any():
        raise ValueError(f"context={context!r}: wanted tokens >= 0")
    sums = [np.zeros(tokens.shape) for _ in range(3)]
    for mixer, count in model.mixers_with(mtp=mtp):
        for i, part in enumerate(decode(mixer, tokens)):
            sums[i] = sums[i] + count * part
    linear = np.full(tokens.shape, 2.0 * parameters(model, mtp=mtp).active)
    return Flops(linear, *sums, total=linear + sum(sums))


def chunk_flops(key_dim: int, value_dim: int, chunk: int = CHUNK) -> float:
    """A token and head of the chunkwise delta rule: 6 d^2 + 3 C d + C^2 with d^2 = K V and d = (K + V) / 2
    (Kimi Linear, section 6.3, which has K = V = d)."""
    return 6.0 * key_dim * value_dim + 1.5 * chunk * (key_dim + value_dim) + chunk**2


def lightning_chunk_flops(key_dim: int, value_dim: int, chunk: int = CHUNK) -> float:
    """A token and head of chunkwise linear attention without a delta rule: reading and writing the state (4 K V), and
    the causal half of a chunk's scores and their sum of values (C (K + V))."""
    return 4.0 * key_dim * value_dim + chunk * (key_dim + value_dim)


def causal_pairs(tokens):
    """Query-key pairs of a causal prefill: 1 + 2 + … + T."""
    return tokens * (tokens + 1) / 2


def capped_pairs(tokens, cap: int):
    """Pairs when a query sees at most `cap` keys: the sum over t = 1 … T of min(t, cap)."""
    full = np.minimum(tokens, cap)
    return causal_pairs(full) + (tokens - full) * cap


def grouped_pairs(tokens, group: int):
    """Pairs of queries with complete groups of `group` tokens: the sum over t = 1 … T of floor(t / group)."""
    groups, rest = tokens // group, tokens % group
    return group * groups * (groups - 1) / 2 + groups * (rest + 1)


def capped_grouped_pairs(tokens, group: int, cap: int):
    """The sum over t = 1 … T of min(floor(t / group), cap)."""
    below = np.minimum(tokens, group * cap - 1)  # the last t whose floor(t / group) is under the cap
    return grouped_pairs(below, group) + (tokens - below) * cap


@singledispatch
def prefill(m, tokens) -> tuple:
    """(attention, index, state) FLOPs of one layer for a causal prefill of `tokens` tokens."""
    raise TypeError(f"mixer {type(m).__name__}: wanted a mechanism of lib.data.mechanisms")


@prefill.register
def _(m: Softmax, tokens) -> tuple:
    return _parts(attention=2.0 * m.heads * (m.key_dim + m.value_dim) * causal_pairs(tokens))


@prefill.register
def _(m: Window, tokens) -> tuple:
    return _parts(attention=2.0 * m.heads * (m.key_dim + m.value_dim) * capped_pairs(tokens, m.window))


@prefill.register
def _(m: Mla, tokens) -> tuple:
    return _parts(attention=2.0 * m.heads * (m.nope + m.rope + m.value) * causal_pairs(tokens))


@prefill.register
def _(m: Dsa, tokens) -> tuple:
    # the sparse core runs in absorbed form, one latent serving all heads; the indexer sees every earlier (pooled) key
    attention = absorbed_flops(m) * capped_pairs(tokens, m.top_k)
    return _parts(attention=attention, index=index_flops(m) * grouped_pairs(tokens, m.index_pool))


@prefill.register
def _(m: GatedDelta, tokens) -> tuple:
    return _parts(state=m.value_heads * chunk_flops(m.key_dim, m.value_dim) * tokens)


@prefill.register
def _(m: Kda, tokens) -> tuple:
    return _parts(state=m.heads * chunk_flops(m.key_dim, m.value_dim) * tokens)


@prefill.register
def _(m: Lightning, tokens) -> tuple:
    return _parts(state=m.heads * lightning_chunk_flops(m.key_dim, m.value_dim) * tokens)


@prefill.register
def _(m: Csa, tokens) -> tuple:
    pairs = capped_grouped_pairs(tokens, m.ratio, m.top_k) + capped_pairs(tokens, m.window)
    return _parts(attention=4.0 * m.heads * m.head_dim * pairs, index=index_flops(m) * grouped_pairs(tokens, m.ratio))


@prefill.register
def _(m: Hca, tokens) -> tuple:
    pairs = grouped_pairs(tokens, m.ratio) + capped_pairs(tokens, m.window)
    return _parts(attention=4.0 * m.heads * m.head_dim * pairs)


def prefill_flops(model: Model, context, *, mtp: bool = False) -> Flops:
    """FLOPs of a causal prefill of `context` tokens, for one sequence; the output head runs for the last token only. With
    `mtp` the multi-token-prediction layers fill their caches too."""
    tokens = np.asarray(context, dtype=float)
    if (tokens < 0).any():
        raise ValueError(f"context={context!r}: wanted tokens >= 0")
    sums = [np.zeros(tokens.shape) for _ in range(3)]
    for mixer, count in model.mixers_with(mtp=mtp):
        for i, part in enumerate(prefill(mixer, tokens)):
            sums[i] = sums[i] + count * part
    counted = parameters(model, mtp=mtp)
    linear = 2.0 * (counted.active - counted.head) * tokens + 2.0 * counted.head * (tokens > 0)
    return Flops(linear, *sums, total=linear + sum(sums))
