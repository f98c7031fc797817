"""Numbers in the chapters' prose come from code: what is typed must be a name, a context length, or a figure of the post."""

from __future__ import annotations

import re

import pytest

from lib.data import chips, claims, models
from tests.conftest import ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
NOT_PROSE = (
    re.compile(r"\A---.*?^---", re.S | re.M),  # jupytext's header
    re.compile(r"^(`{3,}).*?^\1", re.S | re.M),  # cells, equations, figures
    re.compile(r"\{[\w:+-]+\}`[^`]*`"),  # glued numbers and other roles
    re.compile(r"`[^`]*`"),
    re.compile(r"\$[^$]*\$"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"“[^”]*”|\"[^\"]*\""),  # what the post says
)
# versions, dates and names that hold digits; a context length is a parameter of a question, not an answer
NAMES = re.compile(
    r"\b(?:(?:DeepSeek-)?V\d(?:\.\d)?(?:-(?:Flash|Pro)(?:'s)?)?|(?:Kimi[- ]?)?K[23]|Kimi3|GLM-?\d\S*|LongCat-2\.0|Qwen\d\S*|MiMo-V2\S*|Llama-3\.1\S*|"
    r"MiniMax-M\d|Kimi-Linear-48B(?:-A3B)?|48B|gpt-oss-120b|H20|H[128]00|G?B[23]00|NVL72|MI300X|Ascend 910C|bf16|BF16|float(?:16|32|64)|fp32|FP[48]|fp[48]|"
    r"(?:Fig|Figs|Eq|eq|section|sections|Table|part|Part|chapter|Section)s?\.? ?\d[\d.]*[ab]?|20\d\d(?:-\d\d)*|arXiv[: ]\d\S*|I/O|L[123]|S[0-7]|[CPTAMELR]-\d+|CC BY 4\.0|"
    r"(?:4|8|16|32|64|128|256|512)K|1M|[28]M)\b"
)
NUMBER = re.compile(r"\d[\d,.]*\d|\d")
LIST_ITEM = re.compile(r"^\s*\d+\. ", re.M)
# small counts of the argument itself (batch 1), the shares of which the post's stack is made, and the latency target
HARMLESS = {"0", "1", "2", "50"}


def typed_numbers(text: str) -> list[str]:
    for pattern in (*NOT_PROSE, LIST_ITEM, NAMES):
        text = pattern.sub(" ", text)
    return NUMBER.findall(text)


def printed_by_the_post() -> set[str]:
    found = set(HARMLESS)
    for claim in claims().values():
        for text in (claim.printed, claim.printed_text, claim.statement):
            found.update(NUMBER.findall(text or ""))
    return found


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_number_is_typed(path):
    """Breaks when a chapter states a result that no code recomputes: glue it, from lib/numbers.py."""
    typed = [number for number in typed_numbers(path.read_text()) if number not in printed_by_the_post()]
    assert not typed, f"{path.name}: {', '.join(typed)}: wanted these glued from lib/numbers.py"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 17.8 ms.", ["17.8"]),
        ("It takes {glue:text}`twin_ms` at 1M on an H200.", []),
        ("V3.2 and GLM-5.3-Flash, Fig. 7b, 2026", []),
        ("selects 2,048 of $10^6$", ["2,048"]),
        ("```{code-cell}\n1234\n```\nand 27", ["27"]),
    ],
)
def test_what_counts_as_typed(text, found):
    """Breaks when the pattern of names swallows results, or reads cells."""
    assert typed_numbers(text) == found


def test_names_are_those_of_the_data():
    """Every model's and chip's title passes as a name. Breaks when a model is added that the pattern does not know."""
    titles = [entry.title for entry in (*models().values(), *chips().values())]
    assert not {title: typed_numbers(title) for title in titles if typed_numbers(title)}
