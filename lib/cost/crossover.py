"""The contexts at which one model starts to cost less than another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

GRID = 2.0 ** np.arange(8, 24.001, 0.0625)


def crossovers(first: Callable, second: Callable, *, grid=GRID) -> list[int]:
    """Contexts, in tokens, at which the order of two costs changes, in rising order; empty when one is never above the other.

    Both costs are functions of an array of contexts. A sign change between two points of the grid is refined by bisection to a
    whole token; two changes within one step of the grid (1/16 of an octave) are missed."""
    grid = np.round(grid)
    apart = np.sign(first(grid) - second(grid))
    places = np.flatnonzero(
        (apart[1:] * apart[:-1] < 0) | ((apart[1:] != 0) & (apart[:-1] == 0) & (np.arange(apart.size - 1) > 0))
    )
    return [_refine(first, second, int(grid[i]), int(grid[i + 1])) for i in places]


def _refine(first: Callable, second: Callable, low: int, high: int) -> int:
    """The first context in (low, high] at which the order is that of `high`."""
    after = np.sign(first(np.array([high])) - second(np.array([high])))[0]
    while high - low > 1:
        middle = (low + high) // 2
        same = np.sign(first(np.array([middle])) - second(np.array([middle])))[0] == after
        low, high = (low, middle) if same else (middle, high)
    return high
