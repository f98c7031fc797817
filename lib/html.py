"""Tables as accessible HTML: captions, scoped heads, units in the head, verdicts as a mark with its words.

Pages lie in `chapters/`; links lead to `../data/tables/` and `../source/`, which are the same places in the site, and
for the CSV files also in a checkout opened in JupyterLab.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

import pandas as pd

from lib.accepted import encode
from lib.tables.spec import Column, Table
from lib.verdict import Kind

ROOT = Path(__file__).resolve().parent.parent
NO_VALUE = '<span class="no-value" aria-label="no value">–</span>'
CLAIM_ID = re.compile(r"\b([CP]-\d+)\b")
WORDS = {kind.words for kind in Kind}
# longest first: "holds within rounding" also starts with "holds"
KINDS = sorted(Kind, key=lambda kind: -len(kind.words))


def kind_of(verdict: str) -> Kind | None:
    """The kind that a verdict's text starts with."""
    return next(
        (kind for kind in KINDS if verdict == kind.words or verdict.startswith((f"{kind.words} ", f"{kind.words}:"))),
        None,
    )


def slug(kind: Kind) -> str:
    return kind.name.lower().replace("_", "-")


def verdict(text: str) -> str:
    """A verdict's mark and words; the mark is for the eye only, since the words say the same."""
    kind = kind_of(text)
    if kind is None:
        return escape(text)
    rest = escape(text[len(kind.words) :])
    return (
        f'<span class="verdict verdict-{slug(kind)}"><span class="verdict-mark" aria-hidden="true">{kind.mark}</span>'
        f' <span class="verdict-words">{kind.words}</span></span>{rest}'
    )


def claim_links(text: str, page: str = "claims.html") -> str:
    return CLAIM_ID.sub(rf'<a href="{page}#\1">\1</a>', escape(text))


def display(value: object, column: Column) -> str:
    """A value as the page prints it, before it becomes HTML."""
    text = encode(value)
    if text and column.format and not isinstance(value, (str, bool)):
        # a whole number stays one unless it is scaled: `d` formats no float
        text = format(value if column.scale == 1 else value / column.scale, column.format)
    return text.replace("-", "−", 1) if column.format and text.startswith("-") else text


def cell(value: object, column: Column) -> str:
    text = display(value, column)
    if text == "":
        return NO_VALUE
    if column.name == "verdict" or text in WORDS:
        return verdict(text)
    return claim_links(text) if column.name == "claims" else escape(text)


def source_place(function) -> tuple[str, int] | None:
    """The file, relative to the repository, and line of a function; None for one that is not in this repository."""
    function = inspect.unwrap(getattr(function, "func", function))
    try:
        path = Path(inspect.getsourcefile(function)).resolve().relative_to(ROOT)
        # only lib/ is listed in the site
        return (path.as_posix(), inspect.getsourcelines(function)[1]) if path.parts[0] == "lib" else None
    except (TypeError, ValueError, OSError):
        return None


def source_link(function) -> str:
    """A link into the listing of `lib` that the site carries: the very code that made the page."""
    place = source_place(function)
    if place is None:
        return ""
    path, line = place
    return (
        f'<a class="table-source" href="../source/{path.removesuffix(".py")}.html#line-{line}">{path}, line {line}</a>'
    )


def table(schema: Table, frame: pd.DataFrame) -> str:
    """The whole element: a region that the keyboard can reach and scroll, the table in it, and where it came from."""
    label = escape(schema.title, quote=True)
    return "\n".join(
        [
            f'<figure class="book-table" id="table-{schema.id}" data-table="{schema.id}">',
            f'<div class="table-scroll" tabindex="0" role="region" aria-label="{label}">',
            "<table>",
            f"<caption>{escape(schema.title)}</caption>",
            _head(schema),
            *_bodies(schema, frame),
            "</table>",
            "</div>",
            _foot(schema),
            "</figure>",
        ]
    )


def _head(schema: Table) -> str:
    heads = []
    for column in schema.columns:
        unit = f' <span class="unit">({escape(column.unit)})</span>' if column.unit else ""
        heads.append(f'<th scope="col"{_classes(column)}>{escape(column.title)}{unit}</th>')
    return f"<thead><tr>{''.join(heads)}</tr></thead>"


def _classes(column: Column) -> str:
    names = ["number"] if column.format else []
    return f' class="{" ".join([*names, f"column-{column.name}"])}"'


def _bodies(schema: Table, frame: pd.DataFrame) -> Iterator[str]:
    """One `tbody` for each run of rows with the same head, so that the head belongs to all of them."""
    rows = list(frame.itertuples(index=False, name=None))
    head = [column.name for column in schema.columns].index(schema.row_header) if _has_head(schema) else None
    numbered = list(enumerate(rows))
    for _, group in groupby(numbered, key=lambda item: encode(item[1][head]) if head is not None else item[0]):
        group = list(group)
        lines = [
            _line(schema, number, row, head, len(group) if place == 0 else 0)
            for place, (number, row) in enumerate(group)
        ]
        yield "<tbody>\n" + "\n".join(lines) + "\n</tbody>"


def _has_head(schema: Table) -> bool:
    return schema.row_header in [column.name for column in schema.columns]


def _line(schema: Table, number: int, row: tuple, head: int | None, span: int) -> str:
    cells = []
    for place, (value, column) in enumerate(zip(row, schema.columns, strict=True)):
        shown = f'data-column="{column.name}"{_classes(column)}>{cell(value, column)}'
        if place != head:
            cells.append(f"<td {shown}</td>")
        elif span:
            group = f' scope="rowgroup" rowspan="{span}"' if span > 1 else ' scope="row"'
            cells.append(f"<th{group} {shown}</th>")
    return f'<tr data-row="{number}">{"".join(cells)}</tr>'


def _foot(schema: Table) -> str:
    parts = [
        f'<a class="table-csv" href="../data/tables/{schema.id}.csv" download>{schema.id}.csv</a>',
        source_link(schema.function),
    ]
    origin = f'<span class="provenance">Origin: {escape(schema.provenance)}.</span> ' if schema.provenance else ""
    links = " · ".join(part for part in parts if part)
    return f'<figcaption class="table-foot">{origin}Data and code: {links}</figcaption>'
