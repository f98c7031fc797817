"""The book's Sphinx extension: what happened to each chapter, source listings of lib/, and no script from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import yaml
from sphinx.util import logging

from lib.build import RECORD, config, imprint, listing

RUN = (  # after a chapter's text; the notebook is put there when the site is finished
    '<p class="run-chapter">Run this chapter: <a href="../notebooks/{name}.ipynb" download>as it ran here, with its outputs</a>, '
    "or <code>make lab</code> in a checkout, which opens it live.{took}</p>"
)
NEEDS = {"mathjax": 'class="math', "calculator.js": 'class="calculator"'}  # script -> what it works on
LOGGER = logging.getLogger(__name__)


def setup(app) -> dict:
    app.connect("config-inited", _sign)
    app.connect("builder-inited", _check_keys)
    app.connect("html-collect-pages", _listings)
    app.connect("html-page-context", _without_thebe)
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _record)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _sign(app, configuration) -> None:
    configuration.html_baseurl = imprint.address() or configuration.html_baseurl
    configuration.html_theme_options["extra_footer"] = imprint.footer(Path(app.srcdir))


def _describe(app, page, template, context, doctree) -> None:
    if doctree is None:
        return
    if page.startswith("chapters/"):
        context["body"] = context.get("body", "") + RUN.format(
            name=page.removeprefix("chapters/"), took=_took(app, page)
        )
    title = re.sub(r"<[^>]+>", "", unescape(context.get("title", "")))
    base = app.config.html_baseurl.rstrip("/")
    address, image = (f"{base}/{page}.html", f"{base}/social.png") if base else ("", "../social.png")
    context["metatags"] = context.get("metatags", "") + imprint.tags(
        title, imprint.description(doctree), app.config.html_title, address, image, imprint.citation(Path(app.srcdir))
    )


def _took(app, page: str) -> str:
    """How long the chapter ran, for its last line; nothing for a page that has no cells."""
    from myst_nb.sphinx_ import NbMetadataCollector

    run = NbMetadataCollector.get_exec_data(app.env, page)
    seconds = (run or {}).get("runtime")
    return (
        f' Its cells took <span class="measured-time">{seconds:.1f} s</span> {imprint.device()}'
        if seconds is not None
        else ""
    )


def _check_keys(app) -> None:
    """A key that Sphinx does not know would be ignored; a warning makes the build fail."""
    path = Path(app.srcdir) / "_config.yml"
    given = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    below = (given.get("sphinx") or {}).get("config") or {}
    for fault in config.unknown_to_sphinx(below, set(app.config.values)):
        LOGGER.warning(fault)


def _listings(app) -> Iterator[tuple[str, dict, str]]:
    return listing.pages(Path(app.srcdir))


def _without_thebe(app, page, template, context, doctree) -> None:
    """Jupyter Book always loads thebe's starter, which names another host and declares its constants twice; and MathJax and
    the calculator, which most pages have no use for."""
    unused = [name for name, mark in NEEDS.items() if mark not in (context.get("body") or "")]
    if "script_files" in context:
        context["script_files"] = [
            script
            for script in context["script_files"]
            if not _of_thebe(script) and not any(name in str(getattr(script, "filename", "")) for name in unused)
        ]


def _of_thebe(script) -> bool:
    return "thebe" in str(getattr(script, "filename", "") or "") or "THEBE" in str(
        getattr(script, "attributes", {}).get("body", "")
    )


def _record(app, exception) -> None:
    """Leave for the build's last lines: seconds a chapter took, and the cell that failed if one did."""
    folder = Path(app.outdir).parent
    record = {"chapters": _seconds(app), "failure": _failure(exception), "stderr": _stderr(folder / "jupyter_execute")}
    path = folder / RECORD
    path.write_text(json.dumps(record, indent=1), encoding="utf-8")


def _seconds(app) -> dict[str, float]:
    from myst_nb.sphinx_ import NbMetadataCollector

    runs = {name: NbMetadataCollector.get_exec_data(app.env, name) for name in sorted(app.env.found_docs)}
    return {name: run["runtime"] for name, run in runs.items() if run and run["runtime"] is not None}


def _stderr(executed: Path) -> dict[str, str]:
    """What the cells of each chapter wrote to stderr; a page never shows it."""
    found = {}
    for path in sorted(executed.rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", []) if output.get("name") == "stderr"]
        if outputs:
            found[path.relative_to(executed).with_suffix("").as_posix()] = "".join(map(_joined, outputs))
    return found


def _joined(output: dict) -> str:
    return "".join(output["text"])


def _failure(exception) -> dict | None:
    """The chapter, the cell and the message, when the build ended in a cell's error."""
    if exception is None:
        return None
    cause = exception.__cause__
    if type(exception).__name__ != "ExecutionError" or cause is None:
        return {"chapter": "", "cell": "", "message": f"{type(exception).__name__}: {exception}"}
    return {"chapter": str(exception), "cell": _cell(str(cause)), "message": _message(cause)}


def _cell(told: str) -> str:
    """The failing cell's code, which nbclient prints between two rules."""
    parts = told.split("------------------")
    return parts[1].strip("\n") if len(parts) > 2 else ""


def _message(cause: Exception) -> str:
    if hasattr(cause, "ename"):
        return f"{cause.ename}: {cause.evalue}"
    return f"{type(cause).__name__}: {cause}"
