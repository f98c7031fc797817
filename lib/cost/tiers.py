"""A growing cache in a slower tier: what one decode step must fetch, how long it takes, and what parking a session costs.

What stays in HBM: recurrent states, windows, index keys, and HCA's few entries, all of which every step reads whole. What may
leave: keys and values, latents and CSA's entries. Of those, a dense layer reads all at every step, a sparse one its top-k. A
`hit_rate` is the share of these reads that finds its entry in HBM already; for a dense layer that is the share it keeps there.

A dense layer's reads are known beforehand and can be fetched while earlier layers work. A sparse layer's are known once its
indexer has run, so that at least one latency a layer is added to any bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lib.cost.memory import read, stored
from lib.cost.step import decode_step, stored_as
from lib.cost.system import System, cache_share
from lib.data.chips import Chip, Tier
from lib.data.mechanisms import Csa, Dsa, Mla, Softmax
from lib.data.model import Model, Precision

MOVABLE = (Softmax, Mla, Dsa, Csa)  # layers whose growing cache may lie in a slower tier
SPARSE = (Dsa, Csa)
HOURS = 4 * 365 * 24  # over which a device's price is spread: four years, the caller's to change
LONGEST = 2**34


class TierStep(NamedTuple):
    """One decode step with the movable caches in `tier`. Bytes are those of the busiest chip; times in seconds.

    `resident`: what must be in HBM beside the weights; `parked`: what lies in the tier; `fetched`: what the step moves."""

    tier: str
    resident: np.ndarray
    parked: np.ndarray
    fetched: np.ndarray
    time_lower: np.ndarray
    time_upper: np.ndarray


class Bandwidth(NamedTuple):
    """Bytes a second from a tier to one chip, and seconds until the first byte; 0 where no source gives a latency."""

    low: float
    high: float
    latency_low: float
    latency_high: float


def reach(tier: Tier, chip: Chip) -> Bandwidth:
    """What a chip sees of one device of the tier: no more than its host link, except of HBM, which is its own."""
    if tier.bandwidth.low is None:
        raise ValueError(f"tier {tier.name}: bandwidth is unknown, wanted a tier that has it")
    latency = tier.latency.low or 0.0, tier.latency.high or 0.0
    if tier.name == "hbm":
        return Bandwidth(chip.memory_bandwidth, chip.memory_bandwidth, 0.0, 0.0)
    if chip.host_bandwidth is None:
        raise ValueError(f"chip {chip.name}: host_bandwidth is unknown, wanted it for the tier {tier.name}")
    return Bandwidth(
        min(tier.bandwidth.low, chip.host_bandwidth), min(tier.bandwidth.high, chip.host_bandwidth), *latency
    )


def _entry(mixer, tokens, p: Precision):
    """Bytes of one entry of a movable cache: a latent, a compressed entry, all heads' keys and values of a token."""
    group = mixer.ratio if isinstance(mixer, Csa) else 1
    return stored(mixer, np.asarray(group), p)[0]


class Layers(NamedTuple):
    """Bytes by where they lie, for one sequence and one chip, and how many sparse layers must wait for their own indexer."""

    resident: np.ndarray
    parked: np.ndarray
    fetched: np.ndarray
    waits: int


def layers(model: Model, system: System, context, hit_rate: float, unit: float) -> Layers:
    """Sums over the layers. Each entry of a sparse layer is a read of its own, of whole `unit`s bytes."""
    tokens, p = np.asarray(context), model.precision
    resident, parked, fetched = (np.zeros(tokens.shape) for _ in range(3))
    waits = 0
    for mixer, count in model.mixer_counts:
        share = count * cache_share(mixer, system.tensor, system.context)
        kept, moved = stored(mixer, tokens, p), read(mixer, tokens, p)
        if not isinstance(mixer, MOVABLE):
            resident = resident + share * sum(kept)
            continue
        wanted, padding = moved[0], 1.0
        if isinstance(mixer, SPARSE):
            entry = float(_entry(mixer, tokens, p))
            padding = np.ceil(entry / unit) * unit / entry
            waits += count * (getattr(mixer, "indexer", "own") == "own")  # a shared selection is known beforehand
        parked = parked + share * kept[0]
        fetched = fetched + share * (1 - hit_rate) * wanted * padding
        resident = resident + share * (sum(kept[1:]) + hit_rate * wanted)
    return Layers(resident, parked, fetched, waits)


