"""The loop around every measurement: warm-up, repeats, medians, a budget, and a record that survives a kill.

It knows clocks and plans, not attention: tests give it a fake clock and a fake kernel.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice

from lib.measure.point import Case, Plan, Point, Sample

LONG_ENOUGH = 2e-3  # seconds that a sample should take: below, the clock and the call itself would show
SECONDS, MOST = 2.5, 9  # a point gets more samples than the least until it has taken this long, or has this many
SLOW = 3.0  # seconds of a call whose first run is kept as a sample: its memory was touched when the pool was filled


QUIET, TRIES = 0.2, 2  # cores that others may use during a point, and how often it is tried for that


class Mismatch(AssertionError):
    """A kernel was given other bytes than the formula says."""


def sample(
    case: Case, timer, *, least: int, fast: bool = True, seconds: float = SECONDS, most: int = MOST
) -> list[Sample]:
    """Warm up, then time the case's calls in turn until there are `least` samples and `seconds` have passed, or `most`."""
    runs = cycle(timer.prepare(case.runs))
    first = timer.seconds(list(islice(runs, 1)))
    samples = [Sample(first, 1)] if first > SLOW else []
    if fast and not samples:  # further inputs warm up too, and tell how long a call takes
        first = min(first, timer.seconds(list(islice(runs, 1))))
    calls = max(1, min(256, round(LONG_ENOUGH / max(first, 1e-7)))) if fast else 1
    spent = 0.0
    wanted = min(least, 2) if samples else least
    while len(samples) < max(most, least) and (len(samples) < wanted or spent < seconds):
        took = timer.seconds(list(islice(runs, calls)))
        spent += took
        samples.append(Sample(took / calls, calls))
    return samples


def median(samples: Iterable[Sample]) -> float:
    return statistics.median(s.seconds for s in samples)


@dataclass
class Report:
    """What a run did: points measured, those found in the record, those left for lack of budget or memory."""

    measured: int = 0
    kept: int = 0
    left: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass
class Run:
    """Measure plans one after the other. `keep(plan, case, samples, mode, load)` stores a point as soon as it is done;
    `others()` says how many cores other programs have used since it was last asked."""

    timer: object
    room: Callable[[int, int], object]  # bytes needed and bytes wanted -> a pool of at least the former
    free: Callable[[], int]
    keep: Callable[[Plan, Case, list[Sample], str, float | None], None]
    known: dict[Point, float] = field(default_factory=dict)  # points that the record has, with their medians
    budget: float | None = None
    tell: Callable[[str], None] = lambda words: print(words, file=sys.stderr, flush=True)
    skip: Callable[[Plan, dict], bool] = lambda plan, known: False
    others: Callable[[], float | None] = lambda: None

    def __call__(self, plans: Iterable[Plan]) -> Report:
        report, started = Report(), self.timer.clock()
        plans = list(plans)
        report.kept = sum(plan.point in self.known for plan in plans)
        todo = list(self._fitting([plan for plan in plans if plan.point not in self.known], report))
        if not todo:
            return report
        pool = self.room(max(plan.need for plan in todo), max(plan.want for plan in todo))
        for place, plan in enumerate(todo):
            if self.skip(plan, self.known):
                report.notes.append(f"{plan.point.words()}: left out, the smaller one says that it would take too long")
                continue
            spent = self.timer.clock() - started
            if self.budget is not None and report.measured and spent + self.expected(plan) > self.budget:
                report.left = [later.point.words() for later in todo[place:]]
                break
            self._one(plan, pool, report, place, len(todo), spent)
        return report

    def _fitting(self, plans: list[Plan], report: Report) -> Iterator[Plan]:
        """The plans that memory allows; what it does not allow is named with the largest size that it does."""
        free = self.free()
        for plan in plans:
            if plan.need <= free:
                yield plan
                continue
            p = plan.point
            smaller = [q.point.context for q in plans if q.need <= free and (q.point.name, q.point.batch, q.point.variant) == (p.name, p.batch, p.variant)]  # fmt: skip
            largest = f"; the largest that fits is {max(smaller):,} tokens" if smaller else ""
            report.notes.append(
                f"{p.words()}: needs {plan.need / 2**30:.2f} GiB, {free / 2**30:.2f} GiB may be used{largest}"
            )
            self.tell(report.notes[-1])

    def _one(self, plan: Plan, pool, report: Report, place: int, count: int, spent: float) -> None:
        case = plan.make(pool)
        try:
            if abs(case.counted - plan.work.bytes) > 0.5:
                raise Mismatch(
                    f"{plan.point.words()}: tensors hold {case.counted:,.0f} bytes, the formula says {plan.work.bytes:,.0f}"
                )
            samples, load = self._quietest(case, plan)
            self.keep(plan, case, samples, self.timer.mode, load)
        finally:
            case.finish()
        self.known[plan.point] = median(samples)
        report.measured += 1
        done = (place + 1) / count
        bar = "#" * round(20 * done) + "." * (20 - round(20 * done))
        self.tell(
            f"[{bar}] {place + 1}/{count} {spent:5.0f} s  {plan.point.words()}: {1e3 * median(samples):.3f} ms, {len(samples)} samples"
        )

    def _quietest(self, case: Case, plan: Plan) -> tuple[list[Sample], float | None]:
        """The samples during which others used the CPU least, and how many cores they used; the first if that was little."""
        best: tuple[list[Sample], float | None] = ([], None)
        for attempt in range(TRIES):
            self.others()
            samples = sample(case, self.timer, least=plan.least, fast=plan.fast)
            load = self.others()
            if attempt == 0 or (load is not None and load < best[1]):
                best = samples, load
            if best[1] is None or best[1] <= QUIET or sum(s.seconds * s.calls for s in samples) > 4 * SECONDS:
                break
        return best

    def expected(self, plan: Plan) -> float:
        """Seconds that a point may take, from the same work at another size; unknown work is taken to be quick."""
        p = plan.point
        like = [(q, t) for q, t in self.known.items() if (q.suite, q.name, q.variant) == (p.suite, p.name, p.variant)]
        if not like or not p.context:
            return 0.0
        nearest, seconds = min(like, key=lambda item: abs(item[0].context * item[0].batch - p.context * p.batch))
        call = seconds * max(1.0, p.context * p.batch / (nearest.context * nearest.batch)) ** plan.growth
        return call * (plan.least + 2) if call < SLOW else 2 * call
