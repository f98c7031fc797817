"""T-validation: the cost model against published figures; and on which chip the Kimi Linear report's curves could have been taken."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lib.cost import read_bytes
from lib.data import chips, figure
from lib.data.variants import all_full
from lib.evidence import geometry as g
from lib.tables.spec import Column, Table
from lib.validation import rows

M1, K4 = 2.0**20, 2.0**12


def validation() -> pd.DataFrame:
    """One row for each published figure or point."""
    return pd.DataFrame([
        {"figure": row.figure, "what": row.what, "at": row.at, "unit": row.unit, "published": row.published, "low": row.low, "high": row.high, "error": 100 * row.error,
         "outcome": row.outcome, "read": row.read, "chosen": "no", "source": row.source}
        for row in rows()
    ])  # fmt: skip


GROUPS = {"exact": "exact", "within reading": "within the precision of its print", "within 10 %": "within 10 %", "within bounds": "inside the bounds",
          "explained": "outside, explained", "open": "open"}  # fmt: skip


def summary() -> pd.DataFrame:
    """How many rows end how, by unit, and how far off they are."""
    found = validation()
    kinds = {
        "time": ("s", "tokens/s"),
        "ratio or share": ("ratio", "share", "FLOP/B"),
        "size or work": ("bytes", "FLOP", "parameters", "tokens"),
    }
    result = []
    for kind, units in kinds.items():
        group = found[found["unit"].isin(units)]
        outcome = group["outcome"].str.split(":").str[0]
        result.append(
            {"kind": kind, "rows": len(group)}
            | {key: int((outcome == key).sum()) for key in GROUPS}
            | {"median": float(np.median(np.abs(group["error"])))}
        )
    return pd.DataFrame(result)


def candidate_chips() -> pd.DataFrame:
    """Bytes that each curve of Fig. 7b adds from 4K to 1M, over the time that it adds, as a share of each chip's bandwidth."""
    result = []
    hybrid, twin = g.kimi_linear(), all_full(g.kimi_linear())
    rates = {}
    for name, m in (("mla", twin), ("kl", hybrid)):
        points = figure(f"kl-fig7b-{name}").points()
        rates[name] = float(read_bytes(m, int(M1)).total - read_bytes(m, int(K4)).total) / (points[M1] - points[K4])
    for chip in chips().values():
        if chip.memory_bandwidth:
            shares = {name: rate / chip.memory_bandwidth for name, rate in rates.items()}
            fits = max(shares.values()) <= 1
            result.append(
                {
                    "chip": chip.title,
                    "twin": 100 * shares["mla"],
                    "hybrid": 100 * shares["kl"],
                    "verdict": "possible" if fits else "too slow",
                }
            )
    return pd.DataFrame(result)


VALIDATION = (
    Table("T-validation", "The cost model against figures that nobody here chose", "ceiling", validation, (
        Column("figure", "Figure"), Column("what", "Quantity"), Column("at", "At"), Column("unit", "Unit"), Column("published", "Published", "", ".6g"), Column("low", "Book: from", "", ".6g"),
        Column("high", "to", "", ".6g"), Column("error", "Off by", "%", "+.2f"), Column("outcome", "Outcome"), Column("read", "Read from"), Column("chosen", "Used to choose anything"),
        Column("source", "Source")), "formula: lib.cost beside published: data/published.yml", "figure"),
    Table("L-validation", "How the comparison ends", "ceiling", summary, (
        Column("kind", "Kind of figure"), Column("rows", "Rows", "", ".0f"), *(Column(key, words[0].upper() + words[1:], "", ".0f") for key, words in GROUPS.items()),
        Column("median", "Median distance", "%", ".2f")), "formula: lib.cost beside published: data/published.yml", "kind"),
    Table("E-chips", "Which chip could have taken Fig. 7b?", "efficiency", candidate_chips, (
        Column("chip", "Chip"), Column("twin", "Bandwidth that the all-MLA curve implies", "% of peak", ".0f"), Column("hybrid", "that the hybrid's implies", "% of peak", ".0f"), Column("verdict", "One chip")),
        "formula over published: Kimi Linear report, Fig. 7b, digitised", "chip"),
)  # fmt: skip
