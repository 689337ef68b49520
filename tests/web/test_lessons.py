"""Each lesson's sentences are true of its picture: the numbers of its run are what the lesson says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from elephan.runs import Run, Store, sweep
from elephan.web.lessons import lessons, scenario_of

LESSONS = {lesson["id"]: lesson for lesson in lessons()}
OF_FLOW = {"rtt_mean_ms", "loss_events", "retransmits", "timeouts", "throughput_mbps"}


def measured(run: Run, of: str, flow: int | None) -> float:
    """A number of the page."""
    summary = run.summary()
    if of == "share":
        rates = [row["throughput_mbps"] for row in summary["flows"]]
        return float(rates[(flow or 1) - 1] / sum(rates))
    if of in OF_FLOW:
        # The page counts from the beginning of the run to its end.
        whole = f"total_{of}" if of in ("retransmits", "loss_events", "timeouts") else of
        return float(summary["flows"][(flow or 1) - 1][whole])
    if of == "jain":
        return float(summary["metrics"]["jain"])
    return float(summary["links"][0][of])


def test_there_are_twenty_lessons_of_three_sentences_and_a_question() -> None:
    assert len(LESSONS) == 20
    for lesson in LESSONS.values():
        assert len(re.findall(r"[.!?](?= |$)", lesson["text"])) == 3, lesson["id"]
        assert lesson["question"].endswith("?")
        assert lesson["check"]


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_true_of_its_picture(name: str, tmp_path: Path) -> None:
    lesson = LESSONS[name]
    (run,) = sweep([scenario_of(lesson["settings"])], on="sim", store=Store(tmp_path), jobs=1)
    for row in lesson["check"]:
        value = measured(run, row["of"], row.get("flow"))
        assert row.get("at_least", -float("inf")) <= value <= row.get("at_most", float("inf")), row
