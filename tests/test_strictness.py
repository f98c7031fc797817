"""What must be red is red on the first run and on the second, and no build shows what the code no longer says.

Each test builds a small book in a folder of its own (with a space in its path), with the project's own configuration and
the project's own build.
"""

from __future__ import annotations

import re
import shutil

import pytest

from lib.build import assets, book
from tests.conftest import ROOT

pytestmark = pytest.mark.build

HEAD = "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n# A small book\n\n"
CELL = "```{{code-cell}} ipython3\n{code}\n```\n\n"

# stands for lib/ and data/: a module beside the chapter, and a table with its accepted file
FACTS = """
import sys
from pathlib import Path
from types import SimpleNamespace
import pandas as pd
from lib import accepted, tables
from lib.tables.spec import Column, Table

ANSWER = 41
sys.modules["lib.numbers"] = SimpleNamespace(NUMBERS={"answer": SimpleNamespace(chapter="index", text=lambda: str(ANSWER))})
accepted.FOLDER = Path(__file__).parent.parent / "data" / "tables"
COLUMNS = (Column("row", "Row"), Column("value", "Value", format=".2f"))
tables.TABLES["X-small"] = Table("X-small", "Small", "index", lambda: pd.DataFrame({"row": ["MLA"], "value": [1.25]}), COLUMNS)
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    root = tmp_path / "a small book"
    (root / "data" / "tables").mkdir(parents=True)
    shutil.copytree(ROOT / "chapters" / "_static", root / "chapters" / "_static")
    shutil.copy(ROOT / "_config.yml", root)
    (root / "chapters" / "references.bib").touch()
    (root / "chapters" / "facts.py").write_text(FACTS)
    (root / "data" / "tables" / "X-small.csv").write_text("row,value\nMLA,1.25\n")
    (root / "_toc.yml").write_text("format: jb-book\nroot: chapters/index\n")
    # two seconds a build that no test here looks at
    monkeypatch.setattr(assets, "charts", lambda folder: folder.mkdir())
    return root


def chapter(root, *cells: str, prose: str = "") -> None:
    (root / "chapters" / "index.md").write_text(HEAD + "".join(CELL.format(code=code) for code in cells) + prose)


def red_twice(root, capsys) -> str:
    """Build twice; both must fail, and say the same."""
    told = []
    for run in ("first", "second"):
        assert book.build(root) != 0, f"the {run} build is green"
        told.append(capsys.readouterr().out)
    first, second = (re.sub(r"ipykernel_\d+/\d+", "ipykernel", words) for words in told)
    assert first == second
    return told[0]


def test_a_failing_cell_is_red_twice(small, capsys):
    # breaks without raise_on_error: the page is published with its traceback
    chapter(small, "x = 1", "print('before')\nx / 0")
    out = red_twice(small, capsys)
    assert "chapter  chapters/index.md" in out and "  x / 0" in out and "ZeroDivisionError: division by zero" in out
    assert "x = 1" not in out.split("cell")[1], "only the cell that failed is shown"


def test_whatever_is_warned_of_is_red_twice(small, capsys):
    # breaks without -W (all of them), without --keep-going (only the first is told), without remove-warn (the first)
    chapter(
        small,
        "import warnings\nwarnings.warn('an old way', FutureWarning)",
        prose="{ref}`nowhere` and [a page](none.md) and {glue:text}`no_such_key` and {eq}`unlabelled`.\n",
    )
    out = red_twice(small, capsys)
    for what in ("an old way", "nowhere", "none.md", "no_such_key", "unlabelled"):
        assert any(what in line for line in out.splitlines()), what


def test_a_build_shows_what_code_and_data_say_now(small, capsys):
    # breaks with a cache of outputs, or when pages of an earlier build are kept
    chapter(
        small,
        "import facts\nfrom lib import book\nbook.glue_numbers('index')",
        "book.show('X-small')",
        prose="The answer is {glue:text}`answer`.\n",
    )
    page = small / "_build" / "html" / "chapters" / "index.html"
    assert book.build(small) == 0, capsys.readouterr().out
    assert "chapters/index" in capsys.readouterr().out
    assert '<span class="pasted-text">41</span>' in page.read_text() and 'data-table="X-small"' in page.read_text()

    (small / "chapters" / "facts.py").write_text(FACTS.replace("41", "42"))
    assert book.build(small) == 0
    assert '<span class="pasted-text">42</span>' in page.read_text()

    (small / "data" / "tables" / "X-small.csv").write_text("row,value\nMLA,1.26\n")
    capsys.readouterr()
    out = red_twice(small, capsys)
    assert "row 'MLA', column 'value': 1.26 -> 1.25" in out and "make tables ACCEPT=1" in out
    assert not page.exists(), "no page of the earlier build is left to be published"
