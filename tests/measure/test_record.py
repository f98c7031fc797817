"""Records: what a broken, cut or foreign file says, and that every record in the repository is whole."""

from __future__ import annotations

import json

import pytest

from lib.measure import record as records
from lib.measure.record import MalformedRecord, Record
from tests.measure.test_harness import DEVICE, RUN, _frame


@pytest.fixture
def folder(tmp_path):
    records.write(Record(tmp_path / "toy", DEVICE, [dict(RUN)], {"decode": _frame()}))
    return tmp_path / "toy"


def test_a_record_comes_back_as_it_was_written(folder):
    """Mutation: floats rounded on the way, an empty variant read as missing."""
    back = records.read(folder)
    assert back.suites["decode"].equals(_frame()) and back.device == DEVICE and back.runs == [RUN]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda text: text[:-5], "row 3: cut off"),
        (lambda text: text.replace("0.5", "soon", 1), "row 2, column 'seconds': 'soon', wanted a number"),
        (lambda text: text.replace("0.5", "-0.5", 1), "row 2: seconds -0.5"),
        (lambda text: text.replace("0.5", "nan", 1), "row 2, column 'seconds': 'nan'"),
        (lambda text: text.replace(",8,1,bfloat16", ",8.5,1,bfloat16", 1), "row 2, column 'context': '8.5', wanted a whole number"),
        (lambda text: text.replace(",0.5,", ",", 1), "row 2: 15 fields, wanted 16"),
        (lambda text: text.replace("run,", "run,run,", 1), "row 1: columns"),
        (lambda text: "".join(text.splitlines(keepends=True)[:1] + text.splitlines(keepends=True)[2:]), "row 2, column 'sample': 1, wanted 0"),
        (lambda text: text + text.splitlines(keepends=True)[-1], "row 4, column 'sample': 1, wanted 2"),
        (lambda text: text.replace("0,decode", "7,decode", 1), "row 2, column 'run': 7"),
        (lambda text: text.replace("0,decode", "0,stack", 1), "row 2, column 'suite': 'stack', wanted 'decode'"),
        (lambda text: text.replace("mla", '"mla', 1), "row"),
        (lambda text: "", "row 1"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_its_row(folder, change, wanted):
    """Mutation: pandas reading what it can, or an error without a place."""
    path = folder / "decode.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(MalformedRecord) as error:
        records.read(folder)
    assert str(path) in str(error.value) and wanted in str(error.value)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda meta: meta | {"schema": 2}, "schema: got 2, wanted 1"),
        (lambda meta: meta | {"device": meta["device"] | {"slug": "other"}}, "device.slug is 'other', wanted 'toy'"),
        (lambda meta: meta | {"device": {"slug": "toy"}}, "device: got"),
        (lambda meta: meta | {"runs": []}, "runs: got []"),
        (lambda meta: meta | {"runs": [{"commit": "x"}]}, "runs[0]: got ['commit'], wanted the keys"),
    ],
)
def test_broken_meta_data_says_what_was_wanted(folder, change, wanted):
    """Mutation: a key that is missing read as None; a folder copied from another device."""
    path = folder / "meta.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(MalformedRecord) as error:
        records.read(folder)
    assert wanted in str(error.value) and str(path) in str(error.value)


def test_missing_and_unknown_files_are_named(folder):
    (folder / "speed.csv").write_text("x\n")
    with pytest.raises(MalformedRecord, match=r"speed\.csv: no suite has this name"):
        records.read(folder)
    (folder / "meta.json").unlink()
    with pytest.raises(MalformedRecord, match=r"meta\.json: no such file"):
        records.read(folder)


def test_uncommitted_code_marks_a_record(folder):
    """Mutation: `dirty` stored and shown nowhere."""
    assert records.read(folder).marks() == []
    path = folder / "meta.json"
    path.write_text(path.read_text().replace('"dirty": false', '"dirty": true'))
    assert records.read(folder).marks() == ["taken with uncommitted changes to abc"]


@pytest.mark.parametrize("path", [p for p in sorted(records.FOLDER.glob("*")) if p.is_dir()], ids=lambda p: p.name)
def test_every_record_in_the_repository_is_whole_and_clean(path):
    """What CI asks of a contributed record. Mutation: any field of any row."""
    found = records.read(path)
    assert found.marks() == []
    assert set(found.suites) >= {"limits", "decode"}
