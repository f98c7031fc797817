"""Shared by the tests: the repository's root, and published tables that are made up, so that no real one is touched."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Triton decides when it is first imported whether its own functions can be interpreted, and torch may import it before
# the tests of the kernels do; without a GPU they run interpreted
if not Path("/proc/driver/nvidia/version").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

import pandas as pd
import pytest
from hypothesis import settings

from lib.tables.spec import CELL_COLUMNS, Column, Table, cell, cells
from lib.verdict import holds, only_if

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # tasks.py lies beside the package, not in it

# the same examples for everyone, so that a change is never red for what it did not touch; SEARCH=1 looks for new ones
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile("search" if os.environ.get("SEARCH") else "same")


@pytest.fixture
def number_table() -> Table:
    """Three mechanisms, a missing value, a percentage, a measured column."""
    frame = pd.DataFrame(
        {
            "row": ["MLA", "KDA", "DSA"],
            "bytes": [1152, None, 1408],
            "share": [0.018, -0.25, 1 / 3],
            "time": [1.5, 2.5, 3.5],
        }
    )
    columns = (
        Column("row", "Mechanism"),
        Column("bytes", "Bytes a token", "B", ",.0f"),
        Column("share", "Share", format=".1%"),
        Column("time", "Time", "ms", ".2f", band=0.2),
    )
    return Table(
        "X-numbers", "Numbers of <three> mechanisms", "architecture", lambda: frame.copy(), columns, "formula: made up"
    )


@pytest.fixture
def post_table() -> Table:
    rows = [
        cell("Kimi K3", "Total", "2.8T", "2.78T", holds(True), "formula: lib.cost", "C-01, C-02"),
        cell("Kimi K3", "Active", "104B", "104B", only_if("the head is counted"), "formula: lib.cost", "C-03"),
        cell("GLM-5", "Total", "744B", "744B", holds(False, "1 % off"), "published: its card", "P-1"),
    ]
    return Table("X-post", "A table of the post", "architecture", lambda: cells(rows), CELL_COLUMNS)
