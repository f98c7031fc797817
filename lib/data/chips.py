"""Accelerators and memory tiers of `data/chips.yml`, in base units: bytes, bytes a second, FLOP a second, seconds, dollars."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from lib.data.load import DATA
from lib.data.mechanisms import Spec
from lib.data.model import Confidence
from lib.data.strict import DataError, listed, parse, read_yaml

# what any accelerator or memory of this decade has: a value outside is in another unit
RANGES = {
    "memory_bytes": (1e9, 1e13, "bytes, as 80.0e+9"),
    "memory_bandwidth": (1e10, 1e14, "bytes a second, as 3.35e+12"),
    "link_bandwidth": (1e9, 1e13, "bytes a second, as 450.0e+9"),
    "host_bandwidth": (1e9, 1e13, "bytes a second, as 64.0e+9"),
    "flops": (1e12, 1e17, "FLOP a second, as 989.0e+12"),
    "bandwidth": (1e8, 1e14, "bytes a second, as 36.0e+9"),
    "latency": (1e-9, 1.0, "seconds, as 1.0e-7"),
    "capacity": (1e9, 1e17, "bytes, as 1.0e+12"),
    "dollars_per_gb": (1e-3, 1e3, "dollars for 1e9 bytes"),
}


def in_range(field: str, value: float | None) -> float | None:
    """`value`, or a ValueError that says which unit was wanted."""
    low, high, wanted = RANGES[field]
    if value is not None and not low <= value <= high:
        raise ValueError(f"{field}={value:g}: wanted {wanted}, between {low:g} and {high:g}")
    return value


Number = Annotated[float, Field(gt=0)]


class Rates(Spec):
    """Dense FLOP/s by format, None where the chip has no such unit."""

    bf16: Number | None
    fp8: Number | None
    fp4: Number | None

    @field_validator("*")
    @classmethod
    def _unit(cls, value: float | None) -> float | None:
        return in_range("flops", value)


class Rent(Spec):
    """Dollars for one chip for one hour; `kind` says whose price it is."""

    kind: Literal["hyperscaler cost", "neocloud cost", "three-year rent", "market", "own use"]
    value: Annotated[float, Field(gt=0, lt=100)]
    note: str | None


class Chip(Spec):
    """One accelerator. Figures are None for a device whose figures come from a measurement (`measured`)."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    title: str
    measured: bool
    memory_bytes: Number | None
    memory_bandwidth: Number | None
    flops: Rates
    link_bandwidth: Number | None
    host_bandwidth: Number | None
    dollars_per_hour: list[Rent]
    source: Annotated[str, Field(min_length=3)]
    confidence: Confidence
    note: str | None

    @field_validator("memory_bytes", "memory_bandwidth", "link_bandwidth", "host_bandwidth")
    @classmethod
    def _unit(cls, value: float | None, info) -> float | None:
        return in_range(info.field_name, value)

    @model_validator(mode="after")
    def _complete(self):
        if not self.measured and (
            self.memory_bytes is None or self.memory_bandwidth is None or self.flops.bf16 is None
        ):
            raise ValueError(
                f"memory_bytes={self.memory_bytes}, memory_bandwidth={self.memory_bandwidth}, flops.bf16={self.flops.bf16}: "
                "wanted figures, or measured: true"
            )
        return self


class Span(Spec):
    """From `low` to `high`, as sources give it; None where no source does."""

    low: Number | None
    high: Number | None

    @model_validator(mode="after")
    def _ordered(self):
        if (self.low is None) != (self.high is None) or (self.low is not None and self.low > self.high):
            raise ValueError(f"low={self.low}, high={self.high}: wanted both or neither, low <= high")
        return self


class Tier(Spec):
    """A kind of memory, cheapest last: what one device or module of it gives."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    title: str
    bandwidth: Span
    latency: Span
    capacity: Span
    dollars_per_gb: Span
    source: Annotated[str, Field(min_length=3)]
    confidence: Confidence
    note: str | None

    @model_validator(mode="after")
    def _units(self):
        for field in ("bandwidth", "latency", "capacity", "dollars_per_gb"):
            for end in ("low", "high"):
                in_range(field, getattr(getattr(self, field), end))
        return self


def load_chips(path: Path) -> tuple[dict[str, Chip], dict[str, Tier]]:
    """(chips, tiers) by name. Raises DataError on a fault or a name given twice."""
    chips, tiers = listed(read_yaml(path), path, "chips", "tiers")
    return _named(path, chips, Chip), _named(path, tiers, Tier)


def _named(path: Path, entries: list, kind) -> dict:
    found = {}
    for position, entry in enumerate(entries, 1):
        label = entry.get("name", position) if isinstance(entry, dict) else position
        loaded = parse(kind, entry, f"{path}: {kind.__name__.lower()} {label}")
        if loaded.name in found:
            raise DataError(f"{path}: key name: value {loaded.name!r} appears twice, wanted it once")
        found[loaded.name] = loaded
    return found


@cache
def _loaded() -> tuple[dict[str, Chip], dict[str, Tier]]:
    return load_chips(DATA / "chips.yml")


def chips() -> dict[str, Chip]:
    """Every accelerator by name."""
    return _loaded()[0]


def tiers() -> dict[str, Tier]:
    """Every memory tier by name, fastest first."""
    return _loaded()[1]


def chip(name: str) -> Chip:
    """One accelerator by name ("h200"); DataError lists the names there are."""
    if name not in chips():
        raise DataError(f"chip {name!r}: wanted one of {', '.join(chips())}")
    return chips()[name]
