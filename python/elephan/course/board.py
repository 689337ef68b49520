"""The board of a class: each student's own algorithm, scored against CUBIC in restricted processes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan import design
from elephan.course.marking import Folder
from elephan.course.submissions import clean
from elephan.design.objective import WORST
from elephan.scenario import ScenarioError

FILE = "mine.py"
_MOST_REASON = 200


@dataclass(frozen=True)
class Row:
    """A row of the board.

    Attributes:
        student: name in the answers beside the file.
        file: the algorithm.
        score: the objective of ``elephan score``; CUBIC has 0.
        reason: why it failed; empty if it did not.
    """

    student: str
    file: Path
    score: float
    reason: str

    @property
    def text(self) -> str:
        """The score for people."""
        return f"{self.score:+.3f}" if not self.reason else "failed"

    def to_json(self) -> dict[str, Any]:
        """The row as a JSON document."""
        return {"student": self.student, "file": str(self.file), "score": self.score, "reason": self.reason}


def class_board(folder: Folder, *, jobs: int | None = None, stage: str = "quick") -> list[Row]:
    """Score the file ``mine.py`` beside the answers of each student, best first."""
    found: dict[Path, str] = {}
    for one in folder.marked:
        file = one.submission.file.parent / FILE
        if file.is_file() and not file.is_symlink():
            found.setdefault(file, one.submission.student)
    rows = [_row(student, file, stage, jobs) for file, student in found.items()]
    return sorted(rows, key=lambda row: (-row.score, row.student))


def _row(student: str, file: Path, stage: str, jobs: int | None) -> Row:
    try:
        score = design.score(str(file), stage=stage, jobs=jobs)
    except ScenarioError as error:
        return Row(student, file, WORST, clean(error.message, _MOST_REASON))
    reason = score.failures[0]["reason"] if score.failures else ""
    return Row(student, file, score.combined_score, clean(reason, _MOST_REASON))
