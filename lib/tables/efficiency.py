"""Tables of the efficiency and convergence chapters: the three figures, the training fits, and who joins which layers."""

from __future__ import annotations

import pandas as pd

from lib.claims import evaluate
from lib.claims.convergence import ROLES, designs
from lib.cost.flops import absorbed_flops, decode
from lib.data import chip, figure, model, models
from lib.evidence import decoding, measured, reports
from lib.evidence import geometry as g
from lib.evidence.training import efficiency
from lib.evidence.words import tokens
from lib.tables.post_architecture import from_claim
from lib.tables.spec import CELL_COLUMNS, Column, Table, cell, cells
from lib.verdict import compare, holds, unchecked

REPORT = "published: Kimi Linear report (arXiv 2510.26692)"
FORMULA = "formula: lib.cost over data/models"
M1 = 2**20


def ratios() -> pd.DataFrame:
    single, large, prefill = reports.single_stream_ratios(), reports.large_batch_ratios(), reports.prefill_ratios()
    return pd.DataFrame([
        {"context": tokens(c), "single": single[c].middle, "formula": float(decoding.bytes_ratio(c)), "large": large[c].middle, "limit": decoding.cache_limit(), "prefill": prefill[c].middle}
        for c in single
    ])  # fmt: skip


def single() -> pd.DataFrame:
    """Fig. 7b beside three formulas: bytes alone; a fixed time and a rate read off the twin's curve alone; three numbers over both curves."""
    line, fit, rows = decoding.batch_one(), decoding.both_curves(), []
    above, below = (figure(f"kl-fig7b-{name}").points() for name in ("mla", "kl"))
    for context, published in reports.single_stream_ratios().items():
        twin, hybrid = (float(fit.seconds(m, context)) for m in (decoding.twin(), decoding.hybrid()))
        predicted = [float(line.seconds(decoding.moved(m, context))) for m in (decoding.twin(), decoding.hybrid())]
        rows.append({
            "context": tokens(context), "twin": 1e3 * above[context], "twin_fit": 1e3 * twin, "hybrid": 1e3 * below[context], "hybrid_fit": 1e3 * hybrid,
            "ratio": published.middle, "ratio_fit": twin / hybrid, "residual": 100 * (twin / hybrid / published.middle - 1),
            "ratio_line": predicted[0] / predicted[1], "bytes": float(decoding.bytes_ratio(context)),
        })  # fmt: skip
    return pd.DataFrame(rows)


def sparse_steps() -> pd.DataFrame:
    """The same step at 1M with other layers: what the formula over Fig. 7b gives for their bytes, each of them a latent layer."""
    fit, count = decoding.both_curves(), decoding.hybrid().num_layers
    times = {
        "27 MLA": (decoding.moved(decoding.twin(), M1), fit.seconds(decoding.twin(), M1)),
        "20 KDA + 7 MLA": (decoding.moved(decoding.hybrid(), M1), fit.seconds(decoding.hybrid(), M1)),
    } | {
        name: (moved, fit.fixed + count * fit.layer + moved / fit.rate)
        for name, moved in decoding.sparse_twins().items()
    }
    slow = float(times["27 MLA"][1])
    return pd.DataFrame(
        [
            {"layers": name, "moved": float(moved) / 2**30, "ms": 1e3 * float(time), "ratio": slow / float(time)}
            for name, (moved, time) in times.items()
        ]
    )


def throughput() -> pd.DataFrame:
    """The gain at 1M at the largest batch that memory allows, by chip and group."""
    best = {}
    for one in decoding.nodes():
        if one.chip not in best or one.ratio_fixed > best[one.chip].ratio_fixed:
            best[one.chip] = one
    return pd.DataFrame([
        {"chip": chip(one.chip).title, "count": one.count, "twin": one.batch_twin, "hybrid": one.batch_hybrid, "ratio": one.ratio, "fixed": one.ratio_fixed,
         "published": reports.large_batch_ratios()[M1].middle}
        for one in sorted(best.values(), key=lambda one: -one.ratio_fixed)
    ])  # fmt: skip


def training() -> pd.DataFrame:
    """The compute ratio over the tested range, for both published pairs of fits."""
    tested, rows = reports.tested_compute(), []
    points = (tested.low, 3.6, figure("ar-compute").value, 10.0, tested.high)
    for name, fits, printed in (
        ("Kimi Linear against MLA", reports.scaling_fits(), "kl-efficiency"),
        ("block attention residuals against none", reports.residual_fits(), "ar-efficiency"),
    ):
        for compute in points:
            value = float(efficiency(*fits, compute))
            rows.append(
                {
                    "study": name,
                    "compute": compute,
                    "ratio": value,
                    "printed": figure(printed).value,
                    "verdict": compare(value, f"{figure(printed).value}x").kind.words,
                }
            )
    return pd.DataFrame(rows)


