"""Scenarios in a real kernel in virtual time, beside the simulator. Skipped where no kernel is built."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pytest

from elephan.backends import RawResult, get
from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import lab
from elephan.scenario import Scenario

LACKING = "; ".join(f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok)
pytestmark = pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can")


def dumbbell(*flows: dict[str, Any], **more: Any) -> Scenario:
    settings = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "10 s", "measure": {"from": "4 s"}}
    return Scenario.dumbbell(list(flows), **settings | more)


def flows(result: RawResult) -> list[dict[str, Any]]:
    return pl.DataFrame(result.tables["flows"]).to_dicts()


def tables(result: RawResult) -> list[str]:
    return [pl.DataFrame(table).write_csv() for _, table in sorted(result.tables.items())]


@contextmanager
def busy() -> Iterator[None]:
    """A loop beside the runs."""
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


@pytest.mark.parametrize(
    "algorithm", ["reno:linux", "cubic:linux", "illinois:linux", "stcp:linux", "hstcp:linux", "htcp:linux"]
)
def test_a_flow_is_as_in_the_simulator(algorithm: str) -> None:
    scenario = dumbbell({"algorithm": algorithm})
    [virtual], [simulated] = (flows(get(name).run(scenario)) for name in ("linux", "sim"))
    assert virtual["goodput_mbps"] == pytest.approx(simulated["goodput_mbps"], rel=0.02)
    assert virtual["cwnd_mean"] == pytest.approx(simulated["cwnd_mean"], rel=0.02)
    assert virtual["rtt_mean_ms"] == pytest.approx(simulated["rtt_mean_ms"], rel=0.03)
    assert virtual["start_s"] == pytest.approx(simulated["start_s"], abs=1e-6)
    assert virtual["timeouts"] == simulated["timeouts"]
    assert virtual["retransmits"] == pytest.approx(simulated["retransmits"], rel=0.1, abs=5)


@pytest.mark.parametrize(
    ("rate", "buffer", "algorithm"), [("1 Mbit/s", "4 BDP", "reno"), ("10 Mbit/s", "1 BDP", "cubic")]
)
def test_slow_links_lose_as_many_segments_as_in_the_simulator(rate: str, buffer: str, algorithm: str) -> None:
    """Quick ACKs end CUBIC's slow start early, and RACK's timer is no quicker than the third duplicate ACK."""
    scenario = dumbbell({"algorithm": f"{algorithm}:linux"}, rate=rate, buffer=buffer, rtt="100 ms", duration="40 s")
    [virtual], [simulated] = (flows(get(name).run(scenario)) for name in ("linux", "sim"))
    assert virtual["retransmits"] == pytest.approx(simulated["retransmits"], abs=2)
    assert virtual["loss_events"] == simulated["loss_events"]
    assert virtual["cwnd_mean"] == pytest.approx(simulated["cwnd_mean"], rel=0.005)


def test_every_one_of_a_hundred_flows_has_its_device_and_its_connection() -> None:
    scenario = dumbbell(
        {"algorithm": "cubic:linux", "count": 100}, rate="100 Mbit/s", duration="6 s", measure={"from": "2 s"}
    )
    virtual, simulated = (get(name).run(scenario) for name in ("linux", "sim"))
    assert min(flow["segments_delivered"] for flow in flows(virtual)) > 100
    carried = [sum(flow["goodput_mbps"] for flow in flows(result)) for result in (virtual, simulated)]
    assert carried[0] == pytest.approx(carried[1], rel=0.02)


def test_the_same_seed_gives_the_same_bytes_on_a_busy_host_and_another_one_others() -> None:
    scenario = dumbbell({"algorithm": "cubic:linux"}, {"algorithm": "bbr", "start": "1 s"}, duration="5 s", measure={})
    first = tables(get("linux").run(scenario))
    with busy():
        assert tables(get("linux").run(scenario)) == first
    assert tables(get("linux").run(scenario, 2)) != first


def test_the_queue_is_the_scenarios() -> None:
    result = get("linux").run(dumbbell({"algorithm": "reno:linux"}, buffer="50 packets"))
    link = pl.DataFrame(result.tables["links"]).filter(pl.col("link") == "bottleneck")
    assert 45 <= int(link["queue_max"].max()) <= 50  # type: ignore[arg-type]
    last = link.row(-1, named=True)
    assert last["arrived_packets"] == last["delivered_packets"] + last["dropped_packets"] + last["queue_packets"] + 1
    [flow] = flows(result)
    assert last["dropped_packets"] == pytest.approx(flow["retransmits"], abs=2)
    assert last["delivered_bytes"] == last["delivered_packets"] * 1500


def test_a_sized_transfer_completes_when_it_does_in_the_simulator() -> None:
    flow = {"algorithm": "cubic:linux", "size": "500 segments", "start": "1 s"}
    [virtual], [simulated] = (flows(get(name).run(dumbbell(flow))) for name in ("linux", "sim"))
    assert virtual["segments_delivered"] == 500
    assert virtual["completion_s"] == pytest.approx(simulated["completion_s"], rel=0.005)


def test_a_stopped_flow_leaves_the_path_to_the_other() -> None:
    result = get("linux").run(dumbbell({"algorithm": "reno:linux", "stop": "3 s"}, {"algorithm": "reno:linux"}))
    stopped, other = flows(result)
    assert stopped["goodput_mbps"] == 0
    assert other["goodput_mbps"] == pytest.approx(20 * 1448 / 1500, rel=0.02)


def test_random_losses_come_at_their_rate() -> None:
    result = get("linux").run(dumbbell({"algorithm": "bbr"}, loss=0.01, buffer="10 BDP"))
    [flow] = flows(result)
    expected = 0.01 * flow["segments_sent"]
    assert abs(flow["retransmits"] - expected) < 5 * math.sqrt(expected)


def test_a_modules_parameter_changes_what_it_does() -> None:
    given = {"algorithm": "cubic:linux", "parameters": {"beta": 0.5}}
    runs = [flows(get("linux").run(dumbbell(flow)))[0] for flow in ({"algorithm": "cubic:linux"}, given)]
    assert runs[1]["cwnd_mean"] < runs[0]["cwnd_mean"] - 2


def test_flows_of_both_directions_and_several_round_trips_run() -> None:
    result = get("linux").run(
        dumbbell(
            {"algorithm": "cubic:linux"},
            {"algorithm": "reno:linux", "rtt": "80 ms"},
            {"algorithm": "reno:linux", "direction": "left"},
        )
    )
    found = flows(result)
    assert all(flow["goodput_mbps"] > 1 for flow in found)
    assert found[1]["rtt_min_ms"] > 80


def test_a_receive_window_bounds_what_is_in_flight() -> None:
    flow = {"algorithm": "cubic:linux", "stack": {"receive_window": "30 segments"}}
    result = get("linux").run(dumbbell(flow))
    [found] = flows(result)
    assert found["goodput_mbps"] == pytest.approx(30 * 1448 * 8e-6 / 0.0407, rel=0.05)
    assert found["receive_window_limited_fraction"] > 0.9


@pytest.mark.parametrize("application", [{"rate": "5 Mbit/s"}, {"rate": "30 Mbit/s", "on": "200 ms", "off": "300 ms"}])
def test_an_application_hands_its_data_over_as_in_the_simulator(application: dict[str, str]) -> None:
    flow = {"algorithm": "cubic:linux", "application": application}
    [virtual], [simulated] = (flows(get(name).run(dumbbell(flow))) for name in ("linux", "sim"))
    assert virtual["goodput_mbps"] == pytest.approx(simulated["goodput_mbps"], rel=0.02)
    assert virtual["segments_sent"] == pytest.approx(simulated["segments_sent"], rel=0.005)
