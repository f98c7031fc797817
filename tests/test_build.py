"""The build's parts: `tables`, what the site serves itself, listings of the code, and how a failure is told."""

from __future__ import annotations

import json

import pytest

from lib import accepted, charts
from lib.build import __main__ as command
from lib.build import assets, book, finish, imprint, listing
from lib.build import tables as tables_command


@pytest.fixture
def run(tmp_path, number_table, capsys):
    """Run `tables`; its exit status and what it printed."""

    def call(*, accept=False, schemas=None):
        schemas = {"X-numbers": number_table} if schemas is None else schemas
        status = tables_command.check(accept=accept, schemas=schemas, folder=tmp_path)
        return status, capsys.readouterr().out

    return call


def test_a_new_table_is_reported_and_not_written(run, tmp_path):
    # breaks when a check writes what it checks against
    status, out = run()
    assert status == 1 and "all new" in out and "make tables ACCEPT=1" in out
    assert list(tmp_path.iterdir()) == []


def test_accepting_writes_and_the_next_check_agrees(run):
    assert run(accept=True)[0] == 0
    assert run() == (0, run()[1]) and "1 tables agree" in run()[1]


def test_every_changed_cell_is_printed_old_and_new(run, tmp_path, number_table):
    run(accept=True)
    path = tmp_path / "X-numbers.csv"
    path.write_text(path.read_text().replace("1152", "1024").replace("-0.25", "0.25"))
    status, out = run()
    assert status == 1
    assert "row 'MLA', column 'bytes': 1024" in out and "-> 1152" in out and "column 'share': 0.25 -> -0.25" in out
    assert "1024" in path.read_text()


def test_a_malformed_table_does_not_hide_the_others_and_can_be_accepted(run, tmp_path, number_table, post_table):
    schemas = {"X-numbers": number_table, "X-post": post_table}
    run(accept=True, schemas=schemas)
    (tmp_path / "X-numbers.csv").write_text("row,bytes,share,time\nMLA,many,1,2\n")
    (tmp_path / "X-post.csv").unlink()
    status, out = run(schemas=schemas)
    assert status == 1 and "row 2, column 'bytes': 'many', wanted a number" in out and "X-post.csv" in out
    assert run(accept=True, schemas=schemas)[0] == 0 == run(schemas=schemas)[0]


def test_a_table_that_cannot_be_computed_fails_even_when_accepting(run, number_table, post_table):
    def broken():
        raise ZeroDivisionError("no tokens")

    schemas = {"X-broken": type(number_table)("X-broken", "B", "c", broken, number_table.columns), "X-post": post_table}
    status, out = run(accept=True, schemas=schemas)
    assert status == 1 and "ZeroDivisionError: no tokens" in out and "X-post.csv" in out


def test_a_file_that_no_table_owns_is_reported(run, tmp_path):
    run(accept=True)
    (tmp_path / "X-old.csv").touch()
    status, out = run()
    assert status == 1 and "X-old.csv: no table has this id" in out


def test_a_folder_that_cannot_be_written_is_an_error_only_when_asked_to_write(run, tmp_path, number_table, capsys):
    accepted.write(number_table, number_table.compute(), tmp_path)
    taken = tmp_path / "file"
    taken.touch()
    status = tables_command.check(accept=True, schemas={"X-numbers": number_table}, folder=taken)
    out = capsys.readouterr().out
    assert status == 1 and "cannot write" in out and "Traceback" not in out


def test_the_command_line_hands_accept_on(monkeypatch):
    seen = []
    monkeypatch.setattr(command.tables, "check", lambda *, accept: seen.append(accept) or 0)
    assert command.main(["tables"]) == 0 and command.main(["tables", "--accept"]) == 0
    assert seen == [False, True]


# ---- assets


def test_the_site_carries_what_it_needs(tmp_path):
    (tmp_path / "data" / "tables").mkdir(parents=True)
    (tmp_path / "data" / "tables" / "T-x.csv").write_text("row\nMLA\n")
    assets.make(tmp_path, tmp_path / "assets")
    mathjax = (tmp_path / "assets" / "mathjax" / "tex-chtml.js").read_text(encoding="utf-8")
    assert "3.2.2" in mathjax and (tmp_path / "assets" / "mathjax" / "LICENSE.txt").stat().st_size > 5000
    assert (tmp_path / "assets" / "data" / "tables" / "T-x.csv").read_text() == "row\nMLA\n"
    entrance = (tmp_path / "assets" / "index.html").read_text()
    assert 'lang="en"' in entrance and "<title>" in entrance and 'url=chapters/index.html"' in entrance
    bundle = (tmp_path / "assets" / "charts" / "vega.js").read_text(encoding="utf-8")
    # breaks when the bundle's top-level names meet those of Sphinx's scripts
    assert bundle.startswith("(() => {") and bundle.rstrip().endswith("})();")
    assert "window.vegaEmbed" in bundle and "import " not in bundle[:200]


# ---- listings


def test_every_module_is_listed_with_an_anchor_a_line(tmp_path):
    (tmp_path / "lib" / "deep").mkdir(parents=True)
    (tmp_path / "lib" / "deep" / "x.py").write_text('"""A <b>."""\n\nvalue = 1\n')
    pages = {name: context["body"] for name, context, _ in listing.pages(tmp_path)}
    assert set(pages) == {"source/lib/deep/x", "source/index"}
    assert 'id="line-3"' in pages["source/lib/deep/x"] and "&lt;b&gt;" in pages["source/lib/deep/x"]
    assert 'href="lib/deep/x.html"' in pages["source/index"]


