"""A built page, read back: what it loads, where it leads, what its tables show. For the checks of the site."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

# a `link` of these kinds names another document; the browser does not load it with the page
NOT_LOADED = {"canonical", "alternate", "license", "author", "next", "prev", "search", "index", "up"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class ShownTable:
    """A table as the page shows it: (row number, column name) -> text."""

    id: str
    cells: dict[tuple[int, str], str] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)


@dataclass
class Page:
    """What the checks ask of one page; `path` is relative to the site."""

    path: str
    language: str = ""
    title: str = ""
    text: str = ""
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    assets: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    tables: list[ShownTable] = field(default_factory=list)


def read(path: Path, site: Path) -> Page:
    reader = _Reader(path.relative_to(site).as_posix())
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    return reader.finish()


class _Reader(HTMLParser):
    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page(path)
        self.words: list[str] = []
        self.open: list[tuple[str, dict]] = []
        self.row = -1
        self.cell: tuple[int, str] | None = None
        self.cell_words: list[str] = []

    def finish(self) -> Page:
        self.page.text = " ".join("".join(self.words).split())
        self.page.title = " ".join(self.page.title.split())
        return self.page

    def handle_starttag(self, tag: str, pairs: list) -> None:
        attributes = {name: value or "" for name, value in pairs}
        self._identify(tag, attributes)
        self._load(tag, attributes)
        self._name(tag, attributes)
        self._enter_table(tag, attributes)
        if tag not in VOID:
            self.open.append((tag, attributes))

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            name, attributes = self.open.pop()
            self._leave(name, attributes)
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        inside = {name for name, _ in self.open}
        if "title" in inside and "svg" not in inside:
            self.page.title += data
        elif "script" in inside:
            self.page.scripts.append(data)
        elif "style" not in inside:
            self.words.append(data)
            if self.cell and not any(attributes.get("aria-hidden") == "true" for _, attributes in self.open):
                self.cell_words.append(data)

    def _identify(self, tag: str, attributes: dict) -> None:
        if tag == "html":
            self.page.language = attributes.get("lang", "")
        for name in ("id", "name") if tag == "a" else ("id",):
            if attributes.get(name):
                self.page.ids.add(attributes[name])

    def _load(self, tag: str, attributes: dict) -> None:
        if tag == "a" and "href" in attributes:
            self.page.links.append(attributes["href"])
            if self.table:
                self.table.links.append(attributes["href"])
        if tag == "link" and not NOT_LOADED & set(attributes.get("rel", "").lower().split()):
            self.page.assets.append(attributes.get("href", ""))
        for name in ("src", "data", "poster"):
            if tag != "param" and attributes.get(name):
                self.page.assets.append(attributes[name])
        self.page.assets += [part.split()[0] for part in attributes.get("srcset", "").split(",") if part.strip()]
        if tag == "meta" and attributes.get("http-equiv", "").lower() == "refresh":
            self.page.links.append(attributes.get("content", "").partition("url=")[2])

    def _name(self, tag: str, attributes: dict) -> None:
        """Note what a screen reader could not name."""
        named = attributes.get("aria-label") or attributes.get("aria-labelledby") or attributes.get("title")
        if tag == "img" and "alt" not in attributes:
            self.page.unnamed.append(f"img {attributes.get('src', '')[:60]}: no alt")
        if tag in ("iframe", "object", "canvas") and not named:
            self.page.unnamed.append(f"{tag}: no title or aria-label")
        if "chart" in attributes.get("class", "").split() and not named:
            self.page.unnamed.append(f"chart {attributes.get('id', '')}: no aria-label")

    @property
    def table(self) -> ShownTable | None:
        inside = any("data-table" in attributes for _, attributes in self.open)
        return self.page.tables[-1] if inside and self.page.tables else None

    def _enter_table(self, tag: str, attributes: dict) -> None:
        if "data-table" in attributes:
            self.page.tables.append(ShownTable(attributes["data-table"]))
        if tag == "tr" and "data-row" in attributes:
            self.row = int(attributes["data-row"])
        if tag in ("td", "th") and "data-column" in attributes:
            self.cell, self.cell_words = (self.row, attributes["data-column"]), []

    def _leave(self, tag: str, attributes: dict) -> None:
        if self.cell and tag in ("td", "th"):
            if self.page.tables:
                self.page.tables[-1].cells[self.cell] = " ".join("".join(self.cell_words).split())
            self.cell = None
