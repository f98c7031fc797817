"""Claims of section 3: the 2x, the 6x, the 1.16x, and the baseline they are against."""

from __future__ import annotations

from lib.claims.decision import Decision, decides
from lib.cost import stored_bytes
from lib.cost.weights import weight_bytes
from lib.data import chip, figure, model
from lib.data.variants import all_full
from lib.evidence import geometry as g
from lib.evidence import reports
from lib.evidence.training import compute_where, efficiency, efficiency_after_shift, shift_that_erases
from lib.evidence.words import size
from lib.verdict import Interval, Kind, compare, holds, mixes, only_if, printed, unchecked

REPORT = "published: Kimi Linear report (arXiv 2510.26692)"
MILLION = 2**20


@decides(ratios=reports.single_stream_ratios, label=lambda: figure("kl-ratio-label").value)
def speedup_at_1m(claim, *, ratios, label) -> Decision:
    at = ratios[MILLION]
    return Decision(
        compare(at, claim.printed),
        f"{at.middle:.2f}x",
        f"Fig. 7b, batch 1, Kimi-Linear-48B against its all-MLA twin: {at.low:.2f} to {at.high:.2f} at 1M, "
        f"{ratios[2**17].middle:.2f} at 128K, {ratios[4096].middle:.2f} at 4K; the figure's own label is {label:g}.",
        f"{REPORT}, Fig. 7b, digitised",
    )


@decides(ratios=reports.large_batch_ratios, label=lambda: figure("kl-throughput-label").value)
def throughput_at_1m(claim, *, ratios, label) -> Decision:
    at = ratios[MILLION]
    return Decision(
        compare(at, claim.printed, "at the largest batch that fits, not at batch 1"),
        f"{at.middle:.2f}x",
        f"Fig. 1b, reciprocal throughput at larger batches: {at.low:.2f} to {at.high:.2f} at 1M (the figure's own label is {label:g}); {ratios[2**17].middle:.2f} at 128K.",
        f"{REPORT}, Fig. 1b",
    )


@decides(single=reports.single_stream_ratios, large=reports.large_batch_ratios)
def batch_one_and_larger(claim, *, single, large) -> Decision:
    one, many = (printed(text) for text in claim.printed_text.split(" / "))
    fits = compare(single[MILLION], one).kind in (Kind.HOLDS, Kind.ROUNDING) and compare(large[MILLION], many).kind in (
        Kind.HOLDS,
        Kind.ROUNDING,
    )
    six_at_one = compare(single[MILLION], many).kind in (Kind.HOLDS, Kind.ROUNDING)
    return Decision(
        holds(fits, "the post's other sentence, 6x at batch 1, does not" if fits and not six_at_one else ""),
        f"{single[MILLION].middle:.2f}x / {large[MILLION].middle:.2f}x",
        f"At 1M: batch 1 {single[MILLION].middle:.2f}x (Fig. 7b), larger batches {large[MILLION].middle:.2f}x (Fig. 1b).",
        REPORT,
    )


@decides(fits=reports.scaling_fits, tested=reports.tested_compute)
def training_efficiency(claim, *, fits, tested) -> Decision:
    base, new = fits
    first, last = (float(efficiency(base, new, c)) for c in (tested.low, tested.high))
    at = compute_where(base, new, printed(claim.printed).value)
    verdict = compare(Interval(min(first, last), max(first, last)), claim.printed)
    if verdict.kind is Kind.ROUNDING:
        way = "falls" if last < first else "rises"
        verdict = only_if(f"training compute is about {at:.1f} PFLOP/s-days: the ratio {way} as compute grows")
    return Decision(
        verdict,
        f"{first:.2f}x to {last:.2f}x",
        f"From the two published fits, over the tested {tested.low:.1f} to {tested.high:.1f} PFLOP/s-days: {first:.3f} to {last:.3f}; "
        f"{claim.printed} at {at:.1f}.",
        f"{REPORT}, section 5.3",
    )


NOISE = 0.01  # a loss difference that the book tries on the fits; the report prints no spread over seeds


@decides(fits=reports.scaling_fits, tested=reports.tested_compute, spread=reports.seed_spread)
def within_noise(claim, *, fits, tested, spread) -> Decision:
    """Noise is a spread over seeds. Unknown, the rule shows what a spread would have to be."""
    base, new = fits
    middle = (tested.low * tested.high) ** 0.5
    gap = shift_that_erases(base, new, middle)
    moved = [float(efficiency_after_shift(base, new, middle, shift)) for shift in (NOISE, -NOISE)]
    told = f"The gain is {gap:.4f} in loss at {middle:.1f} PFLOP/s-days; a loss off by {NOISE} either way moves the ratio to {moved[0]:.2f} or {moved[1]:.2f}."
    if spread is None:
        return Decision(
            unchecked(f"the spread of loss over training seeds; it would have to reach {gap:.3f} to erase the gain"),
            f"{gap:.4f} in loss",
            told,
            REPORT,
        )
    return Decision(
        holds(spread >= gap, f"the spread is {spread:.4f}, the gain {gap:.4f}"), f"{gap:.4f} in loss", told, REPORT
    )


@decides(
    time=reports.twin_step_at_1m,
    cache=lambda: float(stored_bytes(all_full(g.kimi_linear()), MILLION).total),
    weights=lambda: weight_bytes(g.kimi_linear()),
    memory=lambda: float(chip("h200").memory_bytes),
)
def degraded_baseline(claim, *, time, cache, weights, memory) -> Decision:
    fits = cache + weights <= memory
    told = (
        f"The baseline of the figures is not full attention but the authors' all-MLA twin: its cache at 1M is {size(cache)}, with {size(weights)} of weights "
        f"{'within' if fits else 'beyond'} one H200's {size(memory)}, and the report times its step at {1000 * time:.1f} ms. Grouped-query attention of a 70B model "
        f"would keep {size(float(stored_bytes(model('llama-3.1-70b'), MILLION).total))}."
    )
    because = f"the twin runs at 1M, one token in {1000 * time:.1f} ms" if fits else ""
    return Decision(
        holds(not fits, because), f"{1000 * time:.1f} ms, {size(cache)}", told, f"{REPORT}, Fig. 7b; formula: lib.cost"
    )


@decides(rows=reports.measured_on_one_device)
def no_dsa_comparison(claim, *, rows) -> Decision:
    """A comparison exists when one device has published times of the linear and of the sparse layer."""
    both = [device for device, kinds in rows.items() if {"kda", "dsa"} <= kinds]
    if not both:
        return Decision(
            holds(True),
            "none",
            "No device has published times of both kinds of layer.",
            "published: data/published.yml",
        )
    return Decision(
        only_if("whole models are meant"),
        f"layers on {', '.join(both)}",
        f"Single layers have been timed side by side: MLA, DSA and KDA on {', '.join(both)}. The Kimi Linear report itself compares with none.",
        "published: data/published.yml",
    )


@decides(counts=reports.training_tokens)
def training_tokens(claim, *, counts) -> Decision:
    fits = [what for what, value in counts.items() if printed(claim.printed).interval.contains(value)]
    told = "; ".join(f"{what}: {value / 1e12:.1f}T" for what, value in counts.items())
    released = next(what for what in counts if "released" in what)
    if released in fits:
        verdict = holds(True)
    elif fits:
        verdict = mixes(f"{claim.printed} is {fits[0]}; {released} saw {counts[released] / 1e12:.1f}T")
    else:
        verdict = holds(False, told)
    return Decision(verdict, told, f"{told}. No count is published for Kimi K3.", REPORT)
