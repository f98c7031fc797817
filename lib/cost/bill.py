"""What an API charges for a usage, split the way the post splits it.

The post's *storage* is hits x hit price, its *compute* misses x miss price + output x output price. Nothing in such a bill is
charged by time or by byte: "storage" here is a tariff on reading cached tokens, and the function keeps the post's word only to
recompute its figures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MILLION = 1e6


class Usage(NamedTuple):
    """Tokens of a period: prompt tokens served from a cache, prompt tokens computed, tokens generated."""

    hit: float
    miss: float
    output: float

    @property
    def computed(self) -> float:
        return self.miss + self.output


class Rates(NamedTuple):
    """Price of a million tokens of each kind, in one currency."""

    hit: float
    miss: float
    output: float


class Bill(NamedTuple):
    hit: float
    miss: float
    output: float
    total: float
    storage_share: float


def bill(usage: Usage, rates: Rates) -> Bill:
    """The parts of the bill, in the rates' currency. Arrays broadcast. A bill of nothing has no share (nan)."""
    if any(np.any(np.asarray(value) < 0) for value in (*usage, *rates)):
        raise ValueError(f"usage {usage}, rates {rates}: wanted no negative token count or price")
    hit, miss, output = (
        np.asarray(count) * np.asarray(rate) / MILLION for count, rate in zip(usage, rates, strict=True)
    )
    total = hit + miss + output
    with np.errstate(invalid="ignore"):
        share = np.where(total > 0, hit / np.where(total > 0, total, 1.0), np.nan)
    return Bill(hit, miss, output, total, share)


def storage_share(usage, rates):
    """hits x hit price over the whole bill; works on plain numbers and on `lib.verdict.Interval` alike.

    Written as 1 / (1 + compute / storage), in which every input stands once: interval arithmetic is then exact."""
    compute = usage.miss * rates.miss + usage.output * rates.output
    return 1 / (1 + compute / (usage.hit * rates.hit))


def even_hit_price(usage: Usage, rates: Rates) -> float:
    """The hit price at which storage is half of the bill: (misses x miss price + output x output price) / hits."""
    return (usage.miss * rates.miss + usage.output * rates.output) / usage.hit


def session_cost(rates: Rates, *, context: float, rounds: int, output: float) -> Bill:
    """The bill of one session that grows from nothing to `context` tokens in `rounds` equal rounds.

    Round i appends a = context / rounds tokens, `output` of them generated, and re-reads the i - 1 earlier rounds from the
    cache: hits are a (rounds - 1) rounds / 2, which is about context^2 / (2 a)."""
    if rounds < 1 or not 0 <= output * rounds <= context:
        raise ValueError(f"rounds={rounds}, output={output}: wanted at least one round and output <= context / rounds")
    appended = context / rounds
    usage = Usage(hit=appended * rounds * (rounds - 1) / 2, miss=(appended - output) * rounds, output=output * rounds)
    return bill(usage, rates)
