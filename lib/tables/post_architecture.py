"""The post's tables on architecture: T-paths, T-components, T-moe, T-layers and T-ceiling, cell by cell."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lib.claims import evaluate
from lib.claims.architecture import REPRESENTATIVES
from lib.claims.paths import TPOT, host_link
from lib.cost import parameters, read_bytes
from lib.cost.flops import absorbed_flops
from lib.cost.residual import residual_cost
from lib.data import model, models
from lib.data.mechanisms import Csa, Dsa, Hca
from lib.evidence import geometry as g
from lib.evidence import scaling as s
from lib.evidence.words import count, percent, seconds
from lib.tables.spec import CELL_COLUMNS, Table, cell, cells
from lib.verdict import Interval, compare, holds, only_if, unchecked

FORMULA = "formula: lib.cost over data/models"
SILENT = unchecked("the post gives no figure to compare with")


def from_claim(row: str, column: str, printed: str, claim_id: str) -> dict[str, Any]:
    """A cell that a claim already decides."""
    decision = evaluate(claim_id)
    return cell(row, column, printed, decision.recomputed, decision.verdict, decision.provenance, claim_id)


def paths() -> pd.DataFrame:
    rows = []
    for path, scaling, claim_id in (
        ("linear attention", "about linear in context", "C-02"),
        ("sparse attention (DSA)", "near-linear, with an index", "C-03"),
    ):
        listed = {name: names for name, (where, names) in REPRESENTATIVES.items() if path.startswith(where)}
        for name, names in listed.items():
            first = models()[names[0]]
            built = f"{first.title}: {g.mixer_words(first)}"
            rows.append(
                cell(
                    path,
                    "representatives",
                    name,
                    built,
                    holds(
                        path.startswith(first.path),
                        ""
                        if path.startswith(first.path)
                        else f"its path is {first.path}: nothing in it is {path.split()[0]}",
                    ),
                    FORMULA,
                    "C-04",
                )
            )
        rows.append(_strategy(path, [models()[names[0]] for names in listed.values()]))
        rows.append(from_claim(path, "scaling claim", scaling, claim_id))
    return cells(rows)


def _strategy(path: str, listed: list) -> dict:
    if path.startswith("linear"):
        fits = [m.title for m in listed if g.linear_share(m)[0]]
        printed = "compress through linear attention"
    else:
        fits = [
            m.title
            for m in listed
            if any(isinstance(x, Dsa | Csa) for x in m.mechanisms.values())
            and any(isinstance(x, Dsa | Csa | Hca) for x in m.mechanisms.values())
        ]
        printed = "sparse index + compression"
    because = (
        "" if len(fits) == len(listed) else f"{', '.join(m.title for m in listed if m.title not in fits)} does not"
    )
    return cell(
        path,
        "KV strategy",
        printed,
        f"{len(fits)} of {len(listed)} do: {', '.join(fits)}",
        holds(not because, because),
        FORMULA,
    )


def components() -> pd.DataFrame:
    m = g.kimi_linear()
    mla = g.latent_attention(m)
    doubled = absorbed_flops(mla.model_copy(update={"latent": 2 * mla.latent})) / absorbed_flops(mla)
    extra = residual_cost(g.kimi_k3())
    share = extra.flops / (2 * parameters(g.kimi_k3()).active)
    return cells(
        [
            cell(
                "KDA",
                "role",
                "linear attention module",
                f"{g.linear_share(m)[0]} of {m.num_layers} layers",
                holds(g.linear_share(m)[0] > 0),
                FORMULA,
            ),
            from_claim("KDA", "sequence scaling", "O(1) per token, constant recurrent state", "C-07"),
            from_claim("MLA", "role", "32x memory reduction", "C-08"),
            cell(
                "MLA",
                "sequence scaling",
                "compute depends on the latent width",
                f"a latent twice as wide costs {doubled:.2f}x; exponent in the sequence {s.mixing_exponent(m, ('attention',)):.2f}",
                holds(doubled > 1.5, "and it grows with every earlier token, which the cell does not say"),
                FORMULA,
                "C-52",
            ),
            cell(
                "ResNet",
                "role",
                "gradient path stabilisation",
                "",
                unchecked("training runs with and without attention residuals, side by side"),
                "none",
                "C-09",
            ),
            cell(
                "ResNet",
                "sequence scaling",
                "independent of the sequence",
                f"{count(extra.flops)} FLOP a token, {percent(share, 2)} of a step's weights work",
                holds(True, "attention residuals sum over blocks of layers"),
                FORMULA,
                "C-09",
            ),
        ]
    )


def moe() -> pd.DataFrame:
    k3, flash, pro = g.kimi_k3(), g.v4_flash(), model("deepseek-v4-pro")
    size, active = parameters(k3).total, parameters(k3).active
    verdict = evaluate("C-11").verdict
    shares = evaluate("C-14")
    return cells(
        [
            cell("Kimi3", "activated", "3B", f"Kimi K3: {count(active)}", verdict, FORMULA, "C-11"),
            cell("Kimi3", "total", "48B", f"Kimi K3: {count(size)}", verdict, FORMULA, "C-11"),
            from_claim("Kimi3", "sparsity", "1.8 %", "C-12"),
            cell("DeepSeek V4 Flash", "activated", "not given", count(parameters(flash).active), SILENT, FORMULA),
            cell("DeepSeek V4 Flash", "total", "not given", count(parameters(flash).total), SILENT, FORMULA),
            from_claim("DeepSeek V4 Flash", "sparsity", "about 1.8 %", "C-13"),
            cell("typical MoE", "activated", "10-30 %", shares.recomputed, shares.verdict, shares.provenance, "C-14"),
            cell(
                "typical MoE",
                "sparsity",
                "10-30 %",
                f"experts: {percent(min(g.sparsity(m).experts for m in g.moe_models()))} to "
                f"{percent(max(g.sparsity(m).experts for m in g.moe_models()))} ({pro.title} {percent(g.sparsity(pro).experts, 2)})",
                compare(
                    Interval(
                        min(g.sparsity(m).experts for m in g.moe_models()),
                        max(g.sparsity(m).experts for m in g.moe_models()),
                    ),
                    "10-30 %",
                ),
                FORMULA,
                "C-14",
            ),
        ]
    )


def layers() -> pd.DataFrame:
    m = g.kimi_linear()
    linear, full = g.linear_share(m)
    total = linear + full
    state, attention = s.mixing_exponent(m, ("state",)), s.mixing_exponent(m, ("attention",))
    saved = 1 - 1 / g.compression(m).rotary_in_latent
    exact = only_if("the stack is exactly 3:1")
    return cells(
        [
            cell(
                "KDA",
                "share of layers",
                "75 %",
                f"{linear} of {total} = {percent(linear / total, 2)}",
                exact
                if compare(linear / total, "75 %").kind.words == "does not hold"
                else compare(linear / total, "75 %"),
                FORMULA,
                "C-05",
            ),
            cell(
                "KDA",
                "time complexity",
                "O(L) in total",
                f"exponent {state:.2f}",
                holds(abs(state - 1) < 0.05),
                FORMULA,
                "C-52",
            ),
            cell(
                "KDA",
                "why",
                "fixed-size state, O(1) per token",
                evaluate("C-07").recomputed,
                evaluate("C-07").verdict,
                FORMULA,
                "C-07",
            ),
            cell(
                "MLA",
                "share of layers",
                "25 %",
                f"{full} of {total} = {percent(full / total, 2)}",
                exact if compare(full / total, "25 %").kind.words == "does not hold" else compare(full / total, "25 %"),
                FORMULA,
                "C-05",
            ),
            cell(
                "MLA",
                "time complexity",
                "O(L^2)",
                f"exponent {attention:.2f}",
                holds(abs(attention - 2) < 0.05),
                FORMULA,
                "C-52",
            ),
            cell(
                "MLA",
                "why",
                "compression lowers the constant, not the order",
                f"{percent(saved)} fewer numbers, exponent {attention:.2f}",
                holds(saved > 0 and attention > 1.9),
                FORMULA,
                "C-52",
            ),
        ]
    )


def ceilings() -> pd.DataFrame:
    llama, k3, v32 = model("llama-3.1-70b"), g.kimi_k3(), g.v32()
    full, hybrid, sparse = "full attention", "Kimi3 (75 % linear, 25 % MLA)", "DSA (DeepSeek V4)"
    moved = float(read_bytes(llama, 2**20).kv) / host_link()
    return cells([
        cell(full, "compute scaling", "O(n^2)", _grows(llama, ("attention",)), holds(abs(s.mixing_exponent(llama, ("attention",)) - 2) < 0.1), FORMULA),
        cell(full, "memory scaling", "O(n)", _keeps(llama), holds(abs(s.exponent_to_1m(s.kept(llama)) - 1) < 0.1), FORMULA),
        cell(full, "cross-media", "poor", f"{llama.title}: {seconds(moved)} to fetch a step's cache at 1M over the host link", holds(moved > TPOT), FORMULA),
        from_claim(full, "practical ceiling", "about 128K", "C-22"),
        cell(hybrid, "compute scaling", "O(1) per token (linear), compressed attention (MLA)", _grows(k3, ("attention",)), _part_quadratic(k3, ("attention",), "MLA layers"),
             FORMULA, "C-16"),
        cell(hybrid, "memory scaling", "O(n)", _keeps(k3), evaluate("C-25").verdict, FORMULA, "C-25"),
        from_claim(hybrid, "cross-media", "poor", "C-50"),
        from_claim(hybrid, "practical ceiling", "about 500K (estimated)", "C-23"),
        cell(sparse, "compute scaling", "sparse index + selective attention", _grows(v32, ("attention", "index")), _part_quadratic(v32, ("index",), "indexer"), FORMULA, "C-26"),
        cell(sparse, "memory scaling", "O(n)", _keeps(v32), evaluate("C-25").verdict, FORMULA, "C-25"),
        from_claim(sparse, "cross-media", "good, offloadable", "C-19"),
        from_claim(sparse, "practical ceiling", "about 1M or more", "C-24"),
    ])  # fmt: skip


def _grows(m, parts: tuple[str, ...]) -> str:
    return f"{m.title}: token mixing in prefill grows with exponent {s.mixing_exponent(m, parts):.2f} at 1M"


def _keeps(m) -> str:
    return f"{m.title}: exponent {s.exponent_to_1m(s.kept(m)):.2f}, {g.bytes_per_token(m):,.0f} B a token"


def _part_quadratic(m, parts: tuple[str, ...], name: str):
    """The cell names mechanisms and no order; it holds, and what it leaves unsaid is whether some part stays quadratic."""
    exponent = s.mixing_exponent(m, parts)
    return holds(
        True,
        f"and the {name} stay{'' if name.endswith('s') else 's'} quadratic: exponent {exponent:.2f}"
        if exponent > 1.9
        else "",
    )


POST_ARCHITECTURE = (
    Table("T-paths", "Two paths to a million tokens", "architecture", paths, CELL_COLUMNS),
    Table("T-components", "The components of Kimi3", "architecture", components, CELL_COLUMNS),
    Table("T-moe", "Sparsity of mixtures of experts", "architecture", moe, CELL_COLUMNS),
    Table("T-layers", "What each layer type costs over a sequence", "memory_economy", layers, CELL_COLUMNS),
    Table("T-ceiling", "Scaling and practical ceilings", "ceiling", ceilings, CELL_COLUMNS),
)
