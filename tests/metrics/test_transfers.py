"""Transfers of a given size: rates and durations as the user sees them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan import metrics
from elephan.metrics import MetricError
from elephan.runs import Run

SIZES_KB = (100, 200, 800, 50, 400)


def transfers(seconds: dict[str, float], sizes_kb: tuple[int, ...] = SIZES_KB) -> Run:
    """Transfers of 1000 B segments, one every 10 s from 10 s on, beside a bulk flow; measured from 20 s to 50 s."""
    small = [{"algorithm": "reno", "size": f"{size} kB", "name": f"t{i}"} for i, size in enumerate(sizes_kb)]
    starts = ["0 s", *(f"{10 * (i + 1)} s" for i in range(len(small)))]
    stated = synthetic.scenario(["cubic", *small], starts=starts, measure={"from": "20 s", "to": "50 s"})
    rates = {name: constant(5.0 if name == "cubic-1" else 1.0) for name in stated.flows}
    return synthetic.run(stated, rates, completions=seconds)


RUN = transfers({"t0": 9.0, "t1": 0.5, "t2": 1.0, "t3": 0.25})


def test_a_transfer_belongs_to_the_window_it_starts_in() -> None:
    found = metrics.sized_transfers(RUN)
    assert found.names == ["t1", "t2", "t3"]
    assert found.bits.tolist() == [1.6e6, 6.4e6, 0.4e6]
    assert found.seconds.tolist() == [0.5, 1.0, 0.25]
    assert metrics.sized_transfers(RUN, window=(0, 100)).names == ["t0", "t1", "t2", "t3", "t4"]
    assert metrics.sized_transfers(RUN, flows=["cubic-1", "t2"]).names == ["t2"]
    with pytest.raises(MetricError, match="no flow of a given size starts from 60 s to 70 s"):
        metrics.sized_transfers(RUN, window=(60, 70))
    with pytest.raises(MetricError, match="no flow has a size"):
        metrics.sized_transfers(RUN, flows=["cubic-1"])


def test_the_two_mean_rates_of_leith2008() -> None:
    # 3.2, 6.4 and 1.6 Mbit/s; 8.4 Mbit in 1.75 s
    assert metrics.mean_flow_rate_mbps(RUN) == pytest.approx(11.2 / 3)
    assert metrics.mean_size_over_mean_duration_mbps(RUN) == pytest.approx(4.8)
    assert metrics.mean_flow_duration_ms(RUN) == pytest.approx(1750 / 3)


def test_what_does_not_finish_is_counted_and_left_out() -> None:
    window = (20, 100)
    assert metrics.completed_fraction(RUN) == 1
    assert metrics.completed_fraction(RUN, window=window) == pytest.approx(0.75)
    assert metrics.mean_flow_rate_mbps(RUN, window=window) == pytest.approx(11.2 / 3)
    with pytest.raises(MetricError, match="comes to its end"):
        metrics.mean_flow_rate_mbps(RUN, flows=["t4"], window=window)


def test_quantiles_of_durations() -> None:
    durations = [metrics.flow_duration_p50_ms, metrics.flow_duration_p95_ms, metrics.flow_duration_p99_ms]
    assert [f(RUN) for f in durations] == [500, 1000, 1000]
    assert [f(RUN, window=(0, 100)) for f in durations] == [500, 9000, 9000]


def test_the_rate_of_all_transfers_together_is_on_the_wire() -> None:
    assert metrics.short_flow_total_mbps(RUN) == pytest.approx(5)
    with pytest.raises(MetricError, match="no flow has a size"):
        metrics.short_flow_total_mbps(RUN, flows=["cubic-1"])


@given(st.lists(st.floats(0.01, 100), min_size=5, max_size=5))
def test_equal_sizes_make_the_rates_means_of_the_same(seconds: list[float]) -> None:
    """With one size b the rates are b E[1/T] and b / E[T]: Jensen puts the first above, equal where T is one."""
    run = transfers({f"t{i}": value for i, value in enumerate(seconds)}, (100,) * 5)
    window = (0, 100)
    by_flow = metrics.mean_flow_rate_mbps(run, window=window)
    by_time = metrics.mean_size_over_mean_duration_mbps(run, window=window)
    assert by_flow == pytest.approx(0.8 * np.mean(1 / np.array(seconds)))
    assert by_time == pytest.approx(0.8 / np.mean(seconds))
    assert by_flow >= by_time * (1 - 1e-12)
