"""Suite *tiers*: a step whose cache lies in memory, and in a file; what must stay close, and what a hot buffer saves.

MLA streams every latent. DSA keeps its index keys in memory, scores them, and gathers the selected rows, through a hot LRU
buffer or without; which rows, a synthetic process says (`lib.measure.tiers.selection`), since the index keys are random. A KDA
layer saves and restores its state. On a GPU memory is the host's, and rows travel to the device in each step.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from itertools import islice

import numpy as np
import torch

from lib.attention import dsa, merge, mla
from lib.measure import subjects, work
from lib.measure.memory import Pool
from lib.measure.point import Case, Plan, Point
from lib.measure.tiers.hot import Lru
from lib.measure.tiers.selection import selections
from lib.measure.tiers.store import File, Memory, read_bytes

CONTEXTS = (2**16, 2**18, 2**20)
BLOCK = 2**14  # rows a read when all are streamed: 18 MB
LOCALITIES = (0.0, 0.4, 0.9)
BUFFERS = (0.0, 0.02, 0.2)  # of the context; the last is what published systems keep on the GPU


def plans(device: str, tokens: int = 2**20) -> Iterator[Plan]:
    for context in (c for c in CONTEXTS if c <= tokens):
        for medium in ("memory", "file"):
            yield _plan("mla", context, medium, 0.0, 0.0, device)
            for locality in LOCALITIES:
                for buffer in BUFFERS if medium == "file" else BUFFERS[:1]:
                    yield _plan("dsa", context, medium, locality, buffer, device)
    for variant in ("save", "restore"):
        yield _plan("kda", 0, variant, 0.0, 0.0, device)


def _plan(name: str, context: int, medium: str, locality: float, buffer: float, device: str) -> Plan:
    layer = subjects.layers()[name]
    spec = layer.spec
    told = f"{medium}, locality {locality:g}, buffer {buffer:g}" if name == "dsa" else medium
    rows = int(buffer * context)
    need = subjects.kept_bytes(spec, context) + 64 + 2 * rows * (1152 if name == "dsa" else 0)
    point = Point("tiers", name, layer.model, context, 1, "bfloat16", told)
    makers = {"mla": _stream, "dsa": _gather, "kda": _state}
    return Plan(
        point,
        work.tiers(name, context),
        need,
        lambda pool: makers[name](spec, context, medium, locality, rows, pool, device),
        least=5,
        fast=False,
    )


class Log:
    """What each call read, beside the harness's times."""

    def __init__(self, store):
        self.store, self.read, self.hits = store, [], []

    def around(self, call) -> None:
        """Run a call and note the bytes that came from the file: as the system counts them, else as asked for."""
        asked, counted = self.store.moved, read_bytes()
        call()
        after = read_bytes()
        seen = after - counted if counted is not None and after is not None else 0
        self.read.append(
            float(seen if self.store.method in ("direct", "dropped") and seen else self.store.moved - asked)
        )

    def columns(self, locality=np.nan, buffer=np.nan) -> dict:
        return {
            "medium": self.store.medium, "method": self.store.method, "bytes_read": self.read, "hit_rate": self.hits or np.nan,
            "buffer": buffer, "locality": locality,
        }  # fmt: skip


def _kept(medium: str, rows: torch.Tensor):
    return Memory(rows) if medium == "memory" else File(rows)


def _stream(m, context: int, medium: str, locality: float, rows: int, pool: Pool, device: str) -> Case:
    """MLA: block after block, each a partial attention; they merge at the end."""
    cache = pool.window(0).tensor(context, m.latent + m.rope)
    store, q = _kept(medium, cache), pool.randn(1, m.heads, m.latent + m.rope).to(device)
    log = Log(store)

    def step() -> None:
        parts = [
            mla.decode(q, block.to(device)[None], latent_dim=m.latent, scale=(m.nope + m.rope) ** -0.5)
            for block in store.blocks(BLOCK)
        ]
        merge([out for out, _ in parts], [lse for _, lse in parts])

    return Case([lambda: log.around(step)], float(cache.nbytes), extra=log.columns, finish=store.close)


def _gather(m, context: int, medium: str, locality: float, capacity: int, pool: Pool, device: str) -> Case:
    """DSA: score the keys in memory, then fetch the rows of the next selection, those in the hot buffer from there."""
    room = pool.window(0)
    cache, keys = room.tensor(context, m.latent + m.rope), room.tensor(1, context, m.index_dim).to(device)
    hot = room.tensor(capacity, m.latent + m.rope)
    q, index_q = (
        pool.randn(1, m.heads, m.latent + m.rope).to(device),
        pool.randn(1, m.index_heads, m.index_dim).to(device),
    )
    weights = pool.randn(1, m.index_heads).to(device)
    chosen = min(m.top_k, context)
    store, lru, process = _kept(medium, cache), Lru(context, capacity), selections(context, chosen, locality)
    log, got = Log(store), torch.empty(chosen, m.latent + m.rope, dtype=torch.bfloat16)
    _warm(lru, process, cache, hot, capacity, chosen)
    order = torch.arange(chosen, device=device)[None]

    def fetch(rows: np.ndarray) -> None:
        hit, missed, slots = lru.use(rows)
        log.hits.append(float(hit.mean()))
        got[torch.from_numpy(np.flatnonzero(hit))] = hot[torch.from_numpy(lru.slot[rows[hit]])]
        far = torch.empty(len(missed), got.shape[1], dtype=got.dtype)
        if len(missed):
            store.gather(missed, far)
        got[torch.from_numpy(np.flatnonzero(~hit))] = far
        kept = slots >= 0
        hot[torch.from_numpy(slots[kept])] = far[torch.from_numpy(np.flatnonzero(kept))]

    def step() -> None:
        dsa.select(
            dsa.index_scores(index_q, weights, keys), chosen
        )  # the work of choosing; the process says what is chosen
        fetch(next(process))
        dsa.decode(q, got.to(device)[None], order, latent_dim=m.latent, scale=(m.nope + m.rope) ** -0.5)

    counted = float(keys.nbytes + got.nbytes)
    return Case(
        [lambda: log.around(step)], counted, extra=lambda: log.columns(locality, capacity / context), finish=store.close
    )


def _warm(lru: Lru, process, cache: torch.Tensor, hot: torch.Tensor, capacity: int, chosen: int) -> None:
    """Fill the buffer with what the process used before the first step that is timed."""
    if not capacity:
        return
    for rows in islice(process, 4 * -(-capacity // chosen)):
        lru.use(rows)
    held = torch.from_numpy(lru.holds.clip(0))
    for part in torch.arange(capacity).split(BLOCK):
        hot[part] = cache[held[part]]


def _state(m, context: int, variant: str, locality: float, rows: int, pool: Pool, device: str) -> Case:
    """KDA: the state to the file and onto the disk, or back."""
    state = pool.window(0).tensor(m.heads * m.key_dim, m.value_dim, dtype=torch.float32)
    store = File(state.view(torch.bfloat16).view(len(state), -1))
    log, data = Log(store), np.frombuffer(mmap.mmap(-1, state.nbytes), np.uint8)
    data[:] = state.view(torch.uint8).view(-1).numpy()
    call = store.save if variant == "save" else store.load
    return Case([lambda: log.around(lambda: call(data))], float(state.nbytes), extra=log.columns, finish=store.close)
