"""Runs: the same bits again, also after a kill; the record's schema; what the chapter reads."""

from __future__ import annotations

import json

import pytest
import torch

from lib.stack import cli, committed, looks, record
from lib.stack.training import Run, State, train

SHORT = Run(task="mqar", size=5, pattern="KD", seed=1, steps=6, batch=4, tested=(2,), target=40_000)


def test_a_killed_run_goes_on_bit_for_bit(tmp_path):
    """Breaks when the generator, the optimiser or the schedule starts anew."""
    straight, _ = train(SHORT)
    first = State(SHORT)
    for _ in range(3):
        first.advance()
    first.save(tmp_path / "half.pt")
    state, result = train(SHORT, checkpoint=tmp_path / "half.pt")
    assert all(torch.equal(a, b) for a, b in zip(straight.model.parameters(), state.model.parameters(), strict=True))
    assert set(result.accuracies) == {2, 5} and 0 <= result.recalls[5] <= 1


def test_the_curriculum_grows_and_the_warm_up_ends():
    """Breaks when sizes pass the full one, or a DSA layer stays dense."""
    state = State(SHORT)
    sizes = []
    for _ in range(SHORT.steps):
        sizes.append(state.size())
        state.advance()
    assert sizes[0] == SHORT.shortest and sizes[-1] == SHORT.size and sizes == sorted(sizes)
    assert not state.model.mixers[1].layer.dense


def test_runs_have_names_and_keys_of_their_own():
    """Breaks when two runs share a checkpoint."""
    runs = committed.runs()
    assert len({run.key() for run in runs}) == len({run.name for run in runs}) == len(runs)


def test_the_command_resumes_and_writes(tmp_path, monkeypatch, capsys):
    """Breaks when a finished run is trained again, or the record misses one."""
    monkeypatch.setattr(committed, "runs", lambda: [SHORT])
    arguments = ["train", "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    assert cli.main(arguments) == 0
    before = record.read("runs", tmp_path / "out")
    monkeypatch.setattr(cli, "train", lambda *a, **k: pytest.fail("trained again"))
    assert cli.main(arguments) == 0
    assert before.equals(record.read("runs", tmp_path / "out"))
    assert set(before["tested"]) == {2, 5} and record.meta(tmp_path / "out")["command"]
    assert len(record.read("decays", tmp_path / "out")) == 2 * 16 and len(
        record.read("distances", tmp_path / "out")
    ) == len(looks.DISTANCES)
    assert cli.main([*arguments, "--only", "nothing"]) == 2 and "no run has that" in capsys.readouterr().err


HEAD = ",".join(record.RUNS)
ROW = "mqar,8,KKKM,plain,0,10,4,0.001,1000,1.5,8,0.9,,0.03"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "row 1: columns None"),
        (HEAD, "no rows"),
        (f"{HEAD}\n{ROW.replace('0.9', '1.9')}", r"row 2: accuracy=1\.9: wanted a share"),
        (f"{HEAD}\n{ROW.replace('KKKM', 'KKKX')}", "row 2: pattern='KKKX'"),
        (f"{HEAD}\n{ROW}\n{ROW[:20]}", "row 3: "),
        (f"{HEAD}\n{ROW.replace('mqar', 'chess')}", "row 2: task='chess'"),
        (f"{HEAD}\n{ROW.replace(',10,', ',ten,')}", "row 2: steps='ten': wanted int"),
    ],
)
def test_bad_records(content, told, tmp_path):
    """Each names file and row. Breaks when a truncated or foreign record is read as a shorter one."""
    (tmp_path / "runs.csv").write_text(content)
    with pytest.raises(record.RecordError, match=told):
        record.read("runs", tmp_path)


def test_no_record(tmp_path):
    with pytest.raises(record.RecordError, match="wanted a training record: make train"):
        record.read("runs", tmp_path)
    (tmp_path / "meta.json").write_text(json.dumps({"device": "x"}))
    with pytest.raises(record.RecordError, match="key commit is missing"):
        record.meta(tmp_path)


def test_distances_are_shares():
    """Breaks when a bin is left out or counted twice."""
    state = State(SHORT)
    for layer in state.model.modules():
        if hasattr(layer, "dense"):
            layer.dense = False
    rows = looks.selected_distances(state.model, "mqar", 5, 0)
    assert sum(share for *_, share, _ in rows) == pytest.approx(1) and sum(
        uniform for *_, uniform in rows
    ) == pytest.approx(1)
    assert all(length > 0 for *_, length in looks.decay_lengths(state.model, "mqar", 5, 0))
