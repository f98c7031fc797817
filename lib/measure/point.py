"""What is measured: a point (which work, at which size), the work itself, and the samples that come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Point(NamedTuple):
    """One combination of sizes. `name` is a mechanism, a limit or a stack; `variant` tells ways of doing it apart."""

    suite: str
    name: str
    model: str
    context: int
    batch: int
    dtype: str
    variant: str

    def words(self) -> str:
        sizes = [f"{self.context:,} tokens"] * bool(self.context) + [f"batch {self.batch}"] * (self.batch > 1)
        return " ".join([self.suite, self.name, *sizes, *[self.variant] * bool(self.variant)])


@dataclass(frozen=True)
class Work:
    """What one call does at the least: bytes that must move, floating-point operations."""

    bytes: float
    flops: float


@dataclass
class Case:
    """A point made ready: `runs` do the same work on different memory and are called in turn, so that no cache helps.

    `buffers` distinct sets of inputs; `counted` bytes as counted from the tensors, to hold the formula to. `finish` is
    called at the end; `extra` gives what a suite notes beside the time, after the samples are taken.
    """

    runs: Sequence[Callable[[], object]]
    counted: float
    buffers: int = 1
    extra: Callable[[], dict] = dict
    finish: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Plan:
    """A point to measure: its work, the memory that one set of inputs takes, and how to make it ready."""

    point: Point
    work: Work
    need: int
    make: Callable[[object], Case]
    least: int = 5  # samples
    want: int = 0  # memory that it could use beyond `need`, for more distinct inputs
    fast: bool = True  # whether calls may be repeated within a sample
    growth: float = 1.0  # how the time may grow with the context, to foresee it


class Sample(NamedTuple):
    """Seconds of one call, averaged over `calls` calls in a row."""

    seconds: float
    calls: int
