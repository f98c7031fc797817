"""Check the built site: `python -m lib.sitecheck [FOLDER]`; prints each fault and exits non-zero when there is one.

The checks read the pages as a visitor's browser gets them. Nothing here knows how the pages were made, except that a
table names itself, its rows and its columns in `data-` attributes.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lib import accepted
from lib.accepted import encode
from lib.page import Page, ShownTable, read
from lib.tables import TABLES
from lib.tables.spec import Column, Table

ROOT = Path(__file__).resolve().parent.parent
LISTINGS = "source/"  # pages of code, which may well contain the word Traceback
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
CSS_ELSEWHERE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
LOADS_ELSEWHERE = re.compile(
    r"(?:import\s*\(|import\s+|\.src\s*=|_URL\s*=|importScripts\()\s*[\"']((?:https?:)?//[^\"']+)"
)
SHOWN_NUMBER = re.compile(r"^([+−-]?)([\d,]*)(?:\.(\d+))?(?:e([+-]?\d+))?(%?)$", re.IGNORECASE)


def check(site: Path, schemas: Mapping[str, Table] = TABLES, folder: Path | None = None) -> list[str]:
    """Every fault of the site, each as `page: what is wrong`."""
    if not site.is_dir():
        return [f"{site}: there is no site; make book"]
    # the theme leaves its templates in _static; they are no pages
    paths = [path for path in sorted(site.rglob("*.html")) if path.relative_to(site).parts[0] != "_static"]
    pages = {page.path: page for page in (read(path, site) for path in paths)}
    if not pages:
        return [f"{site}: no page; make book"]
    faults = [
        fault for page in pages.values() for fault in (*_document(page), *_requests(page), *_links(page, pages, site))
    ]
    return faults + list(_stylesheets(site)) + list(_tables(pages, site, schemas, folder)) + list(_reports(site))


def _document(page: Page) -> Iterator[str]:
    if not page.title:
        yield f"{page.path}: no title"
    if not page.language:
        yield f"{page.path}: no lang on html"
    for what in page.unnamed:
        yield f"{page.path}: {what}"
    if not page.path.startswith(LISTINGS) and "Traceback (most recent call last)" in page.text:
        yield f"{page.path}: shows a Traceback"


def _requests(page: Page) -> Iterator[str]:
    """What the browser would fetch from another host."""
    for address in page.assets:
        if ELSEWHERE.match(address):
            yield f"{page.path}: loads {address}"
    for script in page.scripts:
        for address in LOADS_ELSEWHERE.findall(script):
            yield f"{page.path}: a script loads {address}"


def _stylesheets(site: Path) -> Iterator[str]:
    for path in sorted(site.rglob("*.css")):
        for address in CSS_ELSEWHERE.findall(path.read_text(encoding="utf-8", errors="replace")):
            yield f"{path.relative_to(site).as_posix()}: loads {address}"


def _reports(site: Path) -> Iterator[str]:
    for path in sorted(site.glob("reports/**/*.log")):
        yield f"{path.relative_to(site).as_posix()}: a chapter failed"


def _links(page: Page, pages: Mapping[str, Page], site: Path) -> Iterator[str]:
    """Links and assets inside the site that lead nowhere."""
    for address in dict.fromkeys(page.links + page.assets):
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = _target(page.path, unquote(parts.path), site)
        if target is None:
            yield f"{page.path}: {address} leads out of the site or to no file"
        elif parts.fragment and target in pages and not _anchored(pages[target], unquote(parts.fragment)):
            yield f"{page.path}: {address} names an anchor that {target} lacks"


def _target(page: str, path: str, site: Path) -> str | None:
    if not path:
        return page
    root = site.resolve()
    place = (root / path.lstrip("/") if path.startswith("/") else root / Path(page).parent / path).resolve()
    if place.is_dir():
        place = place / "index.html"
    return place.relative_to(root).as_posix() if place.is_relative_to(root) and place.exists() else None


def _anchored(page: Page, fragment: str) -> bool:
    # a fragment such as `verdict=holds` is the state of the claims page's filters, not a place in it
    return fragment in page.ids or ("=" in fragment and "claims-table" in page.ids)


def _tables(pages: Mapping[str, Page], site: Path, schemas: Mapping[str, Table], folder: Path | None) -> Iterator[str]:
    shown = [(page, table) for page in pages.values() for table in page.tables]
    counts = Counter(table.id for _, table in shown)
    for name in sorted(schemas.keys() | counts.keys()):
        if name not in schemas:
            yield f"table {name}: shown, but not registered in lib.tables"
        elif counts[name] != 1:
            yield f"table {name}: shown {counts[name]} times, wanted once"
    for page, table in shown:
        if table.id in schemas:
            yield from _one_table(page, table, schemas[table.id], site, folder)


def _one_table(page: Page, shown: ShownTable, schema: Table, site: Path, folder: Path | None) -> Iterator[str]:
    place = f"{page.path}: table {schema.id}"
    links = [link for link in shown.links if link.endswith(f"/{schema.id}.csv")]
    if not links or _target(page.path, links[0], site) is None:
        yield f"{place}: its CSV is not linked, or not in the site"
    frame = accepted.read(schema, folder)
    if frame is None:
        yield f"{place}: there is no accepted table"
        return
    rows = {row for row, _ in shown.cells}
    if len(rows) != len(frame):
        yield f"{place}: shows {len(rows)} rows, the CSV has {len(frame)}"
        return
    for (row, name), text in shown.cells.items():
        column = next((column for column in schema.columns if column.name == name), None)
        if column is None:
            yield f"{place}, row {row}: shows a column {name!r} that the table has not"
        elif not agrees(text, frame[name].iloc[row], column):
            yield f"{place}, row {row}, column {name!r}: shows {text!r}, the CSV has {encode(frame[name].iloc[row])!r}"


def agrees(text: str, value: object, column: Column) -> bool:
    """Whether the shown text is the CSV's value: the same words, or the number rounded to the digits shown."""
    stored = encode(value)
    if stored == "":
        return text == "–"
    if not column.format or isinstance(value, str):
        return text == " ".join(stored.split())
    shown = read_number(text)
    if shown is None:
        return text == stored
    number, half_unit = shown
    wanted = float(stored) / column.scale
    return abs(number - wanted) <= half_unit * (1 + 1e-9) + abs(wanted) * (column.band or 1e-12)


def read_number(text: str) -> tuple[float, float] | None:
    """A number as printed, and half a unit of its last printed digit."""
    match = SHOWN_NUMBER.match(text)
    if match is None or not (match[2] or match[3]):
        return None
    sign, whole, fraction, exponent, percent = match.groups()
    scale = 10.0 ** int(exponent or 0) * (0.01 if percent else 1.0)
    number = float(f"{whole.replace(',', '') or '0'}.{fraction or '0'}") * scale
    return -number if sign in ("−", "-") else number, 0.5 * 10.0 ** -len(fraction or "") * scale


def main(arguments: list[str]) -> int:
    site = Path(arguments[0]) if arguments else ROOT / "_build" / "html"
    faults = check(site)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults in {site}" if faults else f"the site is whole: {site}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
