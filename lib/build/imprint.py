"""What each page says about itself: the commit and versions that made it, and the tags by which others show a link to it."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from html import escape
from importlib.metadata import version
from pathlib import Path

import yaml

PACKAGES = ("torch", "numpy", "pandas")  # those that decide a number on a page
LONGEST = 200  # characters of a description that search engines and messengers show


def footer(source: Path) -> str:
    """One line under every page; no date and no host name, so that two builds of one commit agree."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    made = f"Python {platform.python_version()}, {versions}, on {platform.system()} {platform.machine()}"
    commit = _commit(source)
    built = f"Built from commit <code>{commit}</code> with {made}." if commit else f"Built with {made}."
    read = _git(source, "log", "-1", "--format=%cs", "--", "data")
    built += f" Data last changed on {read}." if read else ""
    return f'<p class="imprint">{built} <a href="https://creativecommons.org/licenses/by/4.0/">Text: CC BY 4.0</a>; code: MIT.</p>'


def _commit(source: Path) -> str:
    """The commit, marked when lib, data or chapters have been changed since; empty outside a checkout."""
    head = _git(source, "rev-parse", "--short=10", "HEAD")
    changed = _git(source, "status", "--porcelain", "--", "lib", "data", "chapters")
    return f"{head}, changed since" if head and changed else head


def _git(source: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(source), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


@cache
def device() -> str:
    """The device that ran the chapters' cells, as lib.measure names it, and no more of the machine than that."""
    from lib.measure.device import describe, kind

    return f"on {escape(describe(kind())['name'])}."


def address() -> str:
    """The site's public address, which whoever publishes it gives as BOOK_ADDRESS; empty elsewhere."""
    given = os.environ.get("BOOK_ADDRESS", "")
    if given and not given.startswith(("https://", "http://")):
        raise ValueError(f"BOOK_ADDRESS={given!r}: wanted an address such as https://example.org/book/")
    return given.rstrip("/")


def citation(source: Path) -> dict[str, str]:
    """What CITATION.cff says of the book, under the names that reference managers read."""
    path = source / "CITATION.cff"
    given = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    authors = given.get("authors") or [{}]
    return {
        "citation_author": authors[0].get("name", ""),
        "citation_publication_date": str(given.get("date-released", "")).replace("-", "/"),
    }


def tags(title: str, description: str, book: str, address: str = "", image: str = "", cited: dict | None = None) -> str:
    """Open Graph and citation tags; `address` and `image` only where the public address is known."""
    pairs = {
        "og:title": title,
        "og:type": "article",
        "og:site_name": book,
        "og:description": description,
        "og:url": address,
        "og:image": image,
        "og:image:alt": image and f"{book}: least time of a decode step over context, a line a model",
    }
    named = {"description": description, "citation_title": title, "citation_inbook_title": book} | (cited or {})
    named |= {"twitter:card": image and "summary_large_image", "citation_public_url": address}
    lines = [f'<meta property="{key}" content="{escape(value, quote=True)}">' for key, value in pairs.items() if value]
    lines += [f'<meta name="{key}" content="{escape(value, quote=True)}">' for key, value in named.items() if value]
    return "\n" + "\n".join(lines) + "\n"


def description(doctree) -> str:
    """The first sentences of the page, cut at a word."""
    from docutils import nodes

    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 40:
            return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
    return ""
