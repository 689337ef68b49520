"""Writes docs/page.png and docs/board.png: the laboratory in a page, and the board, as Chromium shows them.

make site && .venv/bin/python docs/shots.py [SITE]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from writing import ROOT

from elephan.web import playground

WIDTH, HEIGHT = 1280, 760
LESSON = "11. BBR against CUBIC, shallow buffer"
_TRIES = 200


def main() -> None:
    """Take both pictures."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    site = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT.parent / "site").resolve() / "index.html"
    if found is None or not site.exists():
        raise SystemExit("needs Chromium (Debian's package chromium), and the site of 'make site'")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "elephan.html"
        file.write_text(playground(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(file.as_uri())
        _wait(page, 0)
        page.select_option("#lesson", label=LESSON)
        _wait(page, 1)
        page.wait_for_timeout(1000)  # the last curves
        # Its line says how fast the run was, which depends on the host of the picture.
        page.evaluate("document.getElementById('status').style.display = 'none'")
        page.screenshot(path=ROOT / "page.png")
        page.goto(site.as_uri())
        page.screenshot(path=ROOT / "board.png")
        browser.close()


def _wait(page: Page, runs: int) -> None:
    """Wait for a run after some others. The page forbids to evaluate strings, as Playwright's own waiting does."""
    for _ in range(_TRIES):
        if page.evaluate("window.elephan?.timings.runs ?? 0") > runs:
            return
        page.wait_for_timeout(100)
    raise SystemExit("the page runs nothing")


if __name__ == "__main__":
    main()
