"""What others published, in the shape in which claims and tables argue with it."""

from __future__ import annotations

from lib.data import figure, figures, statements
from lib.evidence.training import Fit
from lib.verdict import Interval


def _interval(value: float, digits: int, error: float) -> Interval:
    """A read value: half a unit of the last digit that the data file carries, or the reading error if that is more."""
    half = max(0.5 * 10.0**-digits, error * abs(value))
    return Interval(value - half, value + half)


def _ratios(base: str, new: str, scale: float, digits: int) -> dict[int, Interval]:
    """base / new at each context, each point an interval."""
    above, below = figure(base), figure(new)
    return {
        int(x): _interval(y * scale, digits, above.reading_error)
        / _interval(below.points()[x] * scale, digits, below.reading_error)
        for x, y in above.points().items()
    }


def single_stream_ratios() -> dict[int, Interval]:
    """Fig. 7b: all-MLA over hybrid step time at batch 1, milliseconds with two decimals."""
    return _ratios("kl-fig7b-mla", "kl-fig7b-kl", 1e3, 2)


def large_batch_ratios() -> dict[int, Interval]:
    """Fig. 1b: all-MLA over hybrid time for a token at large batches. The caption prints the two values at 1M to 0.01 ms."""
    return _ratios("kl-fig1b-mla", "kl-fig1b-kl", 1e3, 2)


def prefill_ratios() -> dict[int, Interval]:
    """Fig. 7a: all-MLA over hybrid prefill time, seconds with two decimals."""
    return _ratios("kl-fig7a-mla", "kl-fig7a-kl", 1.0, 2)


def scaling_fits() -> tuple[Fit, Fit]:
    """(MLA, Kimi Linear) fits of loss over compute."""
    return tuple(
        Fit(figure(f"kl-fit-{who}-scale").value, figure(f"kl-fit-{who}-exponent").value) for who in ("mla", "kl")
    )


def residual_fits() -> tuple[Fit, Fit]:
    """(plain, block attention residuals) fits of loss over compute."""
    return tuple(
        Fit(figure(f"ar-fit-{who}-scale").value, figure(f"ar-fit-{who}-exponent").value) for who in ("base", "block")
    )


def tested_compute() -> Interval:
    """Range of the scaling study, PFLOP/s-days."""
    return Interval(figure("kl-tested-low").value, figure("kl-tested-high").value)


def seed_spread() -> float | None:
    """The spread of loss over seeds of the scaling study; None: no source prints it."""
    found = [entry.value for name, entry in figures().items() if name == "kl-seed-spread"]
    return found[0] if found else None


def twin_step_at_1m() -> float:
    """Seconds of the all-MLA twin's step at a million tokens and batch 1."""
    return figure("kl-fig7b-mla").points()[2.0**20]


KINDS = ("mla", "dsa", "kda", "gdn")


def measured_on_one_device() -> dict[str, set[str]]:
    """device -> kinds of layer whose step has been timed on it, from ids such as `h200-mla-b1`."""
    found: dict[str, set[str]] = {}
    for name, entry in figures().items():
        device, _, rest = name.partition("-")
        kind = rest.split("-")[0]
        if kind in KINDS and entry.x is not None and device not in ("kl", "ds"):
            found.setdefault(device.upper(), set()).add(kind)
    return found


def training_tokens() -> dict[str, float]:
    return {
        "the comparison runs": figure("kl-tokens-comparison").value,
        "the released checkpoint": figure("kl-tokens-released").value,
    }


def client_caps() -> dict[str, float]:
    """Documented limits of clients, in tokens."""
    return {entry.quantity: entry.value for name, entry in figures().items() if name.startswith("cap-")}


def system_data_vendors() -> dict[str, str]:
    return {entry.subject: entry.says for entry in statements("system data").values()}


def future_work() -> str | None:
    return next((entry.says for entry in statements("future work").values()), None)


def offload_systems() -> list[str]:
    return [entry.subject for entry in statements("offload system").values()]


def gather_rate(which: str) -> float:
    """Bytes a second of host-to-GPU gathers of 656-byte rows: "naive" copies or a gather "kernel"."""
    return figure(f"gather-{which}").value
