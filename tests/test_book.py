"""lib.book and what it stands on: exact CSV files, drift that names every cell, tables that everybody can read."""

from __future__ import annotations

import math
import os
import stat
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import accepted, book, claimpage, html, tables
from lib.accepted import MalformedTable, TableDrift
from lib.tables.spec import Column, Table
from lib.verdict import Kind

# ---- the CSV file

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1)
VALUES = st.one_of(st.none(), st.integers(-(10**18), 10**18), st.floats(allow_nan=False))


def schema_of(frame: pd.DataFrame) -> Table:
    columns = (Column("row", "Row"), Column("value", "Value", format=".3g"), Column("text", "Text"))
    return Table("X-any", "Any", "architecture", lambda: frame, columns)


@given(st.lists(st.tuples(TEXT, VALUES, st.one_of(st.none(), TEXT)), min_size=1, max_size=8))
def test_a_table_comes_back_as_it_was_written(tmp_path_factory, rows):
    # breaks when floats are written with fewer than 17 digits, "007" is read as 7, or a line end inside a text is lost
    frame = pd.DataFrame(rows, columns=["row", "value", "text"], dtype=object)
    schema, folder = schema_of(frame), tmp_path_factory.mktemp("csv")
    accepted.write(schema, frame, folder)
    back = accepted.read(schema, folder)
    for name in frame.columns:
        for old, new in zip(frame[name], back[name], strict=True):
            assert old == new and type(old) is type(new), (name, old, new)
    assert accepted.compare(schema, frame, back) == []


def test_text_that_looks_like_a_number_stays_text(tmp_path):
    frame = pd.DataFrame(
        {"row": ["007", "1.8 %", "1e3"], "value": [1.0, math.nan, 0.1 + 0.2], "text": ["-0", "nan", "NA"]}
    )
    schema = schema_of(frame)
    path = accepted.write(schema, frame, tmp_path)
    assert path.read_text() == "row,value,text\n007,1.0,-0\n1.8 %,,nan\n1e3,0.30000000000000004,NA\n"
    back = accepted.read(schema, tmp_path)
    assert back["row"].tolist() == ["007", "1.8 %", "1e3"] and back["text"].tolist() == ["-0", "nan", "NA"]
    assert back["value"].tolist() == [1.0, None, 0.1 + 0.2]


