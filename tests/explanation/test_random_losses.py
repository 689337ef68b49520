"""Random losses are counted beside those of a full queue, whatever share of the waits the acknowledgments show."""

from __future__ import annotations

import pytest
from tests.explanation.conftest import Make

import elephan


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_the_share_of_random_losses_is_of_all_packets(at: str, make: Make) -> None:
    path = {"rate": "20 Mbit/s", "buffer": "0.5 BDP", "duration": "20 s", "loss": 0.001}
    fit = elephan.explain(make(at, algorithm="bic:linux", **path)).path
    loss = fit.by_name["loss"]
    assert fit.queue == "droptail"
    assert loss.low is not None
    assert loss.high is not None
    assert loss.low < 0.001 < loss.high < 0.002
