"""Tables of caches in slower tiers: what a step fetches, how long it takes, what parking a session costs."""

from __future__ import annotations

import pandas as pd

from lib.cost import parking
from lib.data import chip, model, tiers
from lib.evidence import tiers as evidence
from lib.evidence.ceilings import MILLION, TPOT
from lib.tables.spec import Column, Table

FORMULA = "formula: lib.cost.tier_step over data/models and data/chips.yml"


def steps() -> pd.DataFrame:
    """One row an architecture and tier, at a million tokens, one sequence, nothing cached on the GPU but what must be."""
    rows = []
    for name in evidence.ARCHITECTURES:
        for place in evidence.PLACES:
            m, found = model(name), evidence.step(model(name), place)
            best, worst = float(found.time_lower), float(found.time_upper)
            rows.append({
                "model": m.title, "tier": tiers()[place].title, "resident": float(found.resident) / 2**30, "parked": float(found.parked) / 2**30,
                "fetched": float(found.fetched) / 2**20, "lower": 1e3 * best, "upper": 1e3 * worst,
                "meets": "yes" if worst <= TPOT else "at best" if best <= TPOT else "no", "furthest": evidence.furthest(m, place),
            })  # fmt: skip
    return pd.DataFrame(rows)


def parked() -> pd.DataFrame:
    """A whole session of a million tokens kept idle in each tier, and brought back to one chip."""
    rows = []
    for name in evidence.ARCHITECTURES:
        for place in evidence.PLACES:
            found = parking(model(name), tiers()[place], chip("h200"), context=MILLION)
            low, high = found.dollars or (None, None)
            rows.append({
                "model": model(name).title, "tier": tiers()[place].title, "size": found.size / 2**30, "low": low and 24 * low, "high": high and 24 * high,
                "fast": found.restore[0], "slow": found.restore[1],
            })  # fmt: skip
    return pd.DataFrame(rows)


TIERED = (
    Table("M-tiers", "A step at a million tokens with the cache in another tier", "memory_economy", steps, (
        Column("model", "Model"), Column("tier", "Tier"), Column("resident", "Must stay in HBM", "GiB a chip", ",.2f"), Column("parked", "Lies in the tier", "GiB", ",.2f"),
        Column("fetched", "Fetched a step", "MiB", ",.1f"), Column("lower", "Step at best", "ms", ",.2f"), Column("upper", "at worst", "ms", ",.1f"), Column("meets", "50 ms a token"),
        Column("furthest", "Context within 50 ms at best", "tokens", ",.0f")), FORMULA, "model"),
    Table("M-parking", "A session of a million tokens, parked", "memory_economy", parked, (
        Column("model", "Model"), Column("tier", "Tier"), Column("size", "Size", "GiB", ",.2f"), Column("low", "Dollars a day from", "", ".4f"), Column("high", "to", "", ".4f"),
        Column("fast", "Restored in", "s", ".3f"), Column("slow", "to", "s", ".3f")), "formula over published: data/chips.yml, tiers", "model"),
)  # fmt: skip
