"""Trajectories do not change by a bit unless a change of behavior is meant.

``make trajectories`` writes the tables of ``__snapshots__`` anew; their difference is part of such a change.
"""

from __future__ import annotations

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


@pytest.mark.parametrize("algorithm", FAMILIES)
def test_every_preset_on_every_path_with_every_stack(algorithm: str, table: SnapshotAssertion) -> None:
    assert "\n".join(grid.lines(FAMILIES[algorithm])) + "\n" == table


@pytest.mark.parametrize("paper_id", papers.ids())
def test_the_beginning_of_each_experiment(paper_id: str, table: SnapshotAssertion) -> None:
    assert "\n".join(experiments.lines(paper_id)) + "\n" == table
