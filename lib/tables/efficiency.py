"""Tables of the efficiency and convergence chapters: the three figures, the training fits, and who joins which layers."""

from __future__ import annotations

import pandas as pd

from lib.claims import evaluate
from lib.claims.convergence import ROLES, designs
from lib.cost import stored_bytes
from lib.cost.flops import absorbed_flops, decode
from lib.cost.weights import dense_bytes, mixtures
from lib.data import figure, model, models
from lib.data.variants import all_full
from lib.evidence import geometry as g
from lib.evidence import reports
from lib.evidence.training import efficiency
from lib.evidence.words import tokens
from lib.tables.post_architecture import from_claim
from lib.tables.spec import CELL_COLUMNS, Column, Table, cell, cells
from lib.verdict import compare, holds, pending

REPORT = "published: Kimi Linear report (arXiv 2510.26692)"
FORMULA = "formula: lib.cost over data/models"
M1 = 2**20


def weights_of_one_token(m) -> float:
    """Bytes of weights that a step at batch 1 reads: all but routed experts, and the active ones of those."""
    return dense_bytes(m) + sum(layers * ffn.mean_active * expert for ffn, layers, expert in mixtures(m))


def bandwidth_ratio(context: float) -> float:
    """All-MLA over hybrid bytes of a step at batch 1: (W + 27 c L) / (W + 7 c L + states read and written)."""
    hybrid, twin = g.kimi_linear(), all_full(g.kimi_linear())
    at, other = stored_bytes(hybrid, context), stored_bytes(twin, context)
    return float((weights_of_one_token(twin) + other.total) / (weights_of_one_token(hybrid) + at.kv + 2 * at.state))


def cache_limit() -> float:
    """The ratio's limit when the cache is all that a step reads: layers over full-attention layers."""
    linear, other = g.linear_share(g.kimi_linear())
    return (linear + other) / other


def ratios() -> pd.DataFrame:
    single, large, prefill = reports.single_stream_ratios(), reports.large_batch_ratios(), reports.prefill_ratios()
    return pd.DataFrame([
        {"context": tokens(c), "single": single[c].middle, "formula": bandwidth_ratio(c), "large": large[c].middle, "limit": cache_limit(), "prefill": prefill[c].middle}
        for c in single
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
    return cells([
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


def convergence() -> pd.DataFrame:
    later = pending("convergence, trained and costed")
    kda, mla, dsa = (
        g.kimi_linear().mechanisms["K"],
        g.kimi_linear().mechanisms["M"],
        model("glm-5.3-flash").mechanisms["D"],
    )
    index = float(decode(dsa, M1)[1])
    return cells([
        cell("DSA (sparse)", "function", "long-range retrieval", "", later, "none", "C-55"),
        cell("DSA (sparse)", "scaling", "sparse index", f"GLM-5.3-Flash: {index / 1e9:.2f} GFLOP of index scan a token and layer at 1M", holds(index > 0, "and the scan itself grows with context"),
             FORMULA, "C-21"),
        cell("MLA (compressed)", "function", "mid-range attention", "", later, "none", "C-55"),
        cell("MLA (compressed)", "scaling", "latent attention", f"{absorbed_flops(mla):,.0f} FLOP for each cached token", holds(True, "linear in context for each token"), FORMULA, "C-52"),
        cell("linear (KDA)", "function", "local processing", "", later, "none", "C-55"),
        cell("linear (KDA)", "scaling", "O(1) per token", f"{float(decode(kda, M1)[2]):,.0f} FLOP a token at any context", evaluate("C-07").verdict, FORMULA, "C-07"),
    ])  # fmt: skip


def design_roles() -> pd.DataFrame:
    """Which kinds of layer each model has."""
    found = designs()
    return pd.DataFrame([{"model": m.title, "layers": g.mixer_words(m)} | {role: "yes" if role in found[m.title] else "" for role in ROLES}
                         | {"mtp": m.mtp.layers if m.mtp else 0} for m in models().values()])  # fmt: skip


EFFICIENCY = (
    Table("T-efficiency", "The three efficiency figures", "efficiency", post_efficiency, CELL_COLUMNS),
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
