"""The code of lib/ as pages of the site, so that a table can link to the very lines that made it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer


def pages(root: Path) -> Iterator[tuple[str, dict, str]]:
    """Each module as (page name, context, template), as Sphinx collects extra pages; then their index."""
    paths = sorted((root / "lib").rglob("*.py"))
    names = [path.relative_to(root).with_suffix("").as_posix() for path in paths]
    for path, name in zip(paths, names, strict=True):
        yield (
            f"source/{name}",
            {"title": f"{name}.py", "body": _body(f"{name}.py", path.read_text(encoding="utf-8"))},
            "page.html",
        )
    links = "\n".join(f'<li><a href="{name}.html">{name}.py</a></li>' for name in names)
    body = f'<section class="listing"><h1>The code of this book</h1>\n<ul>\n{links}\n</ul></section>'
    yield "source/index", {"title": "The code of this book", "body": body}, "page.html"


def _body(title: str, code: str) -> str:
    formatter = HtmlFormatter(linenos="inline", lineanchors="line", anchorlinenos=True, wrapcode=True)
    return f'<section class="listing"><h1>{escape(title)}</h1>\n{highlight(code, PythonLexer(), formatter)}</section>'
