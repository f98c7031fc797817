"""How the paths grow with context: local exponents of prefill work, of a decode step's work, and of its reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lib.cost import decode_flops, prefill_flops, read_bytes, stored_bytes
from lib.cost.scaling import exponent, near_linear_until
from lib.data import Model

HALF_MILLION = 2**19


def prefill_work(m: Model) -> Callable:
    return lambda context: prefill_flops(m, context).total


def step_work(m: Model) -> Callable:
    return lambda context: decode_flops(m, context).total


def step_reads(m: Model) -> Callable:
    return lambda context: read_bytes(m, context).total


def kept(m: Model) -> Callable:
    return lambda context: stored_bytes(m, context).total


def exponent_to_1m(cost: Callable) -> float:
    """The local exponent between 512K and 1M tokens."""
    return float(exponent(cost, HALF_MILLION))


def prefill_near_linear_until(m: Model) -> float:
    return near_linear_until(prefill_work(m))


def mixing_exponent(m: Model, parts: tuple[str, ...]) -> float:
    """The exponent of some parts of a prefill ("attention", "index", "state") between 512K and 1M tokens."""
    return exponent_to_1m(partial(_parts, m, parts))


def _parts(m: Model, parts: tuple[str, ...], context):
    flops = prefill_flops(m, context)
    return sum(getattr(flops, part) for part in parts)


def prefill_share(m: Model, part: str, context: float = 2**20) -> float:
    """A part's share of the whole prefill's FLOPs."""
    flops = prefill_flops(m, context)
    return float(getattr(flops, part) / flops.total)


def step_share(m: Model, part: str, context: float = 2**20) -> float:
    """A part's share of one decode step's FLOPs."""
    flops = decode_flops(m, context)
    return float(getattr(flops, part) / flops.total)
