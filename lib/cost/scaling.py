"""How a cost grows with context: local exponents, and the context up to which growth stays near linear."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MILLION_TOKENS = 2**20
CONTEXTS = 2 ** np.arange(12, 21)  # 4K … 1M
NEAR_LINEAR = 1.1  # an exponent that the book still calls near linear: ten per cent more than linear in the logarithm


def exponent(cost: Callable, context, *, step: float = 2.0):
    """log(cost(step x context) / cost(context)) / log(step): 1 for linear growth, 2 for quadratic, 0 for none."""
    context = np.asarray(context, dtype=float)
    return np.log(cost(step * context) / cost(context)) / np.log(step)


def near_linear_until(
    cost: Callable, *, limit: float = NEAR_LINEAR, low: float = 2.0**10, high: float = 2.0**24
) -> float:
    """The last context at which the local exponent is within `limit`: beyond it growth is no longer near linear. `high` if it
    still is there, `low` if it nowhere is.

    The exponent need not rise steadily (a sparse core is quadratic up to its top-k and flat after), so a grid of eight
    points an octave finds the last crossing, and bisection in the logarithm refines it."""
    grid = np.geomspace(low, high, 8 * round(np.log2(high / low)) + 1)
    inside = np.flatnonzero(exponent(cost, grid) <= limit)
    if not inside.size:
        return low
    if inside[-1] == grid.size - 1:
        return high
    low, high = float(grid[inside[-1]]), float(grid[inside[-1] + 1])
    for _ in range(50):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if exponent(cost, middle) <= limit else (low, middle)
    return low
