"""The harness with a fake clock and a fake kernel: exponents, outliers, budget, memory, resume, command line."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.measure import cli, fit, harness
from lib.measure import record as records
from lib.measure.record import Record
from tests.measure.fakes import plan, wall

DEVICE = {
    "slug": "toy",
    "name": "toy",
    "kind": "cpu",
    "driver": "none",
    "cores": 1,
    "memory_bytes": 1,
    "clock_hz": None,
}
RUN = {
    "commit": "abc",
    "dirty": False,
    "date": "2026-01-01 00:00 UTC",
    "command": "x",
    "seed": 0,
    "threads": 1,
    "software": {},
    "notes": [],
}


def run(timer, keep=lambda *done: None, **options) -> harness.Run:
    settings = {"room": lambda need, want: None, "free": lambda: 10**9, "tell": lambda words: None} | options
    return harness.Run(timer, keep=keep, **settings)


@given(st.floats(0.0, 2.0), st.floats(1e-7, 1e-4))
def test_a_known_exponent_is_recovered(exponent, scale):
    """Mutation: a fit of time on log size, or samples that are not divided by their calls."""
    timer, clock = wall()
    sizes = [2**p for p in range(8, 14)]
    times = []
    for size in sizes:
        one = plan(clock, size, seconds=lambda call, size=size: scale * size**exponent)
        times.append(harness.median(harness.sample(one.make(None), timer, least=3)))
    assert fit.power_law(sizes, times).exponent == pytest.approx(exponent, abs=1e-9)
    assert fit.power_law(sizes, times).scale == pytest.approx(scale, rel=1e-6)


def test_outliers_do_not_move_the_median():
    """Mutation: the mean instead of the median; a spread from the extremes."""
    timer, clock = wall()
    one = plan(clock, 1, seconds=lambda call: 1.0 if call % 4 == 3 else 0.01)
    samples = harness.sample(one.make(None), timer, least=9, fast=False)
    assert harness.median(samples) == pytest.approx(0.01) and max(s.seconds for s in samples) == pytest.approx(1.0)
    assert fit.spread([0.01] * 8 + [1.0]) == 0.0


def test_the_first_call_is_a_warm_up():
    """Mutation: the first call kept as a sample although it is short."""
    timer, clock = wall()
    one = plan(clock, 1, seconds=lambda call: 2.0 if call == 0 else 0.1)
    samples = harness.sample(one.make(None), timer, least=3, fast=False)
    assert [s.seconds for s in samples] == pytest.approx([0.1] * len(samples)) and len(samples) >= 3


def test_a_short_call_is_repeated_within_a_sample():
    """Mutation: one call a sample, whose time is mostly the clock's; or the sum instead of the mean."""
    timer, clock = wall()
    samples = harness.sample(plan(clock, 1, seconds=lambda call: 1e-5).make(None), timer, least=3)
    assert samples[0].calls == 200 and samples[0].seconds == pytest.approx(1e-5)


def test_inputs_take_turns():
    """Mutation: the first set of inputs run again and again, which a cache then holds."""
    timer, clock = wall()
    seen = []
    case = plan(clock, 1, seconds=lambda call: 1.0).make(None)
    case.runs = [lambda i=i: (seen.append(i), clock.spend(0.5)) for i in range(3)]
    harness.sample(case, timer, least=5, fast=False, seconds=0.0)
    assert seen == [0, 1, 2, 0, 1, 2]


def test_a_point_disturbed_by_others_is_tried_again_and_the_quietest_try_is_kept():
    """Mutation: the last try kept; a load that is stored and never looked at."""
    timer, clock = wall()
    loads = iter([0.0, 1.5, 0.0, 0.6])
    kept = []
    one = plan(clock, 1, seconds=lambda call: 0.1 + 0.001 * call)
    run(timer, lambda *done: kept.append(done), others=lambda: next(loads))([one])
    (_, _, samples, _, load) = kept[0]
    assert load == 0.6 and next(loads, None) is None
    assert samples[0].seconds > 0.105  # of the second try


def test_a_quiet_point_is_measured_once():
    timer, clock = wall()
    calls: list = []
    run(timer, others=lambda: 0.05)([plan(clock, 1, seconds=lambda call: 1.0, calls=calls)])
    assert len(calls) == 7  # two warm up, five count


def test_known_points_are_not_measured_again():
    """Mutation: a resume that forgets the points of the record."""
    timer, clock = wall()
    calls: list = []
    plans = [plan(clock, size, seconds=lambda call: 0.01, calls=calls) for size in (1, 2, 4)]
    report = run(timer, known={plans[1].point: 0.01})(plans)
    assert set(calls) == {1, 4} and (report.measured, report.kept) == (2, 1)


def test_a_budget_ends_the_run_after_a_point_and_names_the_rest():
    """Mutation: a budget that is looked at before the first point only, or that cuts a point in half."""
    timer, clock = wall()
    kept = []
    plans = [plan(clock, size, seconds=lambda call, size=size: 0.1 * size) for size in (1, 2, 4, 8)]
    report = run(timer, lambda one, *rest: kept.append(one.point.context), budget=5.0)(plans)
    assert kept == [1, 2] and len(report.left) == 2 and "4 tokens" in report.left[0]


