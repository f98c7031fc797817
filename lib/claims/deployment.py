"""Claims of section 4: what is advertised, what is served, and what the recurrent state costs."""

from __future__ import annotations

from lib.claims.decision import Decision, decides
from lib.cost import read_bytes
from lib.data import models
from lib.evidence import geometry as g
from lib.evidence import measured as timed
from lib.evidence import money, reports, tiers
from lib.evidence.words import percent, seconds, size, tokens
from lib.verdict import holds, only_if, printed, unchecked

FORMULA = "formula: lib.cost over data/models"
MILLION = 2**20
ADVERTISED = ("deepseek-v4-pro", "glm-5.2", "longcat-2.0", "kimi-k3")


@decides(contexts=lambda: {models()[name].title: models()[name].context for name in ADVERTISED})
def advertised_million(claim, *, contexts) -> Decision:
    short = [title for title, context in contexts.items() if context < 10**6]
    told = "; ".join(f"{title}: {tokens(context)}" for title, context in contexts.items())
    verdict = (
        holds(True) if not short else only_if(f"the service of {' and '.join(short)} goes beyond the configuration")
    )
    return Decision(
        verdict,
        f"{len(contexts) - len(short)} of {len(contexts)} models",
        f"Contexts as configured or served: {told}.",
        "published: data/models, context",
    )


@decides(longest=money.largest_daily_mean)
def longcat_600k(claim, *, longest) -> Decision:
    figure = printed(claim.printed)
    told = f"The author's log holds daily sums; its largest daily mean is {longest:,.0f} prompt tokens a request."
    if longest >= figure.interval.low:
        return Decision(holds(True), f"{longest:,.0f}", told, "published: data/traces")
    return Decision(
        unchecked("a log with one row a request: a mean cannot show the longest request"),
        f"mean {longest:,.0f}",
        told,
        "published: data/traces",
    )


@decides(caps=reports.client_caps)
def client_wall(claim, *, caps) -> Decision:
    """A wall near the printed length may be a client's if some client has a default limit there."""
    wall = printed(claim.printed).value
    near = {name: limit for name, limit in caps.items() if 0.5 <= limit / wall <= 1.1}
    told = "; ".join(f"{name}: {limit:,.0f} tokens" for name, limit in caps.items())
    return Decision(
        holds(
            bool(near),
            "such a limit exists; whether it was this one's cause needs the client's settings"
            if near
            else "no known client stops there",
        ),
        told,
        f"Documented client limits: {told}.",
        "published: data/published.yml",
    )


@decides(
    state=lambda: float(read_bytes(g.kimi_linear(), MILLION).state),
    latents=lambda: float(read_bytes(g.kimi_linear(), MILLION).kv),
)
def state_saturates_bandwidth(claim, *, state, latents) -> Decision:
    share = state / (state + latents)
    because = "" if share > 0.5 else f"at 1M the state is {percent(share, 2)} of what a step reads of the cache"
    return Decision(
        holds(share > 0.5, because),
        percent(share, 2),
        f"Kimi-Linear-48B at 1M: a step reads {size(state)} of state and {size(latents)} of latents for each sequence; both grow with the batch, so no batch "
        "changes the share.",
        FORMULA,
    )


@decides(
    steps=lambda: {c: timed.state_latency(c) for c in (2**12, 2**17, MILLION)}, from_here=timed.state_break_even, device=timed.provenance,
    share=tiers.state_share_of_step, alone=tiers.state_numbers_at_once,
)  # fmt: skip
def state_adds_latency(claim, *, steps, from_here, device, share, alone) -> Decision:
    """Layers run one after the other in every design: the state adds latency if its layers take longer than those they replace."""
    slower = [context for context, step in steps.items() if step.linear + step.latent > step.twin]
    told = "; ".join(
        f"{tokens(c)}: {seconds(step.linear)} for 20 KDA layers ({percent(step.share)} of the stack), {seconds(step.linear + step.latent)} with the 7 MLA layers, "
        f"{seconds(step.twin)} for 27 MLA layers"
        for c, step in steps.items()
    )
    if len(slower) == len(steps):
        verdict = holds(True)
    elif slower:
        verdict = only_if(f"the context is under {tokens(from_here)}")
    else:
        verdict = holds(
            False,
            f"from {tokens(from_here)} on, the shortest measured, the KDA layers take less time than the MLA layers in their place",
        )
    return Decision(verdict, f"{percent(steps[max(steps)].share)} of the stack's time at 1M", f"Within a token the {alone:,} numbers of a layer's state do not wait for each other; on an H200 moving all states takes {percent(share, 2)} of the step's lower bound at 1M. "
                    f"Measured, token mixers alone, one sequence. {told}.", f"{device}; {FORMULA}")  # fmt: skip


@decides(vendors=reports.system_data_vendors)
def only_deepseek_systems(claim, *, vendors) -> Decision:
    others = {vendor: what for vendor, what in vendors.items() if vendor != "DeepSeek"}
    told = "; ".join(f"{vendor}: {what}" for vendor, what in vendors.items())
    return Decision(
        holds("DeepSeek" in vendors and not others, f"{len(others)} other vendors published some" if others else ""),
        f"{len(vendors)} vendors",
        f"System-level data published by {told}.",
        "published: data/published.yml",
    )
