"""Metrics on runs of the real engine whose values are known from elsewhere."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from elephan import backends, metrics, runs
from elephan.runs import Run, Store
from elephan.runs.execute import compute
from elephan.scenario import Scenario

PATH: dict[str, Any] = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "60 packets"}
WIRE_BITS = 8 * 1500


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


def run(flows: list[Any], store: Store, **more: Any) -> Run:
    return runs.run(Scenario.dumbbell(flows, **(PATH | more)), store=store)


@pytest.fixture(scope="module")
def reno(store: Store) -> Run:
    return run(["reno"], store, duration="120 s", stack="ns2")


def test_reno_grows_by_a_segment_a_round_trip(reno: Run) -> None:
    assert metrics.increase_pkts_per_rtt(reno)["reno-1"] == pytest.approx(1, rel=0.02)
    assert metrics.aggressiveness_pkts_per_rtt(reno)["reno-1"] >= metrics.increase_pkts_per_rtt(reno)["reno-1"]


def test_reno_has_its_own_response_function(reno: Run) -> None:
    assert metrics.response_over_reno(reno)["reno-1"] == pytest.approx(1, rel=0.1)


def test_an_epoch_is_its_growth_at_that_increase(reno: Run) -> None:
    """From half the peak to the peak at one segment a round trip."""
    growth, duration_s = metrics.epoch_growth_pkts(reno)["reno-1"], metrics.epoch_duration_s(reno)["reno-1"]
    rtt_s = metrics.mean_srtt_ms(reno)["reno-1"] / 1e3
    assert growth == pytest.approx(duration_s / rtt_s, rel=0.1)
    assert growth == pytest.approx(metrics.max_cwnd_pkts(reno)["reno-1"] / 2, rel=0.1)


def test_queueing_delay_is_that_of_the_queue(reno: Run) -> None:
    sending_ms = 1e3 * (1500 + 40) * 8 / 20e6
    expected_ms = metrics.mean_queue_delay_ms(reno) + sending_ms
    assert metrics.queueing_delay_ms(reno)["reno-1"] == pytest.approx(expected_ms, rel=0.1)
    assert metrics.p50_queue_pkts(reno) <= metrics.p95_queue_pkts(reno) <= metrics.max_queue_pkts(reno)
    assert 0 < metrics.relative_power(reno)["reno-1"] < 1


def test_reno_is_friendly_to_itself_and_a_scalable_one_is_not(store: Store) -> None:
    fair = run(["reno", "reno"], store, duration="60 s")
    assert metrics.tcp_friendliness(fair, reference=fair) == 1
    rough = run(["stcp", "reno"], store, duration="60 s")
    reference = runs.run(metrics.only_reno(rough.scenario), store=store)
    assert [flow["name"] for flow in reference.canonical["flows"]] == ["stcp-1", "reno-2"]
    friendliness = metrics.tcp_friendliness(rough, reference=reference)
    assert friendliness < 0.8
    assert metrics.harm(rough, flows=["reno-2"], reference=reference) == pytest.approx(1 - friendliness)


def test_a_flow_recovers_from_a_burst_of_datagrams_as_fast_as_it_grows(store: Store) -> None:
    """From a window of almost nothing to the path's product at one segment a round trip."""
    burst = {"datagrams": {"rate": "40 Mbit/s", "size": "1500 B"}, "start": "30 s", "stop": "33 s", "name": "burst"}
    disturbed = run(["reno", burst], store, duration="60 s")
    times = metrics.recovery_time_s(disturbed, window=(30, 60), flows=["reno-1"])
    bdp_pkts = 20e6 * 0.04 / WIRE_BITS
    growth_s = bdp_pkts * 0.04
    assert 3 + growth_s / 2 <= times["reno-1"] <= 3 + growth_s + 3
    assert metrics.halving_time_s(disturbed, window=(30, 60), flows=["reno-1"])["reno-1"] <= 2
    assert metrics.recovery_time_s(run(["reno"], store, duration="60 s"), window=(30, 60)) == {"reno-1": 0}


def test_a_transfer_that_fits_the_first_window_takes_two_round_trips_and_its_sending(store: Store) -> None:
    small = [{"algorithm": "reno", "size": "10 segments", "start": f"{second} s"} for second in range(2, 6)]
    alone = run(small, store, duration="10 s", measure={"from": "2 s", "to": "6 s"}, start_jitter="0 s")
    done = metrics.sized_transfers(alone)
    assert len(done.names) == 4
    assert metrics.completed_fraction(alone) == 1
    # The handshake and a round trip, ten packets at the bottleneck's rate, and the access links for the last packet and
    # its ACK.
    expected_s = 2 * 0.04 + 10 * WIRE_BITS / 20e6
    assert expected_s <= done.seconds.min() <= done.seconds.max() <= expected_s + 0.001
    assert metrics.mean_flow_rate_mbps(alone) == pytest.approx(metrics.mean_size_over_mean_duration_mbps(alone))
    assert done.bits.tolist() == [10 * 1448 * 8.0] * 4


