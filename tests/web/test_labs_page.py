"""The labs in Chromium, by keyboard alone: right answers, prepared wrong ones, widths, themes, and no request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from tests.web import wasm
from tests.web.test_playground import browser, pytestmark, until, watched

from elephan.cli.main import run_command
from elephan.course import labs
from elephan.course.expressions import evaluate, parse
from elephan.course.judging import solution
from elephan.course.reference import Reference
from elephan.course.schema import LabTable, StepTable
from elephan.runs import Store
from elephan.web.lessons import scenario_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser", "pytestmark"]
IN_PAGE = [lab for lab in labs.labs() if lab.place == "page"]
QUICK = ("sawtooth",)
"""Labs of ``make test``; the others are for ``make verify``."""
SHOWN = [pytest.param(lab, id=lab.id, marks=() if lab.id in QUICK else pytest.mark.large) for lab in IN_PAGE]
WIDTHS = (400, 700, 1000, 1600)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "labs.html"
    assert run_command(["course", "page", "--no-open", "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    with watched(browser, file, "document.documentElement.dataset.ready === 'yes'") as opened:
        yield opened


class Student:
    """Works on a lab with the keyboard alone."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, lab: LabTable, step: StepTable) -> None:
        """Goes to a step by the link in the address."""
        self.page.evaluate(f"location.hash = '#{lab.id}/{step.id}'")
        until(self.page, f"location.hash === '#{lab.id}/{step.id}' && !!document.getElementById('lab-form')")

    def tab_to(self, selector: str) -> None:
        """Presses the tabulator until an element has the focus."""
        for _ in range(300):
            if self.page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"the tabulator does not reach {selector}")

    def number(self, value: float) -> str:
        """Answers with a number."""
        self.tab_to("#lab-answer")
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(f"{value:.12g}")
        return self.enter()

    def option(self, place: int) -> str:
        """Chooses an option: the tabulator reaches the group, and the arrow keys choose."""
        self.tab_to("#lab-form input[type=radio]")
        self.page.keyboard.press("Space")
        for _ in range(20):
            if self.page.evaluate(f"document.getElementById('lab-option-{place}').checked"):
                return self.enter()
            self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"the arrow keys do not reach option {place}")

    def essay(self, text: str) -> str:
        """Writes an answer."""
        self.tab_to("#lab-answer")
        self.page.keyboard.type(text)
        self.tab_to("#lab-form button")
        return self.enter()

    def goal(self, changes: dict[str, Any]) -> str:
        """Changes numbers of the setting, and lets the page check it."""
        for name, value in changes.items():
            before = self.page.evaluate("elephan.timings.runs")
            if name == "flows":
                for i, flow in enumerate(value):
                    self.choose(f"#algorithm-{i}", flow["algorithm"])
            elif name == "queue":
                self.choose("#queue", value)
            elif name == "ecn":
                self.tab_to("#ecn")
                self.page.keyboard.press("Space")
            else:
                self.tab_to(f"#{name}")
                self.page.keyboard.press("Control+a")
                self.page.keyboard.type(str(value))
            until(self.page, f"elephan.timings.runs > {before} || elephan.settings().{name} !== {json.dumps(value)}")
        self.tab_to("#lab-form button")
        return self.enter()

    def choose(self, selector: str, value: str) -> None:
        """Chooses an entry of a list by the arrow keys."""
        self.tab_to(selector)
        self.page.keyboard.press("Home")
        for _ in range(150):
            if self.page.evaluate(f"document.querySelector('{selector}').value") == value:
                return
            self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"{selector} has no {value}")

    def enter(self) -> str:
        """Sends the form; returns what the page says."""
        self.page.evaluate("document.getElementById('lab-feedback').replaceChildren()")
        if self.page.evaluate("document.activeElement.matches('#lab-form input, #lab-form button')"):
            self.page.keyboard.press("Enter")
        until(self.page, "document.getElementById('lab-feedback').textContent !== ''")
        return str(self.page.inner_text("#lab-feedback"))

    def right(self, step: StepTable, reference: Reference) -> str:
        """Answers a step rightly."""
        value = solution(step, reference.lookup(step))
        if step.kind == "number":
            assert value is not None
            return self.number(value)
        if step.kind == "goal":
            return self.goal(step.example or {})
        if step.kind == "essay":
            return self.essay("Because the sender halves its window.")
        assert value is not None
        return self.option(int(value))


