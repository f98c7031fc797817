"""Printed figures, intervals and verdicts. Each test names the change of the code that it would catch."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.verdict import Interval, Kind, Printed, Verdict, compare, only_if, printed, unchecked

# printed figures have few digits: a quotient by 1e-304 overflows, and its interval is refused, as it should be
numbers = st.integers(-(10**9), 10**9).map(lambda thousandths: thousandths / 1000)


@st.composite
def intervals(draw):
    ends = sorted((draw(numbers), draw(numbers)))
    return Interval(*ends)


@st.composite
def points(draw):
    """An interval and a point in it."""
    interval = draw(intervals())
    weight = draw(st.floats(0, 1))
    return interval, min(max(interval.low + weight * (interval.high - interval.low), interval.low), interval.high)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("480.4M", 480.35e6, 480.45e6),  # mutation: half a unit of the wrong digit
        ("42.7:1", 42.65, 42.75),
        ("1.8 %", 0.0175, 0.0185),
        ("67-78 %", 0.665, 0.785),  # mutation: the half unit dropped from a range's ends
        ("10-30 %", 0.095, 0.305),
        ("$0.28", 0.275, 0.285),
        ("about 500K", 499.5e3, 500.5e3),
        ("2x", 1.5, 2.5),
        ("0.0004", 0.00035, 0.00045),
        ("1.4T", 1.35e12, 1.45e12),
    ],
)
def test_printed_interval(text, low, high):
    interval = printed(text).interval
    assert interval.low == pytest.approx(low, rel=1e-12) and interval.high == pytest.approx(high, rel=1e-12)


@pytest.mark.parametrize("text", ["", "many", "1.8 apples", "1,000", "-", "2x3"])
def test_unreadable_figure_names_itself(text):
    """Mutation: a bad figure read as zero."""
    with pytest.raises(ValueError, match=r"printed figure .*wanted a number"):
        printed(text)


@given(points(), points())
def test_operations_enclose(first, second):
    """Mutation: end points combined in the wrong order for negative numbers."""
    (a, x), (b, y) = first, second
    slack = 1e-6
    for result, value in ((a + b, x + y), (a - b, x - y), (a * b, x * y)):
        assert result.low - slack * (1 + abs(value)) <= value <= result.high + slack * (1 + abs(value))


@given(points(), points())
def test_quotient_encloses_or_refuses(first, second):
    """Mutation: division by an interval that spans zero."""
    (a, x), (b, y) = first, second
    if b.low <= 0 <= b.high:
        with pytest.raises(ZeroDivisionError):
            a / b
    elif abs(y) > 1e-3:
        quotient, value = a / b, x / y
        assert quotient.low - 1e-6 * (1 + abs(value)) <= value <= quotient.high + 1e-6 * (1 + abs(value))


@given(st.integers(0, 10**6), st.integers(0, 4))
def test_a_value_holds_against_its_own_print(units, decimals):
    """Rounding a value to print it and comparing back always holds. Mutation: an interval of half the width."""
    value = units / 7
    assert compare(value, f"{value:.{decimals}f}").kind is Kind.HOLDS


def test_ratio_of_printed_figures_is_tested_by_intervals():
    """480.4M / 11.3M = 42.51 is printed as 42.7: possible, since 11.3M may be 11.25M. Mutation: equality of middles."""
    ratio = printed("480.4M").interval / printed("11.3M").interval
    assert ratio.low == pytest.approx(480.35 / 11.35) and ratio.high == pytest.approx(480.45 / 11.25)
    assert compare(ratio, "42.7:1").kind is Kind.ROUNDING
    assert compare(480_405_120 / 11_255_845, "42.7:1").kind is Kind.HOLDS
    assert compare(43.0, "42.7:1").kind is Kind.FAILS


def test_compare_at_an_exact_tie():
    """0.285 has no exact double: a tie at the interval's end still holds. Mutation: no slack."""
    assert compare(0.285, "0.28").kind is Kind.HOLDS
    assert compare(0.2851, "0.28").kind is Kind.FAILS


@pytest.mark.parametrize(
    "value, printed, words",
    [
        (3.74, "1.8x", "recomputed 3.74x, printed 1.8x"),
        (0.6612, "21 %", "recomputed 66.12 %, printed 21 %"),
        (42.66, "27", "recomputed 42.66, printed 27"),
    ],
)
def test_failed_comparison_shows_both_values(value, printed, words):
    """Both in the printed unit. Mutation: 66 % shown as 0.6612."""
    assert str(compare(value, printed)) == f"does not hold: {words}"


@pytest.mark.parametrize("kind", [Kind.ONLY_IF, Kind.UNCHECKED, Kind.PENDING, Kind.MIXES])
def test_verdicts_that_hang_on_something_say_on_what(kind):
    """Mutation: `holds only if` without its condition."""
    with pytest.raises(ValueError, match="wanted the condition"):
        Verdict(kind)


def test_verdict_words():
    assert str(only_if("n < 5")) == "holds only if n < 5"
    assert str(unchecked("a log of requests")) == "cannot be checked: a log of requests"
    assert len({kind.mark for kind in Kind}) == len(Kind)  # mutation: two kinds with one mark


@pytest.mark.parametrize(("low", "high"), [(2.0, 1.0), (math.nan, 1.0), (0.0, math.inf)])
def test_impossible_interval_is_refused(low, high):
    with pytest.raises(ValueError, match="interval"):
        Interval(low, high)


def test_printed_is_frozen():
    with pytest.raises(AttributeError):
        printed("2x").value = 3.0  # type: ignore[misc]
    assert isinstance(printed("2x"), Printed)
