"""Charts of the book: one look, one colour a mechanism, drawn by the site itself, and the same bytes on every build.

`figure(chart, summary)` is what a chapter ends a cell with. In a build it becomes a labelled figure whose specification
the site's own script draws, light or dark; in JupyterLab the chart draws itself as Altair charts do.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import altair as alt
import pandas as pd

BUILDING = "BOOK_BUILD"  # set by lib.build: pages take HTML only, a second form of an output would be a warning

# Okabe and Ito: apart for every kind of colour blindness; each has three times the contrast of a white and of a near-black page
COLOURS = {
    "softmax": "#767676",
    "window": "#a67c00",
    "mla": "#0072b2",
    "gated_delta": "#cc79a7",
    "kda": "#d55e00",
    "dsa": "#009e73",
    "csa": "#3d9be0",
    "hca": "#7a63b0",
    "lightning": "#8c5a3c",
}
NAMES = {
    "softmax": "Full attention", "window": "Sliding window", "mla": "MLA", "gated_delta": "Gated DeltaNet", "kda": "KDA",
    "dsa": "DSA", "csa": "CSA", "hca": "HCA", "lightning": "Lightning",
}  # fmt: skip
# which of a model's mechanisms its caches and steps at long contexts follow: the first that it has
_RANK = ("csa", "dsa", "kda", "gated_delta", "lightning", "mla", "softmax", "window")
CONTEXTS = [4096, 16384, 65536, 262144, 1048576]
_CONTEXT_LABEL = (
    "datum.value >= 1048576 ? format(datum.value / 1048576, 'd') + 'M' : format(datum.value / 1024, 'd') + 'K'"
)
_FACETS = {"row", "column", "facet", "hconcat", "vconcat", "concat", "repeat"}
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


def look(ink: str, muted: str, rule: str) -> dict:
    """Vega-Lite's configuration in one theme."""
    axis = {
        "labelColor": ink,
        "titleColor": ink,
        "gridColor": rule,
        "domainColor": muted,
        "tickColor": muted,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 500,
    }
    return {
        "background": "transparent",
        "font": _FONT,
        "view": {"stroke": None},
        "axis": axis,
        "legend": {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12},
        "title": {"color": ink, "anchor": "start", "fontSize": 14, "fontWeight": 600},
        "header": {"labelColor": ink, "titleColor": ink},
        "text": {"color": ink, "fontSize": 12},
        "line": {"strokeWidth": 2.2},
        "point": {"size": 40, "filled": True},
    }


LIGHT = look("#1f2429", "#8a949d", "#e4e8eb")
DARK = look("#dde2e6", "#77828c", "#2a3138")
THEMES = {"light": LIGHT, "dark": DARK}


def mechanism(field: str, present: Iterable[str] = COLOURS) -> alt.Color:
    """The colour encoding of a field whose values are names of mechanisms; `present` are those to list beside it."""
    names = list(present)
    return alt.Color(field, scale=alt.Scale(domain=names, range=[COLOURS[name] for name in names]))


def stylesheet() -> str:
    """The colours as CSS variables and classes, so that tables, the calculator and charts agree."""
    rules = [
        f".mech-{name.replace('_', '-')} {{ --mechanism: var(--mech-{name.replace('_', '-')}); }}" for name in COLOURS
    ]
    both = "; ".join(f"--mech-{name.replace('_', '-')}: {value}" for name, value in COLOURS.items())
    return f":root {{ {both} }}\n" + "\n".join(rules) + "\n"


def mechanism_of(model) -> str:
    """The mechanism whose colour a model has."""
    present = {mixer.type for mixer, _ in model.mixer_counts}
    return next(name for name in _RANK if name in present)


def context_axis(title: str = "Context (tokens)") -> alt.Axis:
    """A logarithmic axis of contexts, labelled 4K to 1M."""
    return alt.Axis(title=title, values=CONTEXTS, labelExpr=_CONTEXT_LABEL)


@dataclass(frozen=True)
class Figure:
    """A chart with the finding as its title, a text alternative, and its data."""

    chart: alt.TopLevelMixin
    title: str
    summary: str
    data: pd.DataFrame

    def _repr_mimebundle_(self, include=None, exclude=None):
        if os.environ.get(BUILDING):
            return {"text/html": self.html(), "text/plain": repr(self)}
        return self.chart._repr_mimebundle_(include, exclude)

    def __repr__(self) -> str:
        return f"{self.title}\n{self.summary}"

    def html(self) -> str:
        spec = specification(self.chart)
        name = f"chart-{hashlib.sha256(spec.encode()).hexdigest()[:12]}"
        csv = base64.b64encode(self.data.to_csv(index=False, lineterminator="\n").encode()).decode()
        label = escape(f"{self.title}. {self.summary}", quote=True)
        looks = " ".join(f'data-{theme}="{escape(json.dumps(config), quote=True)}"' for theme, config in THEMES.items())
        # a closing tag inside the JSON would end the script element
        spec = spec.replace("</", "<\\u002f")
        link = f'<a download="{name}.csv" href="data:text/csv;base64,{csv}">Data (CSV)</a>'
        return "\n".join(
            [
                f'<figure class="chart-figure" aria-labelledby="{name}-title">',
                f'<p class="chart-title" id="{name}-title">{escape(self.title)}</p>',
                f'<div class="chart" id="{name}" role="img" aria-label="{label}" {looks}></div>',
                f'<script type="application/json">{spec}</script>',
                f"<figcaption>{escape(self.summary)} {link}</figcaption>",
                "</figure>",
            ]
        )


def specification(chart: alt.TopLevelMixin) -> str:
    """The chart as JSON in a fixed order; Altair numbers what it names itself, so nothing in it is random."""
    spec = chart.to_dict()
    spec.pop("config", None)  # the page's theme decides
    if not _FACETS & (spec.keys() | spec.get("encoding", {}).keys()):
        spec["width"] = "container"  # of one view; the page's script gives facets their width
    return json.dumps(spec, sort_keys=True, separators=(",", ":"))


def figure(chart: alt.TopLevelMixin, title: str, summary: str, data: pd.DataFrame) -> Figure:
    """A chart as a chapter shows it: `title` states the finding, `summary` says in words what the eye would read."""
    for name, text in (("title", title), ("summary", summary)):
        if not text.strip():
            raise ValueError(f"{name}: wanted words for those who cannot see the chart")
    return Figure(chart, title, summary, data)
