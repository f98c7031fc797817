"""Tables of how ceilings move: with chip, batch and precision, with each assumption, and where two models cross."""

from __future__ import annotations

from functools import partial

import pandas as pd

from lib.cost import stored_bytes
from lib.cost.capacity import ceiling
from lib.cost.crossover import crossovers
from lib.cost.step import decode_step
from lib.data import chip, model
from lib.data.variants import all_full
from lib.evidence.ceilings import TPOT, node, smallest_node
from lib.evidence.sensitivity import swings
from lib.tables.spec import Column, Table

CHIPS = ("h100", "h200", "b200", "mi300x")
MODELS = ("kimi-linear-48b-a3b", "kimi-k3", "deepseek-v3.2", "deepseek-v4-pro", "glm-5.2", "llama-3.1-70b")
NODE = "formula: lib.cost over data/models and data/chips.yml"
PAIRS = (("kimi-linear-48b-a3b", "kimi-linear-48b-a3b-all-mla"), ("kimi-k3", "deepseek-v3.2"), ("kimi-k3", "deepseek-v4-pro"), ("deepseek-v3.2", "deepseek-v4-pro"),
         ("kimi-k2", "deepseek-v3.2"), ("qwen3-next-80b-a3b", "kimi-linear-48b-a3b"))  # fmt: skip


def moves() -> pd.DataFrame:
    """Ceilings within memory and 50 ms by chip, batch and the precision of what is cached, on the smallest node of each chip."""
    rows = []
    for name in MODELS:
        m = model(name)
        for device in CHIPS:
            system = smallest_node(m, device)
            row = {"model": m.title, "chip": chip(device).title, "chips": system.count}
            for cached in ("bf16", "fp8_s128"):
                precision = m.precision.model_copy(
                    update={"kv": cached, "latent": cached, "index": cached, "entry": cached}
                )
                for batch in (1, 16):
                    row[f"{cached.split('_')[0]}_{batch}"] = ceiling(
                        m, system, tpot=TPOT, batch=batch, precision=precision
                    )
            rows.append(row)
    return pd.DataFrame(rows)


SWUNG = ("kimi-k3", "deepseek-v3.2", "deepseek-v4-pro")


def sensitivity() -> pd.DataFrame:
    """Each assumption 20 % down and up, largest swing of each ceiling first."""
    rows = [
        {"model": model(name).title, "ceiling": kind, "assumption": assumption, "base": base, "down": 100 * (down / base - 1), "up": 100 * (up / base - 1)}
        for name in SWUNG for kind, assumption, down, base, up in swings(model(name))
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    frame["swing"] = (frame["up"] - frame["down"]).abs()
    frame = frame.sort_values(["model", "ceiling", "swing"], ascending=[True, True, False], kind="stable")
    return frame.drop(columns="swing")


def _named(name: str):
    return all_full(model(name.removesuffix("-all-mla"))) if name.endswith("-all-mla") else model(name)


def _title(name: str) -> str:
    return (
        f"{model(name.removesuffix('-all-mla')).title}'s all-MLA twin"
        if name.endswith("-all-mla")
        else model(name).title
    )


def crossing() -> pd.DataFrame:
    """Contexts at which the second model's cache, or step, becomes cheaper or dearer than the first's."""
    rows = []
    for first, second in PAIRS:
        a, b = _named(first), _named(second)
        count = max(smallest_node(a).count, smallest_node(b).count)
        system = node(count=count)
        cache_at = crossovers(lambda c, a=a: stored_bytes(a, c).total, lambda c, b=b: stored_bytes(b, c).total)
        row = {"first": _title(first), "second": _title(second), "cache": _places(cache_at), "cache_after": _cheaper(first, second, stored_bytes(a, 2**20).total, stored_bytes(b, 2**20).total),
               "chips": count}  # fmt: skip
        for batch in (1, 16):
            times = [partial(_step_time, m, system, batch) for m in (a, b)]
            row[f"step_{batch}"] = _places(crossovers(*times))
            row[f"after_{batch}"] = _cheaper(first, second, *(float(time(2**20)) for time in times))
        rows.append(row)
    return pd.DataFrame(rows)


def _step_time(m, system, batch: int, context):
    return decode_step(m, system, context=context, batch=batch).time_lower


def _places(found: list[int]) -> str:
    return ", ".join(f"{place:,}" for place in found) or "never"


def _cheaper(first: str, second: str, a: float, b: float) -> str:
    return _title(first if a < b else second)


WALLS = (
    Table("L-moves", "The same ceilings on other chips, for more users, in other precision", "ceiling", moves, (
        Column("model", "Model"), Column("chip", "Chip"), Column("chips", "Chips", "", ".0f"), Column("bf16_1", "bf16 cache, one sequence", "tokens", ",.0f"),
        Column("bf16_16", "bf16, sixteen", "tokens", ",.0f"), Column("fp8_1", "fp8 cache, one", "tokens", ",.0f"), Column("fp8_16", "fp8, sixteen", "tokens", ",.0f")), NODE, "model"),
    Table("L-sensitivity", "What moves each ceiling of sixteen sequences, 20 % at a time", "ceiling", sensitivity, (
        Column("model", "Model"), Column("ceiling", "Ceiling"), Column("assumption", "Assumption"), Column("base", "As assumed", "tokens", ",.0f"),
        Column("down", "20 % less", "%", "+.1f"), Column("up", "20 % more", "%", "+.1f")), NODE, "model"),
    Table("L-crossings", "Where two models cross", "ceiling", crossing, (
        Column("first", "First"), Column("second", "Second"), Column("cache", "Caches cross at"), Column("cache_after", "Smaller at 1M"), Column("chips", "H200", "", ".0f"),
        Column("step_1", "Steps cross at, batch 1"), Column("after_1", "Faster at 1M, batch 1"), Column("step_16", "Steps cross at, batch 16"), Column("after_16", "Faster at 1M, batch 16")), NODE, "first"),
)  # fmt: skip
