"""Suite *limits*: what this device can do at most, in the units of a roofline: bytes read a second, FLOP a second by dtype."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from lib.measure.memory import Pool
from lib.measure.point import Case, Plan, Point, Work

READ = 1 << 30
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}
SIZES = {"cpu": (256, 2048), "cuda": (8192,)}  # a CPU without instructions for a dtype takes minutes for a large cube


def plans(device: str, tokens: int = 0) -> Iterator[Plan]:
    size = READ if device == "cpu" else 4 * READ
    yield Plan(Point("limits", "read", "", 0, 1, "float32", ""), Work(size, size / 4), size, lambda pool: _read(pool, size), least=15, fast=False)  # fmt: skip
    for name in DTYPES:
        for cube in SIZES[device]:
            yield _cube(name, cube, device)


def _read(pool: Pool, size: int) -> Case:
    """A large sum: nothing is written, every byte is used once."""
    numbers = pool.window(0).tensor(size // 4, dtype=torch.float32)
    return Case([numbers.sum], numbers.nbytes)


def _cube(name: str, cube: int, device: str) -> Plan:
    """A square product. On a CPU the large one is left out where the small one says that it would take too long."""
    dtype = DTYPES[name]
    wide = torch.empty(0, dtype=dtype).element_size()
    work = Work(3.0 * cube * cube * wide, 2.0 * cube**3)

    def make(pool: Pool) -> Case:
        room = pool.window(0)
        a, b = (room.tensor(cube, cube, dtype=dtype) for _ in range(2))
        return Case([lambda: a @ b], work.bytes)

    point = Point("limits", "product", "", cube, 1, name, "")
    return Plan(point, work, 2 * cube * cube * wide + 64, make, least=15, fast=cube <= 512)


def too_slow(plan: Plan, known: dict[Point, float]) -> bool:
    """Whether a small cube was so slow that a large one would take over ten seconds."""
    small = next((seconds for point, seconds in known.items() if point.name == "product" and point.dtype == plan.point.dtype and point.context < plan.point.context), None)  # fmt: skip
    if plan.point.name != "product" or small is None:
        return False
    other = next(point.context for point in known if point.name == "product" and point.dtype == plan.point.dtype)
    return small * (plan.point.context / other) ** 3 > 10.0
