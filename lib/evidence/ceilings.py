"""Where a context stops being feasible on a stated node: by memory, by a latency target, by the number of sequences."""

from __future__ import annotations

from typing import NamedTuple

from lib.cost.capacity import ceiling, max_batch
from lib.cost.flops import decode_flops
from lib.cost.system import System
from lib.cost.weights import weights_held
from lib.data import Model, chip

MILLION = 2**20
TPOT = 0.050  # seconds a token: the target of agent serving in the DualPath report


def node(chip_name: str = "h200", count: int = 8) -> System:
    """One replica over `count` chips, caches of latents whole on each (tensor parallel)."""
    return System(chip(chip_name), tensor=count, expert=count)


def smallest_node(m: Model, chip_name: str = "h200") -> System:
    """The least power of two of chips on which the weights take at most 90 % of memory."""
    count = 1
    while weights_held(m, node(chip_name, count)) > 0.9 * node(chip_name, count).chip.memory_bytes:
        count *= 2
    return node(chip_name, count)


class Ceiling(NamedTuple):
    """Contexts in tokens; `sequences` is how many of the printed context fit at once."""

    system: System
    memory: int
    latency: int
    sequences: int


def ceilings(m: Model, context: float, system: System | None = None) -> Ceiling:
    """Ceilings of one sequence on the smallest node, and the number of sequences of `context` tokens that fit there."""
    system = system or smallest_node(m)
    return Ceiling(
        system,
        ceiling(m, system),
        ceiling(m, system, tpot=TPOT, memory=False),
        int(max_batch(m, system, context=context)),
    )


def step_slope(m: Model) -> float:
    """FLOPs that one more cached token adds to a step, between 512K and 1M tokens: windows and top-k are full."""
    return float(decode_flops(m, MILLION).total - decode_flops(m, MILLION // 2).total) / (MILLION / 2)
