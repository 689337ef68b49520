"""Labs 8 to 10 in Chromium: the page notes their answers by keyboard alone, and the command line marks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.web.test_labs_page import Student, file, page, store
from tests.web.test_playground import browser, pytestmark

from elephan.cli.main import run_command
from elephan.course import labs
from elephan.course.expressions import evaluate, parse
from elephan.course.reference import Reference
from elephan.course.schema import LabTable
from elephan.runs import Store

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "file", "page", "pytestmark", "store"]
LABS = [pytest.param(lab, id=lab.id) for lab in labs.labs() if lab.place == "terminal"]


def saved(page: Page, student: Student, folder: Path) -> Path:
    """The file of answers that the student saves."""
    student.tab_to("#lab-student")
    page.keyboard.type("Ada")
    student.tab_to("#lab-save")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    folder.mkdir()
    download.value.save_as(folder / download.value.suggested_filename)
    return folder / download.value.suggested_filename


def marks(file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    """State and text of each step, as the teacher's command gives them."""
    capsys.readouterr()
    run_command(["course", "check", str(file), "--json"])
    (one,) = json.loads(capsys.readouterr().out)["students"]
    return {step["step"]: (step["state"], step["text"]) for step in one["steps"]}


@pytest.mark.parametrize("lab", LABS)
def test_answers_of_the_command_line_are_noted_and_marked(
    page: Page, lab: LabTable, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference, student = Reference(lab, store), Student(page)
    for step in lab.step:
        student.open(lab, step)
        said = student.right(step, reference)
        # The page itself checks what needs no run.
        assert "noted" in said or (step.kind == "number" and said.startswith("Right.")), (step.id, said)
    assert f"{len(lab.step)} of {len(lab.step)} steps done" in page.inner_text("#lab-done")
    assert not page.is_visible("#pictures"), "the page has no run of a lab at the command line"
    found = marks(saved(page, student, tmp_path / "right"), capsys)
    assert {step.id for step in lab.step} == set(found)
    for step in lab.step:
        assert found[step.id][0] == ("given" if step.kind in ("essay", "predict") else "right"), step.id


@pytest.mark.parametrize("lab", LABS)
def test_wrong_answers_are_marked_with_their_hints(
    page: Page, lab: LabTable, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference, student = Reference(lab, store), Student(page)
    asked = [step for step in lab.step if step.wrong]
    for step in asked:
        student.open(lab, step)
        student.number(evaluate(parse(step.wrong[0].value), reference.lookup(step)))
    found = marks(saved(page, student, tmp_path / "wrong"), capsys)
    assert asked
    for step in asked:
        state, text = found[step.id]
        assert state == "wrong", (step.id, state)
        assert step.wrong[0].hint in text, (step.id, text)
