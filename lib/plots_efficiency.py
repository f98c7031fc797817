"""Charts of the efficiency chapter, each a function without arguments: records and published curves, the finding in the title."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from lib import charts
from lib.data import figure
from lib.evidence import decoding, measured
from lib.evidence.words import percent, tokens
from lib.tables.measured import TITLES

M1 = 2**20
SHOWN = ("softmax", "mla", "hybrid", "dsa", "csa", "hca", "kda")
COLOURS = {
    name: charts.COLOURS["gated_delta" if name == "hybrid" else name] for name in SHOWN
}  # the hybrid has a colour of its own
PAIRS = (("mla", "dsa"), ("hybrid", "dsa"), ("mla", "csa"), ("hybrid", "csa"), ("mla", "kda"))


def _colour(names) -> alt.Color:
    titles = [TITLES[name] for name in names]
    return alt.Color("mechanism:N", title=None, scale=alt.Scale(domain=titles, range=[COLOURS[name] for name in names]))


def _lines(data: pd.DataFrame, names, y: str, title: str, tip: str) -> alt.LayerChart:
    x = alt.X("context:Q", scale=alt.Scale(type="log", base=2), axis=charts.context_axis())
    return alt.Chart(data).mark_line(point=True).encode(
        x=x, y=alt.Y(f"{y}:Q", scale=alt.Scale(type="log"), title=title), color=_colour(names),
        tooltip=["mechanism", alt.Tooltip("context:Q", format=","), alt.Tooltip(f"{y}:Q", format=tip)],
    )  # fmt: skip


def crossings() -> pd.DataFrame:
    """Where two mechanisms' measured lines meet for the last time, and at which time."""
    table, rows = measured.decode(), []
    for first, second in PAIRS:
        at = measured.crossing(first, second)
        if at is not None:
            ms = 1e3 * np.exp(np.interp(np.log(at), np.log(table.index.to_numpy(dtype=float)), np.log(table[first])))
            rows.append(
                {"pair": f"{TITLES[first]} × {TITLES[second]}", "context": at, "ms": float(ms), "label": tokens(at)}
            )
    return pd.DataFrame(rows, columns=["pair", "context", "ms", "label"])


def missing_comparison() -> charts.Figure:
    """One layer's decode step, every mechanism, measured on one device."""
    table, met = measured.decode(), crossings()
    data = pd.concat(
        [pd.DataFrame({"mechanism": TITLES[n], "context": table.index, "ms": 1e3 * table[n].to_numpy()}) for n in SHOWN]
    )
    marks = alt.Chart(met).mark_point(shape="diamond", size=130, filled=False, strokeWidth=2, color="#8a949d").encode(
        x="context:Q", y="ms:Q", tooltip=["pair", alt.Tooltip("context:Q", format=",.0f"), alt.Tooltip("ms:Q", format=".2f")]
    )  # fmt: skip
    last = 1e3 * table.loc[M1]
    where = "; ".join(f"{row.pair} at {row.label}" for row in met.itertuples()) or "none"
    faster, slower = ("dsa", "hybrid") if last["dsa"] < last["hybrid"] else ("hybrid", "dsa")
    return charts.figure(
        (_lines(data, SHOWN, "ms", "One layer, one token (ms)", ".3f") + marks).properties(height=380),
        f"At 1M tokens one layer of DSA takes {last['dsa']:.0f} ms and one of the 3:1 hybrid {last['hybrid']:.0f} ms on average: {TITLES[faster]} is {last[slower] / last[faster]:.2f} "
        f"times as fast here, CSA {last['hybrid'] / last['csa']:.1f} times as fast as the hybrid",
        f"Measured, batch 1, {measured.reference().title}; log-log. At 1M: " + ", ".join(f"{TITLES[n]} {last[n]:.2f} ms" for n in SHOWN)
        + f". Diamonds mark the last crossings: {where}.",
        data,
    )  # fmt: skip


def single_stream() -> charts.Figure:
    """Fig. 7b's two curves with the closed form through them."""
    fit = decoding.both_curves()
    data = []
    for name, m, curve in (("mla", decoding.twin(), "mla"), ("hybrid", decoding.hybrid(), "kl")):
        points = figure(f"kl-fig7b-{curve}").points()
        data.append(pd.DataFrame({"mechanism": TITLES[name], "context": [int(x) for x in points], "published": [1e3 * y for y in points.values()],
                                  "formula": [1e3 * float(fit.seconds(m, int(x))) for x in points]}))  # fmt: skip
    data = pd.concat(data)
    names = ("mla", "hybrid")
    x = alt.X("context:Q", scale=alt.Scale(type="log", base=2), axis=charts.context_axis())
    line = alt.Chart(data).mark_line(strokeDash=[5, 4]).encode(x=x, y="formula:Q", color=_colour(names))
    dots = alt.Chart(data).mark_point(size=55, filled=True).encode(
        x=x, y=alt.Y("published:Q", title="One step at batch 1 (ms)", scale=alt.Scale(domain=[0, 20])), color=_colour(names),
        tooltip=["mechanism", alt.Tooltip("context:Q", format=","), alt.Tooltip("published:Q", format=".2f"), alt.Tooltip("formula:Q", format=".2f")],
    )  # fmt: skip
    worst = float((data["formula"] / data["published"] - 1).abs().max())
    share = decoding.overhead() / float(fit.seconds(decoding.hybrid(), M1))
    return charts.figure(
        (line + dots).properties(height=300),
        f"A fixed {1e3 * fit.fixed:.1f} ms and {fit.rate / 1e12:.1f} TB/s give both curves of the report within {percent(worst, 0)}",
        f"Dots are published, dashes the formula, on an axis that starts at zero. {percent(share, 0)} of the hybrid's step at 1M is neither weights nor cache.",
        data,
    )


def prefill() -> charts.Figure:
    """Microseconds a token of a prompt, one layer."""
    table, names = measured.prefill(), ("kda", "mla", "dsa")
    data = pd.concat([
        pd.DataFrame({"mechanism": TITLES[n], "context": table[n].dropna().index, "us": 1e6 * table[n].dropna().to_numpy()}) for n in names
    ])  # fmt: skip
    x = alt.X(
        "context:Q",
        scale=alt.Scale(type="log", base=2),
        axis=alt.Axis(title="Prompt (tokens)", values=[512, 1024, 2048, 4096, 8192, 16384, 32768], format=","),
    )
    lines = alt.Chart(data).mark_line(point=True).encode(
        x=x, y=alt.Y("us:Q", scale=alt.Scale(type="log"), title="One layer, each token (µs)"), color=_colour(names),
        tooltip=["mechanism", alt.Tooltip("context:Q", format=","), alt.Tooltip("us:Q", format=",.0f")],
    )  # fmt: skip
    exponents = {n: measured.prefill_exponent(n).exponent for n in names}
    kda, mla = (table[n].dropna() for n in ("kda", "mla"))
    return charts.figure(
        lines.properties(height=280),
        f"A KDA layer takes {1e6 * kda.iloc[-1]:,.0f} µs for each token of a prompt of {tokens(kda.index[-1])}; MLA reaches {1e6 * mla.iloc[-1]:,.0f} µs at {tokens(mla.index[-1])}",
        f"Measured, {measured.reference().title}; log-log. A whole prompt grows with exponent {exponents['kda']:.2f} (KDA), {exponents['mla']:.2f} (MLA), {exponents['dsa']:.2f} (DSA, "
        "query by query; up to its 2048 selected tokens it is quadratic as well).",
        data,
    )