@pytest.mark.parametrize("lab", SHOWN)
def test_a_lab_is_done_from_beginning_to_end(page: Page, lab: LabTable, store: Store, tmp_path: Path) -> None:
    reference, student = Reference(lab, store), Student(page)
    page.evaluate(f"location.hash = '#{lab.id}'")
    until(page, f"document.getElementById('lab-choice').value === '{lab.id}'")
    student.tab_to("#lab-next")
    page.keyboard.press("Enter")
    for i, step in enumerate(lab.step):
        until(page, f"location.hash === '#{lab.id}/{step.id}'")
        said = student.right(step, reference)
        expected = {"predict": "Your prediction holds.", "essay": "Your answer is noted."}.get(step.kind, "Right.")
        assert said.startswith(expected), (step.id, said)
        if i + 1 < len(lab.step):
            student.tab_to("#lab-next")
            page.keyboard.press("Enter")
    assert f"{len(lab.step)} of {len(lab.step)} steps done" in page.inner_text("#lab-done")
    student.tab_to("#lab-student")
    page.keyboard.type("Ada L.")
    student.tab_to("#lab-save")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == f"lab-{lab.number}-Ada-L-.json"
    saved = json.loads(Path(download.value.path()).read_text("utf-8"))
    assert saved["lab"] == lab.id
    assert saved["student"] == "Ada L."
    assert set(saved["answers"]) == {step.id for step in lab.step}


@pytest.mark.parametrize("lab", SHOWN)
def test_wrong_answers_are_told_apart(page: Page, lab: LabTable, store: Store) -> None:
    reference, student = Reference(lab, store), Student(page)
    tried = 0
    for step in lab.step:
        student.open(lab, step)
        lookup = reference.lookup(step)
        for wrong in step.wrong:
            said = student.number(evaluate(parse(wrong.value), lookup))
            assert said.startswith("Not yet."), (step.id, wrong.value, said)
            assert plain(wrong.hint) in said, (step.id, wrong.value, said)
            tried += 1
        if step.kind == "choice":
            for place, option in enumerate(step.options):
                if evaluate(parse(option.when), lookup) != 1:
                    said = student.option(place)
                    assert said.startswith("Not yet."), (step.id, said)
                    assert plain(option.hint or "") in said
                    tried += 1
        if step.kind == "goal":
            student.tab_to("#lab-form button")
            assert student.enter().startswith("Not yet.")
            tried += 1
    assert tried >= 5


def plain(text: str) -> str:
    """A text as the page shows it."""
    return text.replace("`", "").replace("*", "")


@pytest.mark.parametrize("lab", SHOWN)
def test_the_page_runs_the_settings_of_python(page: Page, lab: LabTable) -> None:
    student = Student(page)
    for step in lab.step:
        student.open(lab, step)
        if step.kind == "predict":
            student.option(0)
    for step in {step.run: step for step in lab.step}.values():
        before = page.evaluate("elephan.timings.runs")
        student.open(lab, step)
        until(page, f"elephan.timings.runs > {before}")
        expected = scenario_of(labs.settings(lab, step.run), sampled=True).canonical()
        assert page.evaluate("elephan.form()") == {**expected, "title": "from the playground"}


def test_pictures_wait_for_the_prediction(page: Page) -> None:
    lab = labs.lab("sawtooth")
    predicted = next(step for step in lab.step if step.kind == "predict")
    student = Student(page)
    student.open(lab, lab.step[0])
    assert "wait for your prediction in step 2" in page.inner_text("#status")
    assert page.evaluate("elephan.timings.runs") == 0
    assert not page.is_visible("#pictures")
    student.open(lab, predicted)
    student.tab_to("#lab-form button")
    assert "Choose one of the answers first." in student.enter()
    student.option(0)
    until(page, "elephan.timings.runs > 0")
    assert page.is_visible("#pictures")
    assert page.is_disabled("#lab-option-0"), "a prediction cannot be changed once the run is seen"


def test_an_answer_that_is_right_for_another_setting_is_told(page: Page) -> None:
    lab = labs.lab("sawtooth")
    student = Student(page)
    for name in ("shape", "small-prediction"):
        student.open(lab, next(step for step in lab.step if step.id == name))
        student.option(0)
    student.open(lab, next(step for step in lab.step if step.id == "small-utilization"))
    page.click("#setting summary")
    student.tab_to("#buffer_packets")
    before = page.evaluate("elephan.timings.runs")
    page.keyboard.press("Control+a")
    page.keyboard.type("50")
    until(page, f"elephan.timings.runs > {before} && elephan.settings().buffer_packets === 50")
    until(page, "elephan.numbers().utilization > 0.95")
    shown = float(page.evaluate("elephan.numbers().utilization")) * 100
    page.evaluate("document.getElementById('lab-answer').focus()")
    assert "right for the setting in the controls" in student.number(shown)


