"""The post's tiers of memory against what sources give of one device of each, and what a step fetches from them."""

from __future__ import annotations

from lib.cost import TierStep, decode_step, feasible_context, read_bytes, tier_step
from lib.data import Model, chip, model, tiers
from lib.evidence.ceilings import MILLION, TPOT, smallest_node
from lib.verdict import Interval, printed

# the post's rows: tier, tiers of data/chips.yml that it names, and its printed capacity and bandwidth in base units
ROWS = {
    "HBM": (("hbm",), "80-128 GB", 1e9, "3-5 TB/s", 1e12),
    "CXL/DRAM": (("ddr5", "cxl"), "1-4 TB", 1e12, "100-200 GB/s", 1e9),
    "SSD/NVMe": (("nvme",), "10+ TB", 1e12, "5-15 GB/s", 1e9),
}


def sourced(names: tuple[str, ...], field: str) -> Interval:
    """The range that sources give over the named tiers."""
    spans = [getattr(tiers()[name], field) for name in names]
    known = [span for span in spans if span.low is not None]
    return Interval(min(span.low for span in known), max(span.high for span in known))


def figure(text: str, unit: float) -> Interval:
    """The printed range in base units; "10+" stands for 10 and more, up to ten times that."""
    number = text.split()[0]
    if number.endswith("+"):
        low = printed(number[:-1]).interval.low * unit
        return Interval(low, 10 * low)
    return printed(number).interval * unit


def checks() -> dict[str, tuple[str, Interval, Interval]]:
    """cell -> (printed text, printed range, sourced range), for capacity and bandwidth of each row."""
    found = {}
    for row, (names, capacity, capacity_unit, bandwidth, bandwidth_unit) in ROWS.items():
        found[f"{row} capacity"] = capacity, figure(capacity, capacity_unit), sourced(names, "capacity")
        found[f"{row} bandwidth"] = bandwidth, figure(bandwidth, bandwidth_unit), sourced(names, "bandwidth")
    return found


def tier_checks() -> dict[str, bool]:
    """cell -> whether the printed range and the sourced one meet."""
    return {cell: given.overlaps(known) for cell, (_, given, known) in checks().items()}


# one architecture each: a hybrid, its successor, full MLA's heir with an indexer, V4's two, IndexShare, a hybrid of both, and GQA
ARCHITECTURES = (
    "kimi-linear-48b-a3b", "kimi-k3", "deepseek-v3.2", "deepseek-v4-flash", "deepseek-v4-pro", "glm-5.2", "glm-5.3-flash", "llama-3.1-70b",
)  # fmt: skip
PLACES = ("hbm", "ddr5", "cxl", "nvme")
PAGE = 4096  # bytes that a disk reads at least: the logical block that file systems use


def unit(tier: str) -> int:
    """The least that one read of a tier moves, in bytes."""
    return PAGE if tier == "nvme" else 1


def step(m: Model, tier: str, *, context: int = MILLION, hit_rate: float = 0.0) -> TierStep:
    """One sequence's step on the model's smallest node of H200, its movable caches in the tier."""
    (found,) = tier_step(m, smallest_node(m), [tiers()[tier]], context=context, hit_rate=hit_rate, unit=unit(tier))
    return found


def furthest(m: Model, tier: str) -> int:
    """The largest context at which that step is within 50 ms at best and what must stay fits."""
    return feasible_context(m, smallest_node(m), tiers()[tier], tpot=TPOT, unit=unit(tier))


def in_time(tier: str, context: int = MILLION) -> dict[str, tuple[bool, bool]]:
    """title -> whether a step meets 50 ms at best, and even at worst, with the movable caches in the tier."""
    found = {}
    for name in ARCHITECTURES:
        taken = step(model(name), tier, context=context)
        found[model(name).title] = bool(taken.time_lower <= TPOT), bool(taken.time_upper <= TPOT)
    return found


def state_share_of_step() -> float:
    """Time to read and write Kimi-Linear's states, over the lower bound of its step at 1M on one H200."""
    m = model("kimi-linear-48b-a3b")
    moved = 2 * float(read_bytes(m, MILLION).state) / chip("h200").memory_bandwidth
    return moved / float(decode_step(m, smallest_node(m), context=MILLION, batch=1).time_lower)


def state_numbers_at_once() -> int:
    """Numbers of one layer's state, none of which waits for another within a token."""
    kda = model("kimi-linear-48b-a3b").mechanisms["K"]
    return kda.heads * kda.key_dim * kda.value_dim
