"""The effective configuration of the book, not what the file seems to say: a misspelt key is ignored by Jupyter Book."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from lib.build import config
from tests.conftest import ROOT

EFFECTIVE = """
import json, pathlib
from jupyter_book.config import get_final_config
final, _ = get_final_config(user_yaml=pathlib.Path("_config.yml"), cli_config={"latex_individualpages": False},
                            sourcedir=pathlib.Path("."), raise_on_invalid=True)
print(json.dumps(final, default=str))
"""


@pytest.fixture(scope="module")
def effective():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EFFECTIVE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return yaml.safe_load(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nb_execution_mode", "force"),  # a cache of outputs would not see an edit in lib/ or data/
        ("nb_execution_raise_on_error", True),  # else the second build is green
        ("nb_execution_allow_errors", False),
        ("nb_output_stderr", "remove-warn"),  # else a Python warning is only printed on the page
        ("external_toc_exclude_missing", True),  # else README.md and lib/ become pages
        ("suppress_warnings", ["myst.domains"]),  # Jupyter Book's own; the book adds none
        ("html_extra_path", ["_build/assets"]),
        ("mathjax_path", "../mathjax/tex-chtml.js"),
        ("language", "en"),
        ("html_last_updated_fmt", None),  # a date would make two builds differ
    ],
)
def test_effective_value(effective, key, value):
    assert effective[key] == value


def test_a_cell_may_run_longer_than_jupyter_books_default(effective):
    assert effective["nb_execution_timeout"] >= 120


def test_own_files_are_loaded(effective):
    assert "book.css" in effective["html_css_files"] and "book.js" in effective["html_js_files"]
    kept = [
        folder for folder in effective["html_static_path"] if not folder.startswith("_build/")
    ]  # a build makes those
    assert kept and all((ROOT / folder).is_dir() for folder in kept)
    assert "lib.build.extension" in effective["extensions"]


def test_every_key_is_one_that_something_reads():
    assert config.faults(ROOT / "_config.yml") == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("executee: {timeout: 3}", "did you mean 'execute'"),
        ("execute: {raise_on_erorr: true}", "did you mean 'execute.raise_on_error'"),
        ("only_build_toc_file: true", "did you mean 'only_build_toc_files'"),
        ("- a list", "wanted keys and values"),
        ("title: [", "_config.yml"),
    ],
)
def test_a_misspelt_key_is_refused_with_the_right_one(tmp_path, text, named):
    (tmp_path / "_config.yml").write_text(text)
    faults = config.faults(tmp_path / "_config.yml")
    assert len(faults) == 1 and named in faults[0]


def test_a_missing_configuration_is_said_so(tmp_path):
    assert "no such file" in config.faults(tmp_path / "_config.yml")[0]


def test_a_key_that_sphinx_does_not_know_is_named():
    assert config.unknown_to_sphinx({"language": "en"}, {"language"}) == []
    (fault,) = config.unknown_to_sphinx({"langauge": "en"}, {"language"})
    assert "sphinx.config.langauge" in fault and "'language'" in fault


def test_every_page_of_the_table_of_contents_is_named_once():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]
    names = [
        "index",
        "architecture",
        "efficiency",
        "deployment",
        "memory_economy",
        "convergence",
        "ceiling",
        "calculator",
        "claims",
        "reproduce",
    ]
    assert pages == [f"chapters/{name}" for name in names]
    assert all(part["caption"] for part in toc["parts"])
