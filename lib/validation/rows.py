"""One row for each published figure or point: the book's value, the difference, and whether it passes or why it differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lib.cost import prefill_flops
from lib.data import figure, figures, model
from lib.data.published import Figure
from lib.data.variants import all_full
from lib.evidence import geometry as g
from lib.evidence.decoding import bytes_ratio, cache_limit
from lib.validation import times
from lib.validation.capacity import CHECKS, Check, ledger_check

NEAR = 0.10  # a ratio within ten per cent passes


@dataclass(frozen=True)
class Row:
    """`low` and `high` are the book's bounds, equal where it gives one value; `outcome` starts with exact, within, explained or open."""

    figure: str
    what: str
    at: str
    unit: str
    published: float
    low: float
    high: float
    outcome: str
    read: str
    source: str

    @property
    def error(self) -> float:
        """Relative distance from the nearer bound, 0 inside."""
        if self.low <= self.published <= self.high:
            return 0.0
        nearer = self.low if self.published < self.low else self.high
        return nearer / self.published - 1


def rows() -> list[Row]:
    """Every figure that the validation uses, in the data file's order."""
    return [
        row for entry in figures().values() if "T-validation" in (entry.used_for or "") for row in _rows(entry)
    ] + list(_curves())


def _row(entry: Figure, published: float, bounds: times.Bounds, outcome: str, at: str = "") -> Row:
    return Row(
        entry.id,
        entry.quantity,
        at,
        entry.unit,
        published,
        bounds.low,
        bounds.high,
        outcome,
        entry.read,
        f"{entry.source} ({entry.confidence})",
    )


def _rows(entry: Figure) -> Iterator[Row]:
    check = CHECKS.get(entry.id) or ledger_check(entry.id)
    if check is not None:
        yield _exact(entry, check)
    elif entry.id.startswith(("h200-mla-b", "h200-dsa-b")):
        yield from _modules(entry)
    elif entry.id in ("h200-kda-k3", "h200-gdn-qwen3.5"):
        yield from _states(entry)
    elif entry.id in SETTINGS:
        yield _timed(entry)
    elif entry.id in BOUNDED:
        yield _bounded(entry, BOUNDED[entry.id]())
    elif entry.id.startswith("h200-cross-b"):
        yield _crossing(entry, int(entry.id.removeprefix("h200-cross-b")))
    elif entry.id in COSTS:
        yield _cost(entry)


def _exact(entry: Figure, check: Check) -> Row:
    ours, published = float(check.compute()), entry.value
    error = ours / published - 1
    if abs(error) <= 1e-9:
        outcome = "exact"
    elif abs(error) <= max(entry.reading_error, 0.5 * _last_digit(published) / abs(published)):
        outcome = "within reading"
    elif entry.unit in ("ratio", "share") and abs(error) <= NEAR:
        outcome = "within 10 %"
    else:
        outcome = f"explained: {check.explained}" if check.explained else "open"
    return _row(entry, published, times.Bounds(ours, ours), outcome)


def _last_digit(value: float) -> float:
    """The unit of the last digit of the shortest decimal that stands for `value`; integers of up to seven digits are exact."""
    text = repr(float(value))
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2].rstrip("0"))
    return 10.0 ** (int(exponent or 0) - decimals)


def _modules(entry: Figure) -> Iterator[Row]:
    kind, batch = ("mla" if "-mla-" in entry.id else "dsa"), int(entry.id.rsplit("b", 1)[1])
    m, mixer = times.mla_of_v32() if kind == "mla" else times.dsa_of_v32()
    fixed = min(figure(f"h200-{kind}-b1").points().values())
    for context, seconds in entry.points().items():
        bounds = times.module(m, mixer, int(context), batch)
        yield _row(entry, seconds, bounds, _time_outcome(seconds, bounds, fixed), f"{int(context):,} tokens")


