"""What the site serves itself instead of asking another host: MathJax, the chart bundle, the tables as CSV.

All of it is made at build time from installed packages and from data/, in `_build/assets`, which the site copies.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

BUNDLE_IN_FUNCTION = "(() => {{\n{bundle}\n}})();\n"


def make(source: Path, folder: Path) -> None:
    """Fill the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mathjax(folder / "mathjax")
    charts(folder / "charts")
    tables(source / "data" / "tables", folder / "data" / "tables")


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
