"""Claims of the opening and of section 1: the paths, the layers, the compression, the sparsity."""

from __future__ import annotations

import numpy as np

from lib.claims.decision import Decision, decides
from lib.cost import decode_flops
from lib.cost.flops import decode
from lib.cost.memory import stored
from lib.data import models
from lib.data.mechanisms import GatedDelta, Kda
from lib.data.variants import all_full
from lib.evidence import geometry as g
from lib.evidence import measured as timed
from lib.evidence import scaling as s
from lib.evidence.words import count, percent, ratio, tokens
from lib.verdict import Interval, compare, holds, mixes, only_if, printed

FORMULA = "formula: lib.cost over data/models"


def _near_linear(until: float, at_million: float, wall: str) -> tuple:
    """The verdict on "about linear up to a million tokens", given where growth stops being so."""
    if until >= 2**20:
        return holds(True), f"stays near linear (exponent <= 1.1) to a million tokens; there it is {at_million:.2f}"
    return (
        only_if(f"contexts stay under {tokens(until)}; at 1M the exponent is {at_million:.2f}"),
        f"prefill work leaves exponent 1.1 at {tokens(until)} and reaches {at_million:.2f} at 1M: {wall}",
    )


@decides(
    until=lambda: s.prefill_near_linear_until(g.kimi_linear()),
    at_million=lambda: s.exponent_to_1m(s.prefill_work(g.kimi_linear())),
    share=lambda: s.prefill_share(g.kimi_linear(), "attention"),
)
def linear_path_scaling(claim, *, until, at_million, share) -> Decision:
    verdict, told = _near_linear(
        until, at_million, f"the MLA layers that the hybrid keeps do {percent(share)} of the work there"
    )
    return Decision(verdict, f"exponent {at_million:.2f} at 1M", f"Kimi-Linear-48B: {told}.", FORMULA)


@decides(
    until=lambda: s.prefill_near_linear_until(g.v32()),
    at_million=lambda: s.exponent_to_1m(s.prefill_work(g.v32())),
    share=lambda: s.prefill_share(g.v32(), "index"),
    measured=lambda: timed.exponent("dsa", "score"),
    device=timed.provenance,
)
def sparse_path_scaling(claim, *, until, at_million, share, measured, device) -> Decision:
    verdict, told = _near_linear(
        until, at_million, f"the indexer scores every earlier token and does {percent(share)} of the work there"
    )
    return Decision(
        verdict,
        f"exponent {at_million:.2f} at 1M",
        f"DeepSeek-V3.2: {told}. Measured, scoring the index keys for one token takes time that grows with exponent {measured.exponent:.2f}.",
        f"{FORMULA}; {device}",
    )


# the post's representatives, each with the models of data/ that carry its name and the path that it is listed under
REPRESENTATIVES = {
    "Kimi3": ("linear", ("kimi-k3",)),
    "Qwen3": ("linear", ("qwen3-next-80b-a3b", "qwen3.5-397b-a17b")),
    "Xiaomi SWA": ("linear", ("mimo-v2-flash", "mimo-v2.5-pro")),
    "DeepSeek V4": ("sparse", ("deepseek-v4-flash", "deepseek-v4-pro")),
    "GLM52": ("sparse", ("glm-5.2",)),
    "LongCat": ("sparse", ("longcat-2.0",)),
}


def path_of_representatives() -> dict[str, tuple[str, str]]:
    """name -> (path it is listed under, path that its mechanisms follow)."""
    return {name: (listed, models()[names[0]].path) for name, (listed, names) in REPRESENTATIVES.items()}


@decides(paths=path_of_representatives)
def representatives(claim, *, paths) -> Decision:
    wrong = [name for name, (listed, real) in paths.items() if listed != real]
    evidence = "; ".join(f"{name}: listed {listed}, built {real}" for name, (listed, real) in paths.items())
    because = f"{' and '.join(wrong)} is listed under a path that its layers do not follow" if wrong else ""
    return Decision(
        holds(not wrong, because), f"{len(paths) - len(wrong)} of {len(paths)} follow it", evidence + ".", FORMULA
    )


@decides(shares=lambda: {m.title: g.linear_share(m) for m in (g.kimi_linear(), g.kimi_k3())})
def layers_per_full_layer(claim, *, shares) -> Decision:
    ratios = {title: linear / other for title, (linear, other) in shares.items()}
    verdict = compare(Interval(min(ratios.values()), max(ratios.values())), claim.printed)
    evidence = "; ".join(
        f"{title}: {shares[title][0]} to {shares[title][1]} = {value:.3f}" for title, value in ratios.items()
    )
    return Decision(
        verdict,
        f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f}",
        evidence
        + ". The pattern is 3:1; both stacks end with one more MLA layer, and the figure as printed covers it.",
        FORMULA,
    )


