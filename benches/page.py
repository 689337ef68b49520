"""The playground's budget in Chromium: ``python benches/page.py [--json]``.

The script needs the page (``make web``), Chromium and a host without other load. The budgets are:

- The page is loaded within 2 s.
- After an input, the first picture appears within 100 ms, and the whole run of a million segments within 300 ms.
- Two CUBIC flows at 622 Mbit/s are simulated at 5 million segments per second.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan import web

if TYPE_CHECKING:
    from playwright.sync_api import Page

REPEATS = 7
MILLION = {"rate_mbps": 622, "rtt_ms": 100, "buffer_packets": 1037, "duration_s": 20}
"""Settings for two CUBIC flows with a buffer of 20 % of the BDP; the run delivers about a million segments."""


def _until(page: Page, condition: str) -> None:
    for _ in range(3000):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(10)
    raise SystemExit(f"not within 30 s: {condition}")


def _apply(page: Page, settings: dict[str, float]) -> dict[str, Any]:
    """Sets the page's controls by input events, as a user does, and waits until the whole run is drawn."""
    before = page.evaluate("elephan.timings.runs")
    script = """settings => { for (const [name, value] of Object.entries(settings)) {
        const input = document.getElementById(name);
        input.value = value; input.dispatchEvent(new Event('input')); } }"""
    page.evaluate(script, settings)
    _until(page, f"elephan.timings.runs > {before}")
    return dict(page.evaluate("elephan.timings"))


def measure() -> dict[str, Any]:
    """Median times of several runs, and the segment rate of the fastest run, segments/s."""
    from playwright.sync_api import sync_playwright

    folder = Path(tempfile.mkdtemp())
    file = folder / "elephan.html"
    file.write_text(web.playground(), encoding="utf-8")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        loads = []
        for _ in range(3):
            page = browser.new_page()
            began = time.perf_counter()
            page.goto(file.as_uri())
            _until(page, "window.elephan?.timings.runs > 0")
            loads.append(time.perf_counter() - began)
        page.select_option("#lesson", "long-fat")
        page.select_option("#algorithm-1", "cubic")
        _apply(page, MILLION)
        done = [_apply(page, {"buffer_packets": 1000 + 5 * i}) for i in range(REPEATS)]
        version = browser.version
        browser.close()
    shutil.rmtree(folder)
    median = {name: statistics.median(run[name] for run in done) for name in ("partial_ms", "whole_ms", "wall_ms")}
    fastest = max(run["segments"] / run["wall_ms"] * 1e3 for run in done)
    segments = done[-1]["segments"]
    return {
        "chromium": version,
        "load_s": statistics.median(loads),
        "segments": segments,
        **median,
        "segments_per_s": fastest,
    }


if __name__ == "__main__":
    found = measure()
    if "--json" in sys.argv:
        print(json.dumps(found))
    else:
        print(f"Chromium {found['chromium']}: first picture {found['load_s']:.2f} s after opening the file")
        print(
            f"{found['segments']:,} segments: first picture after {found['partial_ms']:.0f} ms, "
            f"whole after {found['whole_ms']:.0f} ms"
        )
        print(f"{found['segments_per_s'] / 1e6:.1f} million segments/s")
