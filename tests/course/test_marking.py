"""Marks of what students hand in, among it files that are no answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from elephan.cli.main import run_command
from elephan.course import board, labs, marking, submissions
from elephan.course.judging import solution
from elephan.course.reference import Reference
from elephan.runs import Store
from elephan.scenario import ScenarioError

LAB = labs.lab("sawtooth")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All right answers to the first lab, as the page saves them."""
    reference = Reference(LAB, Store(tmp_path_factory.mktemp("store")))
    found: dict[str, Any] = {}
    for step in LAB.step:
        value: Any = "Because it halves its window." if step.kind == "essay" else 0
        if step.kind in ("number", "predict", "choice"):
            value = solution(step, reference.lookup(step))
        found[step.id] = {"value": value, "tries": 1, "right": True}
        if step.kind == "goal":
            found[step.id]["settings"] = labs.settings(LAB, step.run, step.example)
    return {"format": 1, "elephan": "0.1.0", "lab": LAB.id, "student": "Ada", "answers": found}


def write(path: Path, document: Any) -> Path:
    """A file of answers."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Output of the command as a document."""
    status = run_command(["course", "check", "--json", *arguments])
    return status, json.loads(capsys.readouterr().out)


def test_right_answers_have_all_points(
    answers: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "ada.json", answers)
    status, found = check(capsys, str(tmp_path))
    assert status == 0
    (ada,) = found["students"]
    assert (ada["points"], ada["of"]) == (len(LAB.step), len(LAB.step))


def test_wrong_answers_have_their_hint_and_a_claim_of_the_file_counts_nothing(
    answers: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = json.loads(json.dumps(answers))
    changed["answers"]["product"] = {"value": 800, "tries": 3, "right": True}
    changed["answers"]["goal"]["settings"]["buffer_packets"] = 20
    changed["answers"]["shape"]["value"] = 0
    del changed["answers"]["explain"]
    write(tmp_path / "bob.json", changed)
    _, found = check(capsys, str(tmp_path))
    steps = {row["step"]: row for row in found["students"][0]["steps"]}
    assert steps["product"]["state"] == "wrong"
    assert "12,000 bits" in steps["product"]["text"]
    assert steps["goal"]["state"] == "wrong"
    assert steps["shape"]["state"] == "given"
    assert "something else: Between one BDP and two. A packet is lost" in steps["shape"]["text"]
    assert "Lab 5 is about that" in steps["period"]["text"], "a right answer has what the page says of it"
    assert steps["explain"]["state"] == "missing"
    assert found["students"][0]["points"] == len(LAB.step) - 3


def test_the_best_of_several_files_counts(answers: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path / "a.json", answers | {"answers": {}})
    write(tmp_path / "ada" / "b.json", answers)
    folder = marking.mark_files(marking.files_of(tmp_path), Store(tmp_path / "store"))
    assert marking.totals(folder) == [("Ada", {"sawtooth": "9 of 9"})]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not the answers of a lab"),
        ('{"format": 2, "answers": {}}', "not the answers of a lab"),
        ('{"format": 1, "answers": {}, "lab": "nothing"}', "'nothing' is not a lab"),
        ("x" * 400_000, "more than the limit"),
        ("\x00\xff", "not JSON"),
    ],
)
def test_what_is_no_file_of_answers_is_refused_and_stops_nothing(
    answers: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
) -> None:
    write(tmp_path / "bad.json", content)
    write(tmp_path / "good.json", answers)
    status, found = check(capsys, str(tmp_path))
    assert status == 1
    assert len(found["students"]) == 1
    (reason,) = found["refused"].values()
    assert said in reason
    assert "\n" not in reason


def test_links_and_devices_are_not_followed(answers: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path / "good.json", answers)
    (tmp_path / "link.json").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/tmp", target_is_directory=True)
    os.mkfifo(tmp_path / "pipe.json")
    folder = marking.mark_files(marking.files_of(tmp_path), Store(tmp_path / "store"))
    assert len(folder.marked) == 1
    assert [Path(name).name for name in folder.refused] == ["pipe.json"]


def test_a_name_cannot_control_the_terminal(
    answers: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "evil.json", answers | {"student": "\x1b[2J\x07 Eve\n[red]" + "x" * 1000})
    assert run_command(["course", "check", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "Eve [red]" in said
    assert "x" * 81 not in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rate_mbps": 1e9}, "rate_mbps outside"),
        ({"rate_mbps": 1000, "duration_s": 300}, "more segments"),
        ({"queue": "../../x"}, "no queue discipline"),
        ({"flows": []}, "1 to 8 flows"),
        ({"flows": [{"algorithm": "/tmp/evil.py:Evil", "parameters": {}, "start_s": 0, "rtt_ms": None, "left": False}]},
         "an algorithm that the page does not have"),
        ({"flows": [{"algorithm": "reno", "parameters": {"x": 1}, "start_s": 0, "rtt_ms": None, "left": False}]},
         "cannot be run"),
        ({"buffer_packets": 10.5}, "cannot be run"),
        ({"more": 1}, "not one of the page"),
        ({"duration_s": float("nan")}, "duration_s outside"),
    ],
)  # fmt: skip
def test_a_setting_that_the_page_cannot_have_is_not_run(
    answers: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    good = answers["answers"]["goal"]["settings"]
    assert submissions.setting(good) == good
    with pytest.raises(ScenarioError, match=said):
        submissions.setting(good | change)


@pytest.mark.parametrize("value", [None, True, "100", [1], float("inf"), float("nan"), 10**400])
def test_a_value_that_is_no_number_is_unreadable(answers: dict[str, Any], tmp_path: Path, value: Any) -> None:
    changed = answers | {"answers": {**answers["answers"], "product": {"value": value}}}
    folder = marking.mark_files([write(tmp_path / "a.json", changed)], Store(tmp_path / "store"))
    if folder.refused:
        return
    assert folder.marked[0].marks[0].state == "unreadable"


def test_a_folder_without_answers_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["course", "check", str(tmp_path)]) == 2
    assert "has no *.json" in capsys.readouterr().err
    assert run_command(["course", "check", str(tmp_path / "none")]) == 2
    assert "no such file or folder" in capsys.readouterr().err


def test_the_board_scores_algorithms_and_says_why_one_failed(
    answers: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "ada" / "answers.json", answers)
    write(tmp_path / "bob" / "answers.json", answers | {"student": "Bob"})
    write(tmp_path / "eve" / "answers.json", answers | {"student": "Eve"})
    (tmp_path / "ada" / "mine.py").write_text(
        "from elephan.algorithm import Algorithm\n\n\nclass Mine(Algorithm):\n    cwnd = 20.0\n", "utf-8"
    )
    (tmp_path / "bob" / "mine.py").write_text("import os\nos.system('true')\n", "utf-8")
    (tmp_path / "eve" / "mine.py").symlink_to("/etc/passwd")
    folder = marking.mark_files(marking.files_of(tmp_path), Store(tmp_path / "store"))
    rows = board.class_board(folder, stage="loads")
    assert [row.student for row in rows] == ["Ada", "Bob"]
    assert rows[1].reason
    assert rows[1].text == "failed"
