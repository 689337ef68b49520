"""Compound's window: its components, the bend of its path, the fraction given up, on windows that are written down."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan import metrics
from elephan.metrics import MetricError
from elephan.metrics.compound import loss_window_series
from elephan.runs import Run, Store, run
from elephan.scenario import Scenario

NAME = "compound-1"


def one(cwnd: synthetic.Curve, ssthresh: synthetic.Curve, losses: list[float]) -> Run:
    """One flow of 1040 B packets on 100 Mbit/s and 100 ms: a BDP of 1202 packets; its round trips take 100 ms."""
    sampled = {"ssthresh": {NAME: ssthresh}, "srtt_s": {NAME: constant(0.1)}}
    return synthetic.run(
        synthetic.scenario(["compound"]), {NAME: constant(50.0)}, cwnd={NAME: cwnd}, loss_times={NAME: losses},
        sampled=sampled,
    )  # fmt: skip


def test_the_loss_based_part_is_followed_from_the_samples() -> None:
    # 100 segments at once, ten more each second; it halves at 50 s.
    found = one(constant(1000.0), constant(2.0), [50.0])
    times, part, _ = loss_window_series(found, NAME)
    assert part[0] == 1000
    slow = one(lambda t: np.where(t < 10, 100.0, 1000.0), lambda t: np.where(t < 10, 200.0, 2.0), [50.05])
    times, part, _ = loss_window_series(slow, NAME)
    assert part[times.searchsorted(20.0)] == pytest.approx(100 + 101, abs=1e-6)
    before = part[times.searchsorted(50.0)]
    assert part[times.searchsorted(50.1)] == pytest.approx(before / 2)
    _, acks, _ = loss_window_series(slow, NAME, 0.5)
    assert acks[times.searchsorted(20.0)] == pytest.approx(100 + 50.5, abs=1e-6)


def test_what_is_left_is_the_delay_based_part() -> None:
    found = one(lambda t: np.where(t < 10, 100.0, 1000.0), lambda t: np.where(t < 10, 200.0, 2.0), [])
    # The loss-based part goes from 201 at 20 s to 301 at 30 s.
    assert metrics.mean_dwnd_fraction(found, window=(20, 30))[NAME] == pytest.approx(1 - 251 / 1000)
    assert metrics.mean_dwnd_fraction(found, window=(0, 9))[NAME] == 0


def test_the_pipe_is_full_when_the_loss_based_parts_are_a_bdp() -> None:
    # 600 + 10 (t - 9.9) reaches 1201.9 packets at 70.1 s.
    found = one(lambda t: np.where(t < 10, 600.0, 2000.0), lambda t: np.where(t < 10, 9000.0, 2.0), [])
    assert metrics.wnd_fill_time_s(found) == pytest.approx(70.1, abs=0.11)
    assert metrics.wnd_fill_time_s(found, window=(10, 60)) == math.inf


def test_a_concave_path_bends_below_zero() -> None:
    def epoch(t: synthetic.Array) -> synthetic.Array:
        return np.sqrt(np.mod(t, 20.0) / 20.0)

    losses = [20.05, 40.05, 60.05, 80.05]
    concave = one(lambda t: 100 + 100 * epoch(t - 0.1), constant(2.0), losses)
    # 100, 170.7 and 200: 4 (150 - 170.7) / 100
    assert metrics.cwnd_curvature(concave)[NAME] == pytest.approx(-0.828, abs=0.03)
    straight = one(lambda t: 100 + 100 * epoch(t - 0.1) ** 2, constant(2.0), losses)
    assert metrics.cwnd_curvature(straight)[NAME] == pytest.approx(0, abs=0.03)


def test_what_a_loss_takes() -> None:
    found = one(constant(400.0), lambda t: np.where(t < 50, 2.0, 300.0), [50.05])
    assert metrics.backoff_delta(found) == {NAME: pytest.approx(0.25)}
    with pytest.raises(MetricError, match="no loss"):
        metrics.backoff_delta(found, window=(60, 90))


def test_transfers_of_sources_count_as_those_of_flows(tmp_path: Path) -> None:
    source = {"name": "web", "algorithm": "reno", "per_second": 5.0, "sizes": {"distribution": "constant"}}
    stated = Scenario.dumbbell(
        ["reno"], rate="10 Mbit/s", rtt="40 ms", buffer="100 packets", duration="20 s", traffic=[source]
    )
    found = run(stated, store=Store(tmp_path))
    rows = found.transfers.filter((pl.col("start_s") >= 10) & (pl.col("start_s") < 20))
    done = rows.drop_nulls("completion_s")
    seconds = done["completion_s"].to_numpy()
    assert len(rows) > 20
    first = len(found.transfers) - len(rows) + 1
    assert metrics.sized_transfers(found).names == [f"web {first + i}" for i in range(len(rows))]
    assert metrics.mean_flow_duration_ms(found) == pytest.approx(1e3 * seconds.mean())
    rates = 8 * done["size_bytes"].to_numpy() / seconds
    assert metrics.mean_flow_rate_mbps(found, flows=["web"]) == pytest.approx(rates.mean() / 1e6)
    with pytest.raises(MetricError, match="no flow has a size"):
        metrics.sized_transfers(found, flows=["reno-1"])
