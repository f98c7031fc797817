"""Bills by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.cost.bill import Rates, Usage, bill, even_hit_price, session_cost, storage_share
from lib.verdict import Interval

counts = st.floats(1, 1e12)
rates = st.floats(1e-4, 100)


def test_bill_by_hand():
    """Mutation: a price per token instead of per million, or output left out of the total."""
    parts = bill(Usage(480.4e6, 7.8e6, 3.5e6), Rates(0.003625, 0.435, 0.87))
    assert parts.hit == pytest.approx(480.4 * 0.003625)
    assert parts.total == pytest.approx(480.4 * 0.003625 + 7.8 * 0.435 + 3.5 * 0.87)
    assert parts.storage_share == pytest.approx(1.74145 / (1.74145 + 3.393 + 3.045))


@given(counts, counts, counts, rates, rates, rates)
def test_share_agrees_with_the_bill(hit, miss, output, a, b, c):
    """Two ways to one share. Mutation: output priced as misses."""
    usage, price = Usage(hit, miss, output), Rates(a, b, c)
    assert storage_share(usage, price) == pytest.approx(float(bill(usage, price).storage_share), rel=1e-9)


@given(counts, counts, counts, rates, rates)
def test_even_hit_price_halves_the_bill(hit, miss, output, b, c):
    usage = Usage(hit, miss, output)
    price = Rates(even_hit_price(usage, Rates(0, b, c)), b, c)
    assert storage_share(usage, price) == pytest.approx(0.5, rel=1e-9)


def test_share_of_intervals_is_exact():
    """Each input stands once in the formula, so the ends are attained. Mutation: hits in numerator and denominator."""
    usage = Usage(Interval(480.35, 480.45), Interval(7.75, 7.85), Interval(3.45, 3.55))
    share = storage_share(usage, Rates(0.28, 2.78, 13.9))
    assert share.low == pytest.approx(1 / (1 + (7.85 * 2.78 + 3.55 * 13.9) / (480.35 * 0.28)))
    assert share.high == pytest.approx(1 / (1 + (7.75 * 2.78 + 3.45 * 13.9) / (480.45 * 0.28)))


def test_empty_bill_has_no_share():
    assert np.isnan(bill(Usage(0, 0, 0), Rates(1, 1, 1)).storage_share)


@pytest.mark.parametrize("usage", [Usage(-1, 0, 0), Usage(0, 0, -5)])
def test_negative_counts_are_refused(usage):
    with pytest.raises(ValueError, match="wanted no negative"):
        bill(usage, Rates(1, 1, 1))


def test_session_by_brute_force():
    """400 rounds of 2,500 tokens: round i re-reads i - 1 rounds. Mutation: the last context re-read once more."""
    appended, output = 2500, 400
    hits = sum(appended * i for i in range(400))
    parts = session_cost(Rates(0.30, 3.00, 15.00), context=1e6, rounds=400, output=output)
    assert parts.hit == pytest.approx(hits * 0.30 / 1e6)
    assert parts.miss == pytest.approx((appended - output) * 400 * 3.00 / 1e6)
    assert parts.output == pytest.approx(output * 400 * 15.00 / 1e6)


@pytest.mark.parametrize(("rounds", "output"), [(0, 1), (10, 200), (10, -1)])
def test_impossible_session_is_refused(rounds, output):
    with pytest.raises(ValueError, match="rounds="):
        session_cost(Rates(1, 1, 1), context=1000, rounds=rounds, output=output)
