"""Sizes of reports: under a megabyte, with the figure and the run at the top, on a desk, a phone and paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.browsing import BROWSER

import elephan
from elephan import export
from elephan.cli.main import run_command
from elephan.scenario import Scenario

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
MOST_BYTES = 1_000_000
MOST_PX = 2_000
"""Height before the first fold-out, on a desk."""
MEASURE = """() => {
    const top = (node) => node && node.offsetParent ? Math.round(node.getBoundingClientRect().top + scrollY) : null;
    const first = (name) => [...document.querySelectorAll(name)].map(top).filter((y) => y !== null)[0] ?? null;
    return { fold: first("main details"), figure: first("figure, main table"), here: first("#living"),
             high: document.documentElement.scrollHeight, wide: document.documentElement.scrollWidth };
}"""
PAPER_PX = 703
"""Width of the text on A4 with margins of 12 mm."""
RIGHT = """() => Math.max(...[...document.querySelectorAll("main table, main canvas, main pre, main img")]
    .filter((node) => node.offsetParent).map((node) => node.getBoundingClientRect().right))"""
"""Right end of the widest thing that is shown."""
PATH = ["--rate", "10 Mbit/s", "--rtt", "20 ms", "--buffer", "1 BDP"]
KINDS = {
    "run": [["run", "one.toml"], ["show", "last", "--out", "out"]],
    "compare": [
        ["compare", "reno", "cubic", "htcp", "bbr3", *PATH, "--seeds", "1", "--duration", "14 s", "--out", "out"]
    ],
    "evaluate": [["evaluate", "reno", "--quick", "--only", "7.9", "--seeds", "2", "--out", "out"]],
    "explain": [["explain", "one.pcapng", "--out", "out"]],
    "paper": [["paper", "weigle2006", "--quick", "--figure", "3", "--out", "out"]],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario, and a capture of it."""
    made = tmp_path_factory.mktemp("sizes")
    scenario = Scenario.dumbbell(["cubic"], rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="8 s")
    (made / "one.toml").write_text(scenario.to_toml())
    run = elephan.run(scenario)
    export.write_pcapng(run, export.events_of(run), made / "one.pcapng")
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_short_and_begins_with_its_figure(
    kind: str, browser: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ELEPHAN_STORE", str(folder / "store"))
    for arguments in KINDS[kind]:
        assert run_command(arguments) == 0
    report = folder / "out" / "report.html"
    assert report.stat().st_size < MOST_BYTES
    for width in (400, 1280):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(report.as_uri())
        page.wait_for_timeout(300)
        found = page.evaluate(MEASURE)
        assert found["wide"] == width, "nothing is cut off or has to be scrolled aside"
        assert found["figure"] < found["here"], "the run is behind the figure, or behind the matrix of verdicts"
        assert width == 400 or (found["here"] < MOST_PX and found["fold"] < MOST_PX)
        page.emulate_media(media="print")
        assert page.locator("#living").is_hidden()
        assert width == 400 or page.evaluate("document.documentElement.scrollWidth") == width
        page.set_viewport_size({"width": PAPER_PX, "height": 1000})
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(RIGHT) <= PAPER_PX, "a browser prints all text smaller for what is wider than the paper"
        page.close()
    report.unlink()
