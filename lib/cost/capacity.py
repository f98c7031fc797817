"""How many sequences fit, what they yield, what that costs, and up to which context it goes."""

from __future__ import annotations

import numpy as np

from lib.cost.step import cache_held, decode_step, weight_bytes, weights_read
from lib.cost.system import System
from lib.data.model import Model, Precision

LONGEST = 2**34  # contexts are searched up to here: beyond any use, and far below float trouble


def weights_held(model: Model, system: System) -> float:
    """Bytes of weights that one chip keeps: routed experts over their span, all else over the replica."""
    routed = _routed_bytes(model)
    return routed / system.expert_span + (weight_bytes(model) - routed) / system.tensor


def _routed_bytes(model: Model) -> float:
    from lib.cost.parameters import parameters

    fmt = model.precision.of("experts")
    return parameters(model).routed * (fmt.bits / 8 + (fmt.scale_bytes / fmt.block if fmt.block else 0.0))


def free_bytes(model: Model, system: System, *, reserve: float = 0.0) -> float:
    """Bytes a chip has left for caches, after weights and a stated `reserve`; negative when the weights do not fit."""
    return system.chip.memory_bytes - reserve - weights_held(model, system)


def max_batch(
    model: Model, system: System, *, context, precision: Precision | None = None, reserve: float = 0.0
) -> np.ndarray:
    """Sequences of `context` tokens that fit in the whole system; 0 when the weights alone do not."""
    held = cache_held(model, system, context, precision=precision)
    each = np.floor(max(free_bytes(model, system, reserve=reserve), 0.0) / np.maximum(held, 1.0))
    return (each * system.data).astype(np.int64)


def throughput(model: Model, system: System, *, context, batch, efficiency: float = 1.0):
    """(at least, at most) tokens a second over the whole system, from the step's upper and lower time bounds."""
    step = decode_step(model, system, context=context, batch=batch, efficiency=efficiency)
    return np.asarray(batch) / step.time_upper, np.asarray(batch) / step.time_lower


def dollars_per_million(
    model: Model, system: System, *, context, batch, dollars_per_hour: float, efficiency: float = 1.0
):
    """(at least, at most) dollars for a million generated tokens, with `dollars_per_hour` for one chip."""
    if dollars_per_hour <= 0:
        raise ValueError(f"dollars_per_hour={dollars_per_hour!r}: wanted a price > 0 for one chip")
    slow, fast = throughput(model, system, context=context, batch=batch, efficiency=efficiency)
    per_second = dollars_per_hour * system.count / 3600
    return per_second / fast * 1e6, per_second / slow * 1e6


def ceiling(
    model: Model,
    system: System,
    *,
    tpot: float | None = None,
    memory: bool = True,
    price: float | None = None,
    dollars_per_hour: float | None = None,
    batch: int = 1,
    precision: Precision | None = None,
    reserve: float = 0.0,
) -> int:
    """The largest context, in tokens, at which `batch` sequences fit (`memory`), a step's lower bound is within `tpot` seconds, and
    a million tokens cost at most `price` dollars at best. 0 when not even one token passes; `LONGEST` when nothing binds.

    Every condition worsens with context, so bisection on whole tokens finds the edge."""
    if price is not None and dollars_per_hour is None:
        raise ValueError("price is given but dollars_per_hour is None: wanted the price of a chip hour too")

    def passes(context: int) -> bool:
        if memory and max_batch(model, system, context=context, precision=precision, reserve=reserve) < batch:
            return False
        if (
            tpot is not None
            and decode_step(model, system, context=context, batch=batch, precision=precision).time_lower > tpot
        ):
            return False
        return (
            price is None
            or dollars_per_million(model, system, context=context, batch=batch, dollars_per_hour=dollars_per_hour)[0]
            <= price
        )

    if not passes(1):
        return 0
    low, high = 1, LONGEST
    if passes(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return low


__all__ = [
    "LONGEST",
    "ceiling",
    "dollars_per_million",
    "free_bytes",
    "max_batch",
    "throughput",
    "weights_held",
    "weights_read",
]
