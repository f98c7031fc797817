"""The calculator's form and its places for results. Without a script the page says where the same numbers are to be had."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape

from lib.calculator.export import BATCHES, CACHED, CHIPS, CONTEXTS, COUNTS, SPLITS, content
from lib.data import chip, models

FIRST = (
    "kimi-k3",
    "deepseek-v3.2",
    "deepseek-v4-pro",
)  # what the page opens with: the two paths, and the second's successor


def _options(choices: Iterable[tuple[str, str]], chosen: str) -> str:
    return "".join(
        f'<option value="{escape(str(value))}"{" selected" if str(value) == chosen else ""}>{escape(text)}</option>'
        for value, text in choices
    )


def _field(name: str, label: str, control: str) -> str:
    return f'<div class="calc-field"><label for="calc-{name}">{escape(label)}</label>{control}</div>'


def _select(name: str, label: str, choices: Iterable[tuple[str, str]], chosen: str) -> str:
    return _field(name, label, f'<select id="calc-{name}" name="{name}">{_options(choices, chosen)}</select>')


def _number(name: str, label: str, value: str, step: str) -> str:
    control = f'<input id="calc-{name}" name="{name}" type="number" min="0" step="{step}" value="{value}" inputmode="decimal">'
    return _field(name, label, control)


def _form() -> str:
    names = [(name, m.title) for name, m in models().items()]
    fields = [
        _select(f"model{i}", f"Model {i + 1}", ([] if i == 0 else [("", "none")]) + names, first)
        for i, first in enumerate(FIRST)
    ]
    start = CONTEXTS.index(2**20)
    slider = (
        f'<input id="calc-context" name="context" type="range" min="0" max="{len(CONTEXTS) - 1}" value="{start}" '
        f'aria-describedby="calc-context-text"><output id="calc-context-text" for="calc-context">1M</output>'
    )
    fields += [
        _field("context", "Context, tokens", slider),
        _select("batch", "Sequences at once", ((str(b), f"{b:,}") for b in BATCHES), "16"),
        _select("chip", "Chip", ((name, chip(name).title) for name in CHIPS), "h200"),
        _select("count", "Chips", ((str(n), str(n)) for n in COUNTS), "16"),
        _select("split", "Split", SPLITS.items(), "context"),
        _select("cached", "Cached values", CACHED.items(), "served"),
        _number("rent", "Dollars for a chip hour", "", "0.01"),
        _number("tpot", "Target: ms a token", "50", "1"),
        _number("price", "Target: $ a million tokens", "10", "0.1"),
    ]
    return f'<form class="calc-form" aria-label="What to compute">{"".join(fields)}</form>'


def markup() -> str:
    """The whole calculator, its numbers included, so that the page works from a file."""
    data = json.dumps(content(), separators=(",", ":"), sort_keys=True).replace("</", "<\\u002f")
    return "\n".join([
        '<div class="calculator" hidden>',
        _form(),
        '<p class="calc-status" role="status" aria-live="polite"></p>',
        '<div class="table-scroll" tabindex="0" role="region" aria-label="Results"><table class="calc-results"></table></div>',
        '<figure class="chart-figure"><p class="chart-title" id="calc-bytes-title"></p><div class="calc-chart" data-chart="bytes"></div></figure>',
        '<figure class="chart-figure"><p class="chart-title" id="calc-times-title"></p><div class="calc-chart" data-chart="times"></div></figure>',
        '<figure class="chart-figure"><p class="chart-title" id="calc-lines-title"></p><div class="calc-chart" data-chart="lines"></div></figure>',
        '<p><button type="button" class="calc-copy">Copy a link to this state</button></p>',
        f'<script type="application/json" class="calc-data">{data}</script>',
        "</div>",
        "<noscript><p>The calculator needs a script. <code>python -m lib.cost</code> prints the same numbers.</p></noscript>",
    ])  # fmt: skip