def _time_outcome(seconds: float, bounds: times.Bounds, fixed: float) -> str:
    if bounds.low <= seconds <= bounds.high:
        return "within bounds"
    if bounds.low <= seconds and seconds - fixed <= bounds.high:
        return f"explained: a fixed time of {1e6 * fixed:.0f} µs, its curve's smallest point, is not in the bounds"
    return "open"


def _states(entry: Figure) -> Iterator[Row]:
    m = model("kimi-k3" if "kda" in entry.id else "qwen3.5-397b-a17b")
    for batch, seconds in entry.points().items():
        bounds = times.state_step(m, batch)
        yield _row(
            entry, seconds, bounds, _time_outcome(seconds, bounds, min(entry.points().values())), f"batch {batch:.0f}"
        )


SETTINGS = {  # figure -> model, chip, chips at tensor parallel, context, requests, whether the figure is a speed
    "vllm-v32-131k": ("deepseek-v3.2", "b200", 8, 131072, 1, False),
    "cook-v32-b200": ("deepseek-v3.2", "b200", 8, 1024, 1, False),
    "cook-v32-b200-c100": ("deepseek-v3.2", "b200", 8, 1536, 100, False),
    "cook-kl-mi300x": ("kimi-linear-48b-a3b", "mi300x", 1, 1024, 1, False),
    "cook-kl-mi300x-c16": ("kimi-linear-48b-a3b", "mi300x", 1, 1536, 16, False),
    "cook-kl-mi300x-c100": ("kimi-linear-48b-a3b", "mi300x", 1, 1536, 100, False),
    "cook-qwen-b200": ("qwen3-next-80b-a3b", "b200", 8, 1024, 1, False),
    "cook-qwen-b200-c100": ("qwen3-next-80b-a3b", "b200", 8, 1536, 100, False),
    "k3-gb300-tp8": ("kimi-k3", "gb300", 8, 1024, 1, True),
}
LAUNCH = "one request's step waits for launches and collectives, which the bounds do not hold"
LOAD = "under load a token also waits for other requests' prefill and for the scheduler, which the bounds do not hold"


def _timed(entry: Figure) -> Row:
    name, chip, count, context, batch, speed = SETTINGS[entry.id]
    bounds = times.whole_model(name, chip, count, context, batch)
    if speed:
        bounds = times.Bounds(1 / bounds.high, 1 / bounds.low)
    slower = entry.value < bounds.low if speed else entry.value > bounds.high
    inside = bounds.low <= entry.value <= bounds.high
    outcome = "within bounds" if inside else f"explained: {LAUNCH if batch == 1 else LOAD}" if slower else "open"
    return _row(entry, entry.value, bounds, outcome, f"{batch} request{'s' if batch > 1 else ''}")


BOUNDED = {"h200-mla-slope": lambda: times.slopes("mla"), "h200-dsa-slope": lambda: times.slopes("dsa")}


def _bounded(entry: Figure, bounds: times.Bounds) -> Row:
    return _row(entry, entry.value, bounds, "within bounds" if bounds.low <= entry.value <= bounds.high else "open")


def _crossing(entry: Figure, batch: int) -> Row:
    """Bounds alone, and once more with each module's own fixed time: the sparse module's is the longer one."""
    bounds = times.crossover(batch)
    if bounds.low <= entry.value <= bounds.high:
        return _row(entry, entry.value, bounds, "within bounds")
    mla, dsa = (min(figure(f"h200-{kind}-b1").points().values()) for kind in ("mla", "dsa"))
    later = times.crossover(batch, dsa - mla)
    fits = later.low <= entry.value <= later.high
    return _row(entry, entry.value, bounds, f"explained: DSA's module has {1e6 * (dsa - mla):.0f} µs more of fixed time than MLA's, which moves the crossing to between "
                f"{later.low:,.0f} and {later.high:,.0f}" if fits else "open")  # fmt: skip


COSTS = ("ds-slope-prefill", "ds-slope-decode")


