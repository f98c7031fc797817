"""Tables of the architecture chapter: sizes, sparsity, caches, compression, and whose figures the post prints."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lib.cost import decode_flops, parameters, read_bytes, stored_bytes
from lib.data import models
from lib.evidence import geometry as g
from lib.evidence.words import count
from lib.tables.spec import Column, Table
from lib.verdict import compare, printed

K128, M1 = 2**17, 2**20
GIB = 2**30


def model_sizes() -> pd.DataFrame:
    """Counted parameters against the vendor's print."""
    return pd.DataFrame([size_row(m) for m in models().values()])


def size_row(m) -> dict:
    counted = parameters(m, mtp=m.sizes.with_mtp)
    total, active = (printed(text) if text else None for text in (m.sizes.total, m.sizes.active))
    body = counted.active - counted.head
    return {
        "model": m.title,
        "layers": g.mixer_words(m),
        "total": counted.total,
        "active": counted.active,
        "body": body,
        "printed_total": m.sizes.total or "",
        "printed_active": m.sizes.active or "",
        "total_error": counted.total / total.value - 1 if total else np.nan,
        "active_error": _nearest_error((counted.active, body), active) if active else np.nan,
        "verdict": size_verdict(counted.total, (body, counted.active), total, active),
    }


def _nearest_error(values: tuple[float, float], figure) -> float:
    return min((value / figure.value - 1 for value in values), key=abs)


def size_verdict(
    total: float, active: tuple[float, float], printed_total, printed_active, tolerance: float = 0.02
) -> str:
    """`holds` if the total, and the active count with or without the output head, round to the printed digits; `within 2 %` if they
    come that close; else what differs."""
    if printed_total is None or printed_active is None:
        return "no figure printed"
    inside = printed_total.interval.contains(total) and any(printed_active.interval.contains(value) for value in active)
    if inside:
        return str(compare(total, printed_total))
    near = (
        abs(total / printed_total.value - 1) <= tolerance and abs(_nearest_error(active, printed_active)) <= tolerance
    )
    return "within 2 %" if near else "differs"


def moe_sparsity() -> pd.DataFrame:
    """What share a token uses: of the experts, of the routed parameters, of all parameters."""
    return pd.DataFrame([sparsity_row(m) for m in g.moe_models()])


def sparsity_row(m) -> dict:
    ffn, shares = g.moe(m), g.sparsity(m)
    return {
        "model": m.title,
        "routed": f"{ffn.active} of {ffn.experts + ffn.zero_experts}",
        "shared": ffn.shared,
        "experts": 100 * shares.experts,
        "parameters": 100 * shares.routed,
        "everything": 100 * shares.everything,
    }


def caches() -> pd.DataFrame:
    """What one sequence keeps, and what one step reads, at 128K and 1M tokens, in each model's own precision."""
    return pd.DataFrame([cache_row(m) for m in models().values()])


def cache_row(m) -> dict:
    stored, read = stored_bytes(m, np.array([K128, M1])), read_bytes(m, np.array([K128, M1]))
    return {
        "model": m.title,
        "layers": g.mixer_words(m),
        "per_token": g.bytes_per_token(m),
        "state": g.state_bytes(m) / 2**20,
        "window": g.window_bytes(m) / 2**20,
        "stored_128k": stored.total[0] / GIB,
        "stored_1m": stored.total[1] / GIB,
        "index_1m": stored.index[1] / GIB,
        "read_1m": read.total[1] / GIB,
    }


def latent_compression() -> pd.DataFrame:
    """Numbers that multi-head attention would cache, over numbers that latent attention caches."""
    rows = []
    for m in g.latent_models():
        mixer, ratios = g.latent_attention(m), g.compression(m)
        is_32 = [
            name
            for name, value in zip(("without rotary", "rotary in latent", "rotary in both"), ratios, strict=True)
            if printed("32x").interval.contains(value)
        ]
        rows.append(
            {
                "model": m.title,
                "heads": mixer.heads,
                "nope": mixer.nope,
                "rope": mixer.rope,
                "value": mixer.value,
                "latent": mixer.latent,
                "without_rotary": ratios.without_rotary,
                "rotary_in_latent": ratios.rotary_in_latent,
                "rotary_in_both": ratios.rotary_in_both,
                "is_32x": ", ".join(is_32) or "no",
            }
        )
    return pd.DataFrame(rows)


