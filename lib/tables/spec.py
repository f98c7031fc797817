"""What a published table is: an id, a pure function to a DataFrame, and a schema that says how each column is shown.

Two shapes of table are published. A *post table* (`T-…`) has one row for each cell of the post that carries a figure or a
statement to check, with the columns of `CELL_COLUMNS`. A *book table* has whatever columns its schema names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd

from lib.verdict import Verdict


@dataclass(frozen=True)
class Column:
    """A column's name in the DataFrame and CSV, its head on the page, and how its values are printed and compared.

    `format` is a Python format specification applied to numbers divided by `scale` (empty: text), e.g. ".1f" with scale 1e9
    for billions; `unit` then stands in the head. `band`, when set, is the relative difference that a measured column may show between
    the accepted table and a rebuild; None means exact (1e-9).
    """

    name: str
    title: str
    unit: str = ""
    format: str = ""
    scale: float = 1.0
    band: float | None = None


@dataclass(frozen=True)
class Table:
    id: str
    title: str
    chapter: str
    function: Callable[[], pd.DataFrame]
    columns: tuple[Column, ...]
    provenance: str = ""  # for a table whose rows share one origin; post tables say it in each row
    row_header: str = field(default="row")  # the column whose cells head their rows

    def compute(self) -> pd.DataFrame:
        """The table, with its columns checked against the schema."""
        frame = self.function()
        wanted = [column.name for column in self.columns]
        if list(frame.columns) != wanted:
            raise ValueError(f"table {self.id}: columns {list(frame.columns)}, wanted {wanted}")
        return frame.reset_index(drop=True)


CELL_COLUMNS = (
    Column("row", "Row"),
    Column("column", "Column"),
    Column("printed", "Post prints"),
    Column("recomputed", "Recomputed"),
    Column("verdict", "Verdict"),
    Column("provenance", "Origin"),
    Column("claims", "Claims"),
)


def cell(
    row: str, column: str, printed: str, recomputed: str, verdict: Verdict, provenance: str, claims: str = ""
) -> dict:
    """One row of a post table. `provenance` starts with one of: formula, measured here, record of, published."""
    if provenance.split(":")[0].split(" of ")[0] not in ("formula", "measured here", "record", "published", "none"):
        raise ValueError(
            f"provenance {provenance!r}: wanted formula, measured here, record of DEVICE or published: SOURCE"
        )
    return {
        "row": row,
        "column": column,
        "printed": printed,
        "recomputed": recomputed,
        "verdict": str(verdict),
        "provenance": provenance,
        "claims": claims,
    }


def cells(rows: list[dict]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[column.name for column in CELL_COLUMNS])
