"""A million scenarios of a decode step, by the clock.

    python -m benchmarks.grid [--model NAME] [--rounds 3]

The grid is every chip of `data/chips.yml` with known figures, by contexts from 1 to 2^20, by batches from 1 to 1,024. A chip is an
object, so that chips are a loop of a few rounds; context and batch are NumPy axes. The cost model promises 2 seconds for the
million; this prints what it took, and asserts nothing.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

from lib.cost.capacity import max_batch
from lib.cost.step import decode_step
from lib.cost.system import System
from lib.data import model
from lib.data.chips import chips

SCENARIOS, BATCHES = 1_000_000, 128


def systems() -> list[System]:
    """Eight of each chip that has figures: experts and heads over all eight."""
    known = [chip for chip in chips().values() if not chip.measured and chip.link_bandwidth]
    return [System(chip, tensor=8, expert=8) for chip in known]


def run(name: str) -> tuple[int, float]:
    """(scenarios, seconds) of steps and capacities over the whole grid."""
    nodes = systems()
    contexts = np.linspace(1, 2**20, math.ceil(SCENARIOS / (BATCHES * len(nodes)))).astype(int)[:, None]
    batches = np.linspace(1, 1024, BATCHES).astype(int)
    started, count = time.perf_counter(), 0
    for node in nodes:
        count += decode_step(model(name), node, context=contexts, batch=batches).time_lower.size
        max_batch(model(name), node, context=contexts)
    return count, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="deepseek-v3.2", help="a model of data/models (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often to run (default: %(default)s)")
    chosen = parser.parse_args()
    for _ in range(chosen.rounds):
        count, seconds = run(chosen.model)
        print(f"{chosen.model}: {count:,} scenarios over {len(systems())} chips in {seconds:.2f} s")


if __name__ == "__main__":
    main()