# ---- how a failure is told


def test_a_failing_cell_is_told_with_chapter_cell_and_message(tmp_path, capsys):
    failure = {
        "chapter": str(tmp_path / "chapters" / "x.md"),
        "cell": "show('T-moe')",
        "message": "TableDrift: a -> b\nhow to accept",
    }
    book._tell_failure(tmp_path, failure, [], tmp_path / "build.log")
    out = capsys.readouterr().out
    for words in ("chapter  chapters/x.md", "  show('T-moe')", "  TableDrift: a -> b\n  how to accept", "build.log"):
        assert words in out


def test_only_sphinxs_own_complaints_count():
    # breaks when a kernel's remark on the terminal is taken for a warning of the build
    assert book.FAULT.search("/a/chapters/x.md:3: WARNING: undefined label") and book.FAULT.search("WARNING: no theme")
    assert not book.FAULT.search("[IPKernelApp] WARNING | Kernel is running over TCP")
    assert book.COLOUR.sub("", "\x1b[91mWARNING: x\x1b[39;49;00m") == "WARNING: x"


def test_a_misspelt_key_stops_the_build_before_anything_runs(tmp_path, capsys):
    (tmp_path / "_config.yml").write_text("titel: x")
    assert book.build(tmp_path) == 1
    assert "did you mean 'title'" in capsys.readouterr().out and not (tmp_path / "_build").exists()


def test_a_build_that_ends_without_a_record_is_no_success(tmp_path):
    # breaks when a missing record reads as "nothing failed"
    assert book._read(tmp_path / "execution.json") == {}
    (tmp_path / "execution.json").write_text(json.dumps({"failure": None}))
    assert book._read(tmp_path / "execution.json") == {"failure": None}


# ---- what a page says about itself


def test_the_footer_names_commit_and_versions_and_no_date(tmp_path):
    # breaks when a footer differs between two builds of one commit
    assert imprint.footer(tmp_path) == imprint.footer(tmp_path)
    assert "torch 2." in imprint.footer(tmp_path) and "commit" not in imprint.footer(tmp_path), "no checkout, no commit"


def test_tags_are_escaped_and_an_unknown_address_is_left_out():
    made = imprint.tags('A "title"', "a < b", "The book")
    assert 'content="A &quot;title&quot;"' in made and 'content="a &lt; b"' in made and "og:url" not in made
    assert 'property="og:url" content="https://example.org/x.html"' in imprint.tags(
        "t", "d", "b", "https://example.org/x.html"
    )


SCRIPT = """var a={"bars":[448,512,["navicon"],"f0c9","M1"]};var b={bars:[640,512,[],"f0c9","M2"],"sun":[8,9,[],"f185","M3"]}"""


def built(folder, pages):
    """A small site with the theme's icon script."""
    scripts = folder / "_static" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "fontawesome.js").write_text(SCRIPT)
    for name, body in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f'<html><head><script defer src="../_static/scripts/fontawesome.js?digest=1"></script></head>{body}</html>'
        )


def test_used_icons_become_a_stylesheet_and_their_script_goes(tmp_path):
    """Breaks when an unused icon is kept, the first and not the solid set is cut, or a page still asks for the script."""
    built(tmp_path, {"chapters/a.html": '<i class="fa-solid fa-bars fa-lg"></i>'})
    finish.icons(tmp_path)
    page, sheet = (tmp_path / "chapters" / "a.html").read_text(), (tmp_path / finish.ICONS).read_text()
    assert "fontawesome.js" not in page and 'href="../_static/icons.css"' in page
    assert ".fa-bars" in sheet and "M2" in sheet and "M1" not in sheet and ".fa-sun" not in sheet
    assert not (tmp_path / finish.SOURCE).exists()


def test_the_map_lists_pages_under_the_public_address(tmp_path):
    """Breaks when the map is written without an address, or an address is doubled."""
    built(tmp_path, {"chapters/a.html": "", "genindex.html": ""})
    finish.site(tmp_path, title="A & B")
    assert not (tmp_path / "sitemap.xml").exists() and "A &amp; B" in (tmp_path / "404.html").read_text()
    finish.site(tmp_path, title="A", address="https://example.org/book/")
    assert (tmp_path / "sitemap.xml").read_text().count("<loc>") == 1
    assert "https://example.org/book/chapters/a.html" in (tmp_path / "sitemap.xml").read_text()


def test_the_public_address_is_one(monkeypatch):
    """Breaks when a name without a scheme would become part of every page's tags."""
    monkeypatch.setenv("BOOK_ADDRESS", "example.org")
    with pytest.raises(ValueError, match=r"BOOK_ADDRESS='example\.org'"):
        imprint.address()
    monkeypatch.setenv("BOOK_ADDRESS", "https://example.org/book/")
    assert imprint.address() == "https://example.org/book"


def test_colours_of_the_charts_are_those_of_the_page():
    """Breaks when a mechanism has one colour in a chart and another in the stylesheet."""
    sheet = assets.colours()
    assert all(f"--mech-{name.replace('_', '-')}: {value}" in sheet for name, value in charts.COLOURS.items())
