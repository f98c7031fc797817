"""The book's charts, each a function without arguments: data from tables or costs, a title that states the finding."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from lib import charts
from lib.cost.step import decode_step
from lib.data import model
from lib.evidence import money
from lib.evidence.ceilings import TPOT, node
from lib.evidence.words import percent
from lib.tables import table
from lib.tables.architecture import caches
from lib.tables.walls import sensitivity

CONTEXTS = 2 ** np.arange(12, 21)
# one line a design, in the colour of the mechanism that sets its slope
LINES = {
    "kimi-k3": "kda",
    "deepseek-v3.2": "dsa",
    "deepseek-v4-pro": "csa",
    "kimi-k2": "mla",
    "llama-3.1-405b": "softmax",
}


def _colour(names: dict[str, str]) -> alt.Color:
    return alt.Color(
        "model:N",
        title=None,
        scale=alt.Scale(domain=list(names), range=[charts.COLOURS[key] for key in names.values()]),
    )


def steps_data() -> pd.DataFrame:
    """Least milliseconds of a decode step by model and context, sixteen sequences on sixteen H200."""
    system = node(count=16)
    return pd.concat([
        pd.DataFrame({"model": model(name).title, "mechanism": mechanism, "context": CONTEXTS,
                      "ms": 1e3 * decode_step(model(name), system, context=CONTEXTS, batch=16).time_lower})
        for name, mechanism in LINES.items()
    ])  # fmt: skip


def steps() -> charts.Figure:
    """Lower bound of a decode step against context, sixteen sequences on sixteen H200."""
    data = steps_data().drop(columns="mechanism")
    titles = {model(name).title: key for name, key in LINES.items()}
    lines = alt.Chart(data).mark_line(point=True).encode(
        x=alt.X("context:Q", scale=alt.Scale(type="log", base=2), axis=charts.context_axis()),
        y=alt.Y("ms:Q", scale=alt.Scale(type="log"), title="Least time of a step (ms)"),
        color=_colour(titles), tooltip=["model", alt.Tooltip("context:Q", format=","), alt.Tooltip("ms:Q", format=".2f")],
    )  # fmt: skip
    target = alt.Chart(pd.DataFrame({"ms": [1e3 * TPOT]})).mark_rule(strokeDash=[4, 4]).encode(y="ms:Q")
    last = data[data["context"] == 2**20].set_index("model")["ms"]
    slow = last.idxmax()
    ends = "; ".join(f"{name} {value:.1f} ms" for name, value in last.items())
    growth = data.groupby("model")["ms"].agg(lambda ms: ms.iloc[-1] / ms.iloc[0])
    flat = growth.idxmin()
    return charts.figure(
        (lines + target).properties(height=340),
        f"From 4K to 1M tokens a step of {flat} grows {growth[flat]:.1f}-fold, one of {slow} {growth[slow]:.0f}-fold",
        f"Lower bounds for sixteen sequences on sixteen H200, log-log; the dashed line is 50 ms. At 1M: {ends}.",
        data,
    )


def tornado() -> charts.Figure:
    """Swings of the latency ceiling."""
    data = sensitivity()
    data = data[data["ceiling"] == "50 ms a token"]
    long = data.melt(
        id_vars=["model", "assumption"], value_vars=["down", "up"], var_name="change", value_name="percent"
    )
    long["change"] = long["change"].map({"down": "20 % less", "up": "20 % more"})
    order = (
        data.assign(swing=(data["up"] - data["down"]).abs())
        .groupby("assumption")["swing"]
        .max()
        .sort_values(ascending=False)
    )
    bars = alt.Chart(long).mark_bar().encode(
        x=alt.X("percent:Q", title="Ceiling moves by (%)"), y=alt.Y("assumption:N", sort=list(order.index), title=None, axis=alt.Axis(labelLimit=200)),
        color=alt.Color("change:N", title=None, scale=alt.Scale(domain=["20 % less", "20 % more"], range=[charts.COLOURS["kda"], charts.COLOURS["mla"]])),
        row=alt.Row("model:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="top")), tooltip=["model", "assumption", "change", alt.Tooltip("percent:Q", format="+.1f")],
    ).properties(height=130)  # fmt: skip
    first = data.assign(swing=(data["up"] - data["down"]).abs()).sort_values("swing").groupby("model").last()
    told = "; ".join(
        f"{name}: {row['assumption']} ({row['down']:+.0f} % and {row['up']:+.0f} %)" for name, row in first.iterrows()
    )
    return charts.figure(
        bars,
        f"The latency ceiling moves most with {order.index[0]}",
        f"Each assumption 20 % down and up, sixteen sequences within 50 ms. Largest: {told}.",
        data,
    )


def cache_growth() -> charts.Figure:
    """Bytes of one sequence at a million tokens."""
    data = caches()[["model", "stored_1m", "read_1m"]].sort_values("stored_1m")
    base = alt.Chart(data).encode(
        y=alt.Y("model:N", sort=list(data["model"]), title=None, axis=alt.Axis(labelLimit=220))
    )
    scale = alt.Scale(type="log")
    stored = base.mark_point(size=70, filled=True, color=charts.COLOURS["mla"]).encode(x=alt.X("stored_1m:Q", scale=scale, title="GiB at a million tokens: stored (dot), read in a step (tick)"),
                                                                                  tooltip=["model", alt.Tooltip("stored_1m:Q", format=".2f"), alt.Tooltip("read_1m:Q", format=".2f")])  # fmt: skip
    read = base.mark_tick(thickness=3, size=16, color=charts.COLOURS["kda"]).encode(
        x=alt.X("read_1m:Q", scale=scale), tooltip=["model", alt.Tooltip("read_1m:Q", format=".2f")]
    )
    least, most = data.iloc[0], data.iloc[-1]
    sparse = data.set_index("model").loc[model("deepseek-v3.2").title]
    return charts.figure(
        (stored + read).properties(height=380),
        f"One sequence of a million tokens takes {least['stored_1m']:.1f} GiB in {least['model']} and {most['stored_1m']:.0f} GiB in {most['model']}",
        f"Sparse models store far more than they read: DeepSeek-V3.2 keeps {sparse['stored_1m']:.1f} GiB and reads {sparse['read_1m']:.1f} GiB a step, nearly all of it index keys.",
        data,
    )


def shares() -> charts.Figure:
    """Storage share against the ratio of hit price to miss price, one point a price row, with the curve of the week's log."""
    usage, rows = money.usage_log(), []
    for name, share in money.shares_by_price().items():
        rates = money.rates_of(money.prices()[name])
        rows.append(
            {
                "price": name,
                "vendor": money.prices()[name].vendor,
                "ratio": rates.hit / rates.miss,
                "output": rates.output / rates.miss,
                "share": 100 * share,
            }
        )
    data = pd.DataFrame(rows)
    ratio = np.geomspace(0.005, 1.0, 60)
    curve = pd.DataFrame(
        {
            "ratio": ratio,
            "share": 100
            * ratio
            * usage.hit
            / (ratio * usage.hit + usage.miss + data["output"].median() * usage.output),
        }
    )
    x = alt.X(
        "ratio:Q",
        scale=alt.Scale(type="log", domain=[0.005, 1.0]),
        title="Price of a cached token over price of a computed one",
        axis=alt.Axis(values=[0.01, 0.03, 0.1, 0.3, 1.0]),
    )
    line = alt.Chart(curve).mark_line(color=charts.COLOURS["softmax"]).encode(x=x, y="share:Q")
    dots = alt.Chart(data).mark_point(filled=True, size=60, color=charts.COLOURS["mla"]).encode(
        x=x, y=alt.Y("share:Q", title="Storage share of the bill (%)", scale=alt.Scale(domain=[0, 100])),
        tooltip=["price", "vendor", alt.Tooltip("ratio:Q", format=".4f"), alt.Tooltip("output:Q", format=".1f"), alt.Tooltip("share:Q", format=".1f")],
    )  # fmt: skip
    low, high = data["share"].min(), data["share"].max()
    return charts.figure((line + dots).properties(height=320), f"One week of one agent: \"storage\" is {low:.0f} % to {high:.0f} % of the bill, by price list",
                         f"Each dot is a dated price row; the line has the median output price. At a ratio of 0.1, {percent(float(np.interp(0.1, curve['ratio'], curve['share'])) / 100, 0)}; "
                         "the bytes are the same everywhere.", data)  # fmt: skip


