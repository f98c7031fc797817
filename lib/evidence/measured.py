"""What the records say, in the shape in which claims and tables argue with it. One record is the reference: a GPU's, else a CPU's."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib.evidence.geometry import kimi_linear, linear_share
from lib.measure import fit, record, roofline
from lib.measure.fit import Fit
from lib.measure.record import Record
from lib.measure.subjects import HYBRID

FITTED = 2**14  # contexts from here on: below, what a step costs in itself hides what it costs a token
MECHANISMS = ("softmax", "mla", "hybrid", "dsa", "csa", "hca", "window", "gated_delta", "kda")
M1, K128 = 2**20, 2**17


def reference() -> Record:
    """The record that claims rest on; an error that says how to make one while there is none."""
    found = record.reference()
    if found is None:
        raise LookupError(f"{record.FOLDER}: no record yet, wanted one: python -m lib.measure")
    return found


def provenance() -> str:
    return f"record of {reference().title}"


def decode(batch: int = 1, of: Record | None = None) -> pd.DataFrame:
    """Seconds of one layer's step, contexts down, mechanisms across; `hybrid` is a quarter of its four layers."""
    points = (of or reference()).points("decode")
    whole = points[(points["batch"] == batch) & ~points["variant"].isin(["score", "select", "attend"])]
    table = whole.pivot(index="context", columns="name", values="seconds").sort_index()
    return table.assign(hybrid=table["hybrid"] / 4)[[name for name in MECHANISMS if name in table]]


def parts() -> pd.DataFrame:
    """Seconds of the parts of a DSA step: score, select, attend."""
    points = reference().points("decode")
    found = points[points["variant"].isin(["score", "select", "attend"])]
    return found.pivot(index="context", columns="variant", values="seconds").sort_index()[["score", "select", "attend"]]


@cache
def exponent(name: str, of: str | None = None) -> Fit:
    """How the time of one layer's step grows with context, from 16K tokens on; `of` is a part of the DSA step."""
    times = (parts()[of] if of else decode()[name]).loc[FITTED:].dropna()
    return fit.power_law(times.index, times)


def at(context: int, above: str, below: str, batch: int = 1) -> float:
    """Ratio of two mechanisms' times, a layer's step each."""
    row = decode(batch).loc[context]
    return float(row[above] / row[below])


def crossing(first: str, second: str) -> float | None:
    """The last context at which the two lines meet."""
    table = decode()[[first, second]].dropna()
    found = fit.crossings(table.index, table[first], table[second])
    return found[-1] if found else None


def index_share(context: int = M1) -> float:
    """Of a DSA step's time, what scoring and selecting take."""
    row = parts().loc[context]
    return float((row["score"] + row["select"]) / row.sum())


def stack(context: int) -> pd.Series:
    """Seconds of one step of each whole stack; empty where the suite was not measured."""
    points = reference().points("stack")
    return points[points["context"] == context].set_index("name")["seconds"]


def stack_ratio(context: int, twin: str = "all-mla") -> float:
    """The twin's step over the hybrid's, mechanisms alone."""
    times = stack(context)
    return float(times[f"{HYBRID}-{twin}"] / times[HYBRID])


def prefill() -> pd.DataFrame:
    """Seconds a token, prompt lengths down, mechanisms across."""
    points = reference().points("prefill")
    table = points.pivot(index="context", columns="name", values="seconds").sort_index()
    return table.div(table.index, axis=0)


@cache
def prefill_exponent(name: str) -> Fit:
    """How a whole prefill grows, over the longer half of the lengths."""
    times = prefill()[name].dropna()
    times = times.iloc[len(times) // 2 - 1 :]
    return fit.power_law(times.index, times * times.index)


class StateStep(NamedTuple):
    """What the recurrent state adds to a step: seconds of the hybrid's linear layers and of its latent layers."""

    linear: float
    latent: float
    twin: float

    @property
    def share(self) -> float:
        return self.linear / (self.linear + self.latent)


def state_latency(context: int) -> StateStep:
    """Of the hybrid's stack at a context: its KDA layers, its MLA layers, and the MLA layers that KDA replaced. Layers run
    one after the other in all of them."""
    linear, other = linear_share(kimi_linear())
    row = decode().loc[context]
    return StateStep(linear * float(row["kda"]), other * float(row["mla"]), (linear + other) * float(row["mla"]))


def state_break_even() -> float:
    """The context at which one KDA step takes as long as one MLA step; the shortest one measured if it is always faster."""
    table = decode()
    return crossing("mla", "kda") or float(table.index[0])


def tiers() -> pd.DataFrame:
    """One row a point of suite *tiers*, with the means of what was noted beside the times."""
    found = reference()
    points, frame = found.points("tiers"), found.suites.get("tiers")
    if frame is None:
        return points
    noted = frame.groupby(record.POINT, sort=False, dropna=False)[["bytes_read", "hit_rate"]].mean().reset_index()
    return points.drop(columns=["bytes_read", "hit_rate"], errors="ignore").merge(noted, on=record.POINT)


def tier(name: str, context: int, medium: str, locality: float | None = None, buffer: float | None = None) -> pd.Series:
    """One point: of MLA, or of DSA at a locality and a buffer (0 to 1, of the context)."""
    found = tiers()
    rows = found[(found["name"] == name) & (found["context"] == context) & found["variant"].str.startswith(medium)]
    if locality is not None:
        rows = rows[np.isclose(rows["locality"], locality) & (abs(rows["buffer"] - (buffer or 0.0)) < 1e-3)]
    if len(rows) != 1:
        raise LookupError(
            f"tiers: {len(rows)} points of {name}, {context:,} tokens, {medium}: wanted one; measure --suite tiers"
        )
    return rows.iloc[0]


def fractions(found: Record, suite: str) -> pd.DataFrame:
    """A suite's points with the roofline fraction of each."""
    points = found.points(suite)
    known = roofline.limits(found)
    return points.assign(fraction=roofline.fraction(points, known), bound=roofline.bound(points, known))


def least_and_median(found: Record, suite: str) -> tuple[float, float]:
    values = fractions(found, suite)["fraction"]
    return float(values.min()), float(np.median(values))
