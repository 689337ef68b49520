"""Trajectories do not change by a bit unless a change of behavior is meant.

``make trajectories`` writes the tables of ``__snapshots__`` anew; their difference is part of such a change. ``make
test`` compares a third of their lines, and ``make verify`` all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from tests.trajectories import experiments, grid

from elephan import papers


class TextExtension(SingleFileSnapshotExtension):
    """A text file for each table."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def table(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextExtension)


FAMILIES = grid.families()
FOLDER = Path(__file__).parent / "__snapshots__" / "test_trajectories"


def stored(test: Callable[..., None], case: str) -> list[list[str]]:
    """The words of each line of the table that a test writes."""
    text = (FOLDER / f"{test.__name__}[{case}].txt").read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines()]


@pytest.mark.large
@pytest.mark.parametrize("algorithm", FAMILIES)
def test_every_preset_on_every_path_with_every_stack(algorithm: str, table: SnapshotAssertion) -> None:
    assert "\n".join(grid.lines(FAMILIES[algorithm])) + "\n" == table


@pytest.mark.large
@pytest.mark.parametrize("paper_id", papers.ids())
def test_the_beginning_of_each_experiment(paper_id: str, table: SnapshotAssertion) -> None:
    assert "\n".join(experiments.lines(paper_id)) + "\n" == table


@pytest.mark.parametrize("algorithm", FAMILIES)
def test_a_third_of_the_lines_of_every_preset(algorithm: str) -> None:
    """Each preset meets every path and every stack, and each path every stack."""
    lines = grid.lines(FAMILIES[algorithm], third=[*FAMILIES].index(algorithm))
    found = [line.split() for line in lines]
    whole = stored(test_every_preset_on_every_path_with_every_stack, algorithm)
    assert len(found) > len(whole) // 4
    assert [line for line in whole if line[:3] in [one[:3] for one in found]] == found


@pytest.mark.parametrize("paper_id", papers.ids())
def test_a_third_of_the_beginnings_of_experiments(paper_id: str) -> None:
    found = [line.split() for line in experiments.lines(paper_id, 3)]
    whole = stored(test_the_beginning_of_each_experiment, paper_id)
    assert len(found) > len(whole) // 4
    assert [line for line in whole if line[0] in [one[0] for one in found]] == found
