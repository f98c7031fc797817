"""`python -m lib.stack train`: the committed runs, each resumed where it was killed, the record rewritten after each."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import torch

from lib.stack import committed, looks, record
from lib.stack.tasks import TASKS
from lib.stack.training import Result, Run, State, train


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lib.stack", description=__doc__)
    parser.add_argument("verb", choices=["train"])
    parser.add_argument("--out", type=Path, default=record.FOLDER, help="folder of the record")
    parser.add_argument(
        "--work", type=Path, default=record.ROOT / "_build" / "training", help="folder of checkpoints and finished runs"
    )
    parser.add_argument(
        "--budget", type=float, default=float("inf"), help="seconds after which no further run is begun"
    )
    parser.add_argument("--only", default="", help="runs whose name holds this text")
    parser.add_argument("--share", default="1/1", help="1/2 and 2/2 let two processes work side by side")
    options = parser.parse_args(arguments)
    part, of = map(int, options.share.split("/"))
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // of))
    began, chosen = time.monotonic(), [run for run in committed.runs() if options.only in run.name]
    if not chosen:
        print(f"--only {options.only!r}: no run has that in its name", file=sys.stderr)
        return 2
    for number, run in enumerate(chosen, 1):
        if number % of != part % of:
            continue
        if time.monotonic() - began > options.budget:
            print("the budget is spent; the same command goes on from here")
            break
        if not finished(run, options.work).exists():
            _one(run, options.work, f"{number}/{len(chosen)}")
        collect(options.work, options.out)
    return 0


def finished(run: Run, work: Path) -> Path:
    return work / f"{run.key()}.json"


def _one(run: Run, work: Path, place: str) -> None:
    began = time.monotonic()
    checkpoint = work / f"{run.key()}.pt"

    def progress(step: int, loss: float) -> None:
        print(
            f"\r{place} {run.name}: step {step}/{run.steps}, loss {loss:.3f}, {time.monotonic() - began:.0f} s",
            end="",
            flush=True,
        )

    state, result = train(run, checkpoint=checkpoint, progress=progress)
    print(f", right at {run.size}: {result.accuracies[run.size]:.1%}", flush=True)
    path = finished(run, work)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".json.part")
    part.write_text(json.dumps(content(state, result)))
    os.replace(part, path)
    checkpoint.unlink(missing_ok=True)


def content(state: State, result: Result) -> dict:
    """Everything of a run that goes into the record."""
    run = result.run
    shared = {"task": run.task, "size": run.size, "pattern": run.pattern, "residual": run.residual, "seed": run.seed, "steps": run.steps,
              "batch": run.batch, "rate": run.rate, "parameters": result.parameters, "loss": result.loss, "chance": TASKS[run.task].chance}  # fmt: skip
    rows = [
        shared | {"tested": size, "accuracy": share, "recall": result.recalls[size]}
        for size, share in result.accuracies.items()
    ]
    whose = {"pattern": run.pattern, "seed": run.seed}
    shown = run.task == "mqar" and run.residual == "plain" and run != committed.LIVE
    decays = (
        [
            whose | dict(zip(("layer", "head", "channel", "length"), row, strict=True))
            for row in looks.decay_lengths(state.model, run.task, run.size, run.seed)
        ]
        if shown
        else []
    )
    distances = (
        [
            whose | dict(zip(("layer", "edge", "share", "uniform"), row, strict=True))
            for row in looks.selected_distances(state.model, run.task, run.size, run.seed)
        ]
        if shown
        else []
    )
    return {"runs": rows, "decays": decays, "distances": distances}


def collect(work: Path, out: Path) -> None:
    """The record of all committed runs that are finished, in the order of the list."""
    done = [json.loads(path.read_text()) for run in committed.runs() if (path := finished(run, work)).exists()]
    for name in record.FILES:
        rows = [row for found in done for row in found[name]]
        if rows:
            record.write(name, rows, out)
    record.write_meta("python -m lib.stack train", out)
