"""What a scaling law says of compute: for equal loss, how much more compute does the baseline need?

Both fits have the form L(C) = a C^b with b < 0 and C in PFLOP/s-days. At the loss that the new design reaches with C, the
baseline needs (L / a_base)^(1 / b_base); the ratio of the two is the "computational efficiency" (Kimi Linear, section 5.3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Fit(NamedTuple):
    """L(C) = scale x C^exponent."""

    scale: float
    exponent: float

    def loss(self, compute):
        return self.scale * np.asarray(compute, dtype=float) ** self.exponent

    def compute(self, loss):
        return (np.asarray(loss, dtype=float) / self.scale) ** (1 / self.exponent)


def efficiency(base: Fit, new: Fit, compute):
    """Compute of `base` over compute of `new` for the loss that `new` reaches with `compute`."""
    return base.compute(new.loss(compute)) / np.asarray(compute, dtype=float)


def efficiency_after_shift(base: Fit, new: Fit, compute, shift: float):
    """The same when the new design's loss is `shift` higher than its fit says: how far a measuring error moves the ratio."""
    return base.compute(new.loss(compute) + shift) / np.asarray(compute, dtype=float)


def compute_where(base: Fit, new: Fit, ratio: float) -> float:
    """The compute at which the efficiency equals `ratio`; the ratio is a power law in C, so it has a closed form.

    ratio(C) = (a_new / a_base)^(1/b_base) x C^(b_new/b_base - 1)."""
    constant = (new.scale / base.scale) ** (1 / base.exponent)
    return float((ratio / constant) ** (1 / (new.exponent / base.exponent - 1)))


def shift_that_erases(base: Fit, new: Fit, compute) -> float:
    """The loss difference between the two fits at equal compute: an error of this size makes the ratio one."""
    return float(base.loss(compute) - new.loss(compute))
