"""Tables of what was measured: the records in data/measurements, and what a build measures again beside them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from lib.evidence import measured
from lib.evidence.words import tokens
from lib.measure import live, record, roofline, subjects
from lib.measure.fit import power_law
from lib.measure.work import of_point
from lib.tables.spec import Column, Table

TITLES = {
    "softmax": "full attention (GQA)", "window": "sliding window", "mla": "MLA", "hybrid": "3 KDA : 1 MLA", "gated_delta": "Gated DeltaNet",
    "kda": "KDA", "dsa": "DSA", "csa": "CSA", "hca": "HCA",
}  # fmt: skip
FREE = math.inf  # the band of a column that is this device's alone: shown, never compared
M1 = 2**20


def decode() -> pd.DataFrame:
    """Milliseconds of one layer's step at batch 1."""
    table = 1e3 * measured.decode()
    return pd.DataFrame([{"context": tokens(c)} | row.to_dict() for c, row in table.iterrows()])


def batches() -> pd.DataFrame:
    """Milliseconds of a step of 16 sequences by a step of one, at the largest context that has both."""
    one, many = measured.decode(), measured.decode(16)
    context = int(many.index.max())
    return pd.DataFrame([
        {"mechanism": TITLES[name], "context": tokens(context), "one": 1e3 * one.loc[context, name], "sixteen": 1e3 * many.loc[context, name],
         "each": 1e3 * many.loc[context, name] / 16, "gain": 16 * one.loc[context, name] / many.loc[context, name]}
        for name in measured.MECHANISMS if name in many
    ])  # fmt: skip


def exponents() -> pd.DataFrame:
    """How the time of a layer's step grows, beside how its bytes and FLOPs do, and how near it is to the device's limits."""
    found = measured.reference()
    points = measured.fractions(found, "decode")
    rows = []
    for name, layer in subjects.layers().items():
        fitted = measured.exponent(name)
        at = points[
            (points["name"] == name) & (points["context"] == M1) & (points["batch"] == 1) & (points["variant"] == "")
        ].iloc[0]
        sizes = [c for c in measured.decode().index if c >= measured.FITTED]
        grows = [
            power_law(sizes, [of(layer.spec, c) for c in sizes]).exponent
            for of in (subjects.step_bytes, subjects.step_flops)
        ]
        rows.append({
            "mechanism": TITLES[name], "model": subjects.named(layer.model).name, "exponent": fitted.exponent, "error": fitted.error, "bytes_exponent": grows[0],
            "flops_exponent": grows[1], "moved": at["bytes"] / 2**20, "ms": 1e3 * at["seconds"], "fraction": 100 * at["fraction"], "bound": at["bound"],
        })  # fmt: skip
    return pd.DataFrame(rows)


def parts() -> pd.DataFrame:
    """Where a DSA step's time goes."""
    table = 1e3 * measured.parts()
    return pd.DataFrame([
        {"context": tokens(c)} | row.to_dict() | {"share": 100 * (row["score"] + row["select"]) / row.sum()} for c, row in table.iterrows()
    ])  # fmt: skip


def stacks() -> pd.DataFrame:
    points = measured.fractions(measured.reference(), "stack")
    base = points[points["name"] == subjects.HYBRID].set_index("context")["seconds"]
    return pd.DataFrame([
        {"stack": row["name"], "layers": row["variant"], "context": tokens(row["context"]), "ms": 1e3 * row["seconds"], "ratio": row["seconds"] / base[row["context"]],
         "moved": row["bytes"] / 2**30, "buffers": int(row["buffers"]), "of": sum(n for _, n in subjects.named(row["name"]).mixer_counts), "fraction": 100 * row["fraction"]}
        for _, row in points.iterrows()
    ])  # fmt: skip


def prefill() -> pd.DataFrame:
    """Microseconds a token of a prompt, one layer."""
    table = 1e6 * measured.prefill()
    return pd.DataFrame(
        [{"context": tokens(c)} | {name: row[name] for name in ("kda", "mla", "dsa")} for c, row in table.iterrows()]
    )