def step_savings() -> dict[int, float]:
    """Share of a whole decode step's FLOPs that Kimi-Linear saves against its all-MLA twin, by context."""
    m = g.kimi_linear()
    contexts = np.array([4096, 131072, 1048576])
    saved = 1 - decode_flops(m, contexts).total / decode_flops(all_full(m), contexts).total
    return dict(zip(contexts.tolist(), saved.tolist(), strict=True))


PATTERN = 3 / (3 + 1)  # linear layers of the pattern that both reports print, without the last layer that they append


@decides(core=lambda: g.asymptotic_saving(g.kimi_linear()), savings=step_savings)
def computation_cut(claim, *, core, savings) -> Decision:
    figure = printed(claim.printed)
    least = min((context for context, saved in savings.items() if figure.interval.contains(saved)), default=None)
    told = ", ".join(f"{percent(saved)} at {tokens(context)}" for context, saved in savings.items())
    if figure.interval.contains(core) and least is not None:
        verdict = only_if(f"the context is {tokens(least)} or more")
    elif not figure.interval.contains(PATTERN):
        verdict = holds(False, f"the limit is {percent(core, 2)}, and {percent(PATTERN)} for the pattern of 3:1")
    else:
        verdict = only_if(
            "the stack is exactly 3:1 and nothing but attention over the context is counted; "
            f"Kimi-Linear's 20:7 tends to {percent(core, 2)}"
        )
    return Decision(
        verdict,
        f"{percent(core, 2)} at most",
        f"Kimi-Linear against its all-MLA twin, one decode step, all work counted: {told}; "
        f"the limit is the share of layers replaced, {percent(core, 2)}.",
        FORMULA,
    )


def kda_step_flops() -> dict[int, float]:
    mixer = next(x for x in g.kimi_linear().mechanisms.values() if isinstance(x, Kda))
    return {context: float(decode(mixer, context)[2]) for context in (4096, 1048576)}


FLAT = 0.15  # an exponent that a measurement calls flat: a factor of 1.9 from 16K to 1M tokens at the most


@decides(
    flops=kda_step_flops,
    measured=lambda: timed.exponent("kda"),
    latent=lambda: timed.exponent("mla"),
    device=timed.provenance,
)
def kda_constant_cost(claim, *, flops, measured, latent, device) -> Decision:
    low, high = min(flops.values()), max(flops.values())
    return Decision(
        holds(low == high and abs(measured.exponent) <= FLAT),
        f"{count(high)} FLOP a token and layer at any context; measured exponent {measured.exponent:.2f}",
        "; ".join(f"{count(value)} FLOP at {tokens(context)}" for context, value in flops.items())
        + f": the step's formula has no term in the context. Measured from 16K to 1M tokens its time grows with exponent {measured.exponent:.2f}, "
        f"MLA's with {latent.exponent:.2f}.",
        f"{FORMULA}; {device}",
    )


@decides(ratios=lambda: {m.title: g.compression(m) for m in g.latent_models()})
def mla_compression(claim, *, ratios) -> Decision:
    figure = printed(claim.printed)
    exact = [title for title, c in ratios.items() if figure.interval.contains(c.without_rotary)]
    stored_too = [title for title, c in ratios.items() if figure.interval.contains(c.rotary_in_latent)]
    k3 = ratios["Kimi K3"]
    evidence = (
        f"{ratio(figure.value)} is what {', '.join(exact) or 'no model'} gives when the rotary part, which is cached too, is "
        f"left out. Kimi K3's geometry gives {ratio(k3.rotary_in_latent)} with it, against a multi-head cache that no rival uses."
    )
    if "Kimi K3" in stored_too or "Kimi K3" in exact:
        verdict = holds(True)
    elif exact or stored_too:
        verdict = mixes(f"the ratio of {(exact or stored_too)[0]} is printed for Kimi K3")
    else:
        verdict = holds(False, f"no geometry gives {figure.text}")
    return Decision(
        verdict, f"K3 {ratio(k3.rotary_in_latent)} (without rotary part {ratio(k3.without_rotary)})", evidence, FORMULA
    )


@decides(residual=lambda: g.kimi_k3().residual, mixers=lambda: g.mixer_words(g.kimi_k3()))
def residual_over_sequence(claim, *, residual, mixers) -> Decision:
    over_depth = residual.type == "attention"
    evidence = (
        f"Kimi K3 mixes tokens with {mixers} and nothing else; its attention residuals weigh the outputs of "
        f"{residual.blocks} blocks of layers, over depth."
        if over_depth
        else f"Kimi K3 mixes tokens with {mixers}; plain residuals."
    )
    return Decision(
        holds(False, "it is a residual over depth: no token sees another through it"),
        mixers,
        evidence,
        "published: Kimi K3 report (arXiv 2607.24653), section 2.2",
    )


def gate_values() -> dict[str, int]:
    """Decays that one head forgets by at a step: as many as the decay tensor has values for the head."""
    found = {}
    for m in models().values():
        for mixer in m.mechanisms.values():
            if isinstance(mixer, Kda):
                found[m.title] = mixer.key_dim
            elif isinstance(mixer, GatedDelta):
                found[m.title] = 1
    return found


