"""Marks: each answer is checked against the runs of the lab, and a goal by running the student's setting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elephan.course.judging import judge, solution
from elephan.course.reference import Reference
from elephan.course.schema import LabTable, StepTable
from elephan.course.submissions import Submission, read
from elephan.runs import Store
from elephan.scenario import ScenarioError

MOST_FILES = 1000
RIGHT, WRONG, GIVEN, MISSING, UNREADABLE = "right", "wrong", "given", "missing", "unreadable"


@dataclass(frozen=True)
class Mark:
    """Mark of a step.

    Attributes:
        step: its id.
        state: right or wrong; given for a prediction and for a text, which a teacher reads; missing; unreadable.
        text: what the step explains once it is answered, what helps otherwise, or the student's text.
        tries: how often the student answered, by the page's count.
    """

    step: str
    state: str
    text: str = ""
    tries: int = 0


@dataclass(frozen=True)
class Marked:
    """Marks of a submission."""

    submission: Submission
    marks: tuple[Mark, ...]

    @property
    def points(self) -> int:
        """Steps that are right, and predictions and texts that are given."""
        return sum(mark.state in (RIGHT, GIVEN) for mark in self.marks)

    def to_json(self) -> dict[str, Any]:
        """The marks as a JSON document."""
        return {
            "file": str(self.submission.file),
            "student": self.submission.student,
            "lab": self.submission.lab.id,
            "points": self.points,
            "of": len(self.marks),
            "steps": [mark.__dict__ for mark in self.marks],
        }


@dataclass(frozen=True)
class Folder:
    """Marks of a folder.

    Attributes:
        marked: one entry for each file of answers, by student and lab.
        refused: files that are not answers, with the reason.
    """

    marked: tuple[Marked, ...]
    refused: dict[str, str] = field(default_factory=dict)


def files_of(place: Path) -> Sequence[Path]:
    """Files of answers: the file itself, or the ``*.json`` in a folder and in the folders within it.

    Raises:
        ScenarioError: there is nothing, or there are too many files.
    """
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise ScenarioError(f"'{place}': no such file or folder", source="check")
    found: list[Path] = []
    for pattern in ("*.json", "*/*.json"):
        for path in place.glob(pattern):
            # A link could lead to any file of the teacher.
            if not path.is_symlink() and not path.parent.is_symlink():
                found.append(path)
            if len(found) > MOST_FILES:
                raise ScenarioError(
                    f"'{place}' has more than {MOST_FILES} files; check it in smaller folders", source="check"
                )
    if not found:
        raise ScenarioError(f"'{place}' has no *.json, in which the page saves answers", source="check")
    return sorted(found)


def mark_files(files: Iterable[Path], store: Store) -> Folder:
    """Mark files of answers; a file that cannot be read is refused and stops nothing."""
    marked: list[Marked] = []
    refused: dict[str, str] = {}
    references: dict[str, Reference] = {}
    for file in files:
        try:
            submission = read(file)
        except ScenarioError as error:
            refused[str(file)] = error.message
            continue
        reference = references.setdefault(submission.lab.id, Reference(submission.lab, store))
        marked.append(mark(submission, reference))
    marked.sort(
        key=lambda one: (one.submission.student.casefold(), one.submission.lab.number, str(one.submission.file))
    )
    return Folder(tuple(marked), refused)


def mark(submission: Submission, reference: Reference) -> Marked:
    """Mark one submission."""
    return Marked(submission, tuple(_mark(step, submission, reference) for step in submission.lab.step))


def _mark(step: StepTable, submission: Submission, reference: Reference) -> Mark:
    if step.id in submission.problems:
        return Mark(step.id, UNREADABLE, submission.problems[step.id])
    answer = submission.answers.get(step.id)
    if answer is None:
        return Mark(step.id, MISSING)
    if isinstance(answer.value, str):
        return Mark(step.id, GIVEN, answer.value, answer.tries)
    lookup = reference.lookup(step, answer.settings)
    verdict = judge(step, answer.value, lookup)
    if step.kind != "predict":
        return Mark(step.id, RIGHT if verdict.right else WRONG, verdict.text, answer.tries)
    holds = "the prediction holds"
    if not verdict.right and (place := solution(step, lookup)) is not None:
        holds = f"the run does something else: {step.options[int(place)].text}"
    return Mark(step.id, GIVEN, f"{holds.rstrip('.')}. {step.right or ''}".rstrip(), answer.tries)


def totals(folder: Folder) -> list[tuple[str, dict[str, str]]]:
    """For each student the points of each lab, as a text; of several files the best counts."""
    rows: dict[str, dict[str, tuple[int, int]]] = {}
    for one in folder.marked:
        row = rows.setdefault(one.submission.student, {})
        best = row.get(one.submission.lab.id, (-1, 0))
        row[one.submission.lab.id] = max(best, (one.points, len(one.marks)))
    return [(student, {lab: f"{got} of {of}" for lab, (got, of) in row.items()}) for student, row in rows.items()]


def labs_of(folder: Folder) -> list[LabTable]:
    """The labs of a folder, in the order of the course."""
    return sorted(
        {one.submission.lab.id: one.submission.lab for one in folder.marked}.values(), key=lambda lab: lab.number
    )
