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
    """The context at which the local exponent passes `limit`, by bisection in the logarithm; `high` if it never does there.

    Wants an exponent that rises with context, as that of a sum of a linear and a quadratic term does."""
    if exponent(cost, high) <= limit:
        return high
    if exponent(cost, low) > limit:
        return low
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if exponent(cost, middle) <= limit else (low, middle)
    return (low * high) ** 0.5