def tiers() -> pd.DataFrame:
    points = measured.tiers()
    rows = []
    for _, row in points.iterrows():
        asked = (
            row["bytes"]
            if row["name"] != "dsa"
            else row["bytes"] - subjects.index_bytes(subjects.layers()["dsa"].spec, int(row["context"]))
        )
        rows.append({
            "mechanism": TITLES[row["name"]], "context": tokens(row["context"]) if row["context"] else "any", "lies": _lies(row),
            "locality": row["locality"], "buffer": 100 * row["buffer"], "needed": asked / 1e6, "moved": row["bytes_read"] / 1e6, "hit": 100 * row["hit_rate"],
            "ms": 1e3 * row["seconds"],
        })  # fmt: skip
    return pd.DataFrame(rows).replace({np.nan: None})


def _lies(row: pd.Series) -> str:
    if row["name"] == "kda":
        return f"{row['variant']} ({row['method']})"
    return row["medium"] if row["medium"] == "memory" else f"{row['medium']} ({row['method']})"


def records() -> pd.DataFrame:
    """Every record, suite by suite: how much, by which commit, how near to the device's limits."""
    rows = []
    for found in record.records().values():
        for suite, frame in found.suites.items():
            last = found.runs[int(frame["run"].max())]
            values = measured.fractions(found, suite)["fraction"] if suite in ("decode", "stack", "prefill") else None
            rows.append({
                "device": found.title, "suite": suite, "points": len(found.points(suite)), "samples": len(frame), "commit": last["commit"][:10], "date": last["date"][:10],
                "best": None if values is None else 100 * values.max(), "median": None if values is None else 100 * values.median(), "load": frame["load"].median(),
                "marks": "; ".join(found.marks()) or "clean", "inputs": inputs(found, suite),
            })  # fmt: skip
    return pd.DataFrame(rows)


def inputs(found: record.Record, suite: str) -> str:
    """Whether the dimensions in data/models are still those that were measured: bytes and FLOPs of each point, computed now."""
    points = found.points(suite)
    changed = [
        row["name"]
        for _, row in points.iterrows()
        if (now := of_point(row))
        and (abs(now.bytes - row["bytes"]) > 0.5 or abs(now.flops - row["flops"]) > 1e-9 * row["flops"])
    ]
    return (
        "as now" if not changed else f"{len(changed)} points of other dimensions: {', '.join(dict.fromkeys(changed))}"
    )


def device_limits() -> pd.DataFrame:
    rows = []
    for found in record.records().values():
        known = roofline.limits(found)
        rows.append({"device": found.title, "kind": found.device["kind"], "cores": found.device["cores"], "memory": (found.device["memory_bytes"] or math.nan) / 2**30,
                     "bandwidth": known.bandwidth / 1e9, "rate": known.rate / 1e9, "software": "torch " + str(found.runs[-1]["software"]["torch"])})  # fmt: skip
    return pd.DataFrame(rows)


def live_decode() -> pd.DataFrame:
    """A layer's step measured now beside the record: bytes exactly, exponents within a band, times for this device alone."""
    now, old = live.decode()
    rows = []
    for name, curve in now.items():
        context = max(curve.seconds)
        rows.append({"mechanism": TITLES[name], "context": tokens(context), "moved": curve.bytes / 2**20, "recorded_ms": 1e3 * old[name].seconds[context],
                     "live_ms": 1e3 * curve.seconds[context], "recorded_exponent": old[name].exponent, "live_exponent": curve.exponent,
                     "agrees": "bytes, order, exponent"})  # fmt: skip
    return pd.DataFrame(rows)


