"""Jitter is found, and hides neither the rate nor the queue; other traffic is not taken for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.explanation.conftest import Make

import elephan
from elephan import export
from elephan.explanation.jitter import steady_rate, without_jitter

JITTER = {"uniform": "5 ms"}
RATE, BUFFER = 10e6, 50e3


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_the_path_is_found_behind_jitter(at: Literal["sender", "receiver"], make: Make) -> None:
    fit = elephan.explain(make(at, algorithm="cubic:linux", jitter=JITTER, duration="20 s")).path
    assert fit.by_name["rate"].value == pytest.approx(RATE, rel=0.03)
    assert fit.by_name["buffer"].value == pytest.approx(BUFFER, rel=0.15)
    assert fit.queue == "droptail"
    assert 0.003 < fit.best.jitter_s < 0.007
    late = fit.by_name["jitter"]
    assert late.low is not None
    assert late.low > 0.001


def test_simulations_have_the_jitter(make: Make) -> None:
    found = elephan.explain(make(algorithm="cubic:linux", jitter=JITTER, duration="20 s"))
    assert "jitter" in found.scenario.to_toml()
    assert found.check.distance < 0.1


def test_a_path_without_jitter_has_none(make: Make) -> None:
    late = elephan.explain(make(algorithm="cubic:linux")).path.by_name["jitter"]
    assert late.value == 0
    assert late.high is not None
    assert late.high < 0.001


def test_other_traffic_is_no_jitter(tmp_path: Path) -> None:
    datagrams: dict[str, Any] = {"rate": "3 Mbit/s", "size": "1000 B", "arrivals": "poisson"}
    flows: list[dict[str, Any]] = [{"algorithm": "cubic:linux"}, {"algorithm": "datagrams", "datagrams": datagrams}]
    scenario = elephan.Scenario.dumbbell(
        flows, rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="12 s", stack="linux"
    )
    run = elephan.run(scenario)
    export.write_pcapng(run, export.events_of(run), tmp_path / "one.pcapng", at="sender")
    found = elephan.explain(tmp_path / "one.pcapng")
    assert steady_rate(found.events.seen, 8.0 * found.events.wire_bytes, 0.0) is None
    assert found.path.best.jitter_s == 0
    assert found.path.by_name["rate"].value == pytest.approx(RATE, rel=0.01)


def test_packets_of_a_bunch_were_served_at_the_rate(make: Make) -> None:
    seen = elephan.explain(make(algorithm="cubic:linux")).events.seen
    packet_s = 12_000 / RATE
    served_s = np.cumsum(seen.delivered) * packet_s
    delayed_s = served_s + np.where(np.arange(len(served_s)) % 40 == 20, 0.008, 0.0)
    arrived = replace(seen, acked_s=np.maximum.accumulate(delayed_s))
    found, late_s = without_jitter(arrived, packet_s)
    np.testing.assert_allclose(found.acked_s, served_s, atol=1e-9)
    assert late_s.max() == pytest.approx(0.008)
