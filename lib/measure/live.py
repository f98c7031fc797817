"""Measured again while a chapter is built, in seconds, and held to the record: bytes exactly, exponents and order within bands.

Times are shown and never compared: they belong to the device that built the page. Other programs only ever add to a time, so
that of several tries the shortest counts, point by point: a build on a busy machine tries again, and does not fail.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pandas as pd

from lib.measure import fit, roofline
from lib.measure.record import Record, reference

BAND = 0.5  # of an exponent: a busy machine, or another processor, moves a fit over three octaves by a few tenths, another order of growth by one
APART = 4.0  # mechanisms whose recorded times differ by this factor must stand in the same order here
ROUNDS = 5
CONTEXTS = {"cpu": (2**14, 2**15, 2**16, 2**17), "cuda": (2**17, 2**18, 2**19, 2**20)}
LAYERS = ("softmax", "mla", "dsa", "csa", "kda")


class LiveMismatch(AssertionError):
    """What was measured now contradicts the record; the message names each contradiction."""


class Curve(NamedTuple):
    """One mechanism over the contexts: bytes of the largest, seconds of each, and their exponent."""

    bytes: float
    seconds: dict[int, float]

    @property
    def exponent(self) -> float:
        return fit.power_law(list(self.seconds), list(self.seconds.values())).exponent


def faults(now: dict[str, Curve], recorded: dict[str, Curve]) -> list[str]:
    """Each contradiction between two sets of curves of the same mechanisms, in words."""
    found = []
    for name, curve in now.items():
        old = recorded[name]
        if curve.bytes != old.bytes:
            found.append(f"{name}: a step moves {curve.bytes:,.0f} bytes, the record says {old.bytes:,.0f}")
        if abs(curve.exponent - old.exponent) > BAND:
            found.append(
                f"{name}: the time grows with exponent {curve.exponent:.2f}, the record says {old.exponent:.2f}, wanted within {BAND}"
            )
    largest = {
        name: (curve.seconds[max(curve.seconds)], recorded[name].seconds[max(curve.seconds)])
        for name, curve in now.items()
    }
    for first, (here, there) in largest.items():
        for second, (other_here, other_there) in largest.items():
            if other_there / there >= APART and other_here <= here:
                found.append(
                    f"{first} is no longer faster than {second}: {1e3 * here:.2f} against {1e3 * other_here:.2f} ms; recorded {1e3 * there:.2f} and {1e3 * other_there:.2f}"
                )
    return found


def agreeing(
    measure: Callable[[], dict[str, Curve]], recorded: dict[str, Curve], rounds: int = ROUNDS
) -> dict[str, Curve]:
    """Measure until nothing contradicts the record, at most `rounds` times, each point's shortest time kept; then
    LiveMismatch."""
    best: dict[str, Curve] = {}
    for _ in range(rounds):
        best = {name: _shorter(curve, best.get(name)) for name, curve in measure().items()}
        if not (told := faults(best, recorded)):
            return best
    raise LiveMismatch("\n".join(told))


def _shorter(curve: Curve, before: Curve | None) -> Curve:
    if before is None:
        return curve
    return Curve(curve.bytes, {context: min(time, before.seconds[context]) for context, time in curve.seconds.items()})


def recorded(of: Record, contexts: tuple[int, ...], layers: tuple[str, ...] = LAYERS) -> dict[str, Curve]:
    """The same curves from a record's samples."""
    points = of.points("decode")
    points = points[(points["batch"] == 1) & (points["variant"] == "") & points["context"].isin(contexts)].set_index(
        "context"
    )
    found = {}
    for name in layers:
        rows = points[points["name"] == name].sort_index()
        if set(rows.index) != set(contexts):
            raise LookupError(
                f"{of.folder.name}: decode of {name}: contexts {sorted(rows.index)}, wanted {sorted(contexts)}; measure --suite decode"
            )
        found[name] = Curve(float(rows["bytes"].iloc[-1]), rows["seconds"].to_dict())
    return found


