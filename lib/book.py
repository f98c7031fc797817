"""The verbs that chapters use: `show` a table, print a `number`, and the pages of claims.

Each of them computes its values now, so that a chapter cannot print what the code no longer says.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import pandas as pd

from lib import accepted, claimpage, html, tables
from lib.accepted import TableDrift
from lib.tables.spec import Table

__all__ = ["TableDrift", "calculator", "claims_table", "glue_numbers", "number", "scoreboard", "show"]

GLUE_PREFIX = "application/papermill.record/"  # myst_nb's mark of an output that is kept but not shown


@dataclass(frozen=True)
class Shown:
    """A table that has passed its check: HTML on a page, plain text in a terminal."""

    table: Table
    frame: pd.DataFrame

    def _repr_html_(self) -> str:
        return html.table(self.table, self.frame)

    def __repr__(self) -> str:
        # to_string never shortens, whatever pandas' display options say
        return f"{self.table.id}: {self.table.title}\n{self.frame.to_string(index=False, na_rep='–')}"


@dataclass(frozen=True)
class Page:
    """Ready HTML with a plain text beside it."""

    markup: str
    text: str

    def _repr_html_(self) -> str:
        return self.markup

    def __repr__(self) -> str:
        return self.text


def show(name: str) -> Shown:
    """Compute the table, compare it with the accepted one in data/tables, and render it.

    Raises TableDrift, listing what changed and how to accept it, when the two differ.
    """
    schema = tables.table(name)
    frame = schema.compute()
    accepted.check(schema, frame)
    return Shown(schema, frame)


def number(key: str) -> str:
    """The number registered under `key` in lib.numbers, formatted as prose prints it."""
    return _number(key).text()


def _number(key: str):
    registered = importlib.import_module("lib.numbers").NUMBERS
    if key not in registered:
        raise KeyError(f"number {key!r}: wanted one of {', '.join(sorted(registered))}")
    return registered[key]


def glue_numbers(chapter: str) -> None:
    """Make every number of the chapter available to its prose as {glue:text}`key`."""
    registered = importlib.import_module("lib.numbers").NUMBERS
    keys = [key for key, entry in registered.items() if entry.chapter == chapter]
    if not keys:
        chapters = sorted({entry.chapter for entry in registered.values()})
        raise KeyError(f"chapter {chapter!r}: no number is registered for it, only for {', '.join(chapters)}")
    for key in keys:
        _glue(key, str(number(key)))


def _glue(key: str, text: str) -> None:
    """What myst_nb.glue(key, text, display=False) sends; importing it would take each chapter some seconds."""
    from IPython.display import display  # belongs to the extra `book`; tables and numbers do without it

    # the repr of a text is what a kernel would send, and what the reader of a page gets back without its quotes
    display(
        {f"{GLUE_PREFIX}text/plain": repr(text)},
        raw=True,
        metadata={"scrapbook": {"name": key, "mime_prefix": GLUE_PREFIX}},
    )


def _claims(frame: pd.DataFrame | None) -> pd.DataFrame:
    frame = importlib.import_module("lib.claims").frame() if frame is None else frame
    return claimpage.checked(frame)


def claims_table(frame: pd.DataFrame | None = None) -> Page:
    """Every claim with its verdict, to search, filter and sort; a plain table where scripts do not run."""
    frame = _claims(frame)
    return Page(claimpage.table(frame), frame.to_string(index=False))


def scoreboard(frame: pd.DataFrame | None = None) -> Page:
    """How many claims got each verdict, each count a link to those claims."""
    counts = claimpage.counts(_claims(frame))
    return Page(claimpage.tiles(counts), "\n".join(f"{count:4d}  {kind.words}" for kind, count in counts.items()))


def calculator() -> Page:
    """The calculator: a form over numbers of lib.cost, which reacts without a server."""
    from lib.calculator import markup  # a second's work, for one page

    return Page(markup(), "The calculator works on the site; python -m lib.cost prints the same numbers.")