def hybrid_saving() -> pd.DataFrame:
    """Cache saved by replacing full-attention layers with linear ones, against the same stack with full attention only."""
    contexts = np.array([1024, 1884, 4096, 16384, K128, M1])
    rows = []
    for m in models().values():
        linear, other = g.linear_share(m)
        if linear and g.latent_attention(m):
            saved = g.cache_saving(m, contexts)
            rows.append(
                {
                    "model": m.title,
                    "ratio": f"{linear}:{other}",
                    "break_even": g.break_even(m),
                    "limit": 100 * g.asymptotic_saving(m),
                }
                | {f"at_{context}": 100 * value for context, value in zip(contexts.tolist(), saved, strict=True)}
            )
    return pd.DataFrame(rows)


def step_split() -> pd.DataFrame:
    """One decode step's FLOPs by part at 1M tokens: each format counts as one FLOP."""
    return pd.DataFrame([split_row(m) for m in models().values()])


def split_row(m) -> dict:
    at = decode_flops(m, np.array([K128, M1]))
    parts = {part: 100 * getattr(at, part)[1] / at.total[1] for part in ("linear", "attention", "index", "state")}
    return {"model": m.title, "total_128k": at.total[0] / 1e9, "total_1m": at.total[1] / 1e9} | parts


def figure_owners() -> pd.DataFrame:
    """Each figure that the post prints of "Kimi3", and every model of data/models that has it."""
    rows = []
    for figure, what, values in _figures():
        wanted = printed(figure).interval
        owners = [title for title, value in values.items() if wanted.contains(value)]
        k3 = values.get("Kimi K3")
        rows.append(
            {
                "figure": figure,
                "what": what,
                "owners": ", ".join(owners) or "none",
                "k3": _show(k3, figure),
                "verdict": "holds" if "Kimi K3" in owners else "another model's" if owners else "nobody's",
            }
        )
    return pd.DataFrame(rows)


def _figures() -> list[tuple[str, str, dict[str, float]]]:
    everyone = list(models().values())
    hybrids = {m.title: g.linear_share(m) for m in everyone if g.linear_share(m)[0]}
    return [
        (
            "48B",
            "parameters in total, as vendors print them",
            {m.title: printed(m.sizes.total).value for m in everyone if m.sizes.total},
        ),
        (
            "3B",
            "active parameters, as vendors print them",
            {m.title: printed(m.sizes.active).value for m in everyone if m.sizes.active},
        ),
        ("1.8 %", "share of routed experts", {m.title: g.sparsity(m).experts for m in g.moe_models()}),
        ("1.8 %", "share of all parameters", {m.title: g.sparsity(m).everything for m in g.moe_models()}),
        (
            "32x",
            "latent compression, rotary part left out",
            {m.title: g.compression(m).without_rotary for m in g.latent_models()},
        ),
        (
            "32x",
            "latent compression, rotary part counted",
            {m.title: g.compression(m).rotary_in_latent for m in g.latent_models()},
        ),
        (
            "3x",
            "linear layers for each full one",
            {title: linear / other for title, (linear, other) in hybrids.items()},
        ),
        (
            "75 %",
            "cache saved at 1M tokens",
            {m.title: float(g.cache_saving(m, M1)) for m in everyone if g.linear_share(m)[0] and g.latent_attention(m)},
        ),
    ]


def _show(value: float | None, figure: str) -> str:
    if value is None:
        return "-"
    if figure.endswith("%"):
        return f"{100 * value:.2f} %"
    return f"{value:.1f}x" if figure.endswith("x") else count(value)


