"""The built site, served under a sub-path as a project page is, and Chromium that looks at it.

These tests want `make book` to have been run and a Chromium; `make check` runs them after the build. Without Chromium they
are skipped, unless BROWSER_WANTED is set, as it is in the workflow that publishes.
"""

import os
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lib.build.picture import NAMES, chromium

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
PREFIX = "/book/"


def absent(reason):
    """Skip with the reason, or fail where a browser is wanted."""
    if os.environ.get("BROWSER_WANTED"):
        pytest.fail(f"{reason}, and BROWSER_WANTED is set")
    pytest.skip(reason)


def chapters():
    return sorted(path.relative_to(SITE).as_posix() for path in (SITE / "chapters").glob("*.html"))


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.path).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.site)


class _UnderPrefix(SimpleHTTPRequestHandler):
    def translate_path(self, path):
        bare = urlsplit(path).path
        if not bare.startswith(PREFIX):
            return str(SITE / "no-such-file")
        return super().translate_path(path[len(PREFIX) - 1 :])

    def log_message(self, *words):
        pass


@pytest.fixture(scope="session")
def address():
    if not (SITE / "chapters" / "index.html").exists():
        absent("there is no built site in _build/html (make book)")
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: _UnderPrefix(*args, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser(address):
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright is not installed (pip install -e '.[dev]')")
    if chromium() is None:
        absent(f"no Chromium: none of {', '.join(NAMES)} is on the PATH, and CHROMIUM names none")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium())
        yield started
        started.close()


class Visit:
    """One page, with what it fetched and complained of."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.requests, self.errors = [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda told: self.errors.append(told.text) if told.type in ("error", "warning") else None)
        page.on("response", lambda got: self.errors.append(f"{got.status} {got.url}") if got.status >= 400 else None)

    def go(self, path):
        self.page.goto(self.address + path)
        self.page.wait_for_load_state("load")
        return self

    @property
    def elsewhere(self):
        return [url for url in self.requests if not url.startswith((self.address, "data:", "blob:"))]


@pytest.fixture
def visit(browser, address):
    """Opens pages: visit(path, width=..., dark=...)."""
    opened = []

    def open_page(path, width=1280, height=900, dark=False, **context):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **context
        )
        context.add_init_script(f"localStorage.setItem('mode', '{'dark' if dark else 'light'}')")
        opened.append(context)
        return Visit(context.new_page(), address).go(path)

    yield open_page
    for context in opened:
        context.close()
