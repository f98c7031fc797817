"""Every page as a browser gets it: whole, silent, from this site alone, drawn, and usable in the dark, on a phone, by keyboard."""

import gzip
from pathlib import Path

import pytest

from tests.site.conftest import SITE, chapters

SETTLE = """async () => {
  for (const chart of document.querySelectorAll(".chart")) {
    chart.scrollIntoView({block: "center", behavior: "instant"});
    for (let i = 0; i < 400 && !chart.querySelector("svg"); i += 1) await new Promise(r => setTimeout(r, 25));
  }
  scrollTo(0, 0);
}"""
DRAWN = """mode => [...document.querySelectorAll(".chart")].every(place => place.dataset.drawn === mode && place.querySelector("svg .mark-text, svg path, svg rect"))"""
MARKS = """[...document.querySelectorAll(".chart, .calc-chart")].map(place => [place.id || place.dataset.chart,
  place.querySelectorAll("svg path, svg rect, svg circle").length])"""
WIDE = """[...document.querySelectorAll("main *")].filter(e => e.scrollWidth > 0 && e.getBoundingClientRect().right > innerWidth + 1
  && !e.closest(".table-scroll, pre, .highlight, .chart, mjx-container, .pst-scrollable-table-container, .output, svg, .sr-only, .visually-hidden"))
  .slice(0, 3).map(e => e.tagName + "." + e.className)"""
BUDGET = 1.2e6  # compressed bytes of all that a page fetches
PAINT = 1500  # milliseconds to the first content


def others():
    return ["search.html", "404.html", "source/index.html", "source/lib/cost/step.html"]


def settle(page, mode="light"):
    page.evaluate(SETTLE)
    page.wait_for_function(DRAWN, arg=mode, timeout=20000)


@pytest.fixture(scope="module")
def names(address):
    return chapters()


def test_every_page_is_silent_asks_no_other_host_draws_its_charts_and_is_light(visit, names):
    """Breaks with an error in a script, an asset that is missing, an address of another host, a chart without marks, or a page
    that fetches more than 1.2 MB as a server would compress it, or shows nothing for a second and a half."""
    paints = []
    for name in [*names, *others()]:
        seen = visit(name)
        settle(seen.page)
        assert not seen.errors, (name, seen.errors)
        assert not seen.elsewhere, (name, seen.elsewhere)
        assert all(count > 3 for _, count in seen.page.evaluate(MARKS)), name
        files = {
            _inside(url.split("/book/")[1].split("?")[0].split("#")[0]) for url in seen.requests if "/book/" in url
        }
        weight = sum(len(gzip.compress((SITE / path).read_bytes(), 6)) for path in files)
        paints.append(seen.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"))
        print(f"{name}: {weight / 1e3:.0f} kB, first paint {paints[-1]:.0f} ms")
        assert weight < BUDGET, (name, weight)
        seen.page.close()
    # the middle of the pages, since a machine with other work paints some of them late without any fault of theirs
    assert sorted(paints)[len(paints) // 2] < PAINT


def _inside(path: str) -> Path:
    return (SITE / path).resolve().relative_to(SITE)


def test_the_dark_theme_draws_anew(visit, names):
    """Breaks when a chart keeps its light ink on a dark page."""
    for name in names:
        seen = visit(name)
        if not seen.page.query_selector(".chart"):
            continue
        settle(seen.page)
        ink = "getComputedStyle(document.querySelector('.chart svg text')).fill"
        light = seen.page.evaluate(ink)
        seen.page.evaluate("document.documentElement.dataset.theme = 'dark'")
        settle(seen.page, "dark")
        assert seen.page.evaluate(ink) != light, name
        return
    pytest.fail("no chapter has a chart")


def test_the_theme_button_turns_the_page_dark(visit):
    """Breaks when the button is gone, has no icon, or does nothing."""
    page = visit("chapters/ceiling.html").page
    before = page.evaluate("document.documentElement.dataset.theme")
    for _ in range(2):
        page.locator("button.theme-switch-button:visible").first.click()
    after = page.evaluate("document.documentElement.dataset.theme")
    assert {before, after} == {"light", "dark"} or before == after == "light"
    icon = "getComputedStyle(document.querySelector('.fa-magnifying-glass')).maskImage"
    assert "data:image/svg+xml" in page.evaluate(icon)


def test_a_phone_never_scrolls_sideways(visit, names):
    """Breaks when something on a page is wider than 390 pixels and does not scroll inside itself."""
    for name in [*names, *others()]:
        page = visit(name, width=390, height=844).page
        page.evaluate(SETTLE)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, (name, page.evaluate(WIDE))


def test_search_finds_the_indexer(visit):
    """Breaks when the index is not built, or the search page lacks a script."""
    page = visit("search.html?q=indexer").page
    page.wait_for_selector("#search-results li a", timeout=10000)
    assert any("architecture" in link.get_attribute("href") for link in page.query_selector_all("#search-results li a"))


def test_the_keyboard_reaches_the_calculator(visit):
    """Breaks when the way from a first page to the calculator's first field needs a mouse."""
    page = visit("chapters/index.html").page
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("(document.activeElement.getAttribute('href') || '').includes('calculator')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/calculator.html")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("Boolean(document.activeElement.closest('.calc-form'))"):
            return
    pytest.fail("sixty presses of Tab did not reach the form")


def test_print_keeps_tables_and_charts(visit):
    """Breaks when a print style hides a table, or cuts it off where the screen would scroll."""
    page = visit("chapters/ceiling.html").page
    settle(page)
    count = page.evaluate("document.querySelectorAll('.book-table table, .chart svg').length")
    page.emulate_media(media="print")
    shown = "[...document.querySelectorAll('.book-table table, .chart svg')].filter(e => e.getBoundingClientRect().height > 0).length"
    assert page.evaluate(shown) == count > 0
    cut = "[...document.querySelectorAll('.table-scroll')].filter(e => getComputedStyle(e).overflowX !== 'visible').length"
    assert page.evaluate(cut) == 0


def test_pages_open_as_files(browser):
    """Breaks when a page needs a server: charts, formulas and the calculator must work from a folder."""
    page = browser.new_page()
    errors, elsewhere = [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: elsewhere.append(request.url) if request.url.startswith("http") else None)
    for name in ("ceiling", "calculator"):
        page.goto((SITE / "chapters" / f"{name}.html").as_uri())
        settle(page)
        page.wait_for_selector("mjx-container", state="attached", timeout=15000)
        assert all(count > 3 for _, count in page.evaluate(MARKS)), name
    page.close()
    assert not errors and not elsewhere