_FORMULA = "formula: lib.cost over data/models"
ARCHITECTURE = (
    Table(
        "A-sizes",
        "Parameters counted from the geometry, against the vendors' figures",
        "architecture",
        model_sizes,
        (
            Column("model", "Model"),
            Column("layers", "Token mixers"),
            Column("total", "Total", "B", ".1f", scale=1e9),
            Column("active", "Active", "B", ".2f", scale=1e9),
            Column("body", "Active without head", "B", ".2f", scale=1e9),
            Column("printed_total", "Vendor: total"),
            Column("printed_active", "Vendor: active"),
            Column("total_error", "Total off by", "%", "+.1f", scale=0.01),
            Column("active_error", "Active off by", "%", "+.1f", scale=0.01),
            Column("verdict", "Verdict"),
        ),
        _FORMULA,
        "model",
    ),
    Table(
        "A-sparsity",
        "Three meanings of sparsity",
        "architecture",
        moe_sparsity,
        (
            Column("model", "Model"),
            Column("routed", "Experts a token"),
            Column("shared", "Shared", "", ".0f"),
            Column("experts", "Of experts", "%", ".2f"),
            Column("parameters", "Of routed parameters", "%", ".2f"),
            Column("everything", "Of all parameters", "%", ".2f"),
        ),
        _FORMULA,
        "model",
    ),
    Table(
        "A-caches",
        "What one sequence keeps, and what one step reads of it",
        "architecture",
        caches,
        (
            Column("model", "Model"),
            Column("layers", "Token mixers"),
            Column("per_token", "Grows by", "B/token", ",.0f"),
            Column("state", "Fixed state", "MiB", ".1f"),
            Column("window", "Windows", "MiB", ".2f"),
            Column("stored_128k", "Stored at 128K", "GiB", ".2f"),
            Column("stored_1m", "Stored at 1M", "GiB", ".2f"),
            Column("index_1m", "of it index keys", "GiB", ".2f"),
            Column("read_1m", "Read in a step at 1M", "GiB", ".2f"),
        ),
        _FORMULA,
        "model",
    ),
    Table(
        "A-compression",
        "How much smaller is a latent than the keys and values of as many heads?",
        "architecture",
        latent_compression,
        (
            Column("model", "Model"),
            Column("heads", "Heads", "", ".0f"),
            Column("nope", "Key, unrotated", "", ".0f"),
            Column("rope", "Key, rotary", "", ".0f"),
            Column("value", "Value", "", ".0f"),
            Column("latent", "Latent", "", ".0f"),
            Column("without_rotary", "Rotary part left out", "x", ".1f"),
            Column("rotary_in_latent", "Counted in the latent", "x", ".1f"),
            Column("rotary_in_both", "Counted in both", "x", ".1f"),
            Column("is_32x", "Gives 32x"),
        ),
        _FORMULA,
        "model",
    ),
    Table(
        "A-saving",
        "Cache saved by the hybrid, against its own all-attention twin",
        "architecture",
        hybrid_saving,
        (
            Column("model", "Model"),
            Column("ratio", "Linear : other"),
            Column("break_even", "A layer breaks even at", "tokens", ",.0f"),
            Column("limit", "Limit", "%", ".2f"),
            Column("at_1024", "1K", "%", ".1f"),
            Column("at_1884", "1,884", "%", ".2f"),
            Column("at_4096", "4K", "%", ".1f"),
            Column("at_16384", "16K", "%", ".1f"),
            Column("at_131072", "128K", "%", ".2f"),
            Column("at_1048576", "1M", "%", ".2f"),
        ),
        _FORMULA,
        "model",
    ),
    Table(
        "A-steps",
        "Where the work of one decode step goes at 1M tokens",
        "architecture",
        step_split,
        (
            Column("model", "Model"),
            Column("total_128k", "Step at 128K", "GFLOP", ",.0f"),
            Column("total_1m", "Step at 1M", "GFLOP", ",.0f"),
            Column("linear", "Weights", "%", ".1f"),
            Column("attention", "Attention", "%", ".1f"),
            Column("index", "Indexer", "%", ".1f"),
            Column("state", "State", "%", ".2f"),
        ),
        _FORMULA,
        "model",
    ),
    Table(
        "A-owners",
        "Whose figures are they?",
        "architecture",
        figure_owners,
        (
            Column("figure", "Post prints"),
            Column("what", "Of"),
            Column("owners", "Models that have it"),
            Column("k3", "Kimi K3 has"),
            Column("verdict", "Verdict"),
        ),
        _FORMULA,
        "figure",
    ),
)
