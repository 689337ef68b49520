"""Counts of judged claims, grouped by several properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from elephan.papers.judging import Judgment, totals
from elephan.papers.themes import theme

Board = dict[str, dict[str, int]]
Key = Callable[[Judgment], str]

KINDS = {"published_number": "number", "ordering": "ordering", "bound": "bound", "shape": "shape"}


def _kind(judgment: Judgment) -> str:
    return KINDS[judgment.claim.tolerance_kind]


def _certainty(judgment: Judgment) -> str:
    return judgment.claim.certainty


def _robustness(judgment: Judgment) -> str:
    return judgment.claim.robustness


def _check(judgment: Judgment) -> str:
    return judgment.claim.check


KEYS: dict[str, Key] = {
    "question": theme,
    "kind": _kind,
    "certainty": _certainty,
    "robustness": _robustness,
    "check": _check,
}


def discriminating(judgment: Judgment) -> bool:
    """True if a wrong simulator or control law would probably fail the claim."""
    return judgment.claim.discriminating


def sure(judgment: Judgment) -> bool:
    """True if the claim is judged by simulation, stated explicitly by the paper, and robust against variants of the
    values that the paper leaves open."""
    claim = judgment.claim
    return (claim.check, claim.certainty, claim.robustness) == ("simulation", "certain", "high")


def split(judgments: Sequence[Judgment], key: Key) -> Board:
    """Claims by verdict, for each value of a key in the order of the claims."""
    values = dict.fromkeys(map(key, judgments))
    return {value: totals(j for j in judgments if key(j) == value) for value in values}


def by_kind(judgments: Iterable[Judgment]) -> dict[str, Board]:
    """Counts of claims by question, kind, certainty, robustness and check, and the counts of all claims, of the sure
    claims and of the discriminating claims."""
    listed = list(judgments)
    boards = {name: split(listed, key) for name, key in KEYS.items()}
    boards["selection"] = {
        "all": totals(listed),
        "simulation, certain, high robustness": totals(filter(sure, listed)),
        "discriminating": totals(filter(discriminating, listed)),
    }
    return boards


def percent(counts: dict[str, int]) -> str:
    """Percentage of the judged claims that are reproduced; a dash if none was judged."""
    judged = counts["reproduced"] + counts["differs"]
    return f"{100 * counts['reproduced'] / judged:.0f} %" if judged else "–"


def add(boards: Iterable[dict[str, Board]]) -> dict[str, Board]:
    """The sums of the counts of several papers."""
    whole: dict[str, Board] = {}
    for one in boards:
        for name, board in one.items():
            for value, counts in board.items():
                summed = whole.setdefault(name, {}).setdefault(value, {})
                for verdict, count in counts.items():
                    summed[verdict] = summed.get(verdict, 0) + count
    return whole