@cache
def device() -> str:
    """cpu or cuda: what this machine measures on."""
    from lib.measure import device as devices

    return devices.kind()


@cache
def device_name() -> str:
    from lib.measure import device as devices

    return devices.describe(device())["name"]


def _measured(plans: list, most: int = 5) -> dict:
    """Shortest seconds of each plan's point, few samples each, on a pool that is just large enough."""
    import torch

    from lib.measure import clock, harness, memory

    pool, timer = memory.Pool(max(plan.need for plan in plans), device()), clock.of(device())
    found = {}
    with torch.inference_mode():
        for plan in plans:
            case = plan.make(pool)
            try:
                if case.counted != plan.work.bytes:
                    raise LiveMismatch(
                        f"{plan.point.words()}: tensors hold {case.counted:,.0f} bytes, the formula says {plan.work.bytes:,.0f}"
                    )
                samples = harness.sample(case, timer, least=3, fast=plan.fast, seconds=0.2, most=most)
            finally:
                case.finish()
            found[plan.point] = min(taken.seconds for taken in samples)
    return found


def _curves() -> dict[str, Curve]:
    from lib.measure.suites import decode

    plans = [decode.one_layer(name, context, 1) for name in LAYERS for context in CONTEXTS[device()]]
    times, work = _measured(plans), {plan.point: plan.work for plan in plans}
    return {
        name: Curve(
            max(work[p].bytes for p in times if p.name == name), {p.context: t for p, t in times.items() if p.name == name}
        )
        for name in LAYERS
    }  # fmt: skip


@cache
def decode() -> tuple[dict[str, Curve], dict[str, Curve]]:
    """(now, recorded) curves of one layer's step, in agreement."""
    old = recorded(_reference(), CONTEXTS[device()])
    return agreeing(_curves, old), old


def _reference() -> Record:
    found = reference()
    if found is None:
        raise LookupError("no record to compare with: python -m lib.measure")
    return found


@cache
def limits() -> roofline.Limits:
    """This device's limits, now."""
    from lib.measure.suites import limits as suite

    times: dict = {}
    for plan in suite.plans(device()):
        if not suite.too_slow(plan, times):
            times |= _measured([plan], most=3)
    work = {plan.point: plan.work for plan in suite.plans(device())}
    rates = [work[p].flops / t for p, t in times.items() if p.name == "product"]
    bandwidth = next(work[p].bytes / t for p, t in times.items() if p.name == "read")
    return roofline.Limits(bandwidth, max(rates))


TIERS = (2**16, 0.4, 0.2)  # context, locality, buffer of the live sparse step


@cache
def tiers() -> pd.DataFrame:
    """MLA streamed and DSA gathered at 64K, from memory and from a file, now: bytes and hit rates beside the record's."""
    import torch

    from lib.measure import clock, harness, memory
    from lib.measure.suites import tiers as suite

    context, locality, buffer = TIERS
    chosen = [
        plan for plan in suite.plans(device(), context) if plan.point.context == context
        and plan.point.variant in ("memory", "file", f"memory, locality {locality:g}, buffer 0", f"file, locality {locality:g}, buffer 0", f"file, locality {locality:g}, buffer {buffer:g}")
    ]  # fmt: skip
    pool, timer, rows = memory.Pool(max(plan.need for plan in chosen), device()), clock.of(device()), []
    with torch.inference_mode():
        for plan in chosen:
            case = plan.make(pool)
            try:
                samples = harness.sample(case, timer, least=5, fast=False, seconds=0.0, most=5)
                noted = case.extra()
            finally:
                case.finish()
            last = {key: pd.Series(noted[key]).iloc[-5:].mean() for key in ("bytes_read", "hit_rate")}
            rows.append(
                {
                    "name": plan.point.name,
                    "variant": plan.point.variant,
                    "needed": plan.work.bytes,
                    "seconds": harness.median(samples),
                    "medium": noted["medium"],
                    **last,
                }
            )
    return pd.DataFrame(rows)