def post_efficiency() -> pd.DataFrame:
    speed, throughput, compute = "decoding speed-up at 1M", "decoding throughput at 1M", "compute efficiency"
    twin = "the report's baseline is its own all-MLA twin, not full attention"
    frame = cells([
        from_claim(speed, "value", "2x", "C-27"),
        cell(speed, "baseline", "full attention", "27 MLA layers, batch 1", holds(False, twin), f"{REPORT}, Fig. 7b", "C-32"),
        from_claim(speed, "relevance", "modest: the baseline is already degraded", "C-32"),
        from_claim(throughput, "value", "6x", "C-28"),
        cell(throughput, "baseline", "full attention, batch 1", "27 MLA layers, the largest batch that fits", holds(False, f"{twin}; at batch 1 the ratio is "
             f"{reports.single_stream_ratios()[M1].middle:.2f}"), f"{REPORT}, Fig. 1b", "C-29"),
        from_claim(throughput, "relevance", "good, but not production-realistic", "C-29"),
        from_claim(compute, "value", "1.16x", "C-30"),
        cell(compute, "baseline", "MLA, training", "MLA with tuned hyperparameters, which the hybrid reused", holds(True), f"{REPORT}, section 5.3", "C-30"),
        cell(compute, "relevance", "low: a training metric", evaluate("C-31").recomputed, holds(True, "it says nothing of serving"), f"{REPORT}, section 5.3", "C-31"),
    ])  # fmt: skip
    more = {speed: _one_stream(), throughput: _many_streams(), compute: _training_cells()}
    for place, name in enumerate(("model", "measured", "dsa")):
        frame[name] = [
            more[row][place] if column == "value" else ""
            for row, column in zip(frame["row"], frame["column"], strict=True)
        ]
    return frame[[column.name for column in EFFICIENCY_COLUMNS]]


def _one_stream() -> tuple[str, str, str]:
    """At 1M and batch 1: bytes alone; the stacks' token mixers on this record's device; the same for DSA."""
    return (
        f"{float(decoding.bytes_ratio(M1)):.2f}x by bytes alone",
        f"{measured.stack_ratio(M1):.2f}x, token mixers alone, {measured.reference().title}",
        f"{measured.stack_ratio(M1) / measured.stack_ratio(M1, 'all-dsa'):.2f}x over the twin",
    )


def _many_streams() -> tuple[str, str, str]:
    """At the largest batch: equal memory on the best chip; sixteen sequences measured; the same for DSA."""
    best = max(decoding.nodes(), key=lambda one: one.ratio_fixed)
    context = int(measured.decode(16).index.max())
    return (
        f"{best.ratio_fixed:.2f}x at most on equal memory ({best.count} {chip(best.chip).title}: {best.batch_hybrid} sequences against {best.batch_twin})",
        f"{measured.at(context, 'mla', 'hybrid', 16):.2f}x for 16 sequences of {tokens(context)}, a layer of each",
        f"{measured.at(context, 'mla', 'dsa', 16):.2f}x over MLA",
    )


def _training_cells() -> tuple[str, str, str]:
    return decoding.training_range(), "not measured: it needs training runs", "no fit is published"


def convergence() -> pd.DataFrame:
    trained = unchecked(
        "trained layers: lib.stack trains small ones and measures distances, and no record of it is in the book yet"
    )
    kda, mla, dsa = (
        g.kimi_linear().mechanisms["K"],
        g.kimi_linear().mechanisms["M"],
        model("glm-5.3-flash").mechanisms["D"],
    )
    index = float(decode(dsa, M1)[1])
    return cells([
        cell("DSA (sparse)", "function", "long-range retrieval", f"{dsa.top_k:,} of all earlier tokens, chosen by content", trained, FORMULA, "C-55"),
        cell("DSA (sparse)", "scaling", "sparse index", f"GLM-5.3-Flash: {index / 1e9:.2f} GFLOP of index scan a token and layer at 1M", holds(index > 0, "and the scan itself grows with context"),
             FORMULA, "C-21"),
        cell("MLA (compressed)", "function", "mid-range attention", "every earlier token, near or far", holds(False, "nothing in the layer prefers the middle: it attends to all tokens"), FORMULA, "C-55"),
        cell("MLA (compressed)", "scaling", "latent attention", f"{absorbed_flops(mla):,.0f} FLOP for each cached token", holds(True, "linear in context for each token"), FORMULA, "C-52"),
        cell("linear (KDA)", "function", "local processing", f"{kda.heads * kda.key_dim:,} decays a layer, each learned", trained, FORMULA, "C-55"),
        cell("linear (KDA)", "scaling", "O(1) per token", f"{float(decode(kda, M1)[2]):,.0f} FLOP a token at any context", evaluate("C-07").verdict, FORMULA, "C-07"),
    ])  # fmt: skip