def live_limits() -> pd.DataFrame:
    now, old = live.limits(), roofline.limits(measured.reference())
    return pd.DataFrame([
        {"limit": "read bandwidth", "recorded": old.bandwidth / 1e9, "live": now.bandwidth / 1e9, "unit": "GB/s"},
        {"limit": "matrix products, best dtype", "recorded": old.rate / 1e9, "live": now.rate / 1e9, "unit": "GFLOP/s"},
    ])  # fmt: skip


def live_tiers() -> pd.DataFrame:
    """The tiers at 64K, measured now. What must agree is how many bytes a step needs; what the file gives is this machine's."""
    context, *_ = live.TIERS
    rows = []
    for _, row in live.tiers().iterrows():
        old = measured.tiers().set_index("variant")
        old = old[(old["name"] == row["name"]) & (old["context"] == context)].loc[row["variant"]]
        rows.append({"mechanism": TITLES[row["name"]], "variant": row["variant"], "needed": row["needed"] / 1e6, "recorded_moved": old["bytes_read"] / 1e6,
                     "live_moved": row["bytes_read"] / 1e6, "recorded_ms": 1e3 * old["seconds"], "live_ms": 1e3 * row["seconds"]})  # fmt: skip
    return pd.DataFrame(rows)


def fields() -> pd.DataFrame:
    """What each column of a record's CSV files holds."""
    known = [(name, "every suite", told) for name, told in record.COLUMNS.items()]
    known += [(name, suite, told) for suite, more in record.EXTRA.items() for name, told in more.items()]
    return pd.DataFrame(known, columns=["field", "suites", "holds"])


def _origin() -> str:
    found = record.reference()
    return f"record of {found.title}: data/measurements/{found.folder.name}" if found else "record: none yet"


