"""Caches in slower tiers, by hand on toy layers, and the rules that read them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.claims import deployment
from lib.cost import System, decode_step, feasible_context, parking, stored_bytes, tier_step
from lib.cost.tiers import HOURS, reach
from lib.data import chip, claims, model, models, tiers
from lib.data.chips import Tier
from lib.evidence import tiers as evidence
from lib.verdict import Kind
from tests.toys import DSA, KDA, MLA, toy, toy_chip

CHIP = toy_chip(host_bandwidth=2e9)
ONE = System(CHIP)


def tier(name="slow", bandwidth=(1e9, 4e9), latency=(1e-5, 3e-5), dollars=(2.0, 3.0)) -> Tier:
    def span(ends):
        return dict(zip(("low", "high"), ends, strict=True))

    return Tier.model_validate({
        "name": name, "title": name, "bandwidth": span(bandwidth), "latency": span(latency), "capacity": span((1e12, 2e12)),
        "dollars_per_gb": span(dollars), "source": "made up", "confidence": "computed", "note": None,
    })  # fmt: skip


def test_a_dense_layer_fetches_everything():
    """Two MLA layers of 20 bf16 numbers a token. Breaks when a dense layer waits for an indexer, or fetches a top-k."""
    m = toy("MM", {"M": MLA})
    (found,) = tier_step(m, ONE, [tier()], context=1000)
    step = decode_step(m, ONE, context=1000, batch=1)
    assert found.parked == found.fetched == 2 * 1000 * 20 * 2 and found.resident == 0
    assert found.time_lower == pytest.approx(max(float(step.time_lower), 80_000 / 2e9))  # the host link, not 4 GB/s
    assert found.time_upper == pytest.approx(float(step.time_upper) + 80_000 / 1e9)


def test_a_sparse_layer_fetches_what_it_misses():
    """A top-k of 32 rows of 40 bytes, index keys of 16 bytes a token resident. Breaks when index keys leave, a hit is
    fetched, or the layer's own latency is lost."""
    (found,) = tier_step(toy("D", {"D": DSA}), ONE, [tier()], context=1000, hit_rate=0.75)
    assert found.fetched == pytest.approx(0.25 * 32 * 40)
    assert found.resident == pytest.approx(1000 * 16 + 0.75 * 32 * 40) and found.parked == 1000 * 40
    assert found.time_lower >= 0.25 * 32 * 40 / 2e9 + 1e-5


def test_pages():
    """Each row of 40 bytes is a read of whole pages for a sparse layer; a dense one streams. Breaks when padding is applied to
    both or to none."""
    (padded,) = tier_step(toy("D", {"D": DSA}), ONE, [tier()], context=1000, unit=64)
    (plain,) = tier_step(toy("M", {"M": MLA}), ONE, [tier()], context=1000, unit=64)
    assert padded.fetched == 32 * 64 and plain.fetched == 1000 * 40


def test_a_state_stays():
    """Breaks when a recurrent state is fetched every step."""
    m = toy("KK", {"K": KDA})
    (found,) = tier_step(m, ONE, [tier()], context=10**6)
    assert found.fetched == found.parked == 0 and found.resident == stored_bytes(m, 1).total
    assert feasible_context(m, ONE, tier(), tpot=1.0) > 10**9


def test_hbm_fetches_nothing():
    """Breaks when HBM is reached over the host's link."""
    m, hbm = toy("MD", {"M": MLA, "D": DSA}), tier("hbm")
    (found,) = tier_step(m, ONE, [hbm], context=1000)
    step = decode_step(m, ONE, context=1000, batch=1)
    assert found.fetched == 0 and found.resident == stored_bytes(m, 1000).total
    assert (found.time_lower, found.time_upper) == (step.time_lower, step.time_upper)


def test_context_parallel_shares_the_fetch():
    """Four chips that split the tokens fetch a quarter each over four links. Breaks when the split is forgotten."""
    m = toy("M", {"M": MLA})
    whole, split = (tier_step(m, System(CHIP, tensor=4, context=c), [tier()], context=1000)[0] for c in (1, 4))
    assert split.fetched == whole.fetched / 4


