"""Least bytes and FLOPs of every point, from data/models and lib.cost: what suites measure against, and what a record is held to."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lib.cost.flops import prefill
from lib.data.mechanisms import Dsa, Kda
from lib.measure import subjects
from lib.measure.point import Work

PARTS = ("score", "select", "attend")
HYBRID_UNIT = ("kda", "kda", "kda", "mla")


def row_of(name: str) -> list:
    """The mechanisms that one decode point runs in a row."""
    known = subjects.layers()
    return [known[kind].spec for kind in HYBRID_UNIT] if name == "hybrid" else [known[name].spec]


def decode(specs: Sequence, context: int, batch: int = 1) -> Work:
    return Work(
        batch * sum(subjects.step_bytes(spec, context) for spec in specs),
        batch * sum(subjects.step_flops(spec, context) for spec in specs),
    )


def part(name: str, context: int) -> Work:
    """One part of the DSA step; selecting reads a score of two bytes for each token."""
    spec = subjects.layers()["dsa"].spec
    whole, core, index = (
        decode([spec], context),
        subjects.core_flops(spec, context),
        subjects.index_bytes(spec, context),
    )
    return {
        "score": Work(index, whole.flops - core),
        "select": Work(2.0 * context, 0.0),
        "attend": Work(whole.bytes - index, core),
    }[name]


def prompt_widths(m) -> tuple[int, ...]:
    """Numbers a token of each input of a prefill."""
    if isinstance(m, Kda):
        return m.heads * m.key_dim, m.heads * m.key_dim, m.heads * m.value_dim, m.heads * m.key_dim, m.heads
    if isinstance(m, Dsa):
        return m.heads * (m.latent + m.rope), m.latent + m.rope, m.index_heads * m.index_dim, m.index_dim, m.index_heads
    return m.heads * (m.nope + m.rope), m.latent + m.rope


def prompt(name: str, context: int) -> Work:
    """A prefill: its inputs once, in bfloat16, and the FLOPs of the mechanism."""
    spec = subjects.layers()[name].spec
    return Work(2.0 * context * sum(prompt_widths(spec)), float(sum(prefill(spec, context))))


def stack(name: str, context: int) -> Work:
    specs = [spec for spec, count in subjects.named(name).mixer_counts for _ in range(count)]
    return decode(specs, context)


def tiers(name: str, context: int) -> Work:
    """A step with its cache elsewhere; a state is only saved, or only restored."""
    whole = decode([subjects.layers()[name].spec], context)
    return Work(whole.bytes / 2, 0.0) if name == "kda" else whole


def of_point(row: pd.Series) -> Work | None:
    """The work of a recorded point as it is now; None for a suite whose work depends on no data (limits)."""
    suite, name, context = row["suite"], row["name"], int(row["context"])
    if suite == "decode":
        return (
            part(row["variant"], context)
            if row["variant"] in PARTS
            else decode(row_of(name), context, int(row["batch"]))
        )
    if suite == "limits":
        return None
    return {"prefill": prompt, "stack": stack, "tiers": tiers}[suite](name, context)
