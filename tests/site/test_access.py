"""WCAG 2.2, levels A and AA, by axe-core on every page, light and dark."""

from pathlib import Path

import pytest

from tests.site.conftest import absent, chapters

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
ONLY = {
    "light": {"type": "tag", "values": TAGS},
    "dark": {"type": "rule", "values": ["color-contrast"]},
}  # the rest is the same
RUN = """async only => (await axe.run(document, {runOnly: only, resultTypes: ["violations"]})).violations
  .map(v => [v.id, v.nodes.length, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " :: " + (n.failureSummary || "").slice(0, 200))])"""


@pytest.fixture(scope="module")
def axe():
    try:
        import axe_playwright_python
    except ImportError:
        absent("axe-core is not installed (pip install -e '.[dev]')")
    return str(Path(axe_playwright_python.__file__).parent / "axe.min.js")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_no_violation_on_any_page(visit, address, axe, mode):
    """Breaks when a page lacks a name, a contrast, an order or a role that WCAG 2.2 AA asks for."""
    found = {}
    for name in [*chapters(), "search.html", "404.html", "source/lib/cost/step.html"]:
        page = visit(name, dark=mode == "dark", reduced_motion="reduce").page
        page.wait_for_function(
            "!document.querySelector('.math') || document.querySelector('mjx-container')", timeout=15000
        )
        page.add_script_tag(path=axe)
        if violations := page.evaluate(RUN, ONLY[mode]):
            found[name] = violations
    assert not found, found