def design_roles() -> pd.DataFrame:
    """Which kinds of layer each model has."""
    found = designs()
    return pd.DataFrame([{"model": m.title, "layers": g.mixer_words(m)} | {role: "yes" if role in found[m.title] else "" for role in ROLES}
                         | {"mtp": m.mtp.layers if m.mtp else 0} for m in models().values()])  # fmt: skip


EFFICIENCY_COLUMNS = (
    *CELL_COLUMNS[:4], Column("model", "By the cost model"), Column("measured", "Measured"), Column("dsa", "DSA, same conditions"), *CELL_COLUMNS[4:],
)  # fmt: skip
EFFICIENCY = (
    Table("T-efficiency", "The three efficiency figures", "efficiency", post_efficiency, EFFICIENCY_COLUMNS),
    Table("E-single", "A decode step at batch 1: Fig. 7b beside closed forms", "efficiency", single, (
        Column("context", "Context"), Column("twin", "All MLA (published)", "ms", ".2f"), Column("twin_fit", "formula", "ms", ".2f"), Column("hybrid", "Hybrid (published)", "ms", ".2f"),
        Column("hybrid_fit", "formula", "ms", ".2f"), Column("ratio", "Ratio (published)", "x", ".2f"), Column("ratio_fit", "formula", "x", ".2f"), Column("residual", "Residual", "%", "+.1f"),
        Column("ratio_line", "From the twin's curve alone", "x", ".2f"), Column("bytes", "From bytes alone", "x", ".2f")), f"{REPORT}, Fig. 7b, digitised; {FORMULA}", "context"),
    Table("E-sparse", "The same step at a million tokens with other layers", "efficiency", sparse_steps, (
        Column("layers", "Layers"), Column("moved", "Cache moved", "GiB", ".2f"), Column("ms", "Step", "ms", ".2f"), Column("ratio", "All MLA over it", "x", ".2f")),
        f"{FORMULA}, with the three numbers read off Fig. 7b", "layers"),
    Table("E-throughput", "Gain at a million tokens at the largest batch that memory allows, best group of each chip", "efficiency", throughput, (
        Column("chip", "Chip"), Column("count", "Chips", "", ".0f"), Column("twin", "Sequences, all MLA", "", ".0f"), Column("hybrid", "Sequences, hybrid", "", ".0f"),
        Column("ratio", "Gain, bounds alone", "x", ".2f"), Column("fixed", "with Fig. 7b's overhead", "x", ".2f"), Column("published", "Published", "x", ".2f")),
        f"{FORMULA} and data/chips.yml; {REPORT}, Fig. 1b", "chip"),
    Table("T-convergence", "The predicted division of labour", "convergence", convergence, CELL_COLUMNS),
    Table("E-ratios", "All-MLA twin over Kimi-Linear-48B: published ratios beside two formulas", "efficiency", ratios, (
        Column("context", "Context"), Column("single", "Step, batch 1 (published)", "x", ".2f"), Column("formula", "Bytes of a step, batch 1 (formula)", "x", ".2f"),
        Column("large", "Throughput, large batch (published)", "x", ".2f"), Column("limit", "Cache alone, equal batch (formula)", "x", ".2f"),
        Column("prefill", "Prefill (published)", "x", ".2f")), f"{REPORT}, Figs. 1b, 7a, 7b, digitised; {FORMULA}", "context"),
    Table("E-training", "Compute for equal loss, from the published fits", "efficiency", training, (
        Column("study", "Study"), Column("compute", "Training compute", "PFLOP/s-days", ".1f"), Column("ratio", "Compute ratio from the fits", "x", ".3f"),
        Column("printed", "Printed", "x", ".2f"), Column("verdict", "Verdict")),
        "formula over published: Kimi Linear report, Fig. 5; Attention Residuals (arXiv 2603.15031)", "study"),
    Table("C-designs", "Which kinds of layer each model has", "convergence", design_roles, (
        Column("model", "Model"), Column("layers", "Token mixers"), Column("linear", "Linear"), Column("all-token MLA", "All-token MLA"), Column("sparse", "Sparse"),
        Column("mtp", "MTP layers", "", ".0f")), "published: data/models", "model"),
)  # fmt: skip