def tier_step(
    model: Model, system: System, tiers: Iterable[Tier], *, context, hit_rate: float = 0.0, batch: int = 1, unit: float = 1.0,
    precision: Precision | None = None,
) -> list[TierStep]:  # fmt: skip
    """A decode step of `batch` sequences with the movable caches in each of `tiers`, in turn. Arrays of contexts broadcast.

    `unit` is the least that one read moves, in bytes: 1 for memory, a device's page for a disk. Lower bound: compute, memory,
    link and fetch overlap, at the tier's higher bandwidth, and each sparse layer waits one latency; upper: nothing overlaps, at
    its lower one. Raises ValueError for a rate outside [0, 1] and a tier or link without a bandwidth.
    """
    if not 0 <= hit_rate <= 1:
        raise ValueError(f"hit_rate={hit_rate!r}: wanted a share between 0 and 1")
    if unit <= 0:
        raise ValueError(f"unit={unit!r}: wanted bytes > 0")
    model = stored_as(model, precision)
    step = decode_step(model, system, context=context, batch=batch)
    sequences = system.share(batch, system.tensor)
    one = layers(model, system, context, hit_rate, unit)
    found = []
    for tier in tiers:
        seen = reach(tier, system.chip)
        fetched = sequences * (one.fetched if tier.name != "hbm" else np.zeros_like(one.fetched))
        fast = fetched / seen.high + one.waits * seen.latency_low
        slow = fetched / seen.low + one.waits * seen.latency_high
        resident = sequences * (one.resident if tier.name != "hbm" else one.resident + one.parked)
        found.append(
            TierStep(
                tier.name,
                resident,
                sequences * one.parked,
                fetched,
                np.maximum(step.time_lower, fast),
                step.time_upper + slow,
            )
        )
    return found


class Parking(NamedTuple):
    """Keeping an idle session in a tier: `dollars` an hour (at least, at most; None without a price), and seconds to fetch it
    all back to one chip (at least, at most)."""

    size: float
    dollars: tuple[float, float] | None
    restore: tuple[float, float]


def parking(model: Model, tier: Tier, chip: Chip, *, context: int, hours: float = HOURS) -> Parking:
    """What a whole session of `context` tokens takes in the tier: everything that it keeps, states included.

    The device's price is spread evenly over `hours`; power, servers and empty space are left out."""
    size = float(
        sum(
            np.sum(count * sum(stored(mixer, np.asarray(context), model.precision)))
            for mixer, count in model.mixer_counts
        )
    )
    seen, price = reach(tier, chip), tier.dollars_per_gb
    dollars = None if price.low is None else tuple(end * size / 1e9 / hours for end in (price.low, price.high))
    return Parking(size, dollars, (size / seen.high, size / seen.low))


def feasible_context(
    model: Model, system: System, tier: Tier, *, tpot: float, hit_rate: float = 0.0, batch: int = 1, unit: float = 1.0
) -> int:
    """The largest context at which a step's lower bound is within `tpot` seconds and what is resident fits beside the
    weights. 0 when not even one token passes. Both worsen with context, so bisection finds the edge."""
    from lib.cost.capacity import free_bytes

    free = free_bytes(model, system)

    def passes(context: int) -> bool:
        (step,) = tier_step(model, system, [tier], context=context, hit_rate=hit_rate, batch=batch, unit=unit)
        return bool(step.time_lower <= tpot and step.resident <= free)

    if not passes(1):
        return 0
    low, high = 1, LONGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return low
