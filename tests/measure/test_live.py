"""The live check: red for other bytes, another order of growth, another order of mechanisms; green on a busy machine."""

from __future__ import annotations

import pytest

from lib.measure import live
from lib.measure.live import Curve, LiveMismatch, agreeing, faults

CONTEXTS = (2**14, 2**15, 2**16, 2**17)


def curve(exponent: float, slowest: float = 1.0, size: float = 100.0) -> Curve:
    return Curve(size, {c: slowest * (c / CONTEXTS[-1]) ** exponent for c in CONTEXTS})


RECORD = {"mla": curve(1.0, 0.1), "kda": curve(0.0, 0.001)}


def test_the_same_again_agrees():
    """Also on a device twice as fast. Breaks when times are compared across devices."""
    assert faults(RECORD, RECORD) == []
    assert (
        faults({name: Curve(c.bytes, {k: t / 2 for k, t in c.seconds.items()}) for name, c in RECORD.items()}, RECORD)
        == []
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kda": curve(1.0, 0.001)}, r"kda: the time grows with exponent 1\.00, the record says 0\.00"),
        ({"mla": curve(1.0, 0.1, size=99.0)}, "mla: a step moves 99 bytes, the record says 100"),
        ({"kda": curve(0.0, 0.2)}, "kda is no longer faster than mla"),
    ],
)
def test_contradictions(change, told):
    """Mutation: a wrong exponent, other bytes or another order that goes unnoticed."""
    with pytest.raises(LiveMismatch, match=told):
        agreeing(lambda: RECORD | change, RECORD, rounds=2)


def test_a_disturbed_try_is_made_again_point_by_point():
    """Each try has another point disturbed. Mutation: the last try alone, or the mean of all."""
    tries = iter(range(10))

    def disturbed() -> dict[str, Curve]:
        bad = CONTEXTS[next(tries) % 2]
        return {
            name: Curve(c.bytes, {k: t * (50 if k == bad else 1) for k, t in c.seconds.items()})
            for name, c in RECORD.items()
        }

    assert agreeing(disturbed, RECORD, rounds=3) == RECORD
    assert next(tries) == 2


def test_bands_tell_orders_apart():
    """Mutation: a band so wide that constant passes for linear."""
    assert live.BAND < 1 and live.APART > 1
