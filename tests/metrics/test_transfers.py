"""Transfers of a given size: rates and durations as the user sees them."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import polars as pl
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
    rates = {name: constant(5.0 if name == "cubic-1" else 1.0) for name in stated.flow_names}
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


def with_sources() -> Run:
    """A sized flow at 20 s, and two sources of transfers: packets of 1040 B, 1000 B of them payload, on 100 Mbit/s."""
    traffic = [{"name": name, "algorithm": "reno", "per_second": 1.0} for name in ("web", "bulk")]
    flow = {"name": "file", "algorithm": "reno", "size": "1 MB"}
    stated = synthetic.scenario([flow, "cubic"], starts=["20 s", "0 s"], measure={"from": "20 s", "to": "60 s"},
                                traffic=traffic)  # fmt: skip
    rows = [
        ("web", 10.0, 5, 100.0, 9.0), ("web", 30.0, 10, 100.0, 0.2), ("web", 40.0, 100, 200.0, 0.8),
        ("web", 50.0, 20, 100.0, None), ("bulk", 35.0, 10_000, 100.0, 10.0), ("bulk", 60.0, 1, 100.0, 0.1),
    ]  # fmt: skip
    transfers = pl.DataFrame(
        {
            "source": [row[0] for row in rows], "user": [None] * len(rows), "start_s": [row[1] for row in rows],
            "size_bytes": [1000 * row[2] for row in rows], "size_segments": [row[2] for row in rows],
            "base_rtt_ms": [row[3] for row in rows], "completion_s": [row[4] for row in rows],
        }
        | dict.fromkeys(("segments_sent", "retransmits", "loss_events", "timeouts"), [0] * len(rows))
    )  # fmt: skip
    times = synthetic.sample_times(stated)
    octets = {
        name: synthetic.accumulated(times, constant(mbps)) * 125e3 for name, mbps in (("web", 2.0), ("bulk", 8.0))
    }
    sources = pl.concat(
        pl.DataFrame({"time_s": times, "source": [name] * len(times), "wire_bytes": counts,
                      "delivered_segments": counts / 1040})
        for name, counts in octets.items()
    )  # fmt: skip
    rates = {"file": constant(4.0), "cubic-2": constant(50.0)}
    tables = synthetic.tables(stated, rates, completions={"file": 2.0})
    return Run.from_tables(stated, tables | {"transfers": transfers, "sources": sources})


SOURCES = with_sources()


def test_transfers_of_sources_and_sized_flows_are_read_alike() -> None:
    found = metrics.sized_transfers(SOURCES)
    assert found.names == ["file", "web 2", "web 3", "web 4", "bulk 1"]
    assert found.bits.tolist() == [8e6, 8e4, 8e5, 1.6e5, 8e7]
    assert found.seconds.tolist()[:3] == [2.0, 0.2, 0.8]
    assert math.isnan(found.seconds[3])
    assert found.wire_bits == pytest.approx(found.bits * 1.04)
    # The propagation delay there and back, and the transfer with headers at 100 Mbit/s.
    assert found.least_seconds.tolist() == pytest.approx([0.1832, 0.100832, 0.20832, 0.101664, 0.932])
    assert metrics.sized_transfers(SOURCES, flows=["bulk", "file"]).names == ["file", "bulk 1"]
    assert metrics.sized_transfers(SOURCES, window=(0, 31), flows=["web"]).names == ["web 1", "web 2"]
    with pytest.raises(MetricError, match="'wbe' is not a flow of this run; did you mean 'web'"):
        metrics.sized_transfers(SOURCES, flows=["wbe"])


def test_metrics_of_transfers_take_sources_and_classes_of_sizes() -> None:
    assert metrics.completed_fraction(SOURCES, flows=["web"]) == pytest.approx(2 / 3)
    assert metrics.transfers_begun(SOURCES) == 5
    assert metrics.mean_flow_rate_mbps(SOURCES, flows=["web"]) == pytest.approx((0.4 + 1.0) / 2)
    assert metrics.mean_size_over_mean_duration_mbps(SOURCES, flows=["web"]) == pytest.approx(0.88)
    assert metrics.flow_duration_p99_ms(SOURCES) == 10_000
    assert metrics.flow_duration_p99_ms(SOURCES, size_bytes=(0, 1e5)) == 200
    assert metrics.offered_mbps(SOURCES, flows=["web"]) == pytest.approx(1.3e5 * 1.04 * 8e-6 / 40)
    edges = [0, 1e3, 5e4, 1e6, math.inf]
    found = metrics.by_size(SOURCES, metrics.flow_duration_p50_ms, edges, flows=["web", "bulk"])
    assert list(found) == [(0, 1e3), (1e3, 5e4), (5e4, 1e6), (1e6, math.inf)]
    assert list(found.values()) == [None, 200, 800, 10_000]
    with pytest.raises(MetricError, match="has from 0 B to 1000 B"):
        metrics.transfers_begun(SOURCES, size_bytes=(0, 1000))
    with pytest.raises(MetricError, match="edges, which rise"):
        metrics.by_size(SOURCES, metrics.mean_slowdown, [5.0])


def test_a_slowdown_of_one_is_the_bare_path() -> None:
    slowdowns = [2.0 / 0.1832, 0.2 / 0.100832, 0.8 / 0.20832, 10 / 0.932]
    assert metrics.mean_slowdown(SOURCES) == pytest.approx(np.mean(slowdowns))
    assert metrics.slowdown_p50(SOURCES) == pytest.approx(sorted(slowdowns)[1])
    assert metrics.slowdown_p99(SOURCES) == pytest.approx(max(slowdowns))


def test_a_source_that_is_named_has_a_throughput_and_is_left_out_otherwise() -> None:
    assert metrics.throughput_mbps(SOURCES, flows=["web", "cubic-2"]) == pytest.approx({"cubic-2": 50, "web": 2})
    assert metrics.goodput_mbps(SOURCES, (30, 40), ["bulk"]) == pytest.approx({"bulk": 8 / 1.04})
    assert set(metrics.throughput_mbps(SOURCES)) == {"file", "cubic-2"}
    assert metrics.short_flow_total_mbps(SOURCES) == pytest.approx(4 + 2 + 8)
    assert metrics.get("carried_mbps")(SOURCES, flows=["bulk"]) == pytest.approx(8)
    for wrong in (metrics.mean_cwnd_pkts, metrics.loss_events, metrics.mean_srtt_ms):
        with pytest.raises(MetricError, match="'web' is a source of transfers; this is defined for flows"):
            wrong(SOURCES, flows=["web"])


def test_a_table_is_read_once_for_all_metrics() -> None:
    """Its transfers may be a million, and a summary has seven metrics of them."""
    names = ("completed_fraction", "mean_flow_rate_mbps", "mean_slowdown", "offered_mbps", "utilization")
    expected = [metrics.get(name)(SOURCES) for name in names]
    found = with_sources()
    with patch.object(found, "arrow", wraps=found.arrow) as read:
        assert [metrics.get(name)(found) for name in names] == expected
        assert metrics.sized_transfers(found, window=(0, 31), flows=["web"]).names == ["web 1", "web 2"]
    assert [call.args for call in read.call_args_list].count(("transfers",)) == 1
