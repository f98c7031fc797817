"""Claims of section 5, and of the opening, on the bill and on the tiers of memory."""

from __future__ import annotations

from lib.claims.decision import Decision, decides
from lib.claims.paths import LINK, MILLION, TPOT, host_link
from lib.cost import read_bytes
from lib.cost.bill import even_hit_price, storage_share
from lib.data import model
from lib.data.variants import all_full
from lib.evidence import geometry as g
from lib.evidence import measured as timed
from lib.evidence import money, reports, tiers
from lib.evidence import scaling as s
from lib.evidence.words import dollars, percent, seconds, size, tokens
from lib.verdict import Interval, Kind, compare, holds, only_if, printed

BILL = "formula: lib.cost.bill over data/traces and data/prices.yml"


@decides(shares=money.shares_by_price)
def storage_share_range(claim, *, shares) -> Decision:
    low, high = min(shares, key=shares.get), max(shares, key=shares.get)
    inside = [name for name, share in shares.items() if printed(claim.printed).interval.contains(share)]
    verdict = compare(
        Interval(shares[low], shares[high]),
        claim.printed,
        f"{len(inside)} of {len(shares)} price rows give a share in the range",
    )
    if verdict.kind is Kind.ROUNDING:  # here overlap means that some vendors are in the range and others are not
        verdict = holds(False, verdict.because)
    return Decision(
        verdict,
        f"{percent(shares[low])} to {percent(shares[high])}",
        f"The author's week under {len(shares)} price rows: from {percent(shares[low])} ({low}) to {percent(shares[high])} ({high}).",
        BILL,
    )


@decides(log=money.usage_log, total=money.usage_total_row)
def hits_to_computed(claim, *, log, total) -> Decision:
    """The log decides; the printed totals' own ratio, an interval, is shown beside it."""
    exact = log.hit / log.computed
    rounded = total.hit / total.computed
    return Decision(
        compare(exact, claim.printed),
        f"{exact:.2f}:1",
        f"Log: {log.hit:,.0f} / {log.computed:,.0f} = {exact:.2f}. The printed totals alone give {rounded.low:.2f} to {rounded.high:.2f}, "
        f"which {'covers' if rounded.overlaps(printed(claim.printed).interval) else 'excludes'} the figure.",
        BILL,
    )


def _share(claim, vendor: str, log: float, total: Interval) -> Decision:
    figure = printed(claim.printed)
    exact = compare(log, figure)
    told = f"{vendor}: {percent(log)} from the log; {percent(total.low)} to {percent(total.high)} from the totals as the author split them."
    if exact.kind is Kind.HOLDS:
        return Decision(exact, percent(log), told, BILL)
    if figure.interval.overlaps(total):
        return Decision(
            only_if(f"misses and output are split as the author's total row has them; the log gives {percent(log)}"),
            percent(log),
            told,
            BILL,
        )
    return Decision(
        holds(False, f"the log gives {percent(log)}, the printed totals {percent(total.middle)}"),
        percent(log),
        told,
        BILL,
    )


@decides(log=lambda: money.log_share("kimi"), total=lambda: money.total_row_share("kimi"))
def kimi_share(claim, *, log, total) -> Decision:
    return _share(claim, "Kimi K3 at the author's prices", log, total)


@decides(log=lambda: money.log_share("deepseek"), total=lambda: money.total_row_share("deepseek"))
def deepseek_share(claim, *, log, total) -> Decision:
    return _share(claim, "DeepSeek V4-Pro at the author's prices", log, total)


@decides(usage=money.usage_log, rates=money.author_rates)
def memory_not_compute(claim, *, usage, rates) -> Decision:
    """One buys memory if storage is more than half of the bill; the hit price at which it is half is the condition."""
    shares = {vendor: float(storage_share(usage, rate)) for vendor, rate in rates.items()}
    even = {vendor: even_hit_price(usage, rate) / rate.miss for vendor, rate in rates.items()}
    told = "; ".join(
        f"{vendor}: {percent(share)} (half at a hit price of {percent(even[vendor])} of the miss price, charged "
        f"{percent(rates[vendor].hit / rates[vendor].miss)})"
        for vendor, share in shares.items()
    )
    evidence = f"{told}. The tariff charges reads, not bytes kept over time."
    if min(shares.values()) > 0.5:
        return Decision(holds(True), told, evidence, BILL)
    if max(shares.values()) <= 0.5:
        return Decision(holds(False, "no vendor's bill is mostly storage"), told, evidence, BILL)
    return Decision(
        only_if(f"a hit costs more than {percent(min(even.values()))} to {percent(max(even.values()))} of a miss"),
        f"{percent(min(shares.values()))} to {percent(max(shares.values()))}",
        evidence,
        BILL,
    )


@decides(costs=money.tariff_by_context)
def storage_cost_linear(claim, *, costs) -> Decision:
    """Cost for each token is the same at each context: linear, as any tariff on tokens is."""
    each = [cost / context for context, cost in costs.items()]
    linear = max(each) - min(each) <= 1e-9 * max(each)
    return Decision(
        holds(linear, "for one reading; a growing session re-reads its past, which is quadratic" if linear else ""),
        f"{dollars(costs[2**20])} at 1M",
        "; ".join(f"{context:,} tokens: {dollars(cost)}" for context, cost in costs.items()) + ".",
        BILL,
    )


