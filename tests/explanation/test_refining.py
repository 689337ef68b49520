"""Simulations of the captured flow choose between the paths that its capture allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.explanation.conftest import Make

import elephan
from elephan.explanation import Explanation, PathFit
from elephan.explanation.refining import refined


@pytest.fixture(scope="module")
def few(make: Make) -> Explanation:
    """A flow that loses too few packets to show its queue."""
    return elephan.explain(make(algorithm="vegas:linux", queue="codel", buffer="200 packets"))


def test_the_queue_is_that_behind_which_the_flow_does_what_was_captured(few: Explanation) -> None:
    measured, found = few.path, few.simulated_path
    assert measured.queue is None
    assert {draw.queue for draw in measured.draws} == {"droptail", "codel", "pie"}
    assert found.best.queue == "codel"
    assert any("nearest paths" in line for line in found.assumptions)


def test_a_full_queue_stays_as_it_was_measured(make: Make) -> None:
    found = elephan.explain(make(algorithm="stcp:linux"))
    sizes = np.array([draw.buffer_bytes for draw in found.simulated_path.draws])
    assert found.simulated_path.queue == "droptail"
    assert sizes == pytest.approx(found.path.best.buffer_bytes, rel=0.1)
    assert found.simulated_path.quantities == found.path.quantities


def test_a_discipline_that_explains_nothing_is_withdrawn(make: Make) -> None:
    explained = elephan.explain(make(algorithm="stcp:linux"))
    wrong = replace(explained.path.best, queue="codel", buffer_bytes=1.5e6)
    claimed = replace(explained.path, queue="codel", best=wrong, draws=(wrong,))
    found = refined(claimed, "stcp:linux", explained.events, explained.connection, explained.limits)
    assert found.queue is None
    assert found.best.queue == "droptail"
    assert "does not do what was captured behind it" in found.queue_reason
    assert not found.by_name["buffer"].identifiable


def test_the_same_capture_gives_the_same_paths(few: Explanation) -> None:
    def again() -> PathFit:
        return refined(few.path, "vegas:linux", few.events, few.connection, few.limits)

    assert again() == again() == few.simulated_path


def test_intervals_hold_what_the_nearest_path_gives(few: Explanation) -> None:
    (other,) = few.what_if(["cubic:linux"])
    assert all(other.low[name] <= mean <= other.high[name] for name, mean in other.means.items())


def test_without_an_algorithm_the_path_is_that_of_the_capture(make: Make) -> None:
    found = elephan.explain(make(application={"rate": "3 Mbit/s"}))
    assert found.simulated_path is found.path