# fast to slow, apart in lightness too
TIER_SHADES = ["#0b4f6c", "#0072b2", "#56a4d8", "#d55e00"]


def tier_times() -> charts.Figure:
    """Lower to upper bound of a step at a million tokens by architecture and tier."""
    data = table("M-tiers").compute().rename(columns={"lower": "best", "upper": "worst"})
    data = data[["model", "tier", "best", "worst", "fetched"]]
    order, titles = list(dict.fromkeys(data["tier"])), list(dict.fromkeys(data["model"]))
    bars = alt.Chart(data).mark_bar(cornerRadius=2).encode(
        x=alt.X("best:Q", scale=alt.Scale(type="log"), title="A step at 1M tokens, best to worst (ms)"), x2="worst:Q",
        y=alt.Y("model:N", title=None, sort=titles), yOffset=alt.YOffset("tier:N", sort=order),
        color=alt.Color("tier:N", title=None, sort=order, scale=alt.Scale(domain=order, range=TIER_SHADES), legend=alt.Legend(orient="top")),
        tooltip=["model", "tier", alt.Tooltip("best:Q", format=",.2f"), alt.Tooltip("worst:Q", format=",.1f"), alt.Tooltip("fetched:Q", format=",.1f", title="MiB fetched")],
    )  # fmt: skip
    target = alt.Chart(pd.DataFrame({"ms": [1e3 * TPOT]})).mark_rule(strokeDash=[4, 4]).encode(x="ms:Q")
    host = data[data["tier"] == order[1]]
    fast, late = host[host["best"] <= 1e3 * TPOT], host[host["best"] > 1e3 * TPOT]
    each = "; ".join(f"{row.model} {row.best:,.1f} ms" for row in host.itertuples())
    return charts.figure(
        (bars + target).properties(height=420),
        f"From host memory {len(fast)} of {len(host)} designs still meet 50 ms a token at a million tokens: those that select",
        f"The dashed line is 50 ms. From {order[1]}, at best: {each}. Late: {', '.join(late['model'])}.",
        data,
    )
