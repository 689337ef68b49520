"""Packets that others overtook are counted, and neither losses nor repetitions are taken for them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explanation.conftest import Make

import elephan
from elephan.explanation.as_sent import overtaken

REORDER = {"share": 0.01, "delay": "6 ms"}


def test_the_share_and_the_delay_are_found(make: Make) -> None:
    fit = elephan.explain(make(algorithm="cubic:linux", reorder=REORDER)).path
    share, delay = fit.by_name["reordering"], fit.by_name["reordering_delay"]
    assert share.low is not None
    assert share.high is not None
    assert share.low <= 0.01 <= share.high
    assert delay.value == pytest.approx(0.006, abs=0.0006)
    assert fit.by_name["loss"].value == pytest.approx(0, abs=0.002)


def test_simulations_reorder_too(make: Make) -> None:
    found = elephan.explain(make(algorithm="cubic:linux", reorder=REORDER))
    assert "reorder" in found.scenario.to_toml()
    assert found.check.distance < 0.1


@pytest.mark.parametrize("algorithm", ["stcp:linux", "bbr:linux"])
def test_losses_are_no_reordering(algorithm: str, make: Make) -> None:
    fit = elephan.explain(make(algorithm=algorithm, loss=0.01)).path
    assert fit.by_name["reordering"].value == 0
    assert "reordering_delay" not in fit.by_name
    assert fit.best.reordered is None


def test_a_receiver_shows_none_without_numbers_of_packets(make: Make) -> None:
    share = elephan.explain(make("receiver", algorithm="stcp:linux")).path.by_name["reordering"]
    assert not share.identifiable
    assert "numbers" in share.reason


def test_packets_with_numbers_show_their_order_at_the_receiver() -> None:
    seq = np.array([0, 20, 10, 30])
    first, late_ns = overtaken(seq, np.array([100, 300, 350, 400]), np.array([0, 2, 1, 3]))
    assert first.tolist() == [10]
    assert late_ns.tolist() == [50]
