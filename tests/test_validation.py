"""How published figures are compared, where costs cross, how they grow, and what moves a ceiling."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.cost import System, decode_flops, decode_step, prefill_flops, read_bytes, stored_bytes
from lib.cost.crossover import crossovers
from lib.cost.scaling import exponent, near_linear_until
from lib.cost.step import cache_read
from lib.cost.weights import weights_held
from lib.data import chip, figures, model
from lib.evidence import sensitivity
from lib.evidence.ceilings import ceilings, node, smallest_node
from lib.validation import rows, times
from lib.validation.capacity import CHECKS
from lib.validation.rows import _exact, _last_digit
from tests.toys import DSA, GDN, KDA, LIGHTNING, MLA, MOE, SOFTMAX, WIDE, toy, toy_chip

ROWS = rows()


def test_the_published_figures_are_many_and_none_contradicts_a_bound():
    """The only rows that the book leaves open are Fig. 1b's beyond the limit of equal batches. Breaks if a formula moves any
    of the others out of its bounds, or if figures are dropped."""
    assert len(ROWS) >= 200
    assert {row.figure for row in ROWS if row.outcome.startswith("open")} == {"kl-fig1b"}
    assert Counter(row.outcome.split(":")[0] for row in ROWS)["exact"] >= 50


def test_curves_have_all_their_points():
    """Breaks if a digitised curve loses a point on its way."""
    counted = Counter(row.figure for row in ROWS)
    for name in ("7b", "1b", "7a"):
        assert counted[f"kl-fig{name}"] == len(figures()[f"kl-fig{name}-mla"].points())


@pytest.mark.parametrize("name", CHECKS)
def test_a_spoiled_figure_is_not_exact(name):
    """Half as much again is neither exact, nor within its reading, nor within ten per cent. Breaks if a comparison ignores
    what was published."""
    if name not in figures():
        pytest.fail(f"{name}: a check of a figure that data/published.yml does not have")
    spoiled = figures()[name].model_copy(update={"value": figures()[name].value * 1.5})
    assert _exact(spoiled, CHECKS[name]).outcome.split(":")[0] in ("explained", "open")


@pytest.mark.parametrize(
    ("value", "unit"), [(0.27, 0.01), (2.9, 0.1), (960.0, 1.0), (1884.0, 1.0), (0.7407, 0.0001), (1e6, 1.0)]
)
def test_the_last_digit_of_a_figure(value, unit):
    """Breaks if 960.0 is read as printed to a tenth."""
    assert _last_digit(value) == pytest.approx(unit, rel=1e-12)


def test_a_module_on_paper():
    """Kimi-Linear's MLA layer at 1,000 tokens on an H200, from its dimensions. Breaks if a projection's weights are not read,
    or the two bounds are swapped."""
    m, h200 = model("kimi-linear-48b-a3b"), chip("h200")
    mixer = m.mechanisms["M"]
    weights = 2304 * 32 * 192 + 2304 * 576 + 512 + 512 * 32 * 256 + 32 * 128 * 2304
    memory = (weights + 1000 * 576 * 2) / h200.memory_bandwidth
    compute = 2 * weights / h200.flops.fp8 + 1000 * 2 * 32 * (576 + 512) / h200.flops.bf16
    bounds = times.module(m, mixer, 1000, 1)
    assert bounds.low == pytest.approx(max(memory, compute), rel=1e-12)
    assert bounds.high == pytest.approx(2 * (memory + compute), rel=1e-12)


def test_a_state_on_paper():
    """96 heads of 128 x 128 float32 numbers, read and written. Breaks if the write is forgotten."""
    seconds = 3 * 2 * 96 * 128 * 128 * 4 / chip("h200").memory_bandwidth
    assert times.state_step(model("kimi-k3"), 3) == pytest.approx((seconds, 2 * seconds), rel=1e-12)


@given(st.integers(300, 2**22))
def test_one_crossing_is_found_exactly(place):
    """Breaks if bisection ends one token early or late."""
    assert crossovers(lambda c: 3.0 * c, lambda c: 2.0 * c + place - 0.5) == [place]


def test_crossings_in_both_directions_and_none():
    """Breaks if only the first change of order is reported, or a tie at the grid's start counts."""
    bump = lambda c: (c - 1000.5) * (c - 50_000.5)  # noqa: E731
    assert crossovers(bump, lambda c: 0.0 * c) == [1001, 50_001]
    assert crossovers(lambda c: c + 1.0, lambda c: 1.0 * c) == []


@given(st.floats(0.2, 3.0))
def test_exponent_of_a_power(power):
    """Breaks if the step's logarithm is not divided by."""
    assert exponent(lambda c: 5 * np.asarray(c) ** power, 1000) == pytest.approx(power, rel=1e-9)


