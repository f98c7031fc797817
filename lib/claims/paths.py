"""Claims of section 2: what bounds the linear and the sparse path, and what each asks of the memory hierarchy."""

from __future__ import annotations

from lib.claims.decision import Decision, decides
from lib.cost import read_bytes, stored_bytes
from lib.cost.memory import latent_bytes
from lib.data import chip, model
from lib.evidence import geometry as g
from lib.evidence import measured as timed
from lib.evidence import scaling as s
from lib.evidence.words import percent, seconds, size, tokens
from lib.verdict import holds, only_if

FORMULA = "formula: lib.cost over data/models"
LINK = "formula: lib.cost over data/models and data/chips.yml"
TPOT = 0.050  # the latency target that agent serving states for a token (DualPath, section on SLOs)
MILLION = 2**20


@decides(
    exponent=lambda: s.mixing_exponent(g.kimi_linear(), ("attention",)),
    share=lambda: s.prefill_share(g.kimi_linear(), "attention"),
    measured=lambda: (timed.exponent("mla"), timed.exponent("hybrid"), timed.state_latency(MILLION)),
    device=timed.provenance,
)
def hybrid_bottleneck(claim, *, exponent, share, measured, device) -> Decision:
    latent, hybrid, step = measured
    quadratic = exponent > 1.9 and latent.exponent > 0.8
    return Decision(
        holds(quadratic and share > 0.5),
        f"exponent {exponent:.2f}, {percent(share)} of prefill at 1M",
        f"Kimi-Linear-48B: the seven MLA layers' work grows with exponent {exponent:.2f} between 512K and 1M and is {percent(share)} "
        f"of a 1M prefill. Measured in decode, where quadratic over a sequence is linear for a token: MLA's time grows with exponent {latent.exponent:.2f}, "
        f"three KDA layers and one MLA layer with {hybrid.exponent:.2f}; at 1M the MLA layers take {percent(1 - step.share)} of the stack's time.",
        f"{FORMULA}; {device}",
    )


def host_link() -> float:
    """Bytes a second, one way, between an H200 and its host: PCIe 5 x16, nominal."""
    return chip("h200").host_bandwidth


@decides(
    state=lambda: g.state_bytes(g.kimi_linear()),
    latents=lambda: float(read_bytes(g.kimi_linear(), MILLION).kv),
    link=host_link,
)
def linear_across_tiers(claim, *, state, latents, link) -> Decision:
    hard = state / link > TPOT
    because = (
        ""
        if hard
        else (
            f"a step's state crosses the link in {seconds(state / link)}; what does not is the latents of the full-attention "
            f"layers ({seconds(latents / link)})"
        )
    )
    return Decision(
        holds(hard, because),
        f"{seconds(state / link)} for the state",
        f"Kimi-Linear-48B keeps {size(state)} of recurrent state for a sequence of any length: over a host link of "
        f"{link / 1e9:.0f} GB/s that is {seconds(state / link)}, within a {seconds(TPOT)} token. Its MLA layers read {size(latents)} "
        f"a step at 1M: {seconds(latents / link)}.",
        LINK,
    )


def _fetched(name: str) -> float:
    return float(read_bytes(model(name), MILLION).kv)


def _resident(name: str) -> float:
    return float(stored_bytes(model(name), MILLION).index)


@decides(
    fetched=lambda: _fetched("deepseek-v3.2"),
    index=lambda: _resident("deepseek-v3.2"),
    link=host_link,
    memory=lambda: float(chip("h200").memory_bytes),
)
def sparse_across_tiers(claim, *, fetched, index, link, memory) -> Decision:
    fits = fetched / link <= TPOT
    evidence = (
        f"DeepSeek-V3.2 at 1M fetches at most {size(fetched)} of selected latents a step, {seconds(fetched / link)} over "
        f"{link / 1e9:.0f} GB/s; but every step also scans {size(index)} of index keys, {seconds(index / link)} over the same link."
    )
    if not fits:
        return Decision(
            holds(False, "even the selected entries overrun the token's time"), size(fetched), evidence, LINK
        )
    if index / link <= TPOT:
        return Decision(holds(True), size(fetched), evidence, LINK)
    return Decision(
        only_if(f"the index keys ({size(index)} a sequence at 1M, {percent(index / memory)} of an H200) stay in HBM"),
        f"{size(fetched)} a step fetched, {size(index)} kept",
        evidence,
        LINK,
    )


@decides(
    selected=lambda: next(iter(g.v32().mechanisms.values())).top_k,
    entry=lambda: latent_bytes(g.latent_attention(g.v32()), g.v32().precision),
)
def random_reads(claim, *, selected, entry) -> Decision:
    share = selected / MILLION
    return Decision(
        holds(share < 1),
        f"{selected} entries of {entry} B",
        f"At 1M a DSA layer reads {selected} of {MILLION:,} entries ({percent(share, 2)}), each {entry} B long and chosen by content, so "
        "their addresses follow no order.",
        FORMULA,
    )


@decides(
    work=lambda: s.step_share(g.v32(), "index"),
    stored=lambda: float(stored_bytes(g.v32(), MILLION).index / stored_bytes(g.v32(), MILLION).total),
    time=lambda: {context: timed.index_share(context) for context in (2**14, 2**17, MILLION)},
    device=timed.provenance,
)
def index_overhead(claim, *, work, stored, time, device) -> Decision:
    told = ", ".join(f"{percent(share, 0)} at {tokens(context)}" for context, share in time.items())
    return Decision(
        holds(min(work, stored, max(time.values())) > 0.01),
        f"{percent(work)} of FLOPs, {percent(stored)} of bytes, {percent(time[max(time)], 0)} of time",
        f"DeepSeek-V3.2, one step at 1M: the indexer does {percent(work)} of all FLOPs (unweighted by precision) and its keys are "
        f"{percent(stored)} of the cache. Measured with 32 heads, scoring and selecting take {told} of a DSA layer's time.",
        f"{FORMULA}; {device}",
    )


@decides(
    hybrid=lambda: s.exponent_to_1m(s.kept(g.kimi_k3())),
    sparse=lambda: s.exponent_to_1m(s.kept(g.v32())),
    slopes=lambda: (g.bytes_per_token(g.kimi_k3()), g.bytes_per_token(g.v32())),
)
def memory_growth(claim, *, hybrid, sparse, slopes) -> Decision:
    return Decision(
        holds(min(hybrid, sparse) > 0.9 and max(hybrid, sparse) < 1.1),
        f"exponents {hybrid:.2f} and {sparse:.2f}",
        f"Stored bytes grow with exponent {hybrid:.2f} (Kimi K3, {slopes[0]:,.0f} B a token) and {sparse:.2f} (DeepSeek-V3.2, {slopes[1]:,.0f} B a token): "
        "the same order, and the constant differs.",
        FORMULA,
    )


@decides(
    exponent=lambda: s.mixing_exponent(g.v32(), ("index",)),
    share=lambda: s.prefill_share(g.v32(), "index"),
    until=lambda: s.prefill_near_linear_until(g.v32()),
)
def no_full_attention_wall(claim, *, exponent, share, until) -> Decision:
    avoided = exponent < 1.1
    because = "" if avoided else "the indexer scores every pair of tokens: the wall is lower, not gone"
    return Decision(
        holds(avoided, because),
        f"indexer exponent {exponent:.2f}",
        f"DeepSeek-V3.2: the indexer's prefill work grows with exponent {exponent:.2f} and is {percent(share)} of a 1M prefill; the whole is "
        f"near linear up to {tokens(until)}.",
        FORMULA,
    )
