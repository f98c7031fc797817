"""Training records: `data/training/*.csv` beside `meta.json`, written whole and renamed, read back with every cell checked."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from lib.stack.patterns import LETTERS
from lib.stack.tasks import TASKS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "data" / "training"
RUNS = {
    "task": str, "size": int, "pattern": str, "residual": str, "seed": int, "steps": int, "batch": int, "rate": float,
    "parameters": int, "loss": float, "tested": int, "accuracy": float, "recall": float, "chance": float,
}  # fmt: skip
DECAYS = {"pattern": str, "seed": int, "layer": int, "head": int, "channel": int, "length": float}
DISTANCES = {"pattern": str, "seed": int, "layer": int, "edge": int, "share": float, "uniform": float}
FILES = {"runs": RUNS, "decays": DECAYS, "distances": DISTANCES}
EMPTY = {"recall"}  # columns that may be empty: a model without an indexer has none


class RecordError(ValueError):
    """A record that cannot be used: which file, which row, what was wanted."""


def write(name: str, rows: Iterable[dict], folder: Path = FOLDER) -> None:
    """All rows of one file, in a fixed order."""
    schema, path = FILES[name], folder / f"{name}.csv"
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(schema), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _text(row[key]) for key in schema} for row in rows)
    os.replace(part, path)


def _text(value) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def read(name: str, folder: Path = FOLDER) -> pd.DataFrame:
    """A file as a frame. Raises RecordError that names file and row for what is missing, foreign or out of range."""
    schema, path = FILES[name], folder / f"{name}.csv"
    if not path.exists():
        raise RecordError(f"{path}: missing, wanted a training record: make train")
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != list(schema):
            raise RecordError(f"{path}: row 1: columns {reader.fieldnames}, wanted {list(schema)}")
        rows = [_parsed(row, schema, f"{path}: row {number}") for number, row in enumerate(reader, 2)]
    if not rows:
        raise RecordError(f"{path}: no rows, wanted at least one")
    return pd.DataFrame(rows)


def _parsed(row: dict, schema: dict, where: str) -> dict:
    found = {}
    for key, kind in schema.items():
        text = row.get(key)
        if text == "" and key in EMPTY:
            found[key] = float("nan")
            continue
        try:
            found[key] = kind(text)
        except (TypeError, ValueError):
            raise RecordError(f"{where}: {key}={text!r}: wanted {kind.__name__}") from None
        if text == "":
            raise RecordError(f"{where}: {key} is empty, wanted {kind.__name__}")
    _in_range(found, where)
    return found


def _in_range(row: dict, where: str) -> None:
    for key in ("accuracy", "recall", "chance", "share", "uniform"):
        value = row.get(key)
        if value is not None and value == value and not 0 <= value <= 1:
            raise RecordError(f"{where}: {key}={value}: wanted a share between 0 and 1")
    if set(row["pattern"]) - set(LETTERS):
        raise RecordError(f"{where}: pattern={row['pattern']!r}: wanted letters of {''.join(LETTERS)}")
    if "task" in row and row["task"] not in TASKS:
        raise RecordError(f"{where}: task={row['task']!r}: wanted one of {sorted(TASKS)}")


def write_meta(command: str, folder: Path = FOLDER) -> None:
    """Where and when the runs were made."""
    import torch

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    content = {
        "device": processor(), "cores": os.cpu_count(), "torch": torch.__version__, "python": platform.python_version(),
        "commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "--untracked-files=no")),
        "date": datetime.now(UTC).date().isoformat(), "command": command,
    }  # fmt: skip
    part = folder / "meta.part"
    part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    os.replace(part, folder / "meta.json")


def processor() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()


def meta(folder: Path = FOLDER) -> dict:
    path = folder / "meta.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: {error}, wanted the record's description") from None
    if missing := {"device", "torch", "commit", "date"} - set(content):
        raise RecordError(f"{path}: key {sorted(missing)[0]} is missing")
    return content