@decides(values=gate_values)
def forget_gate(claim, *, values) -> Decision:
    kda = {title: n for title, n in values.items() if n > 1}
    earlier = {title: n for title, n in values.items() if n == 1}
    told = "; ".join(f"{title}: {n}" for title, n in values.items())
    return Decision(
        holds(bool(kda and earlier)),
        f"{max(values.values())} decays a head against {min(values.values())}",
        f"Decays of one head and step, as the kernels take them ({told}).",
        FORMULA,
    )


def _size(name: str) -> tuple[str, float, float, str]:
    m = models()[name]
    counted = g.parameters(m)
    return m.title, counted.total, counted.active, f"{m.sizes.total} / {m.sizes.active}"


@decides(k3=lambda: _size("kimi-k3"), small=lambda: _size("kimi-linear-48b-a3b"))
def kimi3_size(claim, *, k3, small) -> Decision:
    """Sizes in names are rounded loosely, so a model has the size when its vendor prints it or its count rounds to it."""
    fits = {
        title: claim.printed_text == print_ or _rounds_to(claim.printed_text, t, a)
        for title, t, a, print_ in (k3, small)
    }
    evidence = "; ".join(
        f"{title}: {count(t)} parameters, {count(a)} active, {print_} by its vendor"
        for title, t, a, print_ in (k3, small)
    )
    if fits[k3[0]]:
        verdict = holds(True)
    elif fits[small[0]]:
        verdict = mixes(f"{claim.printed_text} is {small[0]}; {k3[0]} has {count(k3[1])} / {count(k3[2])}")
    else:
        verdict = holds(False, "neither Kimi model has this size")
    return Decision(verdict, f"{count(k3[1])} / {count(k3[2])}", evidence + ".", FORMULA)


def _rounds_to(text: str, total: float, active: float) -> bool:
    return all(
        printed(part).interval.contains(value) for part, value in zip(text.split(" / "), (total, active), strict=True)
    )


@decides(k3=lambda: g.sparsity(g.kimi_k3()), small=lambda: g.sparsity(g.kimi_linear()))
def kimi3_sparsity(claim, *, k3, small) -> Decision:
    figure = printed(claim.printed)
    told = (
        f"Kimi K3: {percent(k3.experts, 2)} of routed experts, {percent(k3.everything, 2)} of all parameters; Kimi-Linear-48B, whose size "
        f"the post gives it: {percent(small.experts, 2)} of experts, {percent(small.everything, 2)} of parameters."
    )
    if figure.interval.contains(small.experts) or figure.interval.contains(small.everything):
        verdict = holds(True)
    elif figure.interval.contains(k3.experts):
        verdict = mixes("K3's share of routed experts beside the size of Kimi-Linear-48B")
    else:
        verdict = holds(False, "no reading gives the figure")
    return Decision(verdict, f"{percent(k3.experts, 2)} of K3's experts", told, FORMULA)


@decides(flash=lambda: g.sparsity(g.v4_flash()), pro=lambda: g.sparsity(models()["deepseek-v4-pro"]))
def v4_flash_sparsity(claim, *, flash, pro) -> Decision:
    verdict = compare(flash.experts, claim.printed)
    if printed(claim.printed).interval.contains(flash.everything):
        verdict = only_if("all parameters are counted, not experts")
    return Decision(
        verdict,
        f"{percent(flash.experts, 2)} of experts, {percent(flash.everything, 2)} of parameters",
        f"V4-Flash routes to {percent(flash.experts, 2)} of its experts, V4-Pro to {percent(pro.experts, 2)}.",
        FORMULA,
    )


@decides(shares=lambda: {m.title: g.sparsity(m).everything for m in g.moe_models()})
def typical_moe(claim, *, shares) -> Decision:
    wanted = printed(claim.printed).interval
    inside = [title for title, share in shares.items() if wanted.contains(share)]
    spread = f"{percent(min(shares.values()))} to {percent(max(shares.values()))}"
    because = "" if 2 * len(inside) > len(shares) else f"{len(inside)} of {len(shares)} models are in the range"
    return Decision(
        holds(2 * len(inside) > len(shares), because),
        spread,
        f"Active over total parameters of the {len(shares)} mixture-of-experts models in data/models: {spread}; "
        f"in the printed range: {', '.join(inside) or 'none'}.",
        FORMULA,
    )


@decides(
    index=lambda: {
        m.title: float(stored(x, 2**20, m.precision)[1])
        for m in (g.kimi_linear(), g.kimi_k3())
        for x in m.mechanisms.values()
        if isinstance(x, Kda)
    }
)
def linear_needs_no_index(claim, *, index) -> Decision:
    return Decision(
        holds(not any(index.values())),
        f"{sum(index.values()):.0f} index bytes",
        "A KDA layer keeps a state and a short convolution's tail; it scores no earlier token, so there is nothing to index.",
        FORMULA,
    )