def test_parking_by_hand():
    """40,000 bytes at 2 to 3 dollars a GB over four years. Breaks when GiB stand for GB, or days for hours."""
    found = parking(toy("M", {"M": MLA}), tier(), CHIP, context=1000)
    assert found.size == 40_000 and found.dollars == pytest.approx((2 * 4e-5 / HOURS, 3 * 4e-5 / HOURS))
    assert found.restore == pytest.approx((40_000 / 2e9, 40_000 / 1e9)) and HOURS == 35_040
    assert parking(toy("M", {"M": MLA}), tiers()["cxl"], chip("h200"), context=10).dollars is None


@pytest.mark.parametrize(
    ("change", "told"),
    [({"hit_rate": 1.5}, r"hit_rate=1\.5: wanted a share"), ({"unit": 0}, "unit=0: wanted bytes > 0")],
)
def test_bad_arguments(change, told):
    with pytest.raises(ValueError, match=told):
        tier_step(toy("M", {"M": MLA}), ONE, [tier()], context=10, **change)


def test_a_chip_without_a_host_link():
    with pytest.raises(ValueError, match="host_bandwidth is unknown"):
        reach(tier(), toy_chip())


@given(st.sampled_from(list(models())), st.integers(1, 2**21), st.floats(0, 1))
def test_more_hits_never_hurt(name, context, rate):
    """Parts stay within what is stored; a hit saves a fetch. Breaks when a hit rate is applied upside down."""
    system = System(chip("h200"), tensor=8, expert=8)
    low, high = (
        tier_step(model(name), system, [tiers()["ddr5"]], context=context, hit_rate=x)[0] for x in (rate / 2, rate)
    )
    assert high.fetched <= low.fetched <= low.parked * (1 + 1e-9) and high.time_lower <= low.time_lower
    assert low.resident <= high.resident


def test_arrays_are_their_points():
    contexts = np.array([100, 5000, 2**20])
    system, m = System(chip("h200"), tensor=8, expert=8), model("deepseek-v4-pro")
    (grid,) = tier_step(m, system, [tiers()["ddr5"]], context=contexts)
    for i, context in enumerate(contexts):
        (one,) = tier_step(m, system, [tiers()["ddr5"]], context=int(context))
        assert (grid.fetched[i], grid.time_upper[i]) == pytest.approx((float(one.fetched), float(one.time_upper)))


@pytest.mark.parametrize("name", ["deepseek-v3.2", "kimi-linear-48b-a3b"])
def test_a_feasible_context_is_the_last(name):
    """One token more misses the target or does not fit. Breaks when bisection ends early."""
    m, place = model(name), "ddr5"
    edge = evidence.furthest(m, place)
    system = evidence.smallest_node(m)
    steps = [tier_step(m, system, [tiers()[place]], context=edge + more)[0] for more in (0, 1)]
    from lib.cost.capacity import free_bytes

    passes = [bool(step.time_lower <= evidence.TPOT and step.resident <= free_bytes(m, system)) for step in steps]
    assert passes == [True, False]


def test_the_state_claim_flips():
    """Slower than the layers in its place everywhere, at short contexts, nowhere. Breaks when the verdict ignores its evidence."""
    rule, claim = deployment.state_adds_latency, claims()["C-39"]

    def decided(*twins: float) -> Kind:
        steps = {
            4096 * (i + 1): SimpleNamespace(linear=2.0, latent=1.0, twin=twin, share=0.5)
            for i, twin in enumerate(twins)
        }
        return rule(claim, steps=steps, from_here=4096, device="made up", share=0.006, alone=524288).verdict.kind

    assert [decided(1, 1), decided(1, 9), decided(9, 9)] == [Kind.HOLDS, Kind.ONLY_IF, Kind.FAILS]


def test_what_a_state_takes_of_a_step():
    """41 MiB read and written at 4.8 TB/s, of a step of about 3 ms. Breaks when the state is moved once, or per layer."""
    moved = 2 * 20 * (32 * 128 * 128 * 4 + 3 * 3 * 32 * 128 * 2)
    step = decode_step(model("kimi-linear-48b-a3b"), System(chip("h200")), context=2**20, batch=1)
    assert evidence.state_share_of_step() == pytest.approx(
        moved / chip("h200").memory_bandwidth / float(step.time_lower)
    )
    assert evidence.state_numbers_at_once() == 32 * 128 * 128
