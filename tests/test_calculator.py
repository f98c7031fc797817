"""What the calculator's page is given, read as its script reads it, against `lib.cost`."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess

import numpy as np
import pytest

from lib import calculator
from lib.calculator.export import cached_as, points
from lib.cost import ceiling, decode_step, dollars_per_million, max_batch, stored_bytes
from lib.data import model, models
from tests.conftest import ROOT

STATES = 500
EDGES = 120  # of them, also ceilings, which lib.cost searches for
WITHIN = 5e-3


def test_bends_are_kept_and_straight_stretches_dropped():
    """Breaks when a bend is lost, or every context is written out."""
    contexts = np.array(calculator.CONTEXTS)
    assert points(3.0 * contexts + 7) == [[1024, 3079.0], [2**24, 3.0 * 2**24 + 7]]
    bent = points(np.minimum(contexts, 4096))
    assert [place for place, _ in bent] == [1024, 4096, 2**24]


def states() -> list[dict]:
    """States of the form, each with one of its models."""
    rng = random.Random(0)
    return [
        {
            "name": rng.choice(list(models())), "context": rng.choice(calculator.CONTEXTS), "batch": rng.choice(calculator.BATCHES),
            "chip": rng.choice(calculator.CHIPS), "count": rng.choice(calculator.COUNTS), "split": rng.choice(list(calculator.SPLITS)),
            "cached": rng.choice(list(calculator.CACHED)), "rent": rng.uniform(0.5, 9), "tpot": rng.uniform(0.002, 0.3), "price": rng.uniform(0.1, 40),
        }
        for _ in range(STATES)
    ]  # fmt: skip


def wanted(state: dict, edges: bool = True) -> dict:
    """The same results from `lib.cost`; with `edges` ceilings too, which there have no shortest and no longest context."""
    m = cached_as(model(state["name"]), state["cached"])
    s = calculator.system(state["chip"], state["count"], state["split"] if state["count"] > 1 else "tensor")
    at = {"context": state["context"], "batch": state["batch"]}
    step = decode_step(m, s, **at)
    edge = {"batch": state["batch"], "memory": False}
    return {
        "stored": {part: float(getattr(stored_bytes(m, state["context"]), part)) for part in ("kv", "index", "state", "window")},
        "times": {name: float(step.parts[name]) for name in ("compute", "memory", "link")},
        "lower": float(step.time_lower), "upper": float(step.time_upper), "fits": int(max_batch(m, s, context=state["context"])),
        "rate": state["batch"] / float(step.time_upper),
        "dollars": [float(x) for x in dollars_per_million(m, s, **at, dollars_per_hour=state["rent"])],
    } | ({
        "ceilings": {
            "memory": ceiling(m, s, batch=state["batch"]), "tpot": ceiling(m, s, tpot=state["tpot"], **edge),
            "price": ceiling(m, s, price=state["price"], dollars_per_hour=state["rent"], **edge),
        },
    } if edges else {"ceilings": {}})  # fmt: skip


def close(got, value: float, *, whole: bool = False) -> bool:
    """Within half a per cent; a number of sequences may differ by one where a division ends at a whole number."""
    return math.isclose(got, value, rel_tol=WITHIN, abs_tol=1 if whole else 0)


def edge_agrees(got, value: int) -> bool:
    """The page knows contexts from 1K to 16M; null stands for NaN and Infinity in JSON."""
    first, last = calculator.CONTEXTS[0], calculator.CONTEXTS[-1]
    if got is None:
        return value <= first * 1.2 or value >= last * (1 - WITHIN)
    # compressed entries are whole groups: between two of them a straight line is off by less than a group
    return math.isclose(got, value, rel_tol=WITHIN, abs_tol=128) or value >= last * (1 - WITHIN)


def faults(state: dict, got: dict, edges: bool = True) -> list[str]:
    right = wanted(state, edges)
    found = [f"stored {part}" for part, value in right["stored"].items() if not close(got["stored"][part], value)]
    found += [f"time {name}" for name, value in right["times"].items() if not close(got["times"][name], value)]
    found += [name for name in ("lower", "upper", "rate") if not close(got[name], right[name])]
    found += ["fits"] * (not close(got["fits"], right["fits"], whole=True))
    found += ["dollars"] * any(not close(a, b) for a, b in zip(got["dollars"], right["dollars"], strict=True))
    found += [
        f"ceiling {name}: {got['ceilings'][name]}, not {value}"
        for name, value in right["ceilings"].items()
        if not edge_agrees(got["ceilings"][name], value)
    ]
    return found


RUN = """
const fs = require("fs"), read = (path) => JSON.parse(fs.readFileSync(path, "utf-8"));
global.window = {}; global.document = { addEventListener() {} };
require(process.argv[2]);
const data = read(process.argv[3]), states = read(process.argv[4]);
console.log(JSON.stringify(states.map((state) => window.bookCalculate(data, state, state.name))));
"""


@pytest.mark.skipif(
    not shutil.which("node"), reason="node is not installed: the page's script is run by the site's browser checks only"
)
def test_random_states_of_the_script(tmp_path):
    """Every model, chip, split, batch and format. Breaks when the script or what it is given leaves `lib.cost`."""
    chosen = states()
    (tmp_path / "data.json").write_text(json.dumps(calculator.content()))
    (tmp_path / "states.json").write_text(json.dumps(chosen))
    (tmp_path / "run.js").write_text(RUN)
    script = ROOT / "chapters" / "_static" / "calculator.js"
    done = subprocess.run(
        ["node", "run.js", str(script), "data.json", "states.json"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    wrong = {
        i: found
        for i, (state, got) in enumerate(zip(chosen, json.loads(done.stdout), strict=True))
        if (found := faults(state, got, i < EDGES))
    }
    assert not wrong, f"{len(wrong)} of {STATES} states differ: {[(chosen[i], wrong[i]) for i in list(wrong)[:3]]}"


def test_a_state_that_differs_is_told():
    """Breaks when the comparison above cannot fail."""
    state = states()[0]
    right = wanted(state)
    right["ceilings"] = {name: max(value, 2000) for name, value in right["ceilings"].items()}
    spoiled = right | {"lower": right["lower"] * 1.01}
    assert "lower" in faults(state, spoiled)
