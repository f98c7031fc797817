"""The README's picture: the first page of the built site, as Chromium shows it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lib.build.files import write

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SIZE = {"width": 1200, "height": 720}


def chromium() -> str | None:
    """The machine's Chromium: what CHROMIUM names, or the first that is on the PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def take(html: Path, to: Path) -> int:
    """Write the picture; 0 when it could be taken."""
    page = html / "chapters" / "index.html"
    if not page.exists():
        print(f"{page}: there is no built site; make book")
        return 1
    if chromium() is None:
        print(f"no Chromium: wanted one of {', '.join(NAMES)} on the PATH, or CHROMIUM to name one")
        return 1
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium())
        view = browser.new_page(viewport=SIZE, color_scheme="light")
        view.goto(page.as_uri())
        view.wait_for_load_state("load")
        write(to, view.screenshot())
        browser.close()
    print(f"{to}: {to.stat().st_size / 1000:.0f} kB")
    return 0
