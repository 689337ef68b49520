"""The scoreboard over several papers: their claims, the verdicts, and the lessons."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan.papers import boards
from elephan.papers.boards import THEMES, theme
from elephan.papers.judging import Judgment
from elephan.papers.reporting import anchor
from elephan.papers.results import PaperResult

LESSONS = {
    "holds": "Findings that hold",
    "differs": "Findings that do not hold here",
    "depends": "Findings that depend on what the paper left unstated",
    "noise": "Findings that depend on the seed",
}
"""Sections of the page. A claim whose verdict changes with a variant of the paper belongs to ``depends``. Among the
other claims, a claim whose verdict changes with the seeds belongs to ``noise``. All remaining claims belong to the
section of their verdict."""


@dataclass(frozen=True)
class Finding:
    """A claim that a wrong simulator or control law would probably fail, with its verdict."""

    lesson: str
    question: str
    result: PaperResult
    judgment: Judgment

    def to_json(self) -> dict[str, Any]:
        """JSON form, as in the ``papers`` document."""
        judgment = self.judgment
        return {
            "lesson": self.lesson,
            "question": self.question,
            "paper": self.result.paper.id,
            "claim": judgment.claim.id,
            "says": judgment.claim.text,
            "verdict": judgment.verdict,
            "measured": judgment.measured_text,
            "allowed": judgment.expectation,
            "support": judgment.support,
            "depends_on": list(judgment.depends_on),
            "why": judgment.why,
            "runs": list(judgment.runs),
        }


@dataclass(frozen=True)
class Scoreboard:
    """Several reproduced papers.

    Attributes:
        results: result of each paper.
        report_path: the page of the scoreboard.
    """

    results: list[PaperResult]
    report_path: Path

    @property
    def boards(self) -> dict[str, boards.Board]:
        """Claims by verdict over all papers, by question, kind, certainty, robustness and check."""
        return boards.by_kind(judgment for result in self.results for judgment in result.claims)

    def findings(self) -> list[Finding]:
        """The judged discriminating claims without weak passes, ordered by lesson and question."""
        found = [
            Finding(lesson(judgment), theme(judgment), result, judgment)
            for result in self.results
            for judgment in result.claims
            if boards.discriminating(judgment) and judgment.verdict != "not_judged" and not judgment.weak
        ]
        order = list(LESSONS)
        return sorted(found, key=lambda one: (order.index(one.lesson), THEMES.index(one.question)))

    def to_json(self) -> dict[str, Any]:
        """The document that ``elephan papers --json`` prints."""
        return {
            "papers": [result.to_json() for result in self.results],
            "totals": self.boards["selection"]["all"],
            "boards": self.boards,
            "findings": [finding.to_json() for finding in self.findings()],
            "runs": sum(len(result.runs) for result in self.results),
            "segments_delivered": sum(result.segments_delivered for result in self.results),
            "wall_seconds": sum(result.wall_seconds for result in self.results),
            "report": str(self.report_path),
        }


def lesson(judgment: Judgment) -> str:
    """Key of :data:`LESSONS`."""
    if judgment.depends_on:
        return "depends"
    if judgment.within_noise:
        return "noise"
    return "holds" if judgment.verdict == "reproduced" else "differs"


def write(results: Sequence[PaperResult], folder: Path) -> Scoreboard:
    """Write ``index.html`` into a folder; links are relative, so that the folder can be moved."""
    from elephan.report import pages

    board = Scoreboard(list(results), folder / "index.html")
    pages.write(board.report_path, pages.render("board.html.j2", {}, page=_page(board)))
    return board


def _page(board: Scoreboard) -> dict[str, Any]:
    links = {result.paper.id: _link(result, board.report_path.parent) for result in board.results}
    rows = [
        {
            "id": result.paper.id,
            "title": result.paper.title,
            "reference": result.paper.reference,
            "link": links[result.paper.id],
            "totals": result.totals,
            "shares": [boards.percent(counts) for counts in boards.by_kind(result.claims)["selection"].values()],
            "runs": len(result.runs),
            "segments": f"{result.segments_delivered / 1e9:.2f}",
            "beyond": result.beyond.to_json() if result.beyond else None,
            "note": result.paper.quick_note if result.paper.quick else "",
        }
        for result in board.results
    ]
    whole = board.boards
    return {
        "quick": any(result.paper.quick for result in board.results),
        "papers": rows,
        "selections": list(whole["selection"]),
        "numbers": [(name, counts, boards.percent(counts)) for name, counts in whole["selection"].items()],
        "boards": [(name, list(_lines(whole[name]))) for name in boards.KEYS],
        "short": list(_in_short(board)),
        "lessons": list(_lessons(board, links)),
        "runs": sum(len(result.runs) for result in board.results),
        "segments": f"{sum(result.segments_delivered for result in board.results) / 1e9:.2f}",
    }


def _in_short(board: Scoreboard) -> Iterator[tuple[str, int, list[tuple[str, int]]]]:
    """Number of judged discriminating claims by question and lesson, without zeros."""
    findings = board.findings()
    for question in THEMES:
        mine = [finding.lesson for finding in findings if finding.question == question]
        if mine:
            yield question, len(mine), [(key, mine.count(key)) for key in LESSONS if key in mine]


def _lessons(board: Scoreboard, links: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    findings = board.findings()
    for key, title in LESSONS.items():
        mine = [finding for finding in findings if finding.lesson == key]
        groups = {
            question: [_row(finding, links) for finding in mine if finding.question == question] for question in THEMES
        }
        yield {
            "id": key,
            "title": title,
            "count": len(mine),
            "groups": [(question, rows) for question, rows in groups.items() if rows],
        }


def _row(finding: Finding, links: Mapping[str, str]) -> dict[str, Any]:
    judgment = finding.judgment
    return finding.to_json() | {
        "subject": judgment.claim.subject,
        "metric": judgment.claim.metric,
        "figure": judgment.claim.section,
        "interval": judgment.interval_text,
        "link": f"{links[finding.result.paper.id]}#{anchor(judgment.claim)}",
    }


def _lines(board: boards.Board) -> Iterator[tuple[str, dict[str, int], str]]:
    order = {name: i for i, name in enumerate(THEMES)}
    for value in sorted(board, key=lambda name: order.get(name, 0)):
        yield value, board[value], boards.percent(board[value])


def _link(result: PaperResult, folder: Path) -> str:
    return Path(os.path.relpath(result.report_path, folder)).as_posix() if result.report_path else ""
