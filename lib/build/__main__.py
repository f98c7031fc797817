"""The command line of a build; its exit status is the build's verdict."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lib.build import book, picture, tables

ROOT = Path(__file__).resolve().parent.parent.parent


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lib.build")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("book", help="execute all chapters and write _build/html")
    build.add_argument("--source", type=Path, default=ROOT, help="the folder with _config.yml and _toc.yml")
    build.add_argument("--verbose", action="store_true", help="print all that Jupyter Book prints")
    accept = commands.add_parser("tables", help="recompute all tables and print each changed cell")
    accept.add_argument("--accept", action="store_true", help="write what was recomputed")
    commands.add_parser("picture", help="take the README's picture of the built site")
    options = parser.parse_args(arguments)
    if options.command == "book":
        return book.build(options.source, verbose=options.verbose)
    if options.command == "picture":
        return picture.take(ROOT / "_build" / "html", ROOT / "docs" / "screenshot.png")
    return tables.check(accept=options.accept)


if __name__ == "__main__":
    sys.exit(main())
