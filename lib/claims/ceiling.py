"""Claims on ceilings: sections 2.3, 5.3 and 6, and what section 7 promises for part 2."""

from __future__ import annotations

from lib.claims.decision import Decision, decides
from lib.cost import stored_bytes
from lib.data import model, statements
from lib.evidence import ceilings as c
from lib.evidence import decoding, money
from lib.evidence import geometry as g
from lib.evidence import scaling as s
from lib.evidence.words import percent, tokens
from lib.verdict import holds, only_if, printed, unchecked

NODE = "formula: lib.cost over data/models and data/chips.yml"


def _practical(claim, title: str, found: c.Ceiling, at_least: bool) -> Decision:
    """A ceiling is a number only once node, target and number of sequences are named: the rule finds the number that makes it true."""
    figure = printed(claim.printed)
    node = f"{found.system.count} {found.system.chip.title}"
    reach = min(found.memory, found.latency)
    told = (
        f"{title} on {node}, one sequence: memory ends at {tokens(found.memory)}, 50 ms a token at {tokens(found.latency)}; {found.sequences} sequences of "
        f"{claim.printed} fit at once."
    )
    if at_least:
        verdict = holds(
            reach >= figure.interval.low, "" if reach >= figure.interval.low else f"it ends at {tokens(reach)}"
        )
    elif reach < figure.interval.low / 2:
        verdict = holds(False, f"one sequence ends at {tokens(reach)}")
    elif reach <= 2 * figure.interval.high:
        verdict = holds(True)
    else:
        verdict = only_if(f"about {found.sequences} sequences share {node}; one alone reaches {tokens(reach)}")
    return Decision(verdict, tokens(reach), told, NODE)


def _for(name: str, text: str):
    return lambda: c.ceilings(model(name), printed(text).value)


@decides(found=_for("llama-3.1-70b", "128K"))
def full_ceiling(claim, *, found) -> Decision:
    return _practical(claim, "Llama-3.1-70B", found, at_least=False)


@decides(found=_for("kimi-k3", "500K"))
def hybrid_ceiling(claim, *, found) -> Decision:
    return _practical(claim, "Kimi K3", found, at_least=False)


@decides(found=_for("deepseek-v4-pro", "1M"))
def sparse_ceiling(claim, *, found) -> Decision:
    return _practical(claim, "DeepSeek-V4-Pro", found, at_least=True)


@decides(
    bytes_share=lambda: float(stored_bytes(g.kimi_linear(), 2**20).kv / stored_bytes(g.kimi_linear(), 2**20).total),
    work_share=lambda: s.step_share(g.kimi_linear(), "attention"),
)
def hybrid_wall(claim, *, bytes_share, work_share) -> Decision:
    binds = min(bytes_share, work_share) > 0.5
    return Decision(
        holds(binds),
        f"{percent(bytes_share)} of bytes, {percent(work_share)} of work",
        f"At 1M the MLA layers of Kimi-Linear-48B hold {percent(bytes_share)} of a sequence's cache and do {percent(work_share)} of a step's operations.",
        "formula: lib.cost over data/models",
    )


def _slopes() -> dict[str, tuple[float, float]]:
    return {m.title: (g.bytes_per_token(m), c.step_slope(m)) for m in (g.kimi_k3(), g.v32(), model("deepseek-v4-pro"))}


@decides(slopes=_slopes)
def sparse_higher_ceiling(claim, *, slopes) -> Decision:
    """A lower slope in bytes is a higher memory ceiling, a lower slope in FLOPs a higher latency ceiling."""
    hybrid = slopes["Kimi K3"]
    better = {title: (b < hybrid[0], f < hybrid[1]) for title, (b, f) in slopes.items() if title != "Kimi K3"}
    told = "; ".join(
        f"{title}: {b:,.0f} B and {f / 1e6:.2f} MFLOP for one more token" for title, (b, f) in slopes.items()
    )
    if all(all(both) for both in better.values()):
        verdict = holds(True)
    elif winners := [title for title, both in better.items() if all(both)]:
        losers = [title for title, both in better.items() if not all(both)]
        verdict = only_if(
            f"DSA means {' and '.join(winners)}; {' and '.join(losers)} keeps more bytes a token than Kimi K3"
        )
    else:
        verdict = holds(False, "no sparse model here grows more slowly than Kimi K3 in both bytes and work")
    return Decision(verdict, told, f"Growth with context: {told}.", NODE)


@decides(
    sequel=lambda: next((entry.says for entry in statements("sequel").values()), None),
    parts=lambda: {
        "2x": decoding.two_from_bytes(),
        "6x": decoding.six_from_cache(),
        "1.16x": decoding.training_range(),
    },
)
def figures_taken_apart(claim, *, sequel, parts) -> Decision:
    """Taking a figure apart needs a calculation; the book's own says what each figure comes down to."""
    said = unchecked("what part 2 says of them") if sequel is None else holds(False, f"part 2 {sequel}")
    return Decision(
        said,
        "; ".join(f"{name}: {told}" for name, told in parts.items()),
        "What the chapter finds. " + "; ".join(f"{name}: {told}" for name, told in parts.items()) + ".",
        "published: part 2 of the series; formula: lib.evidence.decoding",
    )


@decides(rest=money.tariff_residual)
def cost_model(claim, *, rest) -> Decision:
    """Part 2's whole cost model is price x context if every printed cell equals that product."""
    only_tariff = rest == 0
    return Decision(
        holds(
            not only_tariff,
            "every cost that part 2 prints is a hit price times a context: no time, no compute, no batch"
            if only_tariff
            else "",
        ),
        f"{rest} cells need more than the tariff",
        "T-storage recomputes part 2's cells as hit price x context; lib.cost is the model that was promised.",
        "formula: data/prices x context",
    )


@decides(calculated=lambda: c.ceilings(g.kimi_k3(), 5e5))
def wall_of_linear(claim, *, calculated) -> Decision:
    """The author's part 2 repeats "about 500K" without a calculation; the book gives the wall with its conditions."""
    reach = min(calculated.memory, calculated.latency)
    return Decision(
        holds(False, "part 2 gives a number and no calculation; the ceiling chapter computes one"),
        tokens(reach),
        f"Kimi K3 on {calculated.system.count} {calculated.system.chip.title}, one sequence: memory ends at {tokens(calculated.memory)}, 50 ms a token at "
        f"{tokens(calculated.latency)}.",
        NODE,
    )
