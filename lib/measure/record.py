"""A record: raw samples of one device, `data/measurements/<device>/<suite>.csv`, and `meta.json` with where they came from.

Files are replaced whole, through a temporary file, after each point: a killed run loses the point that it was at.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd

from lib.measure.point import Point

FOLDER = Path(__file__).resolve().parent.parent.parent / "data" / "measurements"
SCHEMA = 1
# column -> what it holds; the units are SI
COLUMNS = {
    "run": "which entry of meta.json's list of runs took the sample, from 0",
    "suite": "limits, decode, prefill, stack or tiers",
    "name": "mechanism, limit or stack",
    "model": "model of data/models, or hypothetical twin, whose dimensions were run",
    "context": "tokens in the cache (prefill: tokens processed; a product: rows of the cube)",
    "batch": "sequences",
    "dtype": "of caches and inputs; recurrent states are float32",
    "variant": "part of a step, or way of doing it",
    "bytes": "least bytes that one call must move",
    "flops": "floating-point operations of one call",
    "buffers": "distinct sets of inputs that calls took in turn",
    "mode": "clock (around the call), graph (CUDA events around a replay) or events (CUDA events around the call)",
    "sample": "number of the sample of its point, from 0",
    "calls": "calls in a row that the sample is the mean of",
    "seconds": "of one call",
    "load": "cores that other programs used while the point was sampled (empty where the system does not say)",
}
EXTRA = {
    "tiers": {
        "medium": "memory, file, or file (cached) where the page cache could not be passed by",
        "method": "direct (O_DIRECT), dropped (page cache dropped before each call) or cached",
        "bytes_read": "bytes that the calls of the sample read from the file, each, as the system counts them, else as asked for",
        "hit_rate": "selected rows found in the hot buffer (empty where there is none)",
        "buffer": "rows of the hot buffer over rows of the cache",
        "locality": "of the synthetic selection: share of rows kept from one step to the next",
    }
}
EMPTY = {"load", *EXTRA["tiers"]}  # columns of numbers that may have none
TEXT = {"suite", "name", "model", "dtype", "variant", "mode", "medium", "method"}
WHOLE = {"run", "context", "batch", "buffers", "sample", "calls"}
POINT = list(Point._fields)
DEVICE = {"slug", "name", "kind", "driver", "cores", "memory_bytes", "clock_hz"}
RUN = {"commit", "dirty", "date", "command", "seed", "threads", "software", "notes"}


class MalformedRecord(ValueError):
    """A file of a record that is broken, cut off, or of another device; the message names file and row."""


def columns(suite: str) -> list[str]:
    return [*COLUMNS, *EXTRA.get(suite, {})]


@dataclass
class Record:
    """One device's samples by suite, and the meta data."""

    folder: Path
    device: dict
    runs: list[dict] = field(default_factory=list)
    suites: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.device["name"]

    def points(self, suite: str) -> pd.DataFrame:
        """One row a point: medians, quartile spread and number of samples beside the point's work."""
        frame = self.suites.get(suite)
        if frame is None or frame.empty:
            return pd.DataFrame(columns=[*POINT, "bytes", "flops", "seconds", "spread", "samples"])
        keys = frame.groupby(POINT, sort=False, dropna=False)
        first = keys.first().drop(columns=["sample", "seconds", "calls"])
        quarters = keys["seconds"].quantile([0.25, 0.5, 0.75]).unstack()
        return first.assign(
            seconds=quarters[0.5], spread=(quarters[0.75] - quarters[0.25]) / 2 / quarters[0.5], samples=keys.size()
        ).reset_index()

    def known(self, suite: str) -> dict[Point, float]:
        rows = self.points(suite)
        return {Point(*row[:-1]): row[-1] for row in rows[[*POINT, "seconds"]].itertuples(index=False, name=None)}

    def marks(self) -> list[str]:
        """What a reader must know of the record before trusting it: samples of uncommitted code."""
        used = {int(run) for frame in self.suites.values() for run in frame["run"].unique()}
        dirty = [run["commit"] for place, run in enumerate(self.runs) if place in used and run["dirty"]]
        return [f"taken with uncommitted changes to {commit}" for commit in dict.fromkeys(dirty)]


def read(folder: Path) -> Record:
    """The record in `folder`; raises MalformedRecord on anything that is not one."""
    meta = _meta(folder / "meta.json")
    if meta["device"]["slug"] != folder.name:
        raise MalformedRecord(
            f"{folder / 'meta.json'}: device.slug is {meta['device']['slug']!r}, wanted {folder.name!r}, the folder's name"
        )
    record = Record(folder, meta["device"], meta["runs"])
    for path in sorted(folder.glob("*.csv")):
        record.suites[path.stem] = _suite(path, len(record.runs))
    return record


