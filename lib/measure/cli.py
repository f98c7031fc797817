"""The command line: `python -m lib.measure [--device auto|cpu|cuda] [--suite …|all] [--budget SECONDS] [--out DIR]`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import pandas as pd

from lib.measure import record as records
from lib.measure.record import MalformedRecord, Record
from lib.measure.suites import NAMES, suite

SEED = 0


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m lib.measure", description="Measure the mechanisms on this device and keep the samples.")  # fmt: skip
    root.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: a GPU if there is one"
    )
    root.add_argument("--suite", default="all", help=f"{', '.join(NAMES)}, all, or several with commas (default: all)")
    root.add_argument(
        "--budget", type=_positive, metavar="SECONDS", help="stop after the point that reaches it; call again to go on"
    )
    root.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the record (default: data/measurements/<device>)"
    )
    root.add_argument(
        "--memory",
        type=_positive,
        metavar="GIB",
        help="never take more than this for inputs (default: 70 %% of what is free)",
    )
    root.add_argument("--threads", type=int, help="CPU threads (default: torch's choice)")
    root.add_argument("--again", action="store_true", help="measure points anew that the record has")
    root.add_argument("--check", action="store_true", help="read the records in DIR or the repository, measure nothing")
    return root


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}, wanted a number above 0")
    return value


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        return check(options.out) if options.check else measure(options)
    except (ValueError, OSError, MemoryError) as error:
        print(error, file=sys.stderr)
        return 2


def check(folder: Path | None) -> int:
    """Read every record, print what each holds, and what is wrong with it."""
    folders = [folder] if folder else [path for path in sorted(records.FOLDER.glob("*")) if path.is_dir()]
    failed = 0
    for path in folders:
        try:
            found = records.read(path)
        except MalformedRecord as error:
            print(error)
            failed = 1
            continue
        counts = ", ".join(f"{name} {len(found.points(name))} points" for name in found.suites)
        print("; ".join([f"{found.title}: {counts}", *found.marks()]))
    return failed


def measure(options: argparse.Namespace) -> int:
    import torch

    from lib.measure import clock, device, harness, load, memory

    names = NAMES if options.suite == "all" else tuple(options.suite.split(","))
    modules = {name: suite(name) for name in names}
    which = device.kind(options.device)
    if options.threads:
        torch.set_num_threads(options.threads)
    described = device.describe(which)
    record = _opened(options.out or records.FOLDER / described["slug"], described)
    command = "python -m lib.measure " + " ".join(f"--{key} {value}" for key, value in (("device", which), ("suite", options.suite), ("budget", options.budget), ("memory", options.memory)) if value)  # fmt: skip
    record.runs.append(device.run(command, SEED, torch.get_num_threads(), record.folder))
    most = options.memory and options.memory * 2**30
    pools: list[memory.Pool] = []

    def room(need: int, want: int) -> memory.Pool:
        size = max(need, min(want, free()))
        if not pools or pools[0].size < size:
            pools.clear()
            pools.append(memory.Pool(size, which, SEED))
        return pools[0]

    def free() -> int:
        return memory.allowance(which, most, pools[0].size if pools else 0)

    started, left = time.monotonic(), []
    for name, module in modules.items():
        rest = None if options.budget is None else options.budget - (time.monotonic() - started)
        if rest is not None and rest <= 0:
            left.append(f"the whole suite {name}")
            continue
        known = {} if options.again else record.known(name)
        run = harness.Run(
            clock.of(which), room, free, lambda *done: _keep(record, *done),
            known, rest, skip=getattr(module, "too_slow", lambda plan, known: False), others=load.Others().look,
        )  # fmt: skip
        with torch.inference_mode():
            report = run(module.plans(which))
        record.runs[-1]["notes"] += report.notes
        left += report.left
        print(f"{name}: {report.measured} points measured, {report.kept} were there, {len(report.left)} left")
    _close(record)
    if left:
        print(f"the budget of {options.budget:g} s is used; call again for {len(left)} more, from {left[0]} on")
    print(f"record: {record.folder}")
    return 0


def _opened(folder: Path, described: dict) -> Record:
    """The record to go on with, or a new one; a folder with another device's record is refused."""
    folder = folder if folder.name == described["slug"] else folder / described["slug"]
    if not (folder / "meta.json").exists():
        return Record(folder, described)
    record = records.read(folder)
    if record.device["name"] != described["name"]:
        raise MalformedRecord(
            f"{folder}: holds samples of {record.device['name']}, this is {described['name']}; wanted another --out"
        )
    return record


def _keep(record: Record, plan, case, samples, mode: str, load: float | None) -> None:
    """Store a point's samples, in place of older ones, and write the suite."""
    point, extra = plan.point, case.extra()
    shared = {
        "run": len(record.runs) - 1,
        **point._asdict(),
        "bytes": plan.work.bytes,
        "flops": plan.work.flops,
        "buffers": case.buffers,
        "mode": mode,
        "load": load,
    }
    rows = [shared | {"sample": i, "calls": s.calls, "seconds": s.seconds} | {key: value[i - len(samples)] if isinstance(value, list) else value for key, value in extra.items()} for i, s in enumerate(samples)]  # fmt: skip
    new = pd.DataFrame(rows, columns=records.columns(point.suite))
    old = record.suites.get(point.suite)
    if old is not None and not old.empty:
        other = (old[records.POINT] != pd.Series(point._asdict())).any(axis=1)
        new = pd.concat([old[other], new], ignore_index=True) if other.any() else new
    record.suites[point.suite] = new
    records.write_suite(record, point.suite)


def _close(record: Record) -> None:
    """Drop runs that left no sample, renumber, write."""
    used = sorted({int(run) for frame in record.suites.values() for run in frame["run"].unique()})
    if not used:
        return
    place = {old: new for new, old in enumerate(used)}
    record.runs = [record.runs[old] for old in used]
    for frame in record.suites.values():
        frame["run"] = frame["run"].map(place)
    records.write(record)
