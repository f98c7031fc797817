"""What the site serves itself instead of asking another host: MathJax, the chart bundle, the tables as CSV.

All of it is made at build time from installed packages and from data/, in `_build/assets`, which the site copies.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

from lib.build.files import write

TITLE = "Million-token attention"
QUESTION = (
    "At a million tokens, which attention gives the best quality for its cost?\n"
    "Least time of a decode step from 4K to 1M tokens, both axes logarithmic:"
)

BUNDLE_IN_FUNCTION = "(() => {{\n{bundle}\n}})();\n"

ENTRANCE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Million-token attention</title>
<meta http-equiv="refresh" content="0; url=chapters/index.html">
</head>
<body><p><a href="chapters/index.html">Million-token attention</a></p></body>
</html>
"""


def make(source: Path, folder: Path) -> None:
    """Fill the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mathjax(folder / "mathjax")
    charts(folder / "charts")
    tables(source / "data" / "tables", folder / "data" / "tables")
    card(folder)
    entrance(folder)
    # a folder of its own: Sphinx links stylesheets only from its static folders
    (folder.parent / "static").mkdir(exist_ok=True)
    (folder.parent / "static" / "colours.css").write_text(colours(), encoding="utf-8")


def colours() -> str:
    from lib.charts import stylesheet

    return stylesheet()


def mathjax(folder: Path) -> None:
    """The MathJax file that sets TeX with web fonts, those fonts where it looks for them, and the licence. The file that draws
    TeX as SVG needs no fonts but is 680 kB compressed on every page; this one is 260 kB and the few fonts that a page uses."""
    package = Path(find_spec("mathjax").origin).parent / "static" / "mathjax"
    fonts = Path("output") / "chtml" / "fonts" / "woff-v2"
    folder.mkdir()
    shutil.copyfile(package / "es5" / "tex-chtml.js", folder / "tex-chtml.js")
    shutil.copytree(package / "es5" / fonts, folder / fonts)
    shutil.copyfile(package / "LICENSE", folder / "LICENSE.txt")


def charts(folder: Path) -> None:
    """Vega, Vega-Lite and vega-embed in one script.

    The bundle declares short names at its top level, and so do Sphinx's own scripts: two `const _` on one page are a
    syntax error that leaves no chart. Inside a function they cannot meet.
    """
    import vl_convert

    folder.mkdir()
    snippet = "window.vegaEmbed = vegaEmbed;"
    bundle = vl_convert.javascript_bundle(snippet)
    (folder / "vega.js").write_text(BUNDLE_IN_FUNCTION.format(bundle=bundle), encoding="utf-8")


def tables(accepted: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    for path in sorted(accepted.glob("*.csv")):
        shutil.copyfile(path, folder / path.name)


def card(folder: Path) -> None:
    """The picture for shared links."""
    from lib.build.card import png

    write(folder / "social.png", png(TITLE, QUESTION))


def entrance(folder: Path) -> None:
    """The site's first page, which leads on; without it one is made that has neither title nor language."""
    (folder / "index.html").write_text(ENTRANCE, encoding="utf-8")
    (folder / ".nojekyll").touch()  # GitHub Pages would otherwise leave out folders that start with an underscore
