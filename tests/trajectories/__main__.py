"""Writes what the tests compare with, or prints the runs behind a digest.

python -m tests.trajectories                  # after an intended change: writes digests.txt and rows.txt
python -m tests.trajectories cubic [linux]    # prints each run of an algorithm, with one stack or with every
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from tests.trajectories import expected, grid

HEAD = ["preset", "stack", "path", *grid.NUMBERS]


def write() -> None:
    """Compute every run, which takes some minutes of two cores."""
    with ThreadPoolExecutor(2) as pool:
        made = [["of", "with", "a_third", "all"], *pool.map(_digests, expected.everything())]
    _save("digests.txt", made)
    _save("rows.txt", [HEAD, *expected.ten_rows()])


def _digests(of: expected.Of) -> grid.Row:
    return [*of, *(grid.digest(expected.rows(of, a_third=a_third)) for a_third in (True, False))]


def _save(name: str, made: list[grid.Row]) -> None:
    (expected.FOLDER / name).write_text("\n".join(grid.aligned(made)) + "\n", encoding="utf-8")


def show(name: str, stack: str | None) -> None:
    """Print each run of an algorithm or of a paper."""
    found = [of for of in expected.everything() if of[0] == name and stack in (None, of[1])]
    if not found:
        sys.exit(f"no algorithm '{name}' with {stack or 'any stack'}; digests.txt lists them")
    for of in found:
        head = ["experiment", "s", *grid.NUMBERS] if of[1] == expected.EXPERIMENTS else HEAD
        print(*grid.aligned([head, *expected.rows(of, a_third=False)]), sep="\n")


if __name__ == "__main__":
    show(sys.argv[1], next(iter(sys.argv[2:]), None)) if sys.argv[1:] else write()