def _meta(path: Path) -> dict:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MalformedRecord(f"{path}: no such file; a record has one beside its samples") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise MalformedRecord(f"{path}: not readable as JSON: {error}") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        got = content.get("schema") if isinstance(content, dict) else type(content).__name__
        raise MalformedRecord(f"{path}: schema: got {got!r}, wanted {SCHEMA}")
    _keys(path, "device", content.get("device"), DEVICE)
    if not isinstance(content.get("runs"), list) or not content["runs"]:
        raise MalformedRecord(f"{path}: runs: got {content.get('runs')!r}, wanted a list with an entry for each run")
    for place, run in enumerate(content["runs"]):
        _keys(path, f"runs[{place}]", run, RUN)
    return content


def _keys(path: Path, what: str, found: object, wanted: set[str]) -> None:
    if not isinstance(found, dict) or set(found) != wanted:
        got = sorted(found) if isinstance(found, dict) else type(found).__name__
        raise MalformedRecord(f"{path}: {what}: got {got}, wanted the keys {sorted(wanted)}")


def _suite(path: Path, runs: int) -> pd.DataFrame:
    from lib.measure.suites import NAMES

    if path.stem not in NAMES:
        raise MalformedRecord(f"{path}: no suite has this name, wanted one of {', '.join(NAMES)}")
    names, records = columns(path.stem), []
    try:
        text = path.read_text(encoding="utf-8")
        if not text.endswith("\n"):
            raise MalformedRecord(f"{path}, row {text.count(chr(10)) + 1}: cut off, wanted a line end")
        lines = csv.reader(io.StringIO(text), strict=True)
        head = next(lines, [])
        if head != names:
            raise MalformedRecord(f"{path}, row 1: columns {head}, wanted {names}")
        records = [_row(path, lines.line_num, fields, names, runs) for fields in lines]
    except UnicodeDecodeError as error:
        raise MalformedRecord(f"{path}: not UTF-8 at byte {error.start}") from None
    except csv.Error as error:
        raise MalformedRecord(f"{path}, row {lines.line_num}: {error}") from None
    frame = pd.DataFrame(records, columns=names)
    _whole_points(path, frame)
    return frame


def _row(path: Path, number: int, fields: list[str], names: list[str], runs: int) -> list:
    place = f"{path}, row {number}"
    if len(fields) != len(names):
        raise MalformedRecord(f"{place}: {len(fields)} fields, wanted {len(names)}")
    row = [_value(f"{place}, column {name!r}", name, text) for name, text in zip(names, fields, strict=True)]
    values = dict(zip(names, row, strict=True))
    if values["suite"] != path.stem:
        raise MalformedRecord(f"{place}, column 'suite': {values['suite']!r}, wanted {path.stem!r}, the file's name")
    if not 0 <= values["run"] < runs:
        raise MalformedRecord(f"{place}, column 'run': {values['run']}, wanted an entry of meta.json's {runs} runs")
    if not (values["seconds"] > 0 and values["bytes"] >= 0 and values["flops"] >= 0):
        raise MalformedRecord(
            f"{place}: seconds {values['seconds']}, bytes {values['bytes']}, flops {values['flops']}: wanted seconds > 0, the others >= 0"
        )
    return row


def _value(place: str, name: str, text: str) -> object:
    if name in TEXT:
        return text
    if text == "" and name in EMPTY:
        return math.nan
    try:
        value = int(text) if name in WHOLE else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise MalformedRecord(f"{place}: {text!r}, wanted a {'whole ' if name in WHOLE else ''}number")
    return value


def _whole_points(path: Path, frame: pd.DataFrame) -> None:
    """A point's samples are numbered from 0 and stand together: a gap means that lines were lost or mixed."""
    wanted: dict[tuple, int] = {}
    for place, (*key, sample) in enumerate(frame[[*POINT, "sample"]].itertuples(index=False, name=None)):
        if sample != wanted.get(tuple(key), 0):
            raise MalformedRecord(
                f"{path}, row {place + 2}, column 'sample': {sample}, wanted {wanted.get(tuple(key), 0)}: lines are missing or doubled"
            )
        wanted[tuple(key)] = sample + 1


def write(record: Record) -> None:
    """Write meta.json and every suite, each file whole or not at all."""
    for suite in record.suites:
        write_suite(record, suite)


def write_suite(record: Record, suite: str) -> None:
    """Write meta.json, then one suite: samples never stand there without the run that took them."""
    record.folder.mkdir(parents=True, exist_ok=True)
    content = {"schema": SCHEMA, "device": record.device, "runs": record.runs}
    _replace(record.folder / "meta.json", json.dumps(content, indent=1) + "\n")
    text = record.suites[suite].to_csv(index=False, lineterminator="\n", columns=columns(suite))
    _replace(record.folder / f"{suite}.csv", text)


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise OSError(
            error.errno, f"cannot write {path}: {error.strerror}; is the disk full or the folder read-only?"
        ) from None


@cache
def records() -> dict[str, Record]:
    """Every record in the repository by slug, GPUs first."""
    if not FOLDER.is_dir():
        return {}
    found = [read(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()]
    return {r.folder.name: r for r in sorted(found, key=lambda r: r.device["kind"] != "cuda")}


def reference() -> Record | None:
    """The record that claims rest on: the first GPU's, else the first CPU's; None while there is none."""
    return next(iter(records().values()), None)
