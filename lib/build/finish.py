"""What a built site still needs before it is read: light icons, a page for lost visitors, a map for search engines.

The theme brings 1.5 MB of script to draw a dozen icons. Those that the pages use become masks in a stylesheet, cut from the
theme's own copy of Font Awesome Free (icons under CC BY 4.0), so that every page is lighter by half a megabyte.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from urllib.parse import quote

from lib.build.files import write

ICONS = "_static/icons.css"
SOURCE = "_static/scripts/fontawesome.js"
LICENCE = "/* Font Awesome Free, https://fontawesome.com, icons under CC BY 4.0 */"
SIZES = {"lg", "sm", "xs", "fw", "spin", "solid", "regular", "brands", "inverse", "ul", "li"}
USED = re.compile(r"\bfa-([a-z0-9-]+)")
SCRIPT = re.compile(r"""<(?:script|link)\b[^>]*fontawesome\.js[^>]*>(?:\s*</script>)?\n?""")
BASE = """.fa-solid, .fas, .fa-brands { display: inline-block; width: 1.1em; height: 1em; vertical-align: -0.125em; background: currentColor;
  -webkit-mask: var(--icon) center / contain no-repeat; mask: var(--icon) center / contain no-repeat; }
i.fa-solid::before, i.fas::before { content: none !important; }
.fa-lg { font-size: 1.25em; }
@media (forced-colors: active) { .fa-solid, .fas { forced-color-adjust: none; background: CanvasText; } }"""


def site(html: Path, *, title: str, address: str = "") -> None:
    """All of it, on the site in `html`; `address` is its public one, or empty."""
    icons(html)
    notebooks(html.parent / "jupyter_execute", html)
    lost(html, title)
    if address:
        sitemap(html, address)


def pages(html: Path) -> list[Path]:
    return [path for path in sorted(html.rglob("*.html")) if path.relative_to(html).parts[0] != "_static"]


def icons(html: Path) -> None:
    """Replace the theme's icon script on every page by a stylesheet of the icons that are used."""
    source = html / SOURCE
    if not source.exists():
        return
    texts = {path: path.read_text(encoding="utf-8") for path in pages(html)}
    names = sorted({name for text in texts.values() for name in USED.findall(text)} - SIZES)
    drawn = {name: shape for name in names if (shape := _shape(source.read_text(encoding="utf-8"), name))}
    rules = [f'.fa-{name} {{ --icon: url("{_image(*shape)}"); }}' for name, shape in drawn.items()]
    write(html / ICONS, "\n".join([LICENCE, BASE, *rules, ""]))
    for path, text in texts.items():
        if SCRIPT.search(text):
            write(path, _with_sheet(SCRIPT.sub("", text), len(path.relative_to(html).parts) - 1))
    for leftover in source.parent.glob("fontawesome.js*"):
        if not leftover.name.endswith("LICENSE.txt"):
            leftover.unlink()


def _shape(script: str, name: str) -> tuple[int, int, str] | None:
    """Width, height and outline of an icon; the script's last set is the solid one."""
    pattern = rf"""[{{,]["']?{re.escape(name)}["']?:\[(\d+),(\d+),\[[^\]]*\],"[0-9a-f]+","([^"]+)"\]"""
    found = re.findall(pattern, script)
    return (int(found[-1][0]), int(found[-1][1]), found[-1][2]) if found else None


def _image(width: int, height: int, outline: str) -> str:
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'><path d='{outline}'/></svg>"
    return f"data:image/svg+xml,{quote(svg, safe=' =/:,')}".replace('"', "%22")


def _with_sheet(text: str, depth: int) -> str:
    return text.replace("</head>", f'<link rel="stylesheet" href="{"../" * depth}{ICONS}">\n</head>', 1)


def notebooks(executed: Path, html: Path) -> None:
    """Each chapter as it ran, to download: without the times of its cells, which would make two builds differ."""
    folder = html / "notebooks"
    for path in sorted(executed.glob("chapters/*.ipynb")):
        folder.mkdir(exist_ok=True)
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for number, cell in enumerate(notebook["cells"]):
            cell["metadata"].pop("execution", None)
            cell["id"] = f"cell-{number}"  # in place of a random one
        write(folder / path.name, json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def lost(html: Path, title: str) -> None:
    """404.html. A server shows it under any address, at any depth, so that it finds its way by the address it has."""
    write(html / "404.html", LOST.replace("TITLE", escape(title)))


LOST = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>No such page: TITLE</title>
<style>
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2429; --link: #0a5a78; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181c; --ink: #dde2e6; --link: #7cc4e0; } }
html { background: var(--paper); color: var(--ink); }
a { color: var(--link); }
body { background: var(--paper); font: 1.05rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; }
</style>
</head>
<body>
<main>
<h1>This page is not in the book</h1>
<p>It may have moved. The claims, the tables and the calculator are all a step from the first page.</p>
<p><a id="home" href="chapters/index.html">TITLE</a></p>
</main>
<script>
// the site may lie under any path: its root is what comes before the first folder that it has
const at = location.pathname.search(/\\/(chapters|source|data)\\//);
const root = at >= 0 ? location.pathname.slice(0, at + 1) : "./";
document.getElementById("home").href = root + "chapters/index.html";
</script>
</body>
</html>
"""


def sitemap(html: Path, address: str) -> None:
    """Chapters first; listings of code too. No dates: a build of the same commit gives the same map."""
    names = [path.relative_to(html).as_posix() for path in pages(html)]
    wanted = [name for name in names if name.startswith(("chapters/", "source/"))]
    lines = "\n".join(f"<url><loc>{escape(address.rstrip('/') + '/' + quote(name))}</loc></url>" for name in wanted)
    write(
        html / "sitemap.xml",
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{lines}\n</urlset>\n',
    )
    write(html / "robots.txt", f"User-agent: *\nAllow: /\nSitemap: {address.rstrip('/')}/sitemap.xml\n")
