"""Reading samples: medians, spread, exponents and crossings, all on logarithmic scales."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Fit(NamedTuple):
    """time = scale x size^exponent; `error` is the exponent's standard error."""

    exponent: float
    scale: float
    error: float


def power_law(sizes, times) -> Fit:
    """Least squares of log time on log size; at least two different sizes."""
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(times, dtype=float))
    if len(np.unique(x)) < 2:
        raise ValueError(f"sizes: got {sorted(set(np.asarray(sizes).tolist()))}, wanted at least two different ones")
    dx = x - x.mean()
    slope = float(dx @ y / (dx @ dx))
    rest = y - y.mean() - slope * dx
    error = float(np.sqrt(rest @ rest / max(len(x) - 2, 1) / (dx @ dx)))
    return Fit(slope, float(np.exp(y.mean() - slope * x.mean())), error)


def crossings(sizes, first, second) -> list[float]:
    """Sizes at which two curves meet, between measured sizes by straight lines in logs."""
    x = np.log(np.asarray(sizes, dtype=float))
    gap = np.log(np.asarray(first, dtype=float)) - np.log(np.asarray(second, dtype=float))
    found = []
    for i in range(len(x) - 1):
        if gap[i] * gap[i + 1] < 0:
            found.append(float(np.exp(x[i] + (x[i + 1] - x[i]) * gap[i] / (gap[i] - gap[i + 1]))))
    return found


def spread(times) -> float:
    """Half the distance between the quartiles, relative to the median: what a few outliers do not move."""
    low, middle, high = np.quantile(np.asarray(times, dtype=float), (0.25, 0.5, 0.75))
    return float((high - low) / 2 / middle)
