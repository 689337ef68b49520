"""The playground in Chromium: it loads from a file, obeys its policy, redraws, and opens every lesson."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.web import wasm
from tests.web.test_lessons import OF_FLOW, measured

from elephan import web
from elephan.cli.main import run_command
from elephan.runs import Store, sweep
from elephan.scenario import Scenario
from elephan.web.lessons import lessons, scenario_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_MS = 60_000  # how long a busy host may take; nothing is asserted on it

pytestmark = [
    wasm.needs_node,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian's package chromium)"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian's package chromium)")
    api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "elephan.html"
    assert run_command(["play", "--no-open", "--out", str(path)]) == 0
    return path


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    with watched(browser, file, "window.elephan?.timings.runs > 0") as opened:
        yield opened


@contextmanager
def watched(browser: Browser, file: Path, ready: str) -> Iterator[Page]:
    """A page from a file, ready under a condition, which says nothing in the console and asks for nothing else."""
    context = browser.new_context(viewport={"width": 1300, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    requests: list[str] = []
    context.on("request", lambda request: requests.append(request.url))
    opened.goto(file.as_uri())
    until(opened, ready)
    yield opened
    assert said == []
    assert all(url.startswith((file.as_uri(), "blob:")) for url in requests), requests
    context.close()


def until(page: Page, condition: str) -> None:
    """Waits. The page's policy forbids what Playwright's own waiting evaluates."""
    for _ in range(PATIENCE_MS // 20):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"not within {PATIENCE_MS} ms: {condition}; {page.inner_text('#status')}")


def runs(page: Page) -> int:
    return int(page.evaluate("elephan.timings.runs"))


def after(page: Page, before: int) -> None:
    until(page, f"elephan.timings.runs > {before}")


def open_lesson(page: Page, name: str) -> None:
    before = runs(page)
    page.select_option("#lesson", name)
    after(page, before)


def test_the_policy_allows_nothing_but_the_page_itself(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["worker-src"] == "blob:"
    assert re.fullmatch(r"'sha256-[\w+/=]+' 'wasm-unsafe-eval' blob:", rules["script-src"])
    assert "unsafe-inline" not in policy
    assert not re.search(r'(?:src|href)="https?:', text)


def test_a_drag_of_the_buffer_changes_the_picture(page: Page) -> None:
    picture = page.locator("figure[data-panel=cwnd] canvas")
    before, runs_before = picture.screenshot(), runs(page)
    slider = page.locator("#buffer_packets-slider")
    box = slider.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    page.mouse.down()
    for part in (0.5, 0.6, 0.7, 0.8):
        page.mouse.move(box["x"] + box["width"] * part, middle)
    page.mouse.up()
    after(page, runs_before)
    assert int(page.input_value("#buffer_packets")) > 500
    assert picture.screenshot() != before
    until(page, "elephan.timings.whole_ms >= elephan.timings.partial_ms")


def test_a_newer_input_cancels_the_run_before(page: Page) -> None:
    open_lesson(page, "long-fat")
    before = runs(page)
    page.evaluate(
        """() => { const rate = document.getElementById('rate_mbps');
        for (const value of [201, 202, 203, 204, 205]) {
            rate.value = value; rate.dispatchEvent(new Event('input')); } }"""
    )
    until(page, f"elephan.timings.runs > {before} && elephan.form().links[0].rate_bps === 205e6")
    assert runs(page) == before + 1


def test_every_lesson_opens_and_its_sentences_are_true_of_the_page(page: Page) -> None:
    for lesson in lessons():
        open_lesson(page, lesson["id"])
        assert lesson["title"] in page.inner_text("#lesson-text")
        numbers: dict[str, Any] = page.evaluate("elephan.numbers()")
        for row in lesson["check"]:
            of_flow = row["of"] in OF_FLOW | {"share"}
            value = (numbers["flows"][row.get("flow", 1) - 1] if of_flow else numbers)[row["of"]]
            limits = row.get("at_least", -float("inf")), row.get("at_most", float("inf"))
            assert limits[0] <= value <= limits[1], (lesson["id"], row, value)


def test_a_saved_file_runs_and_gives_the_pages_numbers(page: Page, tmp_path: Path) -> None:
    open_lesson(page, "rtt-unfairness")
    with page.expect_download() as download:
        page.click("#save-toml")
    saved = tmp_path / "playground.toml"
    download.value.save_as(saved)
    scenario = Scenario.load(saved)
    assert scenario.canonical() == page.evaluate("elephan.form()")
    (run,) = sweep([scenario], on="sim", store=Store(tmp_path / "store"), jobs=1)
    numbers = page.evaluate("elephan.numbers()")
    for name in ("jain", "utilization", "loss_rate", "queue_mean_packets", "drops"):
        assert numbers[name] == pytest.approx(measured(run, name, None), rel=1e-12), name
    for i, flow in enumerate(numbers["flows"]):
        for name in ("share", *OF_FLOW):
            assert flow[name] == pytest.approx(measured(run, name, i + 1), rel=1e-12), name
        assert flow["goodput_mbps"] == run.summary()["flows"][i]["goodput_mbps"]
    lesson = next(lesson for lesson in lessons() if lesson["id"] == "rtt-unfairness")
    assert scenario_of(lesson["settings"]).canonical()["links"] == scenario.canonical()["links"]


def test_formulas_of_the_reader_are_an_algorithm(page: Page, tmp_path: Path) -> None:
    before = runs(page)
    page.select_option("#algorithm-0", "expression")
    after(page, before)
    before = runs(page)
    page.fill("#parameter-0-growth", "1.2*(t - cbrt(0.75*w_max))*(t - cbrt(0.75*w_max))*rtt")
    after(page, before)
    before = runs(page)
    page.fill("#parameter-0-kept", "0.7")
    after(page, before)
    assert page.evaluate("elephan.form().flows[0].parameters.kept") == "0.7"
    with page.expect_download() as download:
        page.click("#save-toml")
    saved = tmp_path / "saved.toml"
    download.value.save_as(saved)
    (run,) = sweep([Scenario.load(saved)], on="sim", store=Store(tmp_path / "store"), jobs=1)
    shown = page.evaluate("elephan.numbers().flows[0].goodput_mbps")
    assert shown == run.summary()["flows"][0]["goodput_mbps"]
    page.fill("#parameter-0-growth", "w +")
    until(page, "document.getElementById('status').textContent.includes('a function is missing before')")


def test_pictures_and_numbers_can_be_saved(page: Page) -> None:
    with page.expect_download() as download:
        page.click("#save-png")
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as download:
        page.click("#save-csv")
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert (
        lines[0]
        == "time_s,reno-1 cwnd_segments,reno-1 rate_mbps,reno-1 rtt_ms,bottleneck queue_packets,bottleneck losses_per_s"
    )
    assert len(lines) == 502


def test_a_link_carries_the_setting(page: Page, file: Path) -> None:
    open_lesson(page, "ecn")
    part = page.evaluate("location.hash")
    settings = json.loads(base64.urlsafe_b64decode(part[1:] + "=="))
    assert settings == page.evaluate("elephan.settings()")
    other = page.context.new_page()
    other.goto(file.as_uri() + part)
    until(other, "window.elephan?.timings.runs > 0")
    assert other.evaluate("elephan.settings()") == settings
    assert other.is_checked("#ecn")


@pytest.mark.parametrize("link", ["#rubbish", "#" + base64.urlsafe_b64encode(b'{"flows": 3}').decode()])
def test_a_link_that_says_nothing_is_told(browser: Browser, file: Path, link: str) -> None:
    opened = browser.new_page()
    opened.goto(file.as_uri() + link)
    until(opened, "window.elephan?.timings.runs > 0")
    opened.close()


def test_a_wrong_number_is_told_in_one_line(page: Page) -> None:
    page.fill("#start-0", "999")
    assert "it starts at 999 s" in page.inner_text("#status")
    before = runs(page)
    page.fill("#start-0", "1")
    after(page, before)
    assert "Utilization" in page.inner_text("#status")


def test_flows_are_added_with_the_keyboard_alone(page: Page) -> None:
    before = runs(page)
    page.focus("#add")
    page.keyboard.press("Enter")
    after(page, before)
    assert page.evaluate("document.activeElement.id") == "algorithm-1"
    assert page.locator("#flow-rows tr").count() == 2
    before = runs(page)
    page.focus("#rate_mbps-slider")
    page.keyboard.press("ArrowRight")
    after(page, before)


def test_every_control_has_a_name_and_every_picture_words(page: Page) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('input, select, button')].filter(e => !(e.labels?.length
        || e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert nameless == []
    words = page.evaluate("[...document.querySelectorAll('#pictures canvas')].map(e => e.getAttribute('aria-label'))")
    assert len(words) == 5
    assert all("over time" in text for text in words)


@pytest.mark.parametrize("width", [400, 1000, 2000])
def test_nothing_is_wider_than_the_window(browser: Browser, file: Path, width: int) -> None:
    opened = browser.new_page(viewport={"width": width, "height": 800})
    opened.goto(file.as_uri())
    until(opened, "window.elephan?.timings.runs > 0")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    opened.close()


def test_without_webassembly_one_line_says_so(browser: Browser, file: Path) -> None:
    context = browser.new_context()
    context.add_init_script("delete window.WebAssembly")
    opened = context.new_page()
    opened.goto(file.as_uri())
    until(opened, "document.getElementById('status').textContent.includes('no WebAssembly')")
    context.close()


def test_the_page_is_small() -> None:
    assert len(web.playground()) < 1_200_000
