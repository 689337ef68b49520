"""Digests that the runs are compared with, one for each algorithm and stack, and ten rows that a person reads.

``digests.txt`` has two digests a line: that of a third of the runs, which ``make test`` compares, and that of all runs,
which ``make verify`` compares. ``rows.txt`` has the numbers of ten runs, so the difference of an intended change shows
what the change did and not only that it did something.
"""

from __future__ import annotations

from pathlib import Path

from tests.trajectories import experiments, grid

from elephan import papers
from elephan.scenario.stacks import STACKS

FOLDER = Path(__file__).parent
FAMILIES = grid.families()
EXPERIMENTS = "experiments"
"""In the place of a stack: the beginnings of a paper's experiments."""
TEN = (
    ("reno", "linux", "long-fat"),
    ("cubic", "linux", "deep"),
    ("bbr", "linux", "lossy"),
    ("bbr3", "linux", "jittery"),
    ("dctcp", "linux", "marked"),
    ("hcc", "linux", "parking"),
    ("bic:linux-2.6", "linux-2.6", "sparse"),
    ("compound", "ns2-sack1", "transfers"),
    ("htcp", "ns2", "long-fat"),
    ("vegas", "rfc6675", "deep"),
)
"""Preset, stack and path of the ten rows: every path, and every stack."""

Of = tuple[str, str]
"""An algorithm and a stack, or a paper and ``EXPERIMENTS``."""


def everything() -> list[Of]:
    """Names and stacks of the lines of ``digests.txt``."""
    of_grid = [(algorithm, stack) for algorithm in FAMILIES for stack in STACKS]
    return of_grid + [(paper, EXPERIMENTS) for paper in papers.ids()]


def rows(of: Of, *, a_third: bool) -> list[grid.Row]:
    """The runs of this engine behind a digest."""
    name, stack = of
    if stack == EXPERIMENTS:
        return experiments.rows(name, a_third=a_third)
    return grid.rows(FAMILIES[name], stack, a_third=a_third)


def ten_rows() -> list[grid.Row]:
    """The ten rows of this engine."""
    return [grid.row(*one) for one in TEN]


def digests() -> dict[Of, tuple[str, str]]:
    """The expected digests of a third of the runs and of all."""
    lines = (FOLDER / "digests.txt").read_text(encoding="utf-8").splitlines()[1:]
    cells = [line.split() for line in lines]
    return {(name, stack): (a_third, whole) for name, stack, a_third, whole in cells}


def expected_rows() -> list[grid.Row]:
    """The ten rows as they should be."""
    return [line.split() for line in (FOLDER / "rows.txt").read_text(encoding="utf-8").splitlines()[1:]]


def difference(of: Of, *, a_third: bool) -> str | None:
    """Difference in the runs of an algorithm with a stack: the digests, and the first of the ten rows that differs."""
    found, wanted = grid.digest(rows(of, a_third=a_third)), digests()[of][0 if a_third else 1]
    if found == wanted:
        return None
    runs = "a third of the runs" if a_third else "all runs"
    return (
        f"{of[0]} with {of[1]}: the digest of {runs} is {found} and was {wanted}\n{first_row_apart()}\n"
        f"'python -m tests.trajectories {of[0]} {of[1]}' prints each run: compare with what the commit before prints"
    )


def first_row_apart() -> str:
    """The first of the ten rows that differs, as it was and as it is."""
    for one, wanted in zip(TEN, expected_rows(), strict=True):
        if (found := grid.row(*one)) != wanted:
            head = ["preset", "stack", "path", *grid.NUMBERS]
            compared = grid.aligned([["", *head], ["was", *wanted], ["is", *found]])
            return "\n".join(["of the ten rows, this one differs first:", *compared])
    return "none of the ten rows differs"
