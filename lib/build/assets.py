"""What the site serves itself instead of asking another host: MathJax, the chart bundle, the tables as CSV.

All of it is made at build time from installed packages and from data/, in `_build/assets`, which the site copies.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

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
    entrance(folder)
    # a folder of its own: Sphinx links stylesheets only from its static folders
    (folder.parent / "static").mkdir(exist_ok=True)
    (folder.parent / "static" / "colours.css").write_text(colours(), encoding="utf-8")


def colours() -> str:
    from lib.charts import stylesheet

    return stylesheet()


def mathjax(folder: Path) -> None:
    """The one MathJax file that draws TeX as SVG, hence without font files, and its licence."""
    package = Path(find_spec("mathjax").origin).parent / "static" / "mathjax"
    folder.mkdir()
    shutil.copyfile(package / "es5" / "tex-svg.js", folder / "tex-svg.js")
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


def entrance(folder: Path) -> None:
    """The site's first page, which leads on; without it one is made that has neither title nor language."""
    (folder / "index.html").write_text(ENTRANCE, encoding="utf-8")
    (folder / ".nojekyll").touch()  # GitHub Pages would otherwise leave out folders that start with an underscore
