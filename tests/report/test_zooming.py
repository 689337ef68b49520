"""Figures in a page: what a reader does with them by pointer and by keys, at any width, in both themes and on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.browsing import BROWSER, unpacked

from elephan.report import pages
from elephan.report.charts import BarChart, BarPanel, Bars, LineChart, LinePanel, Points
from elephan.report.figures import Curve, Figure, Panel, Traces
from elephan.report.matrix import Matrix
from elephan.report.run import run_report
from elephan.runs import Store, sweep
from elephan.scenario import Scenario
from elephan.web import page as web

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

UP = [float(i) for i in range(101)]
FIGURES: dict[str, Figure] = {
    "time": Traces(
        "time", "Time", "",
        (
            Panel("Window", "segments", (Curve("a", 0.0, 0.5, UP), Curve("b", 0.0, 0.5, UP[::-1], 1))),
            Panel("Queue", "packets", (Curve("q", 0.0, 0.5, [*UP[:50], *[None] * 51], 2),)),
        ),
        shaded=(10.0, 20.0, "measured"),
    ),
    "lines": LineChart("lines", "Lines", "", (
        LinePanel("", "x (ms)", "y", (Points("p", [1, 10, 1000], [1.0, 2.0, 3.0], [0.5, 1.5, 2.5], [1.5, 2.5, 3.5]),),
                  log_x=True),
    )),
    "bars": BarChart("bars", "Bars", "", (
        BarPanel("", "Mbit/s", ("one", "two"), (Bars("s", [1.0, 2.0]), Bars("t", [3.0, None], color=1))),
    )),
    "heat": Matrix("heat", "Heat", "", ("r", "s"), ("c", "d"), ((0.5, -0.5), (0.0, float("nan"))), "harm", (-1.0, 1.0)),
}  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shown = [{"id": one.id, "title": one.title, "caption": "", "files": []} for one in FIGURES.values()]
    page = {"title": "Figures", "figures": shown, "runs": [], "provenance": []}
    text = pages.render("plot.html.j2", {}, figures={name: one.spec() for name, one in FIGURES.items()}, page=page)
    return pages.write(tmp_path_factory.mktemp("figures") / "page.html", text)


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1200, "height": 3000})
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text))
    opened.goto(f"file://{file}")
    opened.wait_for_selector("#heat [data-drawn]")
    yield opened
    opened.close()
    assert wrong == []


def hover(page: Any, figure: str, x: float, y: float, panel: int = 0) -> str:
    """The text beside the pointer at a place of a panel, as fractions of its width and height."""
    box = page.locator(f"#{figure} .u-over").nth(panel).bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    return str(page.locator(f"#{figure} .fig-tip").inner_text())


def test_the_pointer_reads_values(page: Any) -> None:
    assert hover(page, "time", 0.5, 0.5).split("\n") == ["25 s", "a: 50", "b: 50"]
    assert "p · 10: 2" in hover(page, "lines", *middle(page))
    assert "one: 1" in hover(page, "bars", 0.15, 0.9)
    assert hover(page, "heat", 0.25, 0.25) == "r, c: 0.500"


def middle(page: Any) -> tuple[float, float]:
    """The place of the second point of the lines, found by keys, which go from point to point."""
    page.locator("#lines [data-drawn]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "10: 2" in page.locator("#lines .fig-tip").inner_text()
    at = page.evaluate(
        "() => { const o = document.querySelector('#lines .u-over').getBoundingClientRect();"
        "const c = document.querySelector('#lines .u-cursor-x').getBoundingClientRect();"
        "const d = document.querySelector('#lines .u-cursor-y').getBoundingClientRect();"
        "return [(c.left - o.left) / o.width, (d.top - o.top) / o.height]; }"
    )
    return at[0], at[1]


def test_dragging_zooms_all_panels_and_a_button_leads_back(page: Any) -> None:
    box = page.locator("#time .u-over").first.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 40, steps=4)
    page.mouse.up()
    assert hover(page, "time", 0.0, 0.5).startswith("20 s")
    assert hover(page, "time", 0.999, 0.5, panel=1).startswith("30 s")
    page.click("#time .fig-back")
    assert hover(page, "time", 0.0, 0.5).startswith("0 s")
    assert page.locator("#time .fig-back").is_hidden()


def test_a_name_of_the_legend_hides_its_line(page: Any) -> None:
    page.click("#time .fig-entry >> text=b")
    assert hover(page, "time", 0.5, 0.5).split("\n") == ["25 s", "a: 50"]
    page.click("#time .fig-entry >> text=b")
    assert "b: 50" in hover(page, "time", 0.5, 0.5)


@pytest.mark.parametrize("width", [400, 1600])
def test_no_width_cuts_a_page(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function(f"document.documentElement.scrollWidth <= {width}")
    page.wait_for_function(
        "[...document.querySelectorAll('.u-wrap')]"
        ".every((e) => e.clientWidth <= e.closest('.fig-place').clientWidth + 1)"
    )


def test_paper_is_white_and_the_screen_is_dark(browser: Any, file: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto(f"file://{file}")
    page.wait_for_selector("#time [data-drawn]")
    at = "getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()"
    dark = page.evaluate(at)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    light = page.evaluate(at)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert dark != light
    assert page.evaluate(at) == dark
    page.close()


def test_without_the_script_a_page_has_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "is_built", lambda: False)
    page = {"title": "T", "figures": [], "runs": [], "provenance": []}
    text = pages.render("plot.html.j2", {}, figures={"time": FIGURES["time"].spec()}, page=page)
    found = re.search(r'id="figures-data">(.*?)</script>', text)
    assert found is not None
    assert unpacked(found[1])["time"]["picture"].startswith("data:image/svg+xml;base64,")
    assert "uplot" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL).lower()


def test_a_run_has_its_losses_and_folds_its_distribution(browser: Any, tmp_path: Path) -> None:
    scenario = Scenario.dumbbell(
        ["cubic", "reno"], rate="20 Mbit/s", rtt="40 ms", buffer="50% BDP", duration="30 s", title="losses"
    )
    (run,) = sweep([scenario], on="sim", store=Store(tmp_path / "store"), jobs=1)
    file = run_report(run, tmp_path / "report")
    assert file.stat().st_size < 1_000_000
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"file://{file}")
    assert "loss events" in page.inner_text("#time")
    assert page.evaluate("document.querySelector('.fold').getBoundingClientRect().top") < 2000
    assert page.locator("#distribution [data-drawn]").count() == 0
    page.click(".fold summary >> text=distribution")
    page.wait_for_selector("#distribution [data-drawn]")
    assert page.locator("#distribution .fig-panel").count() == 2
    page.close()
