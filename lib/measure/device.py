"""Which device this is, and what was running on it: what a record's meta.json says. No host names, no paths."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("torch", "triton", "numpy")
MEASURED = ("lib", "data/models", "benchmarks")  # what decides a sample, besides the machine


def kind(asked: str = "auto") -> str:
    """cpu or cuda; asking for a GPU where there is none is an error."""
    import torch

    if asked not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device: got {asked!r}, wanted auto, cpu or cuda")
    there = torch.cuda.is_available()
    if asked == "cuda" and not there:
        raise ValueError("device: got cuda, but torch sees no GPU here")
    return "cuda" if there and asked != "cpu" else "cpu"


def describe(which: str) -> dict:
    """The device's entry in meta.json."""
    known = _gpu() if which == "cuda" else _cpu()
    return {"slug": re.sub(r"[^a-z0-9]+", "-", known["name"].lower()).strip("-"), **known}


def _cpu() -> dict:
    import torch

    lines = dict(_pairs("/proc/cpuinfo"))
    model = lines.get("model name") or platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = dict(_pairs("/proc/meminfo")).get("MemTotal", "0 kB").split()[0]
    hertz = lines.get("cpu MHz")
    return {
        "name": f"{model.strip()}, {cores} cores", "kind": "cpu", "driver": torch.backends.cpu.get_cpu_capability(), "cores": cores,
        "memory_bytes": int(memory) * 1024 or None, "clock_hz": float(hertz) * 1e6 if hertz else None,
    }  # fmt: skip


def _gpu() -> dict:
    import torch

    found = torch.cuda.get_device_properties(0)
    asked = _said("nvidia-smi", "--query-gpu=driver_version,clocks.max.sm", "--format=csv,noheader,nounits", "-i", "0")
    driver, _, megahertz = asked.partition(", ")
    return {
        "name": found.name, "kind": "cuda", "driver": driver or f"CUDA {torch.version.cuda}", "cores": found.multi_processor_count,
        "memory_bytes": found.total_memory, "clock_hz": float(megahertz) * 1e6 if megahertz.strip().isdigit() else None,
    }  # fmt: skip


def _pairs(path: str) -> list[tuple[str, str]]:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return []
    return [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in reversed(lines))]


def run(command: str, seed: int, threads: int, out: Path) -> dict:
    """What this run is: commit, whether anything that decides a sample is uncommitted, versions, the moment."""
    import torch

    return {
        "commit": _said("git", "-C", str(ROOT), "rev-parse", "HEAD") or "unknown", "dirty": _dirty(), "command": command, "seed": seed,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "threads": threads, "notes": [],
        "software": {"python": platform.python_version(), "os": platform.system(), **{name: _version(name) for name in PACKAGES}, "cuda": torch.version.cuda},
    }  # fmt: skip


def _dirty() -> bool:
    """Whether code or dimensions differ from the commit; outside a checkout nothing says that they do not."""
    head = _said("git", "-C", str(ROOT), "rev-parse", "HEAD")
    return not head or bool(_said("git", "-C", str(ROOT), "status", "--porcelain", "--", *MEASURED))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
