"""The tokens of a policer are found, whether its drops or the flow's pace show its rate."""

from __future__ import annotations

import pytest
from tests.explanation.conftest import Make

import elephan
from elephan.explanation import PathDraw


@pytest.mark.parametrize("algorithm", ["bbr:linux", "reno:linux"])
def test_a_small_burst_is_no_short_queue(algorithm: str, make: Make) -> None:
    policer = {"rate": "10 Mbit/s", "burst": "18000 B"}
    path = {"rate": "40 Mbit/s", "rtt": "16 ms", "buffer": "1000 packets", "duration": "20 s"}
    fit = elephan.explain(make(algorithm=algorithm, queue="policer", queue_parameters=policer, **path)).path
    assert fit.queue == "policer"
    assert fit.by_name["rate"].value == pytest.approx(10e6, rel=0.01)
    assert fit.by_name["buffer"].value == pytest.approx(18_000, rel=0.1)


def test_a_short_queue_is_no_policer(make: Make) -> None:
    fit = elephan.explain(make(algorithm="bbr:linux", buffer="6 packets", duration="20 s")).path
    assert fit.queue == "droptail"
    assert fit.by_name["rate"].value == pytest.approx(10e6, rel=0.01)


def test_a_simulated_bucket_holds_a_packet() -> None:
    options = PathDraw(1e6, 0.02, 186, queue="policer").options()
    assert options["queue_parameters"]["burst"] == "1500 bytes"
