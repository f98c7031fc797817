"""What benchmarks/gpu.sh checks before it times anything; its kernels are tried on the CPU here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import preflight

SCRIPT = Path(preflight.__file__).with_name("gpu.sh")


def test_every_mechanism_is_tried():
    """Mutation: a mechanism that first fails after minutes of measuring."""
    assert preflight.kernels("cpu", 256) == "9 run"


def test_the_first_lack_ends_it_with_what_was_wanted(capsys):
    """Mutation: a traceback, or a run that goes on without a GPU."""

    def lacking() -> str:
        raise preflight.Lacking("none, wanted one")

    assert preflight.run({"first": lambda: "there", "GPU": lacking, "later": lambda: pytest.fail("went on")}) == 1
    told = capsys.readouterr()
    assert told.out == "first: there\n" and told.err == "GPU: none, wanted one\n"


def test_lacks_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(preflight.Lacking, match="sees none"):
        preflight.gpu()
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (2**30, 80 * 2**30))
    with pytest.raises(preflight.Lacking, match=r"1\.0 of 80\.0 GiB are free, wanted 8"):
        preflight.memory()
    monkeypatch.setattr(preflight, "TORCH", (99, 0))
    with pytest.raises(preflight.Lacking, match=r"wanted 99\.0 or newer"):
        preflight.torch()
    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda out: type("Use", (), {"free": 1 << 20})())
    with pytest.raises(preflight.Lacking, match="1 MiB are free"):
        preflight.disk(tmp_path)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["a", "b"]])
def test_the_script_says_how_it_is_called(arguments):
    done = subprocess.run(["bash", str(SCRIPT), *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and "usage: benchmarks/gpu.sh OUT_DIR" in done.stderr


def test_without_a_gpu_the_script_ends_before_it_times_anything(tmp_path):
    """Mutation: an unset CUDA_VISIBLE_DEVICES, which `set -u` refuses; a record of the CPU where a GPU's was asked for."""
    settings = {key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"} | {
        "PYTHON": sys.executable
    }
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU: the script would measure")
    done = subprocess.run(["bash", str(SCRIPT), str(tmp_path / "out")], capture_output=True, text=True, env=settings)
    assert done.returncode == 1 and "GPU: " in done.stderr and "unbound" not in done.stderr
    assert list((tmp_path / "out").iterdir()) == []
