"""Usage logs of `data/traces`: what was used, what its author printed of it, and at which prices."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from lib.data.load import DATA
from lib.data.mechanisms import Count, Size, Spec
from lib.data.model import Source
from lib.data.strict import DataError, parse, read_yaml
from lib.verdict import printed

Positive = Annotated[float, Field(gt=0)]


class Day(Spec):
    """Tokens of one UTC day, and the requests that used them."""

    date: date
    hit: Count
    miss: Count
    output: Count
    requests: Size


class _Printed(Spec):
    @field_validator("*")
    @classmethod
    def _readable(cls, value):
        if isinstance(value, str):
            printed(value)
        return value


class PrintedDay(_Printed):
    date: date
    hit: str
    miss: str
    output: str


class PrintedTokens(_Printed):
    hit: str
    miss: str
    output: str


class PrintedBill(_Printed):
    """Dollars as printed, None where a column was not."""

    storage: str | None
    compute: str | None
    total: str
    share: str


class PrintedPair(_Printed):
    kimi: PrintedBill
    deepseek: PrintedBill
    ratio: str


class PrintedShares(_Printed):
    kimi: str
    deepseek: str
    vendors: str


class PrintedPost(_Printed):
    source: Source
    days: list[PrintedDay]
    total: PrintedTokens
    computed: str
    ratio: str
    price_ratio: str
    remembered: str
    week: PrintedPair
    peak_day: PrintedPair
    later_post: PrintedShares


class DraftBill(Spec):
    storage: Positive
    total: Positive


class DraftTokens(Spec):
    hit: Size
    computed: Size


class Draft(Spec):
    source: Source
    kimi: DraftBill
    deepseek: DraftBill
    early: DraftTokens


class PerMillion(Spec):
    """Price of a million tokens of each kind."""

    hit: Positive
    miss: Positive
    output: Positive


class AuthorPrices(Spec):
    """Dollars that the author multiplied, and the CNY list from which he converted Kimi's, roundly."""

    source: Source
    deepseek: PerMillion
    kimi: PerMillion
    kimi_cny: PerMillion
    cny_per_dollar: Positive

    @model_validator(mode="after")
    def _converted(self):
        for kind in ("hit", "miss", "output"):
            cny, dollars = getattr(self.kimi_cny, kind), getattr(self.kimi, kind)
            if (
                abs(cny / self.cny_per_dollar / dollars - 1) > 0.01
            ):  # the author rounded 0.2778 to 0.28 and 13.89 to 13.90
                raise ValueError(
                    f"kimi.{kind}={dollars}: wanted kimi_cny.{kind} / cny_per_dollar = {cny / self.cny_per_dollar:.4f} within 1 %"
                )
        return self


class StorageRow(_Printed):
    context: Size
    kimi: str
    deepseek: str


class StorageTable(_Printed):
    source: Source
    rows: list[StorageRow]
    ratio: str

    @model_validator(mode="after")
    def _in_order(self):
        contexts = [row.context for row in self.rows]
        if contexts != sorted(set(contexts)) or 1_000_000 not in contexts:
            raise ValueError(f"rows: contexts {contexts}, wanted each once and in order, 1000000 among them")
        return self


class Trace(Spec):
    """One log with everything its author derived from it."""

    name: str
    title: str
    service: str
    source: Source
    days: Annotated[list[Day], Field(min_length=1)]
    printed: PrintedPost
    draft: Draft
    prices: AuthorPrices
    storage_table: StorageTable

    @model_validator(mode="after")
    def _in_order(self):
        dates = [day.date for day in self.days]
        if dates != sorted(set(dates)):
            raise ValueError(f"days: dates {[str(d) for d in dates]}, wanted each once and in order")
        return self


def load_trace(path: Path) -> Trace:
    found = parse(Trace, read_yaml(path), str(path))
    if found.name != path.stem:
        raise DataError(f"{path}: key name: value {found.name!r}, wanted the file's name {path.stem!r}")
    return found


@cache
def trace(name: str) -> Trace:
    """One log by name; DataError lists the names there are."""
    path = DATA / "traces" / f"{name}.yml"
    if not path.exists():
        raise DataError(f"trace {name!r}: wanted one of {', '.join(sorted(p.stem for p in path.parent.glob('*.yml')))}")
    return load_trace(path)
