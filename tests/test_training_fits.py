"""The 1.16x from its two published fits, by hand-worked arithmetic."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.evidence.training import Fit, compute_where, efficiency, efficiency_after_shift, shift_that_erases

MLA, KDA = Fit(2.3092, -0.0536), Fit(2.2879, -0.0527)


def test_efficiency_by_hand():
    """Mutation: the ratio turned over, or the exponent of the wrong fit."""
    loss = 2.2879 * 3.6**-0.0527
    base = math.exp(math.log(loss / 2.3092) / -0.0536)
    assert efficiency(MLA, KDA, 3.6) == pytest.approx(base / 3.6, rel=1e-12)
    assert efficiency(MLA, KDA, 3.6) == pytest.approx(1.16, abs=0.005)


def test_efficiency_shrinks_with_compute():
    """The flatter fit loses: 1.18 at 1.7, 1.14 at 15 PFLOP/s-days. Mutation: exponents swapped."""
    assert efficiency(MLA, KDA, 1.7) == pytest.approx(1.18, abs=0.005)
    assert efficiency(MLA, KDA, 15.0) == pytest.approx(1.14, abs=0.007)


@given(st.floats(1.01, 1.5))
def test_compute_where_inverts_efficiency(ratio):
    assert efficiency(MLA, KDA, compute_where(MLA, KDA, ratio)) == pytest.approx(ratio, rel=1e-9)


def test_the_erasing_shift_erases():
    """Mutation: the shift's sign."""
    shift = shift_that_erases(MLA, KDA, 3.6)
    assert shift > 0
    assert efficiency_after_shift(MLA, KDA, 3.6, shift) == pytest.approx(1.0, rel=1e-9)


@given(st.floats(1.5, 3), st.floats(-0.2, -0.02), st.floats(0.5, 100))
def test_equal_fits_are_equally_efficient(scale, exponent, compute):
    fit = Fit(scale, exponent)
    assert efficiency(fit, fit, compute) == pytest.approx(1.0, rel=1e-9)
