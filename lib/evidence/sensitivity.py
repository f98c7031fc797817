"""Which assumption moves each of the three ceilings most: each assumption 20 % down and up, one at a time.

The ceilings are those of sixteen sequences on the smallest node of H200 that holds the weights: the longest context that fits,
the longest within 50 ms a token, and the longest at which a million generated tokens cost at most ten dollars.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lib.cost.capacity import ceiling
from lib.cost.system import System
from lib.data import Model, chip
from lib.evidence.ceilings import TPOT, smallest_node

SWING = 0.20
BATCH = 16
PRICE = 10.0  # dollars for a million generated tokens


@dataclass(frozen=True)
class Case:
    """All that a ceiling is computed from."""

    model: Model
    system: System
    batch: int = BATCH
    tpot: float = TPOT
    price: float = PRICE
    rent: float = 0.0


def case(model: Model) -> Case:
    rent = next(rent.value for rent in chip("h200").dollars_per_hour if rent.kind == "neocloud cost")
    return Case(model, smallest_node(model), rent=rent)


CEILINGS: dict[str, Callable[[Case], int]] = {
    "fits in memory": lambda c: ceiling(c.model, c.system, batch=c.batch),
    "50 ms a token": lambda c: ceiling(c.model, c.system, batch=c.batch, memory=False, tpot=c.tpot),
    "$10 a million tokens": lambda c: ceiling(
        c.model, c.system, batch=c.batch, memory=False, price=c.price, dollars_per_hour=c.rent
    ),
}


def _chip(c: Case, x: float, *names: str) -> Case:
    scaled = {name: getattr(c.system.chip, name) * x for name in names}
    return replace(c, system=replace(c.system, chip=c.system.chip.model_copy(update=scaled)))


def _rates(c: Case, x: float) -> Case:
    rates = {name: value and value * x for name, value in c.system.chip.flops.model_dump().items()}
    flops = type(c.system.chip.flops)(**rates)
    return replace(c, system=replace(c.system, chip=c.system.chip.model_copy(update={"flops": flops})))


WIDTHS = ("latent", "rope", "head_dim", "index_dim", "kv_heads")  # what a cached token's bytes are proportional to


def _width(c: Case, x: float) -> Case:
    """Every cached vector `x` times as wide; work on it grows alike."""
    mixers = {
        letter: mixer.model_copy(
            update={name: round(getattr(mixer, name) * x) for name in WIDTHS if getattr(mixer, name, 0)}
        )
        for letter, mixer in c.model.mechanisms.items()
    }
    return replace(c, model=c.model.model_copy(update={"mechanisms": mixers}))


ASSUMPTIONS: dict[str, Callable[[Case, float], Case]] = {
    "chip memory": lambda c, x: _chip(c, x, "memory_bytes"),
    "memory bandwidth": lambda c, x: _chip(c, x, "memory_bandwidth"),
    "matrix rate": _rates,
    "link bandwidth": lambda c, x: _chip(c, x, "link_bandwidth"),
    "width of what is cached": _width,
    "sequences at once": lambda c, x: replace(c, batch=round(c.batch * x)),
    "latency target": lambda c, x: replace(c, tpot=c.tpot * x),
    "price target": lambda c, x: replace(c, price=c.price * x),
    "rent": lambda c, x: replace(c, rent=c.rent * x),
}


def swings(model: Model) -> list[tuple[str, str, int, int, int]]:
    """(ceiling, assumption, context at 80 %, as assumed, at 120 %), without assumptions that do not move the ceiling."""
    found, base_case = [], case(model)
    for name, of in CEILINGS.items():
        base = of(base_case)
        for assumption, vary in ASSUMPTIONS.items():
            down, up = of(vary(base_case, 1 - SWING)), of(vary(base_case, 1 + SWING))
            if base and (down, up) != (base, base):
                found.append((name, assumption, down, base, up))
    return found