ORIGIN = _origin()
MS = tuple(Column(name, title, "ms", ".2f") for name, title in TITLES.items())
MEASURED = (
    Table("R-decode", "One decode step of one layer, batch 1", "efficiency", decode, (
        Column("context", "Context"), *(next(c for c in MS if c.name == name) for name in measured.MECHANISMS)), ORIGIN, "context"),
    Table("R-exponents", "How a layer's step grows from 16K to 1M tokens, and how near it comes to the device's limits", "efficiency", exponents, (
        Column("mechanism", "Mechanism"), Column("model", "Dimensions of"), Column("exponent", "Exponent of time", "", ".2f"), Column("error", "± (fit)", "", ".2f"),
        Column("bytes_exponent", "of bytes", "", ".2f"), Column("flops_exponent", "of FLOPs", "", ".2f"), Column("moved", "Moved at 1M", "MiB", ",.1f"), Column("ms", "Time at 1M", "ms", ",.2f"),
        Column("fraction", "Of the limit", "%", ".0f"), Column("bound", "Limit")), ORIGIN, "mechanism"),
    Table("R-parts", "Where the time of a DSA step goes", "efficiency", parts, (
        Column("context", "Context"), Column("score", "Index scores", "ms", ".2f"), Column("select", "Selection", "ms", ".2f"), Column("attend", "Attention over 2048", "ms", ".2f"),
        Column("share", "Index and selection", "%", ".0f")), ORIGIN, "context"),
    Table("R-batches", "Sixteen sequences in one step", "efficiency", batches, (
        Column("mechanism", "Mechanism"), Column("context", "Context"), Column("one", "Batch 1", "ms", ".2f"), Column("sixteen", "Batch 16", "ms", ".2f"),
        Column("each", "a sequence", "ms", ".2f"), Column("gain", "Gain of batching", "x", ".2f")), ORIGIN, "mechanism"),
    Table("R-stacks", "One decode step of a whole stack of token mixers", "efficiency", stacks, (
        Column("stack", "Stack"), Column("layers", "Layers"), Column("context", "Context"), Column("ms", "Step", "ms", ",.1f"), Column("ratio", "Over the hybrid", "x", ".2f"),
        Column("moved", "Moved", "GiB", ".2f"), Column("buffers", "Distinct caches", "", ".0f"), Column("of", "of layers", "", ".0f"), Column("fraction", "Of the limit", "%", ".0f")), ORIGIN, "stack"),
    Table("R-prefill", "Prefill of one layer, for each token of the prompt", "efficiency", prefill, (
        Column("context", "Prompt"), Column("kda", "KDA, chunks", "µs", ",.0f"), Column("mla", "MLA, expanded", "µs", ",.0f"), Column("dsa", "DSA, indexer and core", "µs", ",.0f")), ORIGIN, "context"),
    Table("E-live", "The same steps, measured while this page was built", "efficiency", live_decode, (
        Column("mechanism", "Mechanism"), Column("context", "Context"), Column("moved", "Bytes of a step", "MiB", ",.2f"), Column("recorded_ms", "Record", "ms", ".2f"),
        Column("live_ms", "Here", "ms", ".2f", band=FREE), Column("recorded_exponent", "Exponent, record", "", ".2f"), Column("live_exponent", "Exponent, here", "", ".2f", band=FREE),
        Column("agrees", "In agreement")), f"measured here, beside the {ORIGIN}", "mechanism"),
    Table("M-tiers-measured", "A step whose cache lies in memory or in a file", "memory_economy", tiers, (
        Column("mechanism", "Mechanism"), Column("context", "Context"), Column("lies", "Cache in"), Column("locality", "Locality", "", ".1f"), Column("buffer", "Hot buffer", "% of rows", ".0f"),
        Column("needed", "Rows needed", "MB", ",.2f"), Column("moved", "Fetched", "MB", ",.2f"), Column("hit", "Found hot", "%", ".0f"), Column("ms", "Step", "ms", ",.1f")), ORIGIN, "mechanism"),
    Table("M-tiers-live", "The tiers at 64K tokens, measured while this page was built", "memory_economy", live_tiers, (
        Column("mechanism", "Mechanism"), Column("variant", "Cache in"), Column("needed", "Bytes of a step", "MB", ",.2f"), Column("recorded_moved", "Fetched, record", "MB", ",.2f"),
        Column("live_moved", "Fetched, here", "MB", ",.2f", band=FREE), Column("recorded_ms", "Record", "ms", ",.1f"), Column("live_ms", "Here", "ms", ",.1f", band=FREE)),
        f"measured here, beside the {ORIGIN}", "mechanism"),
    Table("R-records", "Every record in the repository", "reproduce", records, (
        Column("device", "Device"), Column("suite", "Suite"), Column("points", "Points", "", ".0f"), Column("samples", "Samples", "", ".0f"), Column("commit", "Commit"), Column("date", "Date"),
        Column("best", "Best of limit", "%", ".0f"), Column("median", "Median of limit", "%", ".0f"), Column("load", "Others' load", "cores", ".2f"), Column("marks", "Marks"), Column("inputs", "Dimensions")),
        "record: data/measurements", "device"),
    Table("R-limits", "What each recorded device can do", "reproduce", device_limits, (
        Column("device", "Device"), Column("kind", "Kind"), Column("cores", "Cores or multiprocessors", "", ".0f"), Column("memory", "Memory", "GiB", ",.0f"), Column("bandwidth", "Read bandwidth", "GB/s", ",.1f"),
        Column("rate", "Matrix products", "GFLOP/s", ",.0f"), Column("software", "Software")), "record: data/measurements", "device"),
    Table("R-limits-live", "The limits of the machine that built this page", "reproduce", live_limits, (
        Column("limit", "Limit"), Column("recorded", "Record", "", ",.1f"), Column("live", "Here", "", ",.1f", band=FREE), Column("unit", "Unit")), f"measured here, beside the {ORIGIN}", "limit"),
    Table("R-fields", "What each field of a record holds", "reproduce", fields, (
        Column("field", "Field"), Column("suites", "Suites"), Column("holds", "Holds")), "published: lib.measure.record", "field"),
)  # fmt: skip