def test_a_point_that_will_not_fit_the_budget_is_not_begun():
    """Mutation: `expected` that ignores how the time grows: the run would overshoot by the longest point."""
    timer, clock = wall()
    plans = [plan(clock, size, seconds=lambda call, size=size: 0.001 * size) for size in (100, 100_000)]
    run(timer, budget=60.0)(plans)
    assert clock.now < 60


def test_what_memory_does_not_hold_is_left_out_with_the_largest_size_that_fits():
    """Mutation: a guard that asks for the pool first, or that drops a size without a word."""
    timer, clock = wall()
    told, asked = [], []
    plans = [plan(clock, size, seconds=lambda call: 0.01, need=size) for size in (100, 1000, 10_000)]
    report = run(timer, free=lambda: 2000, room=lambda need, want: asked.append(need), tell=told.append)(plans)
    assert report.measured == 2 and asked == [1000]
    assert "10,000 tokens" in report.notes[0] and "the largest that fits is 1,000 tokens" in report.notes[0]
    assert report.notes[0] in told


def test_a_kernel_on_other_bytes_than_the_formula_is_an_error():
    """Mutation: the formula's bytes stored without a look at the tensors."""
    timer, clock = wall()
    with pytest.raises(harness.Mismatch, match="tensors hold 99 bytes, the formula says 80"):
        run(timer)([plan(clock, 10, seconds=lambda call: 0.01, counted=99.0)])


def test_a_killed_run_loses_the_point_that_it_was_at(tmp_path):
    """Mutation: samples that are written at the end of a suite only; a run that meta.json does not list yet."""
    timer, clock = wall()
    record = Record(tmp_path / "toy", DEVICE, [dict(RUN)])
    numbers = itertools.count()

    def seconds(call: int) -> float:
        if next(numbers) > 25:
            raise KeyboardInterrupt
        return 0.5

    plans = [plan(clock, size, seconds=seconds) for size in (1, 2, 4, 8)]
    with pytest.raises(KeyboardInterrupt):
        run(timer, lambda *done: cli._keep(record, *done))(plans)
    back = records.read(tmp_path / "toy")
    done = [point.context for point in back.known("decode")]
    assert done == [1, 2, 4][: len(done)] and len(done) >= 2
    again = [plan(clock, size, seconds=lambda call: 0.5) for size in (1, 2, 4, 8)]
    back.runs.append(dict(RUN))
    report = run(timer, lambda *done: cli._keep(back, *done), known=back.known("decode"))(again)
    assert report.kept == len(done) and report.measured == 4 - len(done)
    whole = records.read(tmp_path / "toy")
    assert [point.context for point in whole.known("decode")] == [1, 2, 4, 8]
    assert set(whole.suites["decode"]["run"]) == {0, 1} and not list((tmp_path / "toy").glob(".*.part"))


def test_measuring_again_replaces_a_points_samples(tmp_path):
    """Mutation: new samples appended to the old ones of the same point."""
    timer, clock = wall()
    record = Record(tmp_path / "toy", DEVICE, [dict(RUN)])
    for seconds in (0.5, 0.25):
        one = plan(clock, 8, seconds=lambda call, seconds=seconds: seconds)
        run(timer, lambda *done: cli._keep(record, *done))([one])
    assert list(records.read(tmp_path / "toy").known("decode").values()) == [0.25]


def test_crossings_are_found_between_sizes():
    """Mutation: interpolation on linear axes."""
    sizes = [1.0, 4.0, 16.0, 64.0]
    flat, line = [8.0] * 4, sizes
    assert fit.crossings(sizes, line, flat) == pytest.approx([8.0])
    assert fit.crossings(sizes, flat, flat) == []


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--suite", "nonsense"], "'nonsense', wanted one of limits"),
        (["--device", "cuda", "--suite", "limits"], "sees no GPU"),
    ],
)
def test_the_command_line_refuses_in_words(arguments, wanted, tmp_path, capsys, monkeypatch):
    """Mutation: a traceback instead of a sentence and status 2."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert cli.main([*arguments, "--out", str(tmp_path)]) == 2
    assert wanted in capsys.readouterr().err


def test_a_budget_must_be_a_number_above_zero(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--budget", "soon"])
    assert "'soon', wanted a number above 0" in capsys.readouterr().err


def test_another_devices_folder_is_refused(tmp_path):
    """Mutation: samples of two devices in one file."""
    records.write(Record(tmp_path / "toy", DEVICE, [dict(RUN)], {"decode": _frame()}))
    with pytest.raises(records.MalformedRecord, match="holds samples of toy, this is other"):
        cli._opened(tmp_path / "toy", DEVICE | {"name": "other"})


def _frame():
    import pandas as pd

    values = {"run": 0, "suite": "decode", "name": "mla", "model": "toy", "context": 8, "batch": 1, "dtype": "bfloat16", "variant": "", "bytes": 8.0,
              "flops": 1.0, "buffers": 1, "mode": "clock", "sample": 0, "calls": 1, "seconds": 0.5, "load": 0.25}  # fmt: skip
    return pd.DataFrame([values, values | {"sample": 1}], columns=records.columns("decode"))
