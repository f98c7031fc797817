"""The README's examples, as they stand there, and Binder's short list of packages."""

import re
import subprocess
import sys

import pytest
import yaml

from lib.cost import stored_bytes
from lib.data import models
from lib.data.chips import load_chips
from lib.data.claims import ClaimSpec
from lib.data.load import DATA, load_models
from lib.data.prices import load_prices
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def example(language, mark):
    (found,) = [block for block in blocks(language) if mark in block]
    return found


def added(name, mark, folder):
    """A data file with the README's entry in it; entries stand two columns in."""
    entry = "".join(f"  {line}\n" for line in example("yaml", mark).splitlines())
    text = (DATA / name).read_text(encoding="utf-8")
    head = re.search(r"^(chips|prices):\n", text, flags=re.MULTILINE)
    (folder / name).write_text(text[: head.end()] + entry + text[head.end() :], encoding="utf-8")
    return folder / name


def test_a_model(tmp_path, monkeypatch):
    """Breaks when the copied file's keys change, or half the key-value heads no longer halve the cache."""
    (tmp_path / "data" / "models").mkdir(parents=True)
    near = DATA / "models" / "llama-3.1-70b.yml"
    (tmp_path / "data" / "models" / near.name).write_text(near.read_text())
    monkeypatch.chdir(tmp_path)
    exec(example("python", "my-model.yml"), {})
    found = load_models(tmp_path / "data" / "models")
    half, whole = stored_bytes(found["my-model"], 4096).total, stored_bytes(models()["llama-3.1-70b"], 4096).total
    assert 2 * half == whole


def test_a_chip(tmp_path):
    """Breaks when a field is added to chips, renamed, or takes another unit."""
    found, _ = load_chips(added("chips.yml", "my-chip", tmp_path))
    assert found["my-chip"].memory_bytes == 192e9


def test_a_price(tmp_path):
    """Breaks when a field is added to prices or renamed."""
    assert load_prices(added("prices.yml", "my-model-2026-12", tmp_path))["my-model-2026-12"].output == 3.0


def test_a_claim():
    """Breaks when a claim's fields or a rule's form change; the rule must be able to fail."""
    (entry,) = yaml.safe_load(example("yaml", "C-59"))
    claim = ClaimSpec.model_validate(entry)
    space = {}
    exec(example("python", "constant_state"), space)
    assert str(space["constant_state"](claim).verdict) == "holds"
    assert "not hold" in str(space["constant_state"](claim, states={4096: 1.0, 2**20: 2.0}).verdict)


def test_a_chapter():
    """Breaks when the table that the example shows is gone."""
    from lib.tables import TABLES

    (name,) = re.findall(r'book\.show\("([^"]+)"\)', README.split("**A chapter**")[1])
    assert name in TABLES


@pytest.mark.parametrize("line", (ROOT / "binder" / "requirements.txt").read_text().split())
def test_binder_has_the_versions_of_the_book(line):
    """Breaks when an upgrade of the constraints forgets Binder."""
    assert line in (ROOT / "constraints.txt").read_text().split("\n")


def test_tables_and_claims_need_no_torch():
    """Breaks when a module that most chapters import takes torch in: Binder does without it."""
    code = "import sys; sys.modules['torch'] = None; import lib.book, lib.tables, lib.claims, lib.calculator, lib.plots, lib.numbers"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
