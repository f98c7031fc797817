"""Every published table by id: `tables.compute("T-moe")` -> DataFrame, `tables.TABLES["T-moe"]` -> schema."""

from __future__ import annotations

import pandas as pd

from lib.tables.architecture import ARCHITECTURE
from lib.tables.designs import DESIGNS
from lib.tables.economy import ECONOMY
from lib.tables.efficiency import EFFICIENCY
from lib.tables.measured import MEASURED
from lib.tables.post_architecture import POST_ARCHITECTURE
from lib.tables.post_economy import POST_ECONOMY
from lib.tables.spec import Column, Table
from lib.tables.tiered import TIERED
from lib.tables.validation import VALIDATION
from lib.tables.walls import WALLS

TABLES: dict[str, Table] = {
    table.id: table
    for group in (
        POST_ARCHITECTURE,
        POST_ECONOMY,
        ARCHITECTURE,
        EFFICIENCY,
        MEASURED,
        ECONOMY,
        TIERED,
        DESIGNS,
        VALIDATION,
        WALLS,
    )
    for table in group
}

__all__ = ["TABLES", "Column", "Table", "compute", "table"]


def table(name: str) -> Table:
    """The schema of one table; KeyError lists the ids there are."""
    if name not in TABLES:
        raise KeyError(f"table {name!r}: wanted one of {', '.join(sorted(TABLES))}")
    return TABLES[name]


def compute(name: str) -> pd.DataFrame:
    """The table's values, computed now."""
    return table(name).compute()
