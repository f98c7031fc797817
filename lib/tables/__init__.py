"""Every published table by id: `tables.compute("T-moe")` -> DataFrame, `tables.TABLES["T-moe"]` -> schema."""

from __future__ import annotations

import pandas as pd

from lib.tables.spec import Column, Table

TABLES: dict[str, Table] = {}

__all__ = ["TABLES", "Column", "Table", "compute", "table"]


def table(name: str) -> Table:
    if name not in TABLES:
        raise KeyError(f"table {name!r}: wanted one of {', '.join(sorted(TABLES))}")
    return TABLES[name]


def compute(name: str) -> pd.DataFrame:
    """The table's values, computed now."""
    return table(name).compute()
