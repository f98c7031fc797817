"""A clock that a kernel moves, so that nothing here depends on real time."""

from __future__ import annotations

from lib.measure.clock import Wall
from lib.measure.point import Case, Plan, Point, Work


class Clock:
    """Seconds since the test began; `spend` moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds


def wall() -> tuple[Wall, Clock]:
    clock = Clock()
    return Wall(clock), clock


def plan(
    clock: Clock,
    context: int,
    *,
    seconds,
    name: str = "mla",
    need: int = 1,
    counted: float | None = None,
    calls: list | None = None,
) -> Plan:
    """A kernel that takes `seconds(call number)`; `counted` bytes differ from the formula's where a test wants it."""
    point, made = Point("decode", name, "toy", context, 1, "bfloat16", ""), [0]

    def run() -> None:
        clock.spend(seconds(made[0]))
        made[0] += 1
        if calls is not None:
            calls.append(context)

    work = Work(8.0 * context, 2.0 * context)
    return Plan(point, work, need, lambda pool: Case([run], work.bytes if counted is None else counted))
