"""The picture that stands beside a shared link: the book's question and its first chart, 1200 x 630, made from the same data."""

from __future__ import annotations

import altair as alt

from lib import charts

WIDTH, HEIGHT = 1200, 630
INK, PAPER, MUTED = "#f2f4f6", "#10222c", "#a3bac6"


def png(title: str, question: str) -> bytes:
    """The card; fonts are the converter's own, so that it is the same on every machine."""
    import vl_convert

    chart = alt.vconcat(_words(title, question), _lines(), spacing=0, background=PAPER, padding=0)
    chart = chart.configure(font="Liberation Sans, DejaVu Sans, sans-serif").configure_view(stroke=None).configure_concat(spacing=0)  # fmt: skip
    return vl_convert.vegalite_to_png(chart.to_json(), scale=1)


def _words(title: str, question: str) -> alt.LayerChart:
    """Title and question, set by hand on a blank of fixed size."""
    blank = alt.Chart(alt.InlineData([{}])).properties(width=WIDTH, height=250)
    place = {"align": "left", "baseline": "top"}
    head = blank.mark_text(**place, text=title, fontSize=62, fontWeight=700, color=INK).encode(
        x=alt.value(70), y=alt.value(62)
    )
    below = blank.mark_text(**place, text=question.split("\n"), fontSize=30, lineHeight=40, color=MUTED).encode(
        x=alt.value(70), y=alt.value(150)
    )
    return head + below


def _lines() -> alt.LayerChart:
    """Least time of a step over context, by mechanism; no axes: at this size a card says which way it goes."""
    from lib.plots import steps_data

    data = steps_data()
    data = data[data["mechanism"] != "softmax"]  # its line and its name would lie over those of MLA
    ends = [int(data["context"].min()), int(data["context"].max())]
    names = list(dict.fromkeys(data["model"]))
    colours = alt.Scale(domain=names, range=[charts.COLOURS[data.loc[data["model"] == name, "mechanism"].iloc[0]] for name in names])  # fmt: skip
    base = alt.Chart(data).encode(
        x=alt.X("context:Q", axis=None, scale=alt.Scale(type="log", domain=ends, nice=False, range=[70, 900])),
        y=alt.Y("ms:Q", axis=None, scale=alt.Scale(type="log", range=[345, 10])),
        color=alt.Color("model:N", scale=colours, legend=None),
    )
    last = base.transform_filter(alt.datum.context == int(data["context"].max()))
    labels = last.mark_text(align="left", dx=14, fontSize=24).encode(text="model:N")
    return (base.mark_line(strokeWidth=5) + labels).properties(width=WIDTH, height=HEIGHT - 250)
