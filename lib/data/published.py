"""Figures and statements by others, from `data/published.yml`: what the book's model must meet, or argue with."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from lib.data.load import DATA
from lib.data.mechanisms import Spec
from lib.data.model import Confidence
from lib.data.strict import DataError, listed, parse, read_yaml

Reading = Literal["text", "digitised", "secondary", "recomputed"]


class Figure(Spec):
    """One published figure, or a curve of `y` over `x`. `reading_error` is relative: 0.005 for a point read off vector art.
    `used_for` says what rests on it, None: nothing yet."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9.\-]+$")]
    subject: str
    quantity: str
    unit: str
    value: float | None
    x_name: str | None
    x: list[float] | None
    y: list[float] | None
    read: Reading
    reading_error: Annotated[float, Field(ge=0, lt=0.2)]
    source: Annotated[str, Field(min_length=3)]
    confidence: Confidence
    used_for: str | None
    note: str | None

    @model_validator(mode="after")
    def _one_shape(self):
        curve = self.x is not None and self.y is not None and self.x_name is not None
        none = self.x is None and self.y is None and self.x_name is None
        if not (curve and self.value is None) and not (none and self.value is not None):
            raise ValueError(
                f"value={self.value}, x_name={self.x_name}, x={self.x}, y={self.y}: "
                "wanted either a value or a curve with x_name, x and y"
            )
        if curve and (len(self.x) != len(self.y) or len(self.x) < 2):
            raise ValueError(f"x, y: {len(self.x)} and {len(self.y)} points, wanted as many of each, 2 or more")
        if curve and self.x != sorted(set(self.x)):
            raise ValueError(f"x={self.x}: wanted each point once and in order")
        return self

    def points(self) -> dict[float, float]:
        """x -> y of a curve."""
        if self.x is None or self.y is None:
            raise DataError(f"published figure {self.id!r}: wanted a curve, got one value")
        return dict(zip(self.x, self.y, strict=True))


class Statement(Spec):
    """Something a source says that is no number."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9.\-]+$")]
    subject: str
    topic: Literal["future work", "system data", "offload system", "sequel"]
    says: Annotated[str, Field(min_length=5)]
    source: Annotated[str, Field(min_length=3)]
    confidence: Confidence


def load_published(path: Path) -> tuple[dict[str, Figure], dict[str, Statement]]:
    """(figures, statements) by id. Raises DataError on a fault or an id given twice."""
    figures, statements = listed(read_yaml(path), path, "figures", "statements")
    return _by_id(path, figures, Figure), _by_id(path, statements, Statement)


def _by_id(path: Path, entries: list, kind) -> dict:
    found = {}
    for position, entry in enumerate(entries, 1):
        label = entry.get("id", f"entry {position}") if isinstance(entry, dict) else f"entry {position}"
        loaded = parse(kind, entry, f"{path}: {label}")
        if loaded.id in found:
            raise DataError(f"{path}: {label}: key id: value {loaded.id!r} appears twice, wanted it once")
        found[loaded.id] = loaded
    return found


@cache
def _loaded() -> tuple[dict[str, Figure], dict[str, Statement]]:
    return load_published(DATA / "published.yml")


def figures() -> dict[str, Figure]:
    return _loaded()[0]


def statements(topic: str | None = None) -> dict[str, Statement]:
    """Statements by id, of one topic when it is given."""
    return {name: entry for name, entry in _loaded()[1].items() if topic is None or entry.topic == topic}


def figure(name: str) -> Figure:
    """One figure by id; DataError when there is none."""
    if name not in figures():
        raise DataError(
            f"published figure {name!r}: wanted an id of data/published.yml, such as {next(iter(figures()))!r}"
        )
    return figures()[name]