def test_a_list_of_transfers_has_the_metrics_of_the_same_flows(store: Store, tmp_path: Path) -> None:
    sizes = {2: 10, 4: 300, 6: 2000}
    flows = [{"algorithm": "reno", "size": f"{n} segments", "start": f"{at} s"} for at, n in sizes.items()]
    times = {"duration": "10 s", "measure": {"from": "2 s", "to": "10 s"}, "start_jitter": "0 s"}
    expected = run(flows, store, **times)
    rows = [f"{at},{n * 1448}" for at, n in sizes.items()]
    (tmp_path / "list.csv").write_text("\n".join(["start_s,size_bytes", *rows]) + "\n")
    source = {"name": "web", "algorithm": "reno", "file": str(tmp_path / "list.csv")}
    replayed = run([], store, traffic=[source], **times)
    assert replayed.flows.is_empty()
    names = ("completed_fraction", "mean_flow_rate_mbps", "mean_size_over_mean_duration_mbps", "flow_duration_p99_ms",
             "mean_slowdown", "offered_mbps", "short_flow_total_mbps", "transfers_begun", "utilization")  # fmt: skip
    for name in names:
        assert metrics.get(name)(replayed) == pytest.approx(metrics.get(name)(expected), rel=1e-12), name
    shared = set(names) & set(expected.metrics)
    assert len(shared) == 7
    assert {name: replayed.metrics[name] for name in shared} == pytest.approx({n: expected.metrics[n] for n in shared})
    # The arrivals by each sample time are there too, of each source.
    assert replayed.sources["delivered_segments"].max() == sum(sizes.values())


def test_one_way_delays_are_of_datagrams(store: Store) -> None:
    noise = {"name": "noise", "datagrams": {"rate": "2 Mbit/s", "size": "1000 B"}}
    quiet = run([noise], store, duration="10 s")
    # Half of the round trip, and the datagram on each of three links, two of them ten times as fast.
    bare_ms = 20 + 8 * (1 / 20 + 2 / 200)
    for metric in (metrics.owd_min_ms, metrics.owd_mean_ms):
        assert metric(quiet) == pytest.approx({"noise": bare_ms})
    assert metrics.owd_p99_ms(quiet)["noise"] == pytest.approx(bare_ms, rel=0.002)
    busy = run(["cubic", noise], store, duration="20 s")
    late = metrics.owd_mean_ms(busy)
    assert set(late) == {"noise"}
    # Round trips are of the others.
    assert set(metrics.rtt_p95_ms(busy)) == set(metrics.rtt_min_ms(busy)) == {"cubic-1"}
    # A datagram waits for the queue that it finds.
    waits_ms = metrics.mean_queue_delay_ms(busy)
    assert late["noise"] - bare_ms == pytest.approx(waits_ms, rel=0.1)
    assert metrics.owd_p50_ms(busy)["noise"] <= metrics.owd_p95_ms(busy)["noise"] <= metrics.owd_p99_ms(busy)["noise"]
    row = busy.summary()["flows"]
    assert (row[0]["owd_mean_ms"], row[1]["owd_mean_ms"]) == (None, late["noise"])
    assert row[0]["rtt_p95_ms"] == metrics.rtt_p95_ms(busy)["cubic-1"]
    with pytest.raises(metrics.MetricError, match="no flow of datagrams"):
        metrics.owd_mean_ms(busy, flows=["cubic-1"])
    with pytest.raises(metrics.MetricError, match="kept for the measured part"):
        metrics.owd_mean_ms(busy, window=(0, 5))


def test_samples_closer_than_a_nanosecond_are_told_apart(store: Store) -> None:
    link = {"name": "l", "from": "a", "to": "b", "rate": "100 Gbit/s", "delay": "1 us", "buffer": "10 packets"}
    flow = {"name": "f", "path": ["l"], "algorithm": "reno"}
    stack = {"initial_window": "26 segments", "handshake": False}
    stated = Scenario(
        duration="4.5 ns",
        sample_period="66 ps",
        start_jitter="0 s",
        link=[link],
        flow=[flow],
        stack=stack,
        measure={"from": "3 ns"},
    )
    short = runs.run(stated, store=store)
    # All 26 segments come at once: one is sent, ten wait and the rest are dropped.
    assert metrics.min_queue_pkts(short, link="l") == metrics.max_queue_pkts(short, link="l") == 10
    assert metrics.mean_queue_pkts(short, link="l") == pytest.approx(10)


def test_a_run_is_freed_with_its_numbers() -> None:
    """The engine's view of a run's tables is kept by the run, so it must not keep the run."""
    made = compute(backends.get("sim"), Scenario.dumbbell(**PATH, duration="4 s"), 1)
    metrics.get("utilization")(made)
    released = weakref.ref(made)
    del made
    gc.collect()
    assert released() is None
