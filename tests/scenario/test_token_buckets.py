"""Token buckets: a policer and a shaper, against the closed forms of what they let pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from elephan import Run, run
from elephan.metrics.throughput import throughput_mbps
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError

RATE_BYTES = 1e6
"""8 Mbit/s."""
BURST = 100_000
PATH: dict[str, Any] = {
    "rate": "100 Mbit/s",
    "rtt": "40 ms",
    "buffer": "400 packets",
    "queue_parameters": {"rate": "8 Mbit/s", "burst": "100 kB"},
}
CBR = {"name": "cbr", "datagrams": {"rate": "20 Mbit/s", "size": "1500 B"}}


def scenario(queue: str, flow: dict[str, Any], duration: str = "10 s", **fields: Any) -> Scenario:
    return Scenario.from_dict(
        {
            "duration": duration,
            "start_jitter": "0 s",
            "events": True,
            "dumbbell": PATH | {"queue": queue} | fields,
            "flow": [flow],
        }
    )


def made(given: Scenario, folder: Path) -> Run:
    return run(given, store=Store(folder))


def received(found: Run) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Times of arrival at the receiver, s, and bytes."""
    rows = found.events.filter(pl.col("kind").cast(str) == "received")
    return rows["time_s"].to_numpy(), rows["bytes"].to_numpy().astype(float)


def most_beyond_the_rate(times: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any]) -> float:
    """The largest excess over any interval of the bytes over the token rate: the burst that is seen."""
    before = np.concatenate([[0.0], np.cumsum(sizes)[:-1]]) - RATE_BYTES * times
    after = np.cumsum(sizes) - RATE_BYTES * times
    return float((after - np.minimum.accumulate(before)).max())


@pytest.mark.parametrize("queue", ["policer", "tbf"])
@pytest.mark.parametrize(
    "flow", [CBR, {"name": "c", "algorithm": "cubic"}, {"name": "b", "algorithm": "bbr"}], ids=lambda flow: flow["name"]
)
def test_any_interval_has_at_most_the_burst_and_the_rate(tmp_path: Path, queue: str, flow: dict[str, Any]) -> None:
    times, sizes = received(made(scenario(queue, flow), tmp_path))
    seen = most_beyond_the_rate(times, sizes)
    # Behind the bucket, packets of 1500 B leave at 100 Mbit/s: 0.12 ms each, in which the bucket gets 120 B.
    assert seen <= BURST + 121
    if flow is CBR:
        assert seen > BURST - 1500


@pytest.mark.parametrize("queue", ["policer", "tbf"])
def test_the_first_burst_is_the_bucket_and_then_the_rate(tmp_path: Path, queue: str) -> None:
    """Datagrams of 2.5 MB/s: until the bucket is empty, at burst / (2.5 - 1 MB/s), all pass."""
    times, sizes = received(made(scenario(queue, CBR), tmp_path))
    passed = np.cumsum(sizes)
    start = times[0]
    for at in (0.02, 0.05, 0.06, 0.08, 0.5, 2.0, 9.0):
        expected = min(2.5e6 * at, BURST + RATE_BYTES * at)
        count = passed[times <= start + at][-1]
        assert count == pytest.approx(expected, abs=2 * 1500), at


def test_a_policer_drops_and_delays_nothing(tmp_path: Path) -> None:
    found = made(scenario("policer", CBR), tmp_path)
    assert throughput_mbps(found, (2.0, 10.0))["cbr"] == pytest.approx(8, rel=0.002)
    flow = found.flows.row(0, named=True)
    # 20 ms, and the transmissions of 1500 B at 100 Mbit/s and on two access links at 1 Gbit/s.
    assert flow["owd_min_ms"] == pytest.approx(20.144, abs=1e-6)
    assert flow["owd_p99_ms"] == pytest.approx(20.144, abs=0.03)
    bottleneck = found.links.filter(pl.col("link").cast(str) == "bottleneck")
    assert bottleneck["queue_max"].max() == 0
    dropped, arrived = (bottleneck[name].to_list()[-1] for name in ("dropped_packets", "arrived_packets"))
    assert dropped / arrived == pytest.approx(0.6, abs=0.005)


def test_a_shaper_delays_up_to_its_queue(tmp_path: Path) -> None:
    found = made(scenario("tbf", CBR), tmp_path)
    assert throughput_mbps(found, (2.0, 10.0))["cbr"] == pytest.approx(8, rel=0.002)
    # 400 packets of 1500 B wait for tokens of 1 MB/s.
    assert found.flows["owd_p50_ms"][0] == pytest.approx(20.144 + 600, rel=0.01)


def test_a_shaper_without_load_delays_nothing_and_tcp_fills_it(tmp_path: Path) -> None:
    light = {"name": "light", "datagrams": {"rate": "7 Mbit/s", "size": "1500 B"}}
    found = made(scenario("tbf", light), tmp_path)
    assert found.flows["owd_p99_ms"][0] == pytest.approx(20.144, abs=0.03)
    assert found.links.filter(pl.col("link").cast(str) == "bottleneck")["dropped_packets"].max() == 0
    tcp = made(scenario("tbf", {"name": "c", "algorithm": "cubic"}, "20 s"), tmp_path)
    assert throughput_mbps(tcp, (10.0, 20.0))["c"] == pytest.approx(8, rel=0.002)


def test_a_shaper_on_a_trace_obeys_both(tmp_path: Path) -> None:
    """A trace of 12 Mbit/s above the tokens of 8 Mbit/s, and one of 4 Mbit/s below them."""
    for trace, mbps in (([1], 8.0), ([3], 4.0)):
        given = scenario("tbf", CBR, rate="12 Mbit/s", rate_trace=trace)
        found = made(given, tmp_path)
        assert throughput_mbps(found, (4.0, 10.0))["cbr"] == pytest.approx(mbps, rel=0.005)


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"rate": "8 Mbit/s"}, "dumbbell.queue_parameters.burst: missing"),
        ({"rate": 8, "burst": "1 MB"}, "dumbbell.queue_parameters.rate: 8 has no unit; write a rate such as"),
        ({"rate": "8 Mbit/s", "burst": "1 packets"}, "dumbbell.queue_parameters.burst: '1 packets'"),
        ({"rate": "8 Mbit/s", "burst": "1 kB"}, "burst: '1000 B' is less than one packet of 1500 B"),
    ],
    ids=str,
)
def test_wrong_buckets_are_refused_in_one_line(parameters: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario("policer", {"algorithm": "cubic"}, queue_parameters=parameters)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_the_rate_of_a_bucket_is_told() -> None:
    (line,) = [line for line in scenario("policer", CBR).warnings() if "policer" in line]
    assert line == (
        "bottleneck: its BDP and its utilization are those of its rate, 100 Mbit/s; its policer lets 8 Mbit/s pass"
    )
    idle = scenario("tbf", CBR, queue_parameters={"rate": "200 Mbit/s", "burst": "1 MB"}).warnings()
    assert "bottleneck: its tbf delays no packet: 200 Mbit/s are at least the link's rate, 100 Mbit/s" in idle
