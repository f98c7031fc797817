"""The page of claims as HTML: a scoreboard, and a table that a small script makes searchable.

The script adds to what is here and takes nothing away: without it the table, its anchors and its links all work.
"""

from __future__ import annotations

from html import escape

import pandas as pd

from lib import html
from lib.verdict import Kind

COLUMNS = ("id", "chapter", "statement", "printed", "recomputed", "verdict", "kind", "evidence", "provenance")
HEADS = {
    "id": "Claim",
    "statement": "Statement",
    "printed": "Post prints",
    "recomputed": "Recomputed",
    "verdict": "Verdict and evidence",
}


def checked(frame: pd.DataFrame) -> pd.DataFrame:
    """The claims, or an error when a column is missing, an id is not unique, or a verdict's kind is unknown."""
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise ValueError(f"claims: columns {missing} are missing, wanted {list(COLUMNS)}")
    twice = frame["id"][frame["id"].duplicated()].tolist()
    if twice:
        raise ValueError(f"claims: the ids {twice} occur twice")
    for name, value in zip(frame["id"], frame["kind"], strict=True):
        kind(value, name)
    return frame


def kind(value: object, name: str = "") -> Kind:
    """A Kind, given as itself, by its name or by its words."""
    if isinstance(value, Kind):
        return value
    for member in Kind:
        if value in (member.name, member.words, html.slug(member)):
            return member
    raise ValueError(f"claim {name}: verdict kind {value!r}, wanted one of {[member.words for member in Kind]}")


def counts(frame: pd.DataFrame) -> dict[Kind, int]:
    kinds = [kind(value) for value in frame["kind"]]
    return {member: kinds.count(member) for member in Kind if member in kinds}


def tiles(counts: dict[Kind, int], page: str = "claims.html") -> str:
    total = sum(counts.values())
    items = []
    for member, count in counts.items():
        mark = f'<span class="verdict-mark" aria-hidden="true">{member.mark}</span>'
        items.append(
            f'<li class="score verdict-{html.slug(member)}"><a href="{page}#verdict={html.slug(member)}">'
            f'<span class="score-count">{count}</span> <span class="score-words">{mark} {member.words}</span></a></li>'
        )
    return (
        f'<nav class="scoreboard" aria-label="Verdicts on the {total} claims">\n<ul>\n'
        + "\n".join(items)
        + f'\n</ul>\n<p class="score-total"><a href="{page}">All {total} claims, with evidence</a></p>\n</nav>'
    )


def table(frame: pd.DataFrame) -> str:
    rows = "\n".join(_row(row) for row in frame.to_dict("records"))
    heads = "".join(f'<th scope="col" data-key="{name}">{title}</th>' for name, title in HEADS.items())
    return "\n".join(
        [
            f'<div class="claims" data-total="{len(frame)}">',
            _controls(frame),
            '<div class="table-scroll" tabindex="0" role="region" aria-label="All claims and their verdicts">',
            '<table id="claims-table">',
            "<caption>Every claim, what the post prints, what this book recomputes, and the verdict</caption>",
            f"<thead><tr>{heads}</tr></thead>",
            f"<tbody>\n{rows}\n</tbody>",
            "</table>",
            "</div>",
            "</div>",
        ]
    )


def _controls(frame: pd.DataFrame) -> str:
    """Search and filters; hidden until the script that makes them work shows them."""
    chapters = "".join(
        f'<option value="{escape(name, quote=True)}">{escape(name.replace("_", " "))}</option>'
        for name in dict.fromkeys(frame["chapter"])
    )
    kinds = "".join(
        f'<option value="{html.slug(member)}">{member.mark} {member.words} ({count})</option>'
        for member, count in counts(frame).items()
    )
    return "\n".join(
        [
            '<form class="claims-controls" role="search" aria-label="Filter the claims" hidden>',
            '<label>Search <input type="search" name="q" autocomplete="off"></label>',
            f'<label>Chapter <select name="chapter"><option value="">all</option>{chapters}</select></label>',
            f'<label>Verdict <select name="verdict"><option value="">all</option>{kinds}</select></label>',
            '<button type="reset">Clear</button>',
            '<output class="claims-count" aria-live="polite"></output>',
            "</form>",
        ]
    )


def _row(row: dict) -> str:
    slug = html.slug(kind(row["kind"]))
    name, chapter = escape(str(row["id"]), quote=True), escape(str(row["chapter"]), quote=True)
    origin = f' <span class="provenance">{escape(str(row["provenance"]))}</span>' if row["provenance"] else ""
    cells = [
        f'<th scope="row"><a href="#{name}">{name}</a></th>',
        f'<td>{escape(str(row["statement"]))} <span class="claim-chapter">{chapter.replace("_", " ")}</span></td>',
        *(f"<td>{escape(str(row[key])) or html.NO_VALUE}</td>" for key in ("printed", "recomputed")),
        f'<td>{html.verdict(str(row["verdict"]))}<p class="evidence">{escape(str(row["evidence"]))}{origin}</p></td>',
    ]
    return f'<tr id="{name}" data-chapter="{chapter}" data-verdict="{slug}">{"".join(cells)}</tr>'
