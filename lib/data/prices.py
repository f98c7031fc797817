"""Dated API price rows of `data/prices.yml`, for a million tokens."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from lib.data.load import DATA, models
from lib.data.mechanisms import Size, Spec
from lib.data.model import Confidence
from lib.data.strict import DataError, listed, parse, read_yaml

PerMillion = Annotated[float, Field(ge=0)]
LEAST = 1e-4  # currency units for a million tokens: what is below was given for one token


class CacheWrite(Spec):
    """The price of writing a million tokens into a cache that keeps them for `minutes`."""

    minutes: Size
    price: PerMillion


class Peak(Spec):
    """At `hours_utc` every price is multiplied by `factor`."""

    factor: Annotated[float, Field(gt=1)]
    hours_utc: str


class Above(Spec):
    """Prices of requests whose prompt is longer than `tokens`."""

    tokens: Size
    hit: PerMillion | None
    miss: PerMillion
    output: PerMillion


class Price(Spec):
    """One price list of one model in one period. `model_ref` names a file of data/models when there is one;
    `storage_per_million_hour` is a charge by time; `disputed` says who gives other figures."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9.\-]+$")]
    model: str
    model_ref: str | None
    vendor: str
    valid_from: date | None
    valid_until: date | None
    currency: Literal["USD", "CNY"]
    hit: PerMillion | None
    miss: PerMillion | None
    output: PerMillion | None
    cache_write: list[CacheWrite]
    storage_per_million_hour: PerMillion | None
    peak: Peak | None
    above_context: list[Above]
    disputed: str | None
    source: Annotated[str, Field(min_length=3)]
    confidence: Confidence

    @field_validator("hit", "miss", "output")
    @classmethod
    def _per_million(cls, value: float | None, info) -> float | None:
        if value is not None and 0 < value < LEAST:
            raise ValueError(
                f"{info.field_name}={value:g}: wanted a price for a million tokens, at least {LEAST:g} or 0"
            )
        return value

    @model_validator(mode="after")
    def _ordered(self):
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError(f"valid_until={self.valid_until}: wanted a date after valid_from={self.valid_from}")
        if self.hit is not None and self.miss is not None and self.hit > self.miss:
            raise ValueError(f"hit={self.hit}: wanted at most miss={self.miss}")
        return self


def load_prices(path: Path) -> dict[str, Price]:
    """Price rows by id. Raises DataError on a fault or an id given twice."""
    (rows,) = listed(read_yaml(path), path, "prices")
    found: dict[str, Price] = {}
    for position, entry in enumerate(rows, 1):
        label = entry.get("id", f"row {position}") if isinstance(entry, dict) else f"row {position}"
        row = parse(Price, entry, f"{path}: {label}")
        if row.id in found:
            raise DataError(f"{path}: {label}: key id: value {row.id!r} appears twice, wanted it once")
        found[row.id] = row
    return found


@cache
def prices() -> dict[str, Price]:
    """Every price row by id; each `model_ref` is a model of data/models."""
    path = DATA / "prices.yml"
    found = load_prices(path)
    for row in found.values():
        if row.model_ref is not None and row.model_ref not in models():
            raise DataError(
                f"{path}: {row.id}: key model_ref: value {row.model_ref!r}, wanted null or one of {', '.join(models())}"
            )
    return found


def price(name: str) -> Price:
    """One row by id; DataError lists the ids there are."""
    if name not in prices():
        raise DataError(f"price {name!r}: wanted one of {', '.join(prices())}")
    return prices()[name]


def price_of(model: str, on: date) -> Price:
    """The row of a model (`model_ref`) that is valid on a day; DataError when there is none or more than one."""
    rows = [
        row
        for row in prices().values()
        if row.model_ref == model
        and (row.valid_from is None or row.valid_from <= on)
        and (row.valid_until is None or on < row.valid_until)
    ]
    if len(rows) != 1:
        raise DataError(
            f"price of {model!r} on {on}: {len(rows)} rows are valid ({', '.join(row.id for row in rows) or 'none'}), wanted one"
        )
    return rows[0]
