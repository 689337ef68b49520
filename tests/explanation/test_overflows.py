"""The overflow of slow start fills a buffer once, and hides neither its size nor what drops packets later."""

from __future__ import annotations

import pytest
from tests.explanation.conftest import Make

import elephan


def test_codel_is_found_behind_an_overflow(make: Make) -> None:
    path = {"rate": "60 Mbit/s", "rtt": "10 ms", "buffer": "300 packets", "queue": "codel", "duration": "20 s"}
    fit = elephan.explain(make(algorithm="veno:linux", **path)).path
    assert fit.queue == "codel"
    assert fit.by_name["buffer"].value == pytest.approx(450e3, rel=0.03)


def test_an_overflow_shows_the_buffer_of_a_lossy_path(make: Make) -> None:
    path = {"rate": "100 Mbit/s", "rtt": "70 ms", "buffer": "1 BDP", "loss": 0.0005, "duration": "15 s"}
    fit = elephan.explain(make(algorithm="reno:linux", **path)).path
    assert fit.queue == "droptail"
    assert fit.by_name["buffer"].value == pytest.approx(875e3, rel=0.03)
    loss = fit.by_name["loss"]
    assert loss.low is not None
    assert loss.high is not None
    assert loss.low <= 0.0005 <= loss.high
