"""The post's tiers of memory against what sources give of one device of each."""

from __future__ import annotations

from lib.data import tiers
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
