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
    llama, k3, v32, link = model("llama-3.1-70b"), g.kimi_k3(), g.v32(), host_link()
    rows = [
        ("full attention", llama, ("attention",), "O(n^2)", "poor", "about 128K", "C-22", ""),
        (
            "Kimi3 (75 % linear, 25 % MLA)",
            k3,
            ("attention",),
            "O(1) per token (linear), compressed attention (MLA)",
            "poor",
            "about 500K (estimated)",
            "C-23",
            "C-50",
        ),
        (
            "DSA (DeepSeek V4)",
            v32,
            ("attention", "index"),
            "sparse index + selective attention",
            "good, offloadable",
            "about 1M or more",
            "C-24",
            "C-19",
        ),
    ]
    found = []
    for row, m, parts, compute, media, ceiling, ceiling_claim, media_claim in rows:
        work, kept = s.mixing_exponent(m, parts), s.exponent_to_1m(s.kept(m))
        moved = float(read_bytes(m, 2**20).kv) / link
        found += [
            cell(
                row,
                "compute scaling",
                compute,
                f"{m.title}: its attention's exponent is {work:.2f} at 1M",
                holds(
                    work > 1.5,
                    "the whole prefill of all three paths ends quadratic"
                    if work > 1.5 and "O(n^2)" not in compute
                    else "",
                ),
                FORMULA,
                "C-16" if m is k3 else "",
            ),
            cell(
                row,
                "memory scaling",
                "O(n)",
                f"{m.title}: exponent {kept:.2f}, {g.bytes_per_token(m):,.0f} B a token",
                holds(abs(kept - 1) < 0.1),
                FORMULA,
                "C-25",
            ),
            from_claim(row, "cross-media", media, media_claim)
            if media_claim
            else cell(
                row,
                "cross-media",
                media,
                f"{m.title}: {seconds(moved)} to fetch a step's cache at 1M over the host link",
                holds((moved > TPOT) == (media == "poor")),
                FORMULA,
            ),
            from_claim(row, "practical ceiling", ceiling, ceiling_claim),
        ]
    return cells(found)


POST_ARCHITECTURE = (
    Table("T-paths", "Two paths to a million tokens", "architecture", paths, CELL_COLUMNS),
    Table("T-components", "The components of Kimi3", "architecture", components, CELL_COLUMNS),
    Table("T-moe", "Sparsity of mixtures of experts", "architecture", moe, CELL_COLUMNS),
    Table("T-layers", "What each layer type costs over a sequence", "memory_economy", layers, CELL_COLUMNS),
    Table("T-ceiling", "Scaling and practical ceilings", "ceiling", ceilings, CELL_COLUMNS),
)
