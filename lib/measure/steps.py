"""One decode step of each mechanism, on tensors from a window of the pool.

Letters as in `lib.attention`: B batch, T time, H heads, G key-value heads, K key dim, V value dim, C latent dim, R rotary
dim, D index dim, M entries, W window.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import torch

from lib.attention import csa, dsa, gated_delta, kda, mla, softmax
from lib.data.mechanisms import Csa, Dsa, GatedDelta, Hca, Kda, Mla, Softmax, Window
from lib.measure.memory import Window as Room

Run = Callable[[], object]


@singledispatch
def step(spec, room: Room, context: int, batch: int) -> tuple[Run, float]:
    """The step as a call without arguments, and the bytes that it moves as counted from its tensors."""
    raise TypeError(f"spec: got {type(spec).__name__}, wanted a mechanism that lib.attention has")


@step.register
def _(m: Softmax, room: Room, context: int, batch: int) -> tuple[Run, float]:
    q = room.pool.randn(batch, m.heads, m.key_dim)
    k, v = (room.tensor(batch, context, m.kv_heads, dim) for dim in (m.key_dim, m.value_dim))
    return lambda: softmax.decode(q, k, v), k.nbytes + v.nbytes


@step.register
def _(m: Window, room: Room, context: int, batch: int) -> tuple[Run, float]:
    kept, sinks = min(context, m.window), room.pool.randn(m.heads) if m.sinks else None
    q = room.pool.randn(batch, m.heads, m.key_dim)
    if m.shared_kv:  # one entry is key and value, as in V4: its compressed attention without entries
        near, none = room.tensor(batch, kept, m.key_dim), room.tensor(batch, 0, m.key_dim)
        return lambda: csa.decode(q, near, none, sinks=sinks), near.nbytes
    k, v = (room.tensor(batch, kept, m.kv_heads, dim) for dim in (m.key_dim, m.value_dim))
    return lambda: softmax.decode(q, k, v, window=m.window, sinks=sinks), k.nbytes + v.nbytes


@step.register
def _(m: Mla, room: Room, context: int, batch: int) -> tuple[Run, float]:
    q, cache = room.pool.randn(batch, m.heads, m.latent + m.rope), room.tensor(batch, context, m.latent + m.rope)
    scale = (m.nope + m.rope) ** -0.5
    return lambda: mla.decode(q, cache, latent_dim=m.latent, scale=scale), cache.nbytes


@step.register
def _(m: Kda, room: Room, context: int, batch: int) -> tuple[Run, float]:
    inputs = _token(room, batch, m.heads, m.key_dim, m.value_dim, (m.key_dim,))
    state = room.tensor(batch, m.heads, m.key_dim, m.value_dim, dtype=torch.float32)
    return lambda: kda.step(state, *inputs, check=False), 2 * state.nbytes


@step.register
def _(m: GatedDelta, room: Room, context: int, batch: int) -> tuple[Run, float]:
    inputs = _token(room, batch, m.value_heads, m.key_dim, m.value_dim, ())
    state = room.tensor(batch, m.value_heads, m.key_dim, m.value_dim, dtype=torch.float32)
    return lambda: gated_delta.step(state, *inputs, check=False), 2 * state.nbytes


def _token(room: Room, batch: int, heads: int, keys: int, values: int, decays: tuple) -> tuple:
    """One token's inputs: unit queries and keys, values, log decays of a trained model's size, write strengths."""
    q, k = (torch.nn.functional.normalize(room.pool.randn(batch, heads, keys), dim=-1) for _ in range(2))
    log_decay = -torch.nn.functional.softplus(room.pool.randn(batch, heads, *decays) - 3)
    return q, k, room.pool.randn(batch, heads, values), log_decay, torch.sigmoid(room.pool.randn(batch, heads))


class Sparse:
    """The three parts of a DSA step: score every index key, select, attend to what was selected."""

    def __init__(self, m: Dsa, room: Room, context: int, batch: int):
        self.m, width = m, m.latent + m.rope
        self.q, self.cache = room.pool.randn(batch, m.heads, width), room.tensor(batch, context, width)
        self.keys = room.tensor(batch, context // m.index_pool, m.index_dim)
        self.index_q = room.pool.randn(batch, m.index_heads, m.index_dim)
        self.weights = room.pool.randn(batch, m.index_heads) * (m.index_heads * m.index_dim) ** -0.5
        self.scale, self.chosen = (m.nope + m.rope) ** -0.5, min(m.top_k, context)

    def score(self) -> torch.Tensor:
        return dsa.index_scores(self.index_q, self.weights, self.keys)

    def select(self, scores: torch.Tensor) -> torch.Tensor:
        """The tokens of the best index keys: of each key one, or all `index_pool` that it stands for."""
        pool = self.m.index_pool
        groups = dsa.select(scores, self.chosen // pool)
        return groups if pool == 1 else (groups[..., None] * pool + torch.arange(pool, device=groups.device)).flatten(1)

    def attend(self, indices: torch.Tensor) -> tuple:
        return dsa.decode(self.q, self.cache, indices, latent_dim=self.m.latent, scale=self.scale)

    def run(self) -> tuple:
        return self.attend(self.select(self.score()))

    @property
    def bytes(self) -> dict[str, float]:
        """What each part reads."""
        row = self.cache[:, :1].nbytes
        return {"index": self.keys.nbytes, "core": row * self.chosen}


@step.register
def _(m: Dsa, room: Room, context: int, batch: int) -> tuple[Run, float]:
    parts = Sparse(m, room, context, batch)
    return parts.run, sum(parts.bytes.values())


@step.register
def _(m: Csa, room: Room, context: int, batch: int) -> tuple[Run, float]:
    count, chosen = csa.visible(context - 1, m.ratio), min(m.top_k, context // m.ratio)
    q, sinks = room.pool.randn(batch, m.heads, m.head_dim), room.pool.randn(m.heads)
    near = room.tensor(batch, min(m.window, context), m.head_dim)
    entries, keys = room.tensor(batch, count, m.head_dim), room.tensor(batch, count, m.index_dim)
    index_q = room.pool.randn(batch, m.index_heads, m.index_dim)
    weights = room.pool.randn(batch, m.index_heads) * (m.index_heads * m.index_dim) ** -0.5

    def run() -> tuple:
        scores = dsa.index_scores(index_q, weights, keys)
        indices = csa.select(scores, chosen, position=context - 1, ratio=m.ratio)
        return csa.decode(q, near, entries, indices, sinks=sinks)

    return run, near.nbytes + keys.nbytes + entries[:, :1].nbytes * chosen


@step.register
def _(m: Hca, room: Room, context: int, batch: int) -> tuple[Run, float]:
    q, sinks = room.pool.randn(batch, m.heads, m.head_dim), room.pool.randn(m.heads)
    near = room.tensor(batch, min(m.window, context), m.head_dim)
    entries = room.tensor(batch, csa.visible(context - 1, m.ratio), m.head_dim)
    return lambda: csa.decode(q, near, entries, sinks=sinks), near.nbytes + entries.nbytes
