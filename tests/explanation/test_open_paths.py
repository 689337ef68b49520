"""Paths that are drawn differ in what a capture leaves open, and simulations choose between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explanation.conftest import Make

import elephan
from elephan import export
from elephan.explanation import Explanation
from elephan.explanation.modes import valley
from elephan.runs import Store

BULK: dict[str, Any] = {"algorithm": "cubic", "start": "7 s"}


def _beside(folder: Path, *others: dict[str, Any], **path: Any) -> Explanation:
    scenario = elephan.Scenario.dumbbell(["bic:linux", *others], duration="30 s", stack="linux", events=True, **path)
    run = elephan.run(scenario, store=Store(folder / "store"))
    export.write_pcapng(run, export.events_of(run), folder / "one.pcapng", at="sender")
    return elephan.explain(folder / "one.pcapng", flow=1)


def test_many_short_flows_are_told_from_one_flow_by_simulations(tmp_path: Path) -> None:
    web = [{"name": "web", "algorithm": "cubic", "load": "20%"}]
    path = {"rate": "10 Mbit/s", "rtt": "190 ms", "buffer": "200 packets"}
    found = _beside(tmp_path, traffic=web, seed=3, **path)
    kinds = [draw.traffic.kind for draw in found.path.draws if draw.traffic is not None]
    assert {"bulk", "intermittent"} <= set(kinds)
    kept = [draw.traffic.kind for draw in found.simulated_path.draws if draw.traffic is not None]
    assert kept.count("intermittent") > 0.8 * len(found.simulated_path.draws)
    assert any("nearest paths" in line and "short flows" in line for line in found.simulated_path.assumptions)


def test_the_start_and_the_algorithm_of_another_flow_are_open(tmp_path: Path) -> None:
    found = _beside(tmp_path, BULK, rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP").path
    bulk = [draw.traffic for draw in found.draws if draw.traffic is not None and draw.traffic.kind == "bulk"]
    starts = [traffic.start_s for traffic in bulk]
    assert 6.5 < min(starts) < 7.2 < max(starts) < 8
    assert {traffic.algorithm for traffic in bulk} == {"cubic", "reno", "bbr"}
    slow = next(draw for draw in found.draws if draw.traffic is not None and draw.traffic.algorithm == "reno")
    assert [flow.algorithm for flow in found.scenario("bbr", duration_s=9, draw=slow).form.flows] == ["bbr", "reno"]


def test_random_losses_that_a_full_queue_would_hide_are_open(make: Make) -> None:
    found = elephan.explain(make(algorithm="bbr:linux", buffer="3 BDP", duration="20 s", rate="20 Mbit/s")).path
    loss = found.by_name["loss"]
    assert loss.value == 0
    assert loss.high is not None
    losses = np.array([draw.loss for draw in found.draws])
    assert 0.3 < np.mean(losses > 0) < 0.7
    assert 0.3 * loss.high < losses.max() < 3 * loss.high


def test_drops_at_the_times_of_codel_leave_few_random_losses(make: Make) -> None:
    explained = elephan.explain(make(algorithm="cubic:linux", queue="codel", rate="20 Mbit/s", duration="20 s"))
    found, lost = explained.path, float(explained.path_events.seen.left_lost.mean())
    assert found.queue == "codel"
    assert max(draw.loss for draw in found.draws) < 0.5 * lost
    packets = {round(draw.buffer_bytes / found.packet_bytes) for draw in found.draws}
    assert 1000 in packets
    assert len(packets) > 0.3 * len(found.draws)


def test_a_paced_sender_hides_no_faster_bottleneck(make: Make) -> None:
    path = {"queue": "codel", "rate": "14.22 Mbit/s", "rtt": "213 ms", "duration": "30 s", "buffer": "1000 packets"}
    rate = elephan.explain(make(algorithm="bbr:linux", **path)).path.by_name["rate"]
    assert rate.value == pytest.approx(14.22e6, rel=0.002)


def test_rates_have_a_valley_between_two_peaks_alone() -> None:
    stream = np.random.default_rng(1)
    weights = np.ones(4000)
    peaks = np.concatenate([np.full(3000, 0.99), np.full(1000, 1.0)]) * (1 + 2e-4 * stream.standard_normal(4000))
    assert 0.991 < valley(peaks, weights, 0.99) < 1.0
    assert valley(1 + 0.004 * stream.standard_normal(4000), weights, 1.0) == 0
    assert valley(np.ones(4000), weights, 1.0) == 0
