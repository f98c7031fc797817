"""The author's week as bills: from the log, from the totals he printed, under his prices and under every dated price list."""

from __future__ import annotations

from typing import NamedTuple

from lib.cost.bill import Rates, Usage, session_cost, storage_share
from lib.data.prices import Price, prices
from lib.data.traces import PerMillion, Trace, trace
from lib.verdict import Interval, printed

WEEK = "longcat-2026-07"


def week() -> Trace:
    return trace(WEEK)


def usage_log() -> Usage:
    """Sums over the export's days."""
    days = week().days
    return Usage(*(float(sum(getattr(day, kind) for day in days)) for kind in ("hit", "miss", "output")))


def usage_of_day(number: int) -> Usage:
    """One day of the export, by position."""
    day = week().days[number]
    return Usage(float(day.hit), float(day.miss), float(day.output))


def usage_total_row() -> Usage:
    """The total row as printed, each figure an interval."""
    return Usage(*(printed(getattr(week().printed.total, kind)).interval for kind in ("hit", "miss", "output")))


def usage_printed_days() -> Usage:
    """The sum of the daily rows as printed, each figure an interval."""
    rows = week().printed.days
    return Usage(
        *(
            sum((printed(getattr(row, kind)).interval for row in rows), Interval(0, 0))
            for kind in ("hit", "miss", "output")
        )
    )


def requests() -> int:
    return sum(day.requests for day in week().days)


def _rates(prices: PerMillion) -> Rates:
    return Rates(prices.hit, prices.miss, prices.output)


def author_rates() -> dict[str, Rates]:
    """Dollars a million as the author multiplied them."""
    used = week().prices
    return {"Kimi K3": _rates(used.kimi), "DeepSeek V4-Pro": _rates(used.deepseek)}


VENDORS = {"kimi": "Kimi K3", "deepseek": "DeepSeek V4-Pro"}


def log_share(vendor: str) -> float:
    return float(storage_share(usage_log(), author_rates()[VENDORS[vendor]]))


def total_row_share(vendor: str) -> Interval:
    return storage_share(usage_total_row(), author_rates()[VENDORS[vendor]])


def rates_of(price: Price) -> Rates | None:
    """A price row as rates; None when it does not price hits, misses and output alike."""
    if price.hit is None or price.miss is None or price.output is None:
        return None
    return Rates(price.hit, price.miss, price.output)


def shares_by_price() -> dict[str, float]:
    """The storage share of the week's log under each price row that prices all three kinds."""
    usage = usage_log()
    return {
        name: float(storage_share(usage, rates))
        for name, row in prices().items()
        if (rates := rates_of(row)) and rates.hit > 0
    }


def tariff_by_context() -> dict[int, float]:
    """Dollars for reading a context once at the author's Kimi price, by context."""
    hit = author_rates()["Kimi K3"].hit
    return {context: hit * context / 1e6 for context in (2**17, 2**19, 2**20, 10 * 2**20)}


def one_reading() -> float:
    """Dollars for one request that finds a million tokens in the cache, at the author's Kimi price."""
    return author_rates()["Kimi K3"].hit


class Session(NamedTuple):
    rounds: int
    hits: float
    hit: float
    total: float


ROUNDS, OUTPUT = 400, 481  # rounds of 2,500 tokens to a million; the log's mean output a request


def growing_session(rates: Rates | None = None) -> Session:
    """A session that grows to a million tokens in equal rounds; default: the author's Kimi prices."""
    rates = rates or author_rates()["Kimi K3"]
    parts = session_cost(rates, context=1e6, rounds=ROUNDS, output=OUTPUT)
    return Session(ROUNDS, 1e6 / ROUNDS * ROUNDS * (ROUNDS - 1) / 2, float(parts.hit), float(parts.total))


def largest_daily_mean() -> float:
    """Prompt tokens a request on the day where they were most."""
    return max((day.hit + day.miss) / day.requests for day in week().days)


def mean_prompt() -> float:
    usage = usage_log()
    return (usage.hit + usage.miss) / requests()


def tariff(vendor: str) -> Interval:
    """The author's hit price of a million tokens, and as he rounded it in his table's row for a million."""
    exact = author_rates()[VENDORS[vendor]].hit
    row = next(row for row in week().storage_table.rows if row.context == 1_000_000)
    rounded = printed(getattr(row, vendor)).interval
    return Interval(min(exact, rounded.low), max(exact, rounded.high))


def tariff_residual() -> int:
    """Cells of part 2's storage table that a hit price times the context does not explain."""
    return sum(
        not printed(getattr(row, vendor)).interval.overlaps(tariff(vendor) * (row.context / 1e6))
        for row in week().storage_table.rows
        for vendor in VENDORS
    )


def dollars(usage: Usage, rates: Rates, part: str):
    """Dollars of a usage, the post's `storage`, `compute` or `total`; numbers or intervals."""
    storage = usage.hit * (rates.hit / 1e6)
    compute = usage.miss * (rates.miss / 1e6) + usage.output * (rates.output / 1e6)
    return {"storage": storage, "compute": compute, "total": storage + compute}[part]