@pytest.mark.parametrize(
    ("text", "said"),
    [("about 100", "Write one number, in packets."), ("", "Write one number"), ("1e99999", "Write one number"),
     ("100 packets", "Right."), ("100,0", "Right."), ("1,200,000", "product in bits"), ("0,333", "Too small")],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(page: Page, text: str, said: str) -> None:
    lab = labs.lab("sawtooth")
    student = Student(page)
    student.open(lab, lab.step[0])
    student.tab_to("#lab-answer")
    page.keyboard.type(text)
    assert said in student.enter()


def test_answers_are_kept_and_opened_from_a_file(browser: Browser, file: Path, page: Page, tmp_path: Path) -> None:
    lab = labs.lab("sawtooth")
    student = Student(page)
    student.open(lab, lab.step[0])
    student.number(100)
    page.reload()
    until(page, "document.documentElement.dataset.ready === 'yes'")
    assert "1 of 9 steps done" in page.inner_text("#lab-done")
    assert page.input_value("#lab-answer") == "100"
    with page.expect_download() as download:
        page.click("#lab-save")
    saved = tmp_path / "saved.json"
    download.value.save_as(saved)
    other = browser.new_page()
    other.goto(file.as_uri())
    other.set_input_files("#lab-load", saved)
    until(other, "document.getElementById('lab-done').textContent.startsWith('1 of')")
    saved.write_text('{"format": 1, "lab": "<b>none</b>"}', "utf-8")
    other.set_input_files("#lab-load", saved)
    until(other, "document.getElementById('lab-loaded').textContent.includes('cannot be opened')")
    other.close()


def test_an_experiment_has_its_numbers_beside_it_and_the_last_step_a_way_on(page: Page) -> None:
    lab = labs.lab("sawtooth")
    student = Student(page)
    goal = next(step for step in lab.step if step.kind == "goal")
    student.open(lab, next(step for step in lab.step if step.id == "small-prediction"))
    student.option(1)
    student.open(lab, goal)
    until(page, "document.getElementById('lab-now').textContent.startsWith('Now: utilization 88.4 %')")
    student.tab_to("#buffer_packets")
    page.keyboard.press("Control+a")
    page.keyboard.type("50")
    until(page, "document.getElementById('lab-now').textContent.includes('96.1 %')")
    student.open(lab, lab.step[-1])
    student.tab_to("#lab-following")
    assert page.inner_text("#lab-following") == "To lab 2"
    page.keyboard.press("Enter")
    until(page, "location.hash === '#rtt'")


def test_a_right_answer_stays_and_each_try_counts(page: Page, store: Store) -> None:
    lab = labs.lab("sawtooth")
    step = lab.step[0]
    student, right = Student(page), solution(step, Reference(lab, store).lookup(step))
    assert right is not None
    student.open(lab, step)
    assert student.number(right * 8).startswith("Not yet."), "before it was found, nothing stays"
    assert student.number(right).startswith("Right.")
    said = student.number(right * 8)
    assert said.startswith("Not yet.")
    assert "Your right answer stays." in said
    assert "1 of 9 steps done" in page.inner_text("#lab-done")
    with page.expect_download() as download:
        page.click("#lab-save")
    (answer,) = json.loads(Path(download.value.path()).read_text("utf-8"))["answers"].values()
    assert (answer["value"], answer["tries"], answer["right"]) == (pytest.approx(right), 3, True)
    page.reload()
    until(page, "document.documentElement.dataset.ready === 'yes'")
    assert float(page.input_value("#lab-answer")) == pytest.approx(right)
    until(page, "document.getElementById('lab-feedback').textContent.startsWith('Right.')")


@pytest.mark.parametrize("lab", SHOWN)
def test_no_step_is_wider_than_the_window(browser: Browser, file: Path, lab: LabTable) -> None:
    for theme in THEMES:
        context = browser.new_context(color_scheme=theme)
        opened = context.new_page()
        opened.goto(file.as_uri())
        for step in lab.step:
            Student(opened).open(lab, step)
            for width in WIDTHS:
                opened.set_viewport_size({"width": width, "height": 800})
                until(opened, f"document.documentElement.scrollWidth <= {width}")  # pictures are redrawn after a frame
            assert opened.evaluate(CONTRAST) >= 4.5, step.id
        context.close()


CONTRAST = """() => {
  const rgb = (color) => color.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const linear = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (color) => rgb(color).map(linear).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    const color = getComputedStyle(e).backgroundColor;
    return /, 0\\)$/.test(color) ? (e.parentElement ? behind(e.parentElement) : 'rgb(255,255,255)') : color;
  };
  const texts = [...document.querySelectorAll('.lab p, .lab h2, .lab label, .lab button')].filter((e) => e.textContent);
  return Math.min(...texts.map((e) => {
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(behind(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
}"""
"""Smallest contrast of a text of the lab and what is behind it."""


def test_the_page_of_the_labs_is_small(file: Path) -> None:
    assert file.stat().st_size < 1_200_000
    assert wasm.ENGINE.exists()