def _cost(entry: Figure) -> Row:
    """V3.2's cost curves are of a whole service, whose chips also carry weights and experts; only slopes can be compared."""
    (_, dsa), (_, mla) = times.dsa_of_v32(), times.mla_of_v32()
    if entry.id == "ds-slope-decode":
        low = times.slopes("mla").low / (times.slopes("dsa").high * times.GRANTED)
        high = times.slopes("mla").high * times.GRANTED / times.slopes("dsa").low
        bounds = times.Bounds(low, high)
    else:
        expanded = 2 * mla.heads * (mla.nope + mla.rope + mla.value)
        bounds = times.Bounds(
            *sorted(
                (
                    expanded / (2 * dsa.index_heads * dsa.index_dim) / 2,
                    expanded * 2 / (2 * dsa.index_heads * dsa.index_dim),
                )
            )
        )
    inside = bounds.low <= entry.value <= bounds.high
    return _row(
        entry,
        entry.value,
        bounds,
        "within bounds"
        if inside
        else "explained: the service's chip is an H800 and its decode of MLA is compute-bound at 128 heads; the vendor estimated both curves from its service",
    )


def _curves() -> Iterator[Row]:
    """Ratios of the Kimi Linear report, whose chip and batch are not named."""
    yield from _curve("7b", "step at batch 1", bytes_ratio, _step_reason)
    yield from _curve("1b", "reciprocal throughput", lambda _: cache_limit(), _throughput_reason)
    yield from _curve("7a", "prefill", _prefill_ratio, _prefill_reason)


def _curve(name: str, what: str, ours, reason) -> Iterator[Row]:
    above, below = figure(f"kl-fig{name}-mla"), figure(f"kl-fig{name}-kl")
    for context, seconds in above.points().items():
        published, value = seconds / below.points()[context], float(ours(context))
        outcome = "within 10 %" if abs(value / published - 1) <= NEAR else reason(context, published)
        yield Row(f"kl-fig{name}", f"all-MLA twin over hybrid, {what}", f"{int(context):,} tokens", "ratio", published, value, value, outcome, above.read,
                  f"{above.source} ({above.confidence})")  # fmt: skip


def _step_reason(context: float, published: float) -> str:
    fixed = min(figure("kl-fig7b-kl").points().values())
    return f"explained: the report's step has a fixed part of about {1e3 * fixed:.0f} ms that no byte count contains, so the ratio moves later and less"


def _throughput_reason(context: float, published: float) -> str:
    if published < cache_limit():
        return "explained: the limit is for steps that read cache only; at this context weights still count"
    return "open: beyond the limit for equal batch and equal efficiency; the report states neither batch nor chip"


def _prefill_parts(context: float) -> tuple[float, float, float, float]:
    twin, hybrid = prefill_flops(all_full(g.kimi_linear()), context), prefill_flops(g.kimi_linear(), context)
    return (
        float(twin.attention),
        float(twin.linear + twin.state),
        float(hybrid.attention),
        float(hybrid.linear + hybrid.state),
    )


def _prefill_ratio(context: float) -> float:
    attention, rest, other_attention, other_rest = _prefill_parts(context)
    return (attention + rest) / (other_attention + other_rest)


def implied_rate(context: float, published: float) -> float:
    """The rate of all other work, relative to attention's, at which operations would give the published prefill ratio."""
    attention, rest, other_attention, other_rest = _prefill_parts(context)
    return (published * other_rest - rest) / (attention - published * other_attention)


def implied_rates(start: float) -> list[float]:
    """`implied_rate` at every context of the report's Fig. 7a from `start` tokens on."""
    above, below = (figure(f"kl-fig7a-{name}").points() for name in ("mla", "kl"))
    return [implied_rate(context, above[context] / below[context]) for context in above if context >= start]


def _prefill_reason(context: float, published: float) -> str:
    rate = implied_rate(context, published)
    if 0 < rate < 1:
        return (
            f"explained: operations alone; the ratio follows if all other work runs at {rate:.2f} of attention's rate"
        )
    return "explained: operations alone; at short contexts the hybrid's extra kernels make it slower than its twin, whatever the rates"
