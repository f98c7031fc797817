"""How many sequences fit, what they yield, what that costs, and up to which context it goes."""

from __future__ import annotations

import numpy as np

from lib.cost.step import cache_held, decode_step, stored_as
from lib.cost.system import System
from lib.cost.weights import weights_held
from lib.data.model import Model, Precision

LONGEST = 2**34  # contexts are searched up to here: beyond any use, and far below float trouble


def free_bytes(model: Model, system: System, *, precision: Precision | None = None, reserve: float = 0.0) -> float:
    """Bytes a chip has left for caches, after weights and a stated `reserve`; negative when the weights do not fit."""
    return system.chip.memory_bytes - reserve - weights_held(stored_as(model, precision), system)


def max_batch(
    model: Model, system: System, *, context, precision: Precision | None = None, reserve: float = 0.0
) -> np.ndarray:
    """Sequences of `context` tokens that fit in the whole system; 0 when the weights alone do not. No allocator, no
    activations: what the mathematics allows, unless `reserve` bytes a chip are set aside."""
    held = cache_held(model, system, context, precision=precision)
    free = max(free_bytes(model, system, precision=precision, reserve=reserve), 0.0)
    return (np.floor(free / np.maximum(held, 1.0)) * system.data).astype(np.int64)


def throughput(
    model: Model, system: System, *, context, batch, precision: Precision | None = None, efficiency: float = 1.0
):
    """(at least, at most) tokens a second over the whole system, from the step's upper and lower time bounds."""
    step = decode_step(model, system, context=context, batch=batch, precision=precision, efficiency=efficiency)
    return np.asarray(batch) / step.time_upper, np.asarray(batch) / step.time_lower


def dollars_per_million(
    model: Model,
    system: System,
    *,
    context,
    batch,
    dollars_per_hour: float,
    precision: Precision | None = None,
    efficiency: float = 1.0,
):
    """(at least, at most) dollars for a million generated tokens, with `dollars_per_hour` for one chip."""
    step = decode_step(model, system, context=context, batch=batch, precision=precision, efficiency=efficiency)
    return tuple(_dollars(system, dollars_per_hour, time / batch) for time in (step.time_lower, step.time_upper))


def _dollars(system: System, dollars_per_hour: float, seconds):
    """A million times what all chips cost for `seconds`."""
    if dollars_per_hour <= 0:
        raise ValueError(f"dollars_per_hour={dollars_per_hour!r}: wanted a price > 0 for one chip")
    return dollars_per_hour * system.count / 3600 * seconds * 1e6


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
    efficiency: float = 1.0,
) -> int:
    """The largest context, in tokens, at which `batch` sequences fit (`memory`), a step's lower bound is within `tpot`
    seconds, and a million tokens cost at most `price` dollars at best. 0 when not even one token passes; `LONGEST` when
    nothing binds.

    Every condition worsens with context, so bisection on whole tokens finds the edge."""
    if price is not None and dollars_per_hour is None:
        raise ValueError("price is given but dollars_per_hour is None: wanted the price of a chip hour too")
    model = stored_as(model, precision)

    def passes(context: int) -> bool:
        if memory and max_batch(model, system, context=context, reserve=reserve) < batch:
            return False
        if tpot is None and price is None:
            return True
        fastest = float(decode_step(model, system, context=context, batch=batch, efficiency=efficiency).time_lower)
        if tpot is not None and fastest > tpot:
            return False
        return price is None or _dollars(system, dollars_per_hour, fastest / batch) <= price

    return _last(passes, LONGEST)


def _last(passes, longest: int) -> int:
    """The largest whole number in 1 … `longest` that passes, 0 if none; once it fails it must fail for good."""
    if not passes(1):
        return 0
    if passes(longest):
        return longest
    low, high = 1, longest
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return low


__all__ = ["LONGEST", "ceiling", "dollars_per_million", "free_bytes", "max_batch", "throughput", "weights_held"]
