"""Suite *decode*: one step of one layer of each mechanism, from 4K to 1M tokens, at batch 1, 4 and 16; DSA also in parts."""

from __future__ import annotations

from collections.abc import Iterator

from lib.measure import subjects
from lib.measure.memory import Pool, windows
from lib.measure.point import Case, Plan, Point, Work

CONTEXTS = tuple(2**p for p in range(12, 21))
BATCHES = (1, 4, 16)
PARTS = ("score", "select", "attend")


def plans(device: str, tokens: int = 2**20) -> Iterator[Plan]:
    """Every point; a CPU measures larger batches only up to `tokens` tokens in all, a GPU wherever they fit."""
    for batch in BATCHES:
        for context in CONTEXTS:
            if device == "cuda" or batch * context <= tokens:
                yield from (one_layer(name, context, batch) for name in subjects.layers())
                yield hybrid(context, batch)
            if batch == 1:
                yield from (part(name, context) for name in PARTS)


def _plan(name: str, model: str, context: int, batch: int, specs: list, variant: str = "", build=None) -> Plan:
    """A plan over one set of layers run in a row; bytes and work are their sums."""
    work = Work(batch * sum(subjects.step_bytes(s, context) for s in specs), batch * sum(subjects.step_flops(s, context) for s in specs))  # fmt: skip
    need = sum(batch * subjects.kept_bytes(s, context) + 64 for s in specs)
    return Plan(Point("decode", name, model, context, batch, "bfloat16", variant), work, need, lambda pool: _case(pool, need, build or _row(specs, context, batch)))  # fmt: skip


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
    layer = subjects.layers()[name]
    return _plan(name, layer.model, context, batch, [layer.spec])


def hybrid(context: int, batch: int) -> Plan:
    """Three KDA layers and one MLA layer in a row; a reader divides by four for one layer."""
    known = subjects.layers()
    return _plan("hybrid", subjects.HYBRID, context, batch, 3 * [known["kda"].spec] + [known["mla"].spec], "3 KDA + 1 MLA")  # fmt: skip


def part(name: str, context: int) -> Plan:
    """One part of the DSA step, so that one sees what the index costs."""
    layer = subjects.layers()["dsa"]
    spec, kept = layer.spec, subjects.kept_bytes(layer.spec, context) + 64
    whole, core = subjects.step_flops(spec, context), subjects.core_flops(spec, context)
    index = subjects.index_bytes(spec, context)
    work = {"score": Work(index, whole - core), "select": Work(2.0 * context, 0.0), "attend": Work(subjects.step_bytes(spec, context) - index, core)}[name]  # fmt: skip

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
    return Plan(point, work, kept, lambda pool: _case(pool, kept, build))
