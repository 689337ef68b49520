"""Trajectories do not change by a bit unless a change of behavior is meant.

``make trajectories`` writes ``digests.txt`` and ``rows.txt`` anew; their difference is part of such a change. ``make
test`` compares a third of the runs, and ``make verify`` all.
"""

from __future__ import annotations

import pytest
from tests.trajectories import expected, grid
from tests.trajectories.paths import PATHS

from elephan.scenario.stacks import STACKS


def test_the_digests_are_those_of_every_algorithm_stack_and_paper() -> None:
    assert list(expected.digests()) == expected.everything()


def test_a_third_of_the_runs_has_every_path_of_a_preset() -> None:
    cells = [cell for stack in STACKS for cell in grid.cells(["reno"], stack, a_third=True)]
    assert {path for _, _, path in cells} == set(PATHS)
    assert len(cells) < len(STACKS) * len(PATHS) // 2


def test_the_ten_rows() -> None:
    assert {one[1] for one in expected.TEN} == set(STACKS)
    assert {one[2] for one in expected.TEN} == set(PATHS)
    assert expected.ten_rows() == expected.expected_rows()


@pytest.mark.parametrize("of", expected.everything(), ids=" with ".join)
def test_a_third_of_the_runs(of: expected.Of) -> None:
    if difference := expected.difference(of, a_third=True):
        pytest.fail(difference, pytrace=False)


@pytest.mark.large
@pytest.mark.parametrize("of", expected.everything(), ids=" with ".join)
def test_all_runs(of: expected.Of) -> None:
    if difference := expected.difference(of, a_third=False):
        pytest.fail(difference, pytrace=False)


def test_a_difference_names_the_algorithm_the_stack_and_the_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    of = ("cubic", "linux")
    first, *others = expected.expected_rows()
    monkeypatch.setattr(expected, "rows", lambda of, a_third: [["cubic", "linux", "deep", grid.REFUSED]])
    monkeypatch.setattr(expected, "expected_rows", lambda: [[*first[:-1], "0123456789ab"], *others])
    text = expected.difference(of, a_third=True)
    assert text is not None
    assert text.startswith("cubic with linux: the digest of a third of the runs is ")
    assert [line.split()[:4] for line in text.splitlines()[3:5]] == [
        ["was", "reno", "linux", "long-fat"],
        ["is", "reno", "linux", "long-fat"],
    ]
    assert "'python -m tests.trajectories cubic linux'" in text
