"""Whole designs at a million tokens, released and hypothetical."""

from __future__ import annotations

import pandas as pd

from lib.evidence import designs
from lib.evidence.geometry import mixer_words
from lib.tables.spec import Column, Table


def costs() -> pd.DataFrame:
    """One row a design, one sequence of a million tokens."""
    rows = []
    for m in designs.all_designs():
        d = designs.of(m)
        rows.append({
            "model": m.title, "layers": mixer_words(m), "kind": "released" if m.name in designs.RELEASED else "hypothetical", "chips": d.chips, "per_token": d.per_token,
            "stored": d.stored / 2**30, "work": d.work / 1e9, "lower": 1e3 * d.lower, "upper": 1e3 * d.upper, "dollars": d.dollars, "ceiling": d.ceiling,
            "movable": 100 * d.movable, "host": 1e3 * d.from_host,
        })  # fmt: skip
    return pd.DataFrame(rows)


DESIGNS = (
    Table("C-costs", "Whole designs at a million tokens, one sequence on the smallest node of H200", "convergence", costs, (
        Column("model", "Design"), Column("layers", "Token mixers"), Column("kind", "Kind"), Column("chips", "H200", "", ".0f"), Column("per_token", "One more token", "B", ",.0f"),
        Column("stored", "Cache", "GiB", ",.2f"), Column("work", "Work of a step", "GFLOP", ",.1f"), Column("lower", "Step at best", "ms", ",.2f"), Column("upper", "at worst", "ms", ",.2f"),
        Column("dollars", "A million tokens at best", "$", ",.2f"), Column("ceiling", "Ceiling: memory and 50 ms", "tokens", ",.0f"), Column("movable", "May leave HBM", "% of cache", ".1f"),
        Column("host", "Step with that in host memory", "ms", ",.2f")), "formula: lib.cost over data/models and data/chips.yml", "model"),
)  # fmt: skip
