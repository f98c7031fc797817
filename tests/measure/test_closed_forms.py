"""The report's figures from closed forms: worked by hand from round numbers, and held to what data/published.yml prints."""

from __future__ import annotations

import numpy as np
import pytest

from lib.data import figure
from lib.evidence import decoding, reports
from lib.measure import roofline
from lib.measure.record import Record
from tests.measure.test_harness import DEVICE, RUN

M1 = 2**20


def test_the_bytes_of_a_step_by_hand():
    """27 or 7 layers of 1152 B a token; a state of 32 x 128 x 128 float32 and a tail of 3 x 12288 bf16 in 20 layers, read and written.

    Mutation: a state that is not written back, a latent without its rotary part."""
    state = 20 * (32 * 128 * 128 * 4 + 3 * 3 * 32 * 128 * 2)
    assert decoding.moved(decoding.twin(), M1) == 27 * 1152 * M1
    assert decoding.moved(decoding.hybrid(), M1) == 7 * 1152 * M1 + 2 * state


def test_the_ratio_of_bytes_by_hand():
    """(W + 27 c L) / (W + 7 c L + s), and its limit 27/7. Mutation: W in one of the two only."""
    w27, w7 = (decoding.weights_of_one_token(m) for m in (decoding.twin(), decoding.hybrid()))
    by_hand = (w27 + 27 * 1152 * M1) / (w7 + 7 * 1152 * M1 + 2 * 20 * (2097152 + 73728))
    assert float(decoding.bytes_ratio(M1)) == pytest.approx(by_hand, rel=1e-12)
    assert decoding.cache_limit() == pytest.approx(27 / 7)
    assert float(decoding.bytes_ratio(2**40)) == pytest.approx(27 / 7, rel=1e-3)


def test_a_known_line_is_recovered():
    """5 ms and 2 TB/s put in, taken out. Mutation: a slope that is not inverted."""
    contexts = [2**p for p in range(12, 21)]
    seconds = 5e-3 + np.array([float(decoding.moved(decoding.twin(), c)) for c in contexts]) / 2e12
    line = decoding.line_of(contexts, seconds, decoding.twin())
    assert line.fixed == pytest.approx(5e-3) and line.rate == pytest.approx(2e12)


def test_three_numbers_give_both_curves():
    """Within 10 % everywhere and 5 % from 16K on, and nearer than bytes alone at 1M. Mutation: the latent layers' own time left out."""
    fit = decoding.both_curves()
    for context, published in reports.single_stream_ratios().items():
        ratio = float(fit.seconds(decoding.twin(), context) / fit.seconds(decoding.hybrid(), context))
        assert ratio == pytest.approx(published.middle, rel=0.05 if context >= 2**14 else 0.10)
    published = reports.single_stream_ratios()[M1].middle
    assert published == pytest.approx(17.76 / 7.99, abs=1e-9 + 0.01)
    assert abs(float(decoding.bytes_ratio(M1)) - published) > 0.3
    assert 0 < decoding.overhead() < fit.fixed


def test_the_label_of_the_throughput_figure_is_not_its_quotient():
    """11.48 / 1.84 = 6.24, printed 6.3; 3.98 at 128K is of the same curve, 1.34 of the other. Mutation: the curves exchanged."""
    large, single = reports.large_batch_ratios(), reports.single_stream_ratios()
    assert round(large[M1].middle, 2) == 6.24 and figure("kl-throughput-label").value == 6.3
    assert round(large[2**17].middle, 2) == figure("kl-throughput-128k").value == 3.98
    assert round(single[2**17].middle, 2) == 1.34


def test_what_six_needs_by_hand():
    """6.24 x 7/27 - 1 = 0.62; 30.375 GiB in 11.48 ms and 7 latent layers with their states in 1.84 ms."""
    assert decoding.rest_of_six() == pytest.approx(11.48 / 1.84 * 7 / 27 - 1, rel=1e-2)
    twin, hybrid = decoding.large_rates()
    assert twin == pytest.approx(27 * 1152 * M1 / 11.48e-3) and hybrid == pytest.approx(
        (7 * 1152 * M1 + 86835200) / 1.84e-3
    )


def test_no_chip_reaches_six_on_equal_memory():
    """Mutation: a batch that is not rounded down; memory that is not shared with the weights."""
    nodes = decoding.nodes()
    assert all(one.batch_hybrid > one.batch_twin >= 1 for one in nodes)
    assert max(one.ratio_fixed for one in nodes) < reports.large_batch_ratios()[M1].low


def test_a_prompt_of_equal_work_by_hand():
    """A KDA chunk takes 6 d^2 + 3 C d + C^2 = 126976 FLOP a token and head, MLA 2 (192 + 128) (L + 1) / 2: equal near 396."""
    assert decoding.prefill_flops_equal() == pytest.approx((6 * 128**2 + 3 * 64 * 128 + 64**2) / 320, abs=2)
    assert 2**14 < decoding.published_prefill_crossing() < 2**15
    assert decoding.prefill_gap() == pytest.approx(20 * 4096 * 32 * 126976 / 0.04, rel=1e-9)


def test_a_roofline_by_hand():
    """10 bytes a second, 100 FLOP a second: 20 bytes and 100 FLOP take 2 s at best; in 4 s that is half.

    Mutation: the smaller of the two times; the median of the limits instead of their best."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            "name": ["read", "read", "product"],
            "bytes": [10.0, 10.0, 1.0],
            "flops": [1.0, 1.0, 100.0],
            "seconds": [1.0, 9.0, 1.0],
        }
    )
    known = roofline.limits(Record(None, DEVICE, [RUN], {"limits": frame}))
    assert known == (10.0, 100.0)
    points = pd.DataFrame({"bytes": [20.0, 1.0], "flops": [100.0, 400.0], "seconds": [4.0, 4.0]})
    assert roofline.fraction(points, known).tolist() == [0.5, 1.0]
    assert roofline.bound(points, known).tolist() == ["bytes", "FLOPs"]
