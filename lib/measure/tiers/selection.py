"""A stated synthetic process in place of a trained indexer: which tokens a layer selects, step after step.

From one step to the next each selected token stays with probability `locality`; the others are drawn anew, all tokens alike.
So two consecutive selections share `locality` of their rows, up to what chance adds, and nothing else is local.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def selections(tokens: int, count: int, locality: float, seed: int = 0) -> Iterator[np.ndarray]:
    """Endless selections, each `count` different tokens in rising order."""
    if not 0 <= locality <= 1:
        raise ValueError(f"locality: got {locality}, wanted 0 <= locality <= 1")
    if not 0 < count <= tokens:
        raise ValueError(f"count: got {count}, wanted 0 < count <= tokens={tokens}")
    draw = np.random.default_rng(seed)
    chosen = np.sort(draw.choice(tokens, count, replace=False))
    while True:
        yield chosen
        kept = chosen[draw.random(count) < locality]
        chosen = np.union1d(kept, draw.integers(tokens, size=count - len(kept)))
        while len(chosen) < count:  # what was drawn twice, or was there
            chosen = np.union1d(chosen, draw.integers(tokens, size=count - len(chosen)))


def overlap(first: np.ndarray, second: np.ndarray) -> float:
    """The share of the second selection that the first one had."""
    return len(np.intersect1d(first, second)) / len(second)
