"""Run Jupyter Book strictly, and tell at the end what a reader of the terminal wants to know."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from lib.build import RECORD, assets, config, finish, imprint
from lib.build.assets import TITLE

# jsonschema imports a grammar of addresses if it can; that takes seconds, and no key of the book is an address
JUPYTER_BOOK = """
import sys
sys.modules["rfc3987_syntax"] = None
from jupyter_book.cli.main import main
sys.exit(main())
"""
STRICT = ["--all", "-W", "-n", "--keep-going"]
STARTED = re.compile(r"^(?P<page>\S.*?\.(?:md|ipynb)): Executing notebook")
FAULT = re.compile(r"(^|: )(WARNING|ERROR|CRITICAL|SEVERE): ")  # as Sphinx prints them; kernels have other forms
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
RULE = "-" * 72
ROOT = Path(__file__).resolve().parent.parent.parent


def build(source: Path, *, verbose: bool = False) -> int:
    """Build the book in `source` from nothing; 0 only if every cell ran and nothing was warned of."""
    source = source.resolve()
    output = source / "_build"
    if faults := config.faults(source / "_config.yml"):
        print("\n".join(faults))
        return 1
    shutil.rmtree(output, ignore_errors=True)
    assets.make(source, output / "assets")
    started = time.monotonic()
    status, faults = _run(source, output / "build.log", verbose)
    record = _read(output / RECORD)
    failure = record.get("failure")
    if status == 0 and not faults and not failure:
        finish.site(output / "html", title=TITLE, address=imprint.address())
        _tell(record["chapters"], output / "html", time.monotonic() - started)
        return 0
    _tell_failure(source, failure, faults, output / "build.log")
    _tell_stderr(record.get("stderr", {}))
    return status or 1


def _run(source: Path, log: Path, verbose: bool) -> tuple[int, list[str]]:
    """Run Jupyter Book, print which chapter it executes, keep the whole log, and return its status and complaints."""
    command = [sys.executable, "-c", JUPYTER_BOOK, "build", str(source), *STRICT]
    faults = []
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            cwd=source,
            env=_settings(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        for line in process.stdout:
            line = COLOUR.sub("", line)
            file.write(line)
            if verbose:
                print(line, end="", flush=True)
            elif match := STARTED.match(line):
                print(f"executing {_name(source, match['page'])}", flush=True)
            if FAULT.search(line):
                faults.append(line.rstrip())
    return process.returncode, faults


def _tell_stderr(stderr: dict[str, str]) -> None:
    """Sphinx only says that there was some; the words are what one needs."""
    for chapter, words in stderr.items():
        print(f"\nwhat cells of {chapter} wrote to stderr\n{_indented(words)}", flush=True)


def _settings() -> dict[str, str]:
    """The environment of the build: this very checkout's lib, and a kernel that no other of its name replaces."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return dict(
        os.environ,
        BOOK_BUILD="1",
        JUPYTER_PREFER_ENV_PATH="1",
        PYTHONPATH=os.pathsep.join(paths),
        PYTHONUNBUFFERED="1",
        PYTHONIOENCODING="utf-8",
    )


def _name(source: Path, page: str) -> str:
    return page.removeprefix(f"{source}{os.sep}")


def _read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _tell(chapters: dict[str, float], site: Path, seconds: float) -> None:
    print("\nseconds  chapter")
    for name, took in chapters.items():
        print(f"{took:7.1f}  {name}")
    print(
        f"{seconds:7.1f}  the whole build\n\nThe book is in {site / 'index.html'}\nTo read it in a browser: make serve"
    )


def _tell_failure(source: Path, failure: dict | None, faults: list[str], log: Path) -> None:
    print(f"\n{RULE}\nThe build failed.")
    if failure and failure["chapter"]:
        print(f"\nchapter  {_name(source, failure['chapter'])}\ncell\n{_indented(failure['cell'])}")
        print(f"error\n{_indented(failure['message'])}")
    elif failure:
        print(f"\nerror\n{_indented(failure['message'])}")
    if faults:
        print("\nwarnings, each of which is an error here")
        print("\n".join(f"  {fault.replace(str(source) + os.sep, '')}" for fault in dict.fromkeys(faults)))
    if not failure and not faults:
        print(f"\nJupyter Book says\n{_indented(_heart(log.read_text(encoding='utf-8')))}")
    print(f"\nthe whole log: {log}\n{RULE}", flush=True)


def _heart(told: str) -> str:
    """What Sphinx says above its traceback when it could not even begin; else the last lines."""
    lines = told.splitlines()
    start = next((place for place, line in enumerate(lines) if line.endswith(" error:")), None)
    if start is None:
        return "\n".join(lines[-15:])
    return "\n".join(lines[start:]).partition("Traceback (most")[0].strip()


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
