"""The checks of the site find what they are for: each test doctors a sound site in one place."""

from __future__ import annotations

import pytest

from lib import accepted, claimpage, html, sitecheck
from lib.tables.spec import Column

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="../_static/book.css"><link rel="canonical" href="https://example.org/x">
<script src="../_static/book.js"></script></head>
<body><h1 id="top">{title}</h1>{body}<p><a href="https://example.org/">elsewhere</a> <a href="#top">up</a></p></body></html>
"""


@pytest.fixture
def site(tmp_path, number_table, post_table):
    """A sound site of two pages and two tables; called, it writes the first page with its text doctored."""
    schemas = {table.id: table for table in (number_table, post_table)}
    root, folder = tmp_path / "html", tmp_path / "tables"
    for name in ("chapters", "_static", "data/tables", "source/lib"):
        (root / name).mkdir(parents=True)
    for table in schemas.values():
        accepted.write(table, table.compute(), folder)
        accepted.write(table, table.compute(), root / "data" / "tables")
    (root / "_static" / "book.css").write_text("body { background: url(paper.png) }")
    (root / "_static" / "book.js").touch()
    rows = "".join(f'<tr id="{name}"><td>{name}</td></tr>' for name in ("C-01", "C-02", "C-03", "P-1"))
    claims = f'<table id="claims-table">{rows}</table><a href="index.html#verdict">bad only when doctored</a>'
    (root / "chapters" / "claims.html").write_text(PAGE.format(title="Claims", body=claims.replace("#verdict", "#top")))
    tables = "\n".join(html.table(table, table.compute()) for table in schemas.values())
    sound = PAGE.format(
        title="Tables",
        body=f'{tables}<a href="claims.html#verdict=holds">those that hold</a><img src="../_static/book.js" alt="">',
    )

    def check(old: str = "", new: str = "", *, files: dict | None = None) -> list[str]:
        assert old in sound, old
        (root / "chapters" / "index.html").write_text(sound.replace(old, new, 1) if old else sound)
        for name, text in (files or {}).items():
            (root / name).parent.mkdir(exist_ok=True, parents=True)
            (root / name).write_text(text)
        return sitecheck.check(root, schemas, folder)

    check.root, check.folder, check.schemas = root, folder, schemas
    return check


def test_a_sound_site_has_no_fault(site):
    assert site() == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('<html lang="en">', "<html>", "no lang"),
        ("<title>Tables</title>", "<title> </title>", "no title"),
        (' alt=""', "", "no alt"),
        ("<img", '<div class="chart" id="c"></div><img', "chart c: no aria-label"),
        ("<img", "<iframe src='claims.html'></iframe><img", "iframe: no title"),
        ("<img", "<pre>Traceback (most recent call last):</pre><img", "shows a Traceback"),
        ("../_static/book.js\"></script>", "https://cdn.example/x.js\"></script>", "loads https://cdn.example/x.js"),
        ("../_static/book.js\"></script>", "//cdn.example/x.js\"></script>", "loads //cdn.example/x.js"),
        ("<img", '<img srcset="//cdn.example/a.png 2x" alt=""><img', "loads //cdn.example/a.png"),
        ('<link rel="stylesheet" href="..', '<link rel="preload" href="https://cdn.example', "loads https://cdn.example"),
        ("<img", '<script>const THEBE_JS_URL = "https://cdn.example/t"</script><img', "a script loads https://cdn.example/t"),
        ('href="#top"', 'href="#bottom"', "anchor that chapters/index.html lacks"),
        ("claims.html#C-02", "claims.html#C-99", "anchor that chapters/claims.html lacks"),
        ("claims.html#verdict=holds", "index.html#verdict=holds", "anchor that chapters/index.html lacks"),
        ('href="#top"', 'href="none.html"', "none.html leads"),
        ('href="#top"', 'href="../../../etc/passwd"', "leads out of the site"),
        (">1,152<", ">1,153<", "column 'bytes': shows '1,153', the CSV has '1152"),
        (">−25.0%<", ">25.0%<", "column 'share': shows '25.0%'"),
        (">33.3%<", ">33.4%<", "column 'share'"),
        ('aria-label="no value">–<', '>0<', "column 'bytes': shows '0', the CSV has ''"),
        (">2.78T<", ">2.8T<", "column 'recomputed': shows '2.8T'"),
        (">holds only if</span></span> the head", ">holds only if</span></span> the tail", "column 'verdict'"),
        ('data-table="X-post"', 'data-table="X-numbers"', "table X-numbers: shown 2 times"),
        ('data-table="X-post"', 'data-table="X-post-2"', "table X-post-2: shown, but not registered"),
        ("../data/tables/X-post.csv", "../data/tables/X-numbers.csv", "its CSV is not linked"),
        ('<tr data-row="2">', '<tr data-row="1">', "shows 2 rows, the CSV has 3"),
    ],
)  # fmt: skip
def test_a_doctored_page_is_found_out(site, old, new, fault):
    faults = site(old, new)
    assert any(fault in told for told in faults), faults
    assert all(told.startswith(("chapters/index.html: ", "table X-")) for told in faults)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        (
            "_static/more.css",
            "@import 'https://fonts.example/f.css';",
            "_static/more.css: loads https://fonts.example/f.css",
        ),
        ("_static/more.css", "a { background: url( //cdn.example/a.png) }", "loads //cdn.example/a.png"),
        ("reports/chapters/index.err.log", "NameError", "a chapter failed"),
    ],
)
def test_a_doctored_file_is_found_out(site, name, text, fault):
    assert any(fault in told for told in site(files={name: text}))


def test_code_may_contain_the_word_and_templates_are_no_pages(site):
    # breaks when the listing of this very check fails the site
    listing = PAGE.format(title="x.py", body="<pre>Traceback (most recent call last)</pre>").replace(
        "../_static", "../../_static"
    )
    assert site(files={"source/lib/x.html": listing, "_static/macros.html": "{{ pathto('x') }}"}) == []


def test_a_missing_csv_in_the_site_is_found_out(site):
    site()
    (site.root / "data" / "tables" / "X-post.csv").unlink()
    assert any("its CSV is not linked, or not in the site" in told for told in site())


def test_a_missing_accepted_table_is_found_out(site):
    (site.folder / "X-post.csv").unlink()
    assert any("there is no accepted table" in told for told in site())


def test_a_table_that_no_page_shows_is_found_out(site, number_table):
    site.schemas["X-more"] = number_table
    assert "table X-more: shown 0 times, wanted once" in site()


def test_no_site_is_a_fault(tmp_path):
    assert "make book" in sitecheck.check(tmp_path / "none")[0]
    assert "no page" in sitecheck.check(tmp_path)[0]


@pytest.mark.parametrize(
    ("text", "number", "half_unit"),
    [
        ("1,152", 1152, 0.5),
        ("−25.0%", -0.25, 0.0005),
        ("2.78", 2.78, 0.005),
        ("1.5e+12", 1.5e12, 0.05e12),
        (".5", 0.5, 0.05),
    ],
)
def test_a_shown_number_stands_for_half_a_unit(text, number, half_unit):
    assert sitecheck.read_number(text) == pytest.approx((number, half_unit))


@pytest.mark.parametrize("text", ["", "MLA", "1.2.3", "–", "12 GB"])
def test_what_is_no_number_is_none(text):
    assert sitecheck.read_number(text) is None


def test_scale_and_band_count():
    # breaks when the CSV's value is compared without its scale, or a measured column as if it were exact
    assert sitecheck.agrees("2.78", 2.7804e12, Column("n", "N", "T", ".2f", 1e12))
    assert not sitecheck.agrees("2.78", 2.7804, Column("n", "N", "T", ".2f", 1e12))
    assert sitecheck.agrees("4.00", 3.5, Column("t", "T", "ms", ".2f", band=0.2))
    assert not sitecheck.agrees("5.00", 3.5, Column("t", "T", "ms", ".2f", band=0.2))


def test_the_claims_page_names_itself():
    # the check accepts a fragment with `=` only where this id is
    assert 'id="claims-table"' in claimpage.table(claimpage.pd.DataFrame(columns=claimpage.COLUMNS))
