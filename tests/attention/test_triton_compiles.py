"""The kernels pass Triton's compiler for an H100, which no interpreter stands for. No GPU is needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

triton = pytest.importorskip("triton", reason="triton is not installed: there is no compiler to try")

SHARED = 227 * 1024  # bytes of shared memory that a block may have on an H100 or H200 (CUDA programming guide, 9.0)


def test_every_kernel_compiles(tmp_path):
    """Breaks when a kernel holds what only the interpreter allows, or asks for more shared memory than there is."""
    clean = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.attention.compile_kernels"], cwd=ROOT, capture_output=True, text=True,
        env=clean | {"TRITON_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    shared = [int(size) for size in re.findall(r"(\d+) bytes of shared", done.stdout)]
    assert len(shared) == 8 and max(shared) <= SHARED
