"""Suite *stack*: the mechanisms of a whole stack in a row, one decode step with real layer counts, at 128K and 1M tokens.

No projections and no feed-forwards: what is compared is what the designs do differently. Where memory holds fewer layers'
caches than the stack has, layers take turns on as many distinct ones as fit; `buffers` counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from lib.data import Model
from lib.measure import subjects, work
from lib.measure.memory import PAGE, Pool
from lib.measure.point import Case, Plan, Point

CONTEXTS = (2**17, 2**20)


def plans(device: str, tokens: int = 2**20) -> Iterator[Plan]:
    for context in CONTEXTS:
        if context <= tokens:
            yield from (_plan(name, context) for name in subjects.STACKS)


def _plan(name: str, context: int) -> Plan:
    m = subjects.named(name)
    counts = m.mixer_counts
    least = sum(_size(spec, context) for spec, _ in counts)
    point = Point("stack", name, name, context, 1, "bfloat16", subjects.layers_in_words(m))
    whole = sum(count * _size(spec, context) for spec, count in counts)
    return Plan(
        point, work.stack(name, context), least, lambda pool: _case(m, context, pool), least=3, fast=False, want=whole
    )


def _size(spec, context: int) -> int:
    return -(-(subjects.kept_bytes(spec, context) + 64) // PAGE) * PAGE


def shares(counts: list[tuple], context: int, room: int) -> list[int]:
    """How many distinct caches each kind of layer gets: one each, then more in turn, until the room or the layers end."""
    sizes, given = [_size(spec, context) for spec, _ in counts], [1] * len(counts)
    left = room - sum(sizes)
    while True:
        wanting = [i for i, (_, n) in enumerate(counts) if given[i] < n and sizes[i] <= left]
        if not wanting:
            return given
        chosen = min(wanting, key=lambda i: given[i] / counts[i][1])
        given[chosen] += 1
        left -= sizes[chosen]


def _case(m: Model, context: int, pool: Pool) -> Case:
    from lib.measure.steps import step

    counts = m.mixer_counts
    given, start, made = shares(counts, context, pool.size), 0, {}
    for (spec, _), count in zip(counts, given, strict=True):
        steps = []
        for _ in range(count):
            steps.append(step(spec, pool.window(start), context, 1))
            start += _size(spec, context)
        made[id(spec)] = cycle(steps)
    # in the order of the stack: each layer takes the next cache of its kind
    order = [next(made[id(m.mechanisms[letter])]) for letter in m.pattern]

    def run() -> None:
        for one, _ in order:
            one()

    return Case([run], float(sum(count for _, count in order)), sum(given))


__all__ = ["CONTEXTS", "plans", "shares"]