@given(st.integers(12, 22))
def test_near_linear_until_the_quadratic_term_counts(octave):
    """c + c^2 / k has exponent e at c = k (2^e - 2) / (4 - 2^e). Breaks if the last crossing is taken at a grid point."""
    k = 2.0**octave
    edge = k * (2**1.1 - 2) / (4 - 2**1.1)
    found = near_linear_until(lambda c: np.asarray(c) + np.asarray(c) ** 2 / k)
    assert found == pytest.approx(max(edge, 2.0**10), rel=1e-6)


def test_near_linear_at_the_ends():
    assert near_linear_until(lambda c: np.asarray(c) * 1.0) == 2.0**24
    assert near_linear_until(lambda c: np.asarray(c) ** 2.0) == 2.0**10


@pytest.mark.parametrize("name", ["kimi-k3", "deepseek-v4-pro"])
def test_more_of_a_good_thing_moves_a_ceiling_up(name):
    """Breaks if an assumption is applied to the wrong side, such as a wider cache that fits more."""
    better = {"chip memory", "memory bandwidth", "matrix rate", "link bandwidth", "latency target", "price target"}
    found = sensitivity.swings(model(name))
    assert {assumption for _, assumption, *_ in found} >= {"chip memory", "width of what is cached", "rent"}
    for kind, assumption, down, base, up in found:
        if (kind, assumption) == ("$10 a million tokens", "sequences at once"):
            continue  # more users share the weights, and each brings a cache: either may win
        low, high = (down, up) if assumption in better else (up, down)
        assert low <= base <= high, (kind, assumption)


@pytest.mark.parametrize("name", ["kimi-linear-48b-a3b", "deepseek-v3.2", "llama-3.1-70b"])
def test_the_smallest_node_is_the_smallest(name):
    """Half as many chips do not hold the weights in nine tenths of their memory. Breaks if a power is skipped."""
    m, system = model(name), smallest_node(model(name))
    assert weights_held(m, system) <= 0.9 * system.chip.memory_bytes
    if system.count > 1:
        assert weights_held(m, node(count=system.count // 2)) > 0.9 * system.chip.memory_bytes
    edge = ceilings(m, 4096).memory
    assert (ceilings(m, edge).sequences, ceilings(m, edge + 1).sequences) == (1, 0)


MIXERS = {"S": SOFTMAX, "H": WIDE, "M": MLA, "D": DSA, "K": KDA, "G": GDN, "L": LIGHTNING}
PATTERNS = st.text("SHMDKGL", min_size=1, max_size=6)
SYSTEM = System(toy_chip())


def built(pattern: str):
    used = {letter: MIXERS[letter] for letter in pattern}
    return toy(pattern, used, **({"ffn": MOE} if len(pattern) % 2 else {}))


@given(PATTERNS, st.integers(1, 2**20))
def test_parts_sum_to_totals(pattern, context):
    """Breaks if a part is left out of a total, or counted in two."""
    m = built(pattern)
    for cost in (stored_bytes(m, context), read_bytes(m, context), decode_flops(m, context), prefill_flops(m, context)):
        assert math.isclose(cost.total, math.fsum(cost[:-1]), rel_tol=1e-12)
    step = decode_step(m, SYSTEM, context=context, batch=3)
    assert math.isclose(step.bytes, step.parts["weights"] + step.parts["cache"], rel_tol=1e-12)
    assert step.time_lower <= step.time_upper <= 3 * step.time_lower * (1 + 1e-12)


@given(PATTERNS, st.integers(1, 2**20))
def test_costs_grow_with_context_and_layers_add(pattern, context):
    """Order of layers does not matter, and two stacks cost what each costs. Breaks if anything depends on depth."""
    m = built(pattern)
    for cost in (stored_bytes, read_bytes):
        assert cost(m, 2 * context).total >= cost(m, context).total
        assert cost(built(pattern[::-1]), context).total == pytest.approx(cost(m, context).total, rel=1e-12)
        assert cost(built(pattern + pattern), context).total == pytest.approx(2 * cost(m, context).total, rel=1e-12)
    assert prefill_flops(m, 2 * context).total >= 2 * prefill_flops(m, context).total * (1 - 1e-9) - 2 * 2 * 16 * 8


@given(PATTERNS, st.integers(1, 2**20), st.integers(1, 500))
def test_a_batch_multiplies_caches_and_not_weights(pattern, context, batch):
    """Breaks if weights are read for each sequence, or a cache once for all."""
    m = built(pattern)
    one, two = (decode_step(m, SYSTEM, context=context, batch=b) for b in (batch, 2 * batch))
    assert two.parts["cache"] == pytest.approx(2 * one.parts["cache"], rel=1e-12)
    assert one.parts["weights"] <= two.parts["weights"] <= 2 * one.parts["weights"]


@given(st.integers(1, 2**20))
def test_a_hybrid_lies_between_its_pure_limits(context):
    """Breaks if a mixer's cost leaks into its neighbours."""
    pure, half, full = (cache_read(built(pattern), SYSTEM, context) for pattern in ("KK", "KM", "MM"))
    assert half == pytest.approx((pure + full) / 2, rel=1e-12)