@decides(reading=money.one_reading, session=money.growing_session)
def session_price(claim, *, reading, session) -> Decision:
    figure = printed(claim.printed)
    told = (
        f"One request that re-reads a million cached tokens costs {dollars(reading)}. A session of {session.rounds} rounds that grows to a million tokens re-reads "
        f"{session.hits / 1e6:,.0f}M tokens and costs {dollars(session.total)}, of which {dollars(session.hit)} for hits."
    )
    if figure.interval.contains(session.total):
        return Decision(holds(True), dollars(session.total), told, BILL)
    if figure.interval.contains(reading):
        return Decision(
            only_if("the session is one request that re-reads a million cached tokens"), dollars(reading), told, BILL
        )
    return Decision(holds(False, f"one reading is {dollars(reading)}"), dollars(reading), told, BILL)


@decides(cells=tiers.tier_checks)
def tier_figures(claim, *, cells) -> Decision:
    wrong = [name for name, ok in cells.items() if not ok]
    evidence = "; ".join(f"{name}: {'within' if ok else 'outside'} the sourced range" for name, ok in cells.items())
    return Decision(
        holds(
            not wrong,
            f"{len(wrong)} of {len(cells)} figures lie outside what sources give: {', '.join(wrong)}" if wrong else "",
        ),
        f"{len(cells) - len(wrong)} of {len(cells)} agree",
        evidence + ".",
        "published: data/chips.yml, tiers",
    )


@decides(systems=reports.offload_systems)
def index_in_hbm(claim, *, systems) -> Decision:
    return Decision(
        holds(bool(systems), "" if systems else "no system in data/published.yml does so"),
        f"{len(systems)} systems",
        f"Index keys resident, selected latents fetched from host memory or beyond: {', '.join(systems)}.",
        "published: data/published.yml",
    )


@decides(
    fetched=lambda: float(read_bytes(g.v32(), MILLION).kv),
    naive=lambda: reports.gather_rate("naive"),
    kernel=lambda: reports.gather_rate("kernel"),
)
def random_access_tolerable(claim, *, fetched, naive, kernel) -> Decision:
    slow, fast = fetched / naive, fetched / kernel
    told = (
        f"DeepSeek-V3.2 gathers {size(fetched)} a step in 656-byte entries if nothing is cached on the GPU: {seconds(slow)} at the {naive / 1e9:.2f} GB/s of plain copies, "
        f"{seconds(fast)} at the {kernel / 1e9:.0f} GB/s of a gather kernel; the target is {seconds(TPOT)} a token."
    )
    if slow <= TPOT:
        verdict = holds(True)
    elif fast <= TPOT:
        verdict = only_if(f"a gather kernel reaches {fetched / TPOT / 1e9:.1f} GB/s or more on 656-byte entries")
    else:
        verdict = holds(False, "even a gather kernel misses the target")
    return Decision(
        verdict, f"{seconds(fast)} to {seconds(slow)} a step", told, "published: ESS (arXiv 2512.10576), gather rates"
    )


def _step_over_link(name: str, full: bool = False) -> float:
    m = all_full(model(name)) if full else model(name)
    return float(read_bytes(m, MILLION).kv) / host_link()


def _must_stay(claim, what: str, time: float) -> Decision:
    told = f"{what}: a step at 1M reads every latent; over the host link that takes {seconds(time)}, against {seconds(TPOT)} a token."
    if time <= TPOT:
        return Decision(holds(False, f"a step's latents cross the link in {seconds(time)}"), seconds(time), told, LINK)
    return Decision(
        only_if(
            f"a token must come within {seconds(time)}, one sequence has the link to itself, and no other chip holds a part of the cache"
        ),
        seconds(time),
        told,
        LINK,
    )


@decides(time=lambda: _step_over_link("kimi-linear-48b-a3b"))
def hybrid_needs_hbm(claim, *, time) -> Decision:
    return _must_stay(claim, "Kimi-Linear-48B's seven MLA layers", time)


@decides(time=lambda: _step_over_link("kimi-linear-48b-a3b", full=True))
def mla_offload(claim, *, time) -> Decision:
    return _must_stay(claim, "Its twin with MLA in all 27 layers", time)


@decides(
    linear=lambda: s.mixing_exponent(g.kimi_linear(), ("state",)),
    full=lambda: s.mixing_exponent(g.kimi_linear(), ("attention",)),
    measured=lambda: {
        name: (timed.prefill_exponent(name).exponent, int(timed.prefill()[name].dropna().index.max()))
        for name in ("kda", "mla")
    },
    device=timed.provenance,
)
def layer_totals(claim, *, linear, full, measured, device) -> Decision:
    (kda, kda_until), (mla, mla_until) = measured["kda"], measured["mla"]
    return Decision(
        holds(abs(linear - 1) < 0.05 and abs(full - 2) < 0.05 and mla - kda > 0.5),
        f"exponents {linear:.2f} and {full:.2f}; measured {kda:.2f} and {mla:.2f}",
        f"Prefill work between 512K and 1M tokens grows with exponent {linear:.2f} in the KDA layers and {full:.2f} in the MLA layers, whose constant the latent "
        f"changes and whose order it does not. Measured over whole prompts: {kda:.2f} up to {tokens(kda_until)} tokens, {mla:.2f} up to {tokens(mla_until)}.",
        f"formula: lib.cost over data/models; {device}",
    )
