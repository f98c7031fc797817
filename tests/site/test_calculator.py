"""The calculator in a browser: states come by its address and form, figures go to its tables, and all agree with lib.cost."""

import pytest

from lib import calculator
from tests.test_calculator import STATES, faults, states

PAGE = "chapters/calculator.html"
READ = """states => states.map(({hash, name}) => {
  history.replaceState(null, "", "#" + hash);
  const began = performance.now();
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  const took = performance.now() - began;
  const shown = Object.fromEntries([...document.querySelectorAll(".calc-results tbody tr")]
    .map(row => [row.cells[0].textContent, row.cells[1].textContent]));
  // through JSON, so that NaN and Infinity arrive as the comparison knows them
  const found = JSON.parse(JSON.stringify(window.bookCalculator.evaluate(window.bookCalculator.read(), name)));
  return {found, shown, took};
})"""
EDGES = 100  # states of which lib.cost also searches the ceilings
QUICK = 50  # milliseconds: what feels immediate


def address_of(state):
    """The state as the page writes it into its address; targets are given in the units of the form."""
    fields = {
        "model0": state["name"], "model1": "", "model2": "", "context": calculator.CONTEXTS.index(state["context"]),
        "batch": state["batch"], "chip": state["chip"], "count": state["count"], "split": state["split"], "cached": state["cached"],
        "rent": state["rent"], "tpot": 1e3 * state["tpot"], "price": state["price"],
    }  # fmt: skip
    return "&".join(f"{key}={value}" for key, value in fields.items())


@pytest.fixture(scope="module")
def read(browser, address):
    page = browser.new_page()
    page.goto(address + PAGE)
    chosen = states()
    got = page.evaluate(READ, [{"hash": address_of(state), "name": state["name"]} for state in chosen])
    page.close()
    return list(zip(chosen, got, strict=True))


def test_five_hundred_states_agree_with_the_cost_model(read):
    """Breaks when the form loses a field, the address restores another, or the script leaves lib.cost."""
    assert len(read) >= 500 == STATES
    wrong = {i: found for i, (state, got) in enumerate(read) if (found := faults(state, got["found"], edges=i < EDGES))}
    assert not wrong, f"{len(wrong)} of {STATES} states differ: {[(read[i][0], wrong[i]) for i in list(wrong)[:3]]}"


def test_the_table_shows_what_was_computed(read):
    """Breaks when a row of the table shows another quantity, or one in another unit."""
    for state, got in read:
        found, shown = got["found"], got["shown"]
        lower = float(shown["Step, at least"].split(" ms")[0].replace(",", "")) / 1e3
        assert lower == pytest.approx(found["lower"], rel=0.006), state
        assert float(shown["Sequences that fit"].replace(",", "")) == pytest.approx(found["fits"], rel=0.006, abs=0.5)
        low = shown["Dollars a million tokens"].split(" to ")[0]
        assert float(low.replace(",", "")) == pytest.approx(found["dollars"][0], rel=0.006), state


def test_a_change_is_shown_at_once(read):
    """Breaks when one state needs more than fifty milliseconds on the whole: the median, since the machine has other work."""
    took = sorted(got["took"] for _, got in read)
    assert took[len(took) // 2] < QUICK, f"the median of {len(took)} states took {took[len(took) // 2]:.0f} ms"


def test_a_link_restores_the_state(visit):
    """Breaks when the address does not carry a field, or the page does not read it when it opens."""
    page = visit(PAGE).page
    page.select_option("#calc-model0", "llama-3.1-70b")
    page.select_option("#calc-batch", "64")
    page.fill("#calc-tpot", "35")
    link = page.evaluate("location.href").split("/book/")[1]
    assert "model0=llama-3.1-70b" in link and "tpot=35" in link
    other = visit(link).page
    assert other.evaluate("window.bookCalculator.read()") == page.evaluate("window.bookCalculator.read()")


def test_the_keyboard_is_enough(visit):
    """Breaks when a control cannot be reached by Tab or moved by arrows."""
    page = visit(PAGE).page
    page.focus("#calc-model0")
    seen = []
    for _ in range(12):
        seen.append(page.evaluate("document.activeElement.name"))
        page.keyboard.press("Tab")
    assert (
        seen
        == [
            field
            for field in page.evaluate("[...document.querySelector('.calc-form').elements].map(e => e.name)")
            if field
        ][:12]
    )
    page.focus("#calc-context")
    before = page.text_content("#calc-context-text")
    page.keyboard.press("ArrowLeft")
    assert page.text_content("#calc-context-text") != before
