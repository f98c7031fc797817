"""Printed figures as intervals, and verdicts as functions of them.

A figure printed as "480.4M" says that the value lies in [480.35M, 480.45M]: half a unit of the last printed digit on
either side. A recomputed value is compared with that interval, never with the bare decimal, and sums, products and
ratios of printed figures carry their intervals along (Moore, Interval Analysis, 1966: the four operations on end points).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum

SUFFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "%": 1e-2, "x": 1.0, ":1": 1.0}
_NUMBER = re.compile(
    r"^(?P<about>about |up to |~)?(?P<money>\$|USD )?(?P<sign>-)?(?P<whole>\d+)(?:\.(?P<fraction>\d+))?"
    r" ?(?P<suffix>K|M|B|T|%|x|:1)?$"
)
_RANGE = re.compile(r"^(?P<low>[\d.]+)-(?P<high>[\d.]+) ?(?P<suffix>K|M|B|T|%|x)?$")


@dataclass(frozen=True)
class Interval:
    """A closed interval [low, high] of real numbers."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"interval [{self.low}, {self.high}]: wanted finite end points")
        if self.low > self.high:
            raise ValueError(f"interval [{self.low}, {self.high}]: wanted low <= high")

    @classmethod
    def of(cls, value: float | Interval) -> Interval:
        return value if isinstance(value, Interval) else cls(float(value), float(value))

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def __add__(self, other: float | Interval) -> Interval:
        other = Interval.of(other)
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: float | Interval) -> Interval:
        other = Interval.of(other)
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: float | Interval) -> Interval:
        other = Interval.of(other)
        ends = [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high]
        return Interval(min(ends), max(ends))

    def __truediv__(self, other: float | Interval) -> Interval:
        other = Interval.of(other)
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError(f"division by the interval [{other.low}, {other.high}], which contains zero")
        ends = [self.low / other.low, self.low / other.high, self.high / other.low, self.high / other.high]
        return Interval(min(ends), max(ends))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> Interval:
        return Interval.of(other) - self

    def __rtruediv__(self, other: float) -> Interval:
        return Interval.of(other) / self

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high

    def covers(self, other: Interval) -> bool:
        return self.low <= other.low and other.high <= self.high

    def overlaps(self, other: Interval) -> bool:
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class Printed:
    """A figure as somebody printed it: its text, and the interval that the printed digits stand for."""

    text: str
    value: float
    interval: Interval


def printed(text: str) -> Printed:
    """Read a printed figure such as `480.4M`, `1.8 %`, `42.7:1`, `2x`, `$0.28`, `about 500K` or `67-78 %`.

    A single figure stands for half a unit of its last printed digit on either side; a range for its two ends, each with
    its own half unit. `about` and `up to` do not widen the interval: the digits were the author's choice.
    Raises ValueError, naming the text, when it is not a figure of one of these forms.
    """
    text = text.strip()
    if match := _RANGE.match(text):
        scale = SUFFIXES[match["suffix"] or ""]
        low, high = (_half_unit(match[end], scale) for end in ("low", "high"))
        return Printed(text, (low.middle + high.middle) / 2, Interval(low.low, high.high))
    match = _NUMBER.match(text)
    if match is None:
        raise ValueError(f"printed figure {text!r}: wanted a number such as '480.4M', '1.8 %', '42.7:1' or '67-78 %'")
    digits = match["whole"] + (f".{match['fraction']}" if match["fraction"] else "")
    interval = _half_unit(digits, SUFFIXES[match["suffix"] or ""])
    if match["sign"]:
        interval = Interval(-interval.high, -interval.low)
    return Printed(text, interval.middle, interval)


def _half_unit(digits: str, scale: float) -> Interval:
    decimals = len(digits.partition(".")[2])
    half = 0.5 * 10.0**-decimals
    return Interval((float(digits) - half) * scale, (float(digits) + half) * scale)


class Kind(Enum):
    """The verdicts that a claim or a cell can get, with the mark shown beside the words."""

    HOLDS = ("holds", "✓")
    ROUNDING = ("holds within rounding", "≈")
    ONLY_IF = ("holds only if", "◐")
    FAILS = ("does not hold", "✗")
    MIXES = ("mixes two models", "⇄")
    UNCHECKED = ("cannot be checked", "?")
    PENDING = ("pending", "…")

    @property
    def words(self) -> str:
        return self.value[0]

    @property
    def mark(self) -> str:
        return self.value[1]


@dataclass(frozen=True)
class Verdict:
    """A kind, and what it hangs on: the condition of `holds only if`, the need of `cannot be checked`."""

    kind: Kind
    because: str = ""

    def __post_init__(self) -> None:
        if self.kind in (Kind.ONLY_IF, Kind.UNCHECKED, Kind.PENDING, Kind.MIXES) and not self.because:
            raise ValueError(f"verdict {self.kind.words!r}: wanted the condition, the need or the two models")

    def __str__(self) -> str:
        if self.kind is Kind.ONLY_IF:
            return f"{self.kind.words} {self.because}"
        return f"{self.kind.words}: {self.because}" if self.because else self.kind.words


def compare(recomputed: float | Interval, figure: Printed | str, because: str = "") -> Verdict:
    """`holds` if every recomputed value rounds to the printed digits; `holds within rounding` if only some do (the
    inputs were themselves rounded); else `does not hold`, with both values in the reason unless one is given."""
    figure = printed(figure) if isinstance(figure, str) else figure
    value = Interval.of(recomputed)
    # a decimal such as 0.285 has no exact double: a relative 1e-12 keeps an exact tie a tie
    slack = 1e-12 * max(abs(figure.interval.low), abs(figure.interval.high))
    allowed = Interval(figure.interval.low - slack, figure.interval.high + slack)
    if allowed.covers(value):
        return Verdict(Kind.HOLDS, because)
    if allowed.overlaps(value):
        return Verdict(Kind.ROUNDING, because)
    return Verdict(Kind.FAILS, because or f"recomputed {_in_unit_of(value.middle, figure)}, printed {figure.text}")


def _in_unit_of(value: float, figure: Printed) -> str:
    """`value` with the suffix that the figure was printed with, one digit finer."""
    match = _NUMBER.match(figure.text) or _RANGE.match(figure.text)
    suffix = match["suffix"] or "" if match else ""
    return f"{value / SUFFIXES[suffix]:.4g}{' %' if suffix == '%' else suffix}"


def holds(truth: bool, because: str = "") -> Verdict:
    """A yes-or-no statement's verdict."""
    return Verdict(Kind.HOLDS if truth else Kind.FAILS, because)


def only_if(condition: str) -> Verdict:
    return Verdict(Kind.ONLY_IF, condition)


def mixes(models: str) -> Verdict:
    return Verdict(Kind.MIXES, models)


def unchecked(need: str) -> Verdict:
    return Verdict(Kind.UNCHECKED, need)


def pending(subject: str) -> Verdict:
    """What needs kernels, costs or measurements that do not exist yet; `subject` names them."""
    return Verdict(Kind.PENDING, subject)