def test_writing_leaves_nothing_beside_the_table(tmp_path, number_table):
    accepted.write(number_table, number_table.compute(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["X-numbers.csv"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("row,value,text\na,b,c\n", "row 2, column 'value': 'b', wanted a number"),
        ("row,value,text\na,1,c\na,1\n", "row 3, column 'text': 2 fields, wanted 3"),
        ("row,value,text\na,1,c,d\n", "row 2, column 'text': 4 fields, wanted 3"),
        ('row,value,text\na,1,"c\n', "row 2"),
        ("value,row,text\n1,a,c\n", "row 1: columns"),
    ],
)
def test_a_malformed_file_is_named_with_row_and_column(tmp_path, text, wanted):
    # breaks when the csv module's own message, which names no place, is let through
    (tmp_path / "X-any.csv").write_text(text)
    with pytest.raises(MalformedTable) as error:
        accepted.read(schema_of(pd.DataFrame()), tmp_path)
    assert "X-any.csv" in str(error.value) and wanted in str(error.value)


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "X-any.csv").write_bytes(b"row,value,text\n\xff,1,c\n")
    with pytest.raises(MalformedTable, match=r"X-any\.csv: not UTF-8"):
        accepted.read(schema_of(pd.DataFrame()), tmp_path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_is_named_when_asked_to_write(tmp_path, number_table):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(OSError, match="read-only"):
        accepted.write(number_table, number_table.compute(), tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path, number_table):
    # a file in the folder's place fails for every user, root included
    (tmp_path / "tables").touch()
    with pytest.raises(OSError, match=r"cannot write .*X-numbers\.csv"):
        accepted.write(number_table, number_table.compute(), tmp_path / "tables")


# ---- drift


def changed(table: Table, tmp_path, change) -> str:
    """What is reported when `change` has been made to the table since it was accepted."""
    frame = table.compute()
    accepted.write(table, frame, tmp_path)
    new = change(frame.copy())
    return "\n".join(map(str, accepted.compare(table, frame if new is None else new, accepted.read(table, tmp_path))))


def set_cell(row: int, name: str, value):
    def change(frame):
        frame.loc[row, name] = value
        return frame

    return change


def test_an_unchanged_table_has_not_drifted(number_table, tmp_path):
    assert changed(number_table, tmp_path, lambda frame: frame) == ""


def test_a_changed_number_is_told_old_and_new(number_table, tmp_path):
    told = changed(number_table, tmp_path, set_cell(2, "share", 0.34))
    assert told == "row 'DSA', column 'share': 0.3333333333333333 -> 0.34"


@pytest.mark.parametrize(("factor", "drifts"), [(1 + 1e-10, False), (1 + 1e-8, True), (1 - 1e-8, True)])
def test_a_number_may_differ_by_the_order_of_a_sum_only(number_table, tmp_path, factor, drifts):
    # breaks when the tolerance is absolute, or wider than 1e-9
    assert bool(changed(number_table, tmp_path, set_cell(2, "share", 1 / 3 * factor))) is drifts


@pytest.mark.parametrize(("time", "drifts"), [(3.5 * 1.19, False), (3.5 * 1.3, True)])
def test_a_measured_column_may_differ_within_its_band(number_table, tmp_path, time, drifts):
    assert bool(changed(number_table, tmp_path, set_cell(2, "time", time))) is drifts


def test_a_value_that_came_or_went_is_a_difference(number_table, tmp_path):
    # breaks when NaN compares as equal to everything, or empty as zero
    assert "(empty) -> 0" in changed(number_table, tmp_path, set_cell(1, "bytes", 0.0))
    assert "1152 -> (empty)" in changed(number_table, tmp_path, set_cell(0, "bytes", None)).replace("1152.0", "1152")


def test_rows_that_came_went_or_moved(number_table, tmp_path):
    assert "row 'KDA'" in changed(number_table, tmp_path, lambda frame: frame.drop(index=1).reset_index(drop=True))
    more = changed(
        number_table, tmp_path, lambda frame: pd.concat([frame, frame.iloc[:1].assign(row="CSA")], ignore_index=True)
    )
    assert more.startswith("row 'CSA': (no such row) -> row='CSA'") and "\n" not in more
    assert "order of rows" in changed(number_table, tmp_path, lambda frame: frame.iloc[::-1].reset_index(drop=True))


def test_a_changed_text_is_a_difference(post_table, tmp_path):
    told = changed(post_table, tmp_path, set_cell(1, "verdict", "holds"))
    assert told == "row 'Kimi K3 / Active', column 'verdict': 'holds only if the head is counted' -> 'holds'"


def test_a_column_that_came_is_a_difference(number_table, tmp_path):
    accepted.write(number_table, number_table.compute(), tmp_path)
    path = tmp_path / "X-numbers.csv"
    path.write_text(path.read_text().replace("share", "part"))
    told = "\n".join(
        map(str, accepted.compare(number_table, number_table.compute(), accepted.read(number_table, tmp_path)))
    )
    assert "column 'share': (none) -> (new)" in told and "column 'part': (there) -> (gone)" in told


def test_drift_lists_the_first_twenty_and_how_to_accept(tmp_path):
    frame = pd.DataFrame({"row": [f"r{i}" for i in range(30)], "value": range(30), "text": "t"})
    schema = schema_of(frame)
    accepted.write(schema, frame.assign(value=-1.0), tmp_path)
    with pytest.raises(TableDrift) as drift:
        accepted.check(schema, frame, tmp_path)
    lines = str(drift.value).splitlines()
    assert "X-any.csv): 30 differences" in lines[0] and len(lines) == 1 + 20 + 1 + 1
    assert "10 more" in lines[-2] and "make tables ACCEPT=1" in lines[-1]


def test_show_fails_without_an_accepted_table(monkeypatch, number_table, tmp_path):
    # breaks when a missing file counts as nothing to compare
    monkeypatch.setitem(tables.TABLES, "X-numbers", number_table)
    monkeypatch.setattr(accepted, "FOLDER", tmp_path)
    with pytest.raises(TableDrift, match="all new"):
        book.show("X-numbers")
    accepted.write(number_table, number_table.compute(), tmp_path)
    shown = book.show("X-numbers")
    assert 'data-table="X-numbers"' in shown._repr_html_()
    assert "…" not in repr(shown) and "1408" in repr(shown)


def test_show_of_an_unknown_table_names_those_there_are():
    with pytest.raises(KeyError, match="wanted one of"):
        book.show("T-none")


# ---- the HTML


class Tree(HTMLParser):
    """Start tags with their attributes, and a check that every element closes where it should."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags, self.open = [], []
        self.feed(markup)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, pairs):
        self.tags.append((tag, dict(pairs)))
        if tag not in ("input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def test_a_table_is_accessible(number_table):
    # breaks when the caption, a scope, the region's name or its tabindex is dropped
    markup = html.table(number_table, number_table.compute())
    tree = Tree(markup)
    assert "<caption>Numbers of &lt;three&gt; mechanisms</caption>" in markup
    assert [head.get("scope") for head in tree.all("th")] == ["col"] * 4 + ["row"] * 3
    (region,) = [tag for tag in tree.all("div") if tag.get("role") == "region"]
    assert region["tabindex"] == "0" and region["aria-label"] == "Numbers of <three> mechanisms"
    assert tree.all("figure")[0]["data-table"] == "X-numbers"


def test_units_stand_in_the_head_and_numbers_on_the_right(number_table):
    markup = html.table(number_table, number_table.compute())
    assert 'Bytes a token <span class="unit">(B)</span>' in markup
    assert 'data-column="bytes" class="number column-bytes">1,152<' in markup
    assert ">−25.0%<" in markup and ">33.3%<" in markup
    assert 'aria-label="no value"' in markup


def test_a_table_leads_to_its_data_and_its_code(number_table, post_table):
    real = Table("X-real", "Real", "architecture", html.slug, number_table.columns)
    markup = html.table(real, number_table.compute())
    assert 'href="../data/tables/X-real.csv"' in markup
    path, line = html.source_place(html.slug)
    assert path == "lib/html.py" and f'href="../source/lib/html.html#line-{line}"' in markup
    assert (html.ROOT / path).read_text().splitlines()[line - 1].startswith("def slug")
    assert html.source_place(pd.DataFrame) is None


def test_rows_with_one_head_share_it(post_table):
    # breaks when rows are grouped although other rows lie between them, or each row repeats the head
    markup = html.table(post_table, post_table.compute())
    tree = Tree(markup)
    assert len(tree.all("tbody")) == 2
    assert [(head.get("scope"), head.get("rowspan")) for head in tree.all("th")[7:]] == [
        ("rowgroup", "2"),
        ("row", None),
    ]


def test_a_scaled_column_is_divided_before_it_is_printed():
    assert html.display(2.78e12, Column("n", "N", "T", ".2f", 1e12)) == "2.78"
    assert html.display(12, Column("n", "N", "", ",d")) == "12"


@pytest.mark.parametrize("kind", list(Kind))
def test_a_verdict_is_a_mark_with_words_and_a_class(kind):
    # breaks when "holds" swallows "holds within rounding"
    markup = html.verdict(f"{kind.words}: a < b")
    assert f'class="verdict verdict-{html.slug(kind)}"' in markup
    assert f'aria-hidden="true">{kind.mark}</span>' in markup and f">{kind.words}</span></span>: a &lt; b" in markup


def test_text_that_is_no_verdict_is_left_as_it_is():
    assert html.verdict("holdsall <b>") == "holdsall &lt;b&gt;"


def test_claims_of_a_row_are_links(post_table):
    markup = html.table(post_table, post_table.compute())
    assert '<a href="claims.html#C-01">C-01</a>, <a href="claims.html#C-02">C-02</a>' in markup
    assert '<a href="claims.html#P-1">P-1</a>' in markup


# ---- numbers


@pytest.fixture
def numbers(monkeypatch):
    entries = {
        "ratio": SimpleNamespace(chapter="architecture", text=lambda: "3.10"),
        "quoted": SimpleNamespace(chapter="architecture", text=lambda: 'it\'s "so" – 1.8 %'),
        "other": SimpleNamespace(chapter="ceiling", text=lambda: "7"),
    }
    monkeypatch.setitem(sys.modules, "lib.numbers", SimpleNamespace(NUMBERS=entries))


def test_a_number_is_its_text(numbers):
    assert book.number("ratio") == "3.10"
    with pytest.raises(KeyError, match="wanted one of other, quoted, ratio"):
        book.number("none")


def test_glue_reaches_the_prose_without_quotes_or_lost_zeros(numbers, monkeypatch):
    # breaks when the text is glued as a float (3.1), with its quotes, or in a form that myst_nb does not read
    from myst_nb.core.variables import format_plain_text
    from myst_nb.ext.glue import extract_glue_data_cell

    sent = []
    monkeypatch.setattr(
        "IPython.display.display", lambda data, raw, metadata: sent.append({"data": data, "metadata": metadata})
    )
    book.glue_numbers("architecture")
    cell = nbformat.from_dict({"outputs": [{"output_type": "display_data", **output} for output in sent]})
    glued = {key: output["data"]["text/plain"] for key, output in extract_glue_data_cell(cell)}
    assert {key: format_plain_text(text, "s") for key, text in glued.items()} == {
        "ratio": "3.10",
        "quoted": 'it\'s "so" – 1.8 %',
    }
    assert cell["outputs"] == [], "the page shows none of them"


def test_a_chapter_without_numbers_is_refused(numbers):
    with pytest.raises(KeyError, match="architecture, ceiling"):
        book.glue_numbers("architectur")


# ---- claims


@pytest.fixture
def claims():
    return pd.DataFrame(
        {
            "id": ["C-01", "C-02", "P-1"], "chapter": ["architecture", "ceiling", "ceiling"], "statement": ["a < b", "b", "c"],
            "printed": ["32x", "", "5"], "recomputed": ["56.9x", "", "5"], "kind": [Kind.FAILS.words, Kind.PENDING, "HOLDS"],
            "verdict": ["does not hold: 57", "pending: kernels", "holds"], "evidence": ["arithmetic", "", "e"], "provenance": ["formula", "", "f"],
        }
    )  # fmt: skip


def test_every_claim_has_an_anchor_and_its_filters(claims):
    markup = book.claims_table(claims)._repr_html_()
    tree = Tree(markup)
    rows = [row for row in tree.all("tr") if "id" in row]
    assert [(row["id"], row["data-chapter"], row["data-verdict"]) for row in rows] == [
        ("C-01", "architecture", "fails"), ("C-02", "ceiling", "pending"), ("P-1", "ceiling", "holds"),
    ]  # fmt: skip
    assert "a &lt; b" in markup and "hidden" in tree.all("form")[0], "the filters show only where their script runs"
    assert [head.get("scope") for head in tree.all("th")] == ["col"] * 5 + ["row"] * 3
    (count,) = tree.all("output")
    assert count["aria-live"] == "polite"


def test_the_scoreboard_counts_and_leads_to_the_claims(claims):
    page = book.scoreboard(claims)
    assert 'href="claims.html#verdict=fails"' in page._repr_html_() and "All 3 claims" in page._repr_html_()
    assert repr(page).splitlines() == ["   1  holds", "   1  does not hold", "   1  pending"]
    Tree(page._repr_html_())


def test_claims_are_checked(claims):
    with pytest.raises(ValueError, match=r"\['evidence'\] are missing"):
        claimpage.checked(claims.drop(columns="evidence"))
    with pytest.raises(ValueError, match=r"C-01.*twice"):
        claimpage.checked(claims.assign(id=["C-01", "C-01", "C-02"]))
    with pytest.raises(ValueError, match="claim P-1: verdict kind 'true'"):
        claimpage.checked(claims.assign(kind=["holds", "holds", "true"]))
