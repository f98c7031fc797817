"""Suite *decode*: one step of one layer of each mechanism, from 4K to 1M tokens, at batch 1, 4 and 16; DSA also in parts."""

from __future__ import annotations

from collections.abc import Iterator

from lib.measure import subjects, work
from lib.measure.memory import Pool, windows
from lib.measure.point import Case, Plan, Point

CONTEXTS = tuple(2**p for p in range(12, 21))
BATCHES = (1, 4, 16)


def plans(device: str, tokens: int = 2**20) -> Iterator[Plan]:
    """Every point; a CPU measures larger batches only up to `tokens` tokens in all, a GPU wherever they fit."""
    for batch in BATCHES:
        for context in CONTEXTS:
            if device == "cuda" or batch * context <= tokens:
                yield from (one_layer(name, context, batch) for name in subjects.layers())
                yield hybrid(context, batch)
            if batch == 1:
                yield from (part(name, context) for name in work.PARTS)


def _plan(name: str, model: str, context: int, batch: int, variant: str = "") -> Plan:
    """A plan over one set of layers run in a row; bytes and work are their sums."""
    specs = work.row_of(name)
    need = sum(batch * subjects.kept_bytes(spec, context) + 64 for spec in specs)
    point = Point("decode", name, model, context, batch, "bfloat16", variant)
    build = _row(specs, context, batch)
    return Plan(point, work.decode(specs, context, batch), need, lambda pool: _case(pool, need, build))


def _row(specs: list, context: int, batch: int):
    """Build the steps of some layers, to be run one after the other."""

    def build(room):
        from lib.measure.steps import step

        made = [step(spec, room, context, batch) for spec in specs]
        runs = [run for run, _ in made]
        if len(runs) == 1:
            return made[0]
        return lambda: [run() for run in runs], sum(count for _, count in made)

    return build


def _case(pool: Pool, need: int, build) -> Case:
    made = [build(room) for room in windows(pool, need)]
    return Case([run for run, _ in made], made[0][1], len(made))


def one_layer(name: str, context: int, batch: int) -> Plan:
    return _plan(name, subjects.layers()[name].model, context, batch)


def hybrid(context: int, batch: int) -> Plan:
    """Three KDA layers and one MLA layer in a row; a reader divides by four for one layer."""
    return _plan("hybrid", subjects.HYBRID, context, batch, "3 KDA + 1 MLA")


def part(name: str, context: int) -> Plan:
    """One part of the DSA step, so that one sees what the index costs."""
    layer = subjects.layers()["dsa"]
    spec, kept = layer.spec, subjects.kept_bytes(layer.spec, context) + 64

    def build(room):
        import torch

        from lib.measure.steps import Sparse

        sparse = Sparse(spec, room, context, 1)
        if name == "score":
            return sparse.score, sparse.bytes["index"]
        if name == "select":
            scores = sparse.score()
            return lambda: sparse.select(scores), scores.nbytes
        chosen = torch.randperm(context, device=room.pool.device)[None, : sparse.chosen]
        return lambda: sparse.attend(chosen), sparse.bytes["core"]

    point = Point("decode", "dsa", layer.model, context, 1, "bfloat16", name)
    return Plan(point, work.part(name, context), kept, lambda pool: _case(pool, kept, build))
