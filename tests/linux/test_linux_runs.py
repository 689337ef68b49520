"""Scenarios in a real kernel in virtual time, beside the simulator. Skipped where no kernel is built."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from elephan.backends import RawResult, get
from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import guest, kernels, lab
from elephan.backends.linux.plan import Plan
from elephan.cli.main import run_command
from elephan.scenario import Scenario

LACKING = "; ".join(f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok)
pytestmark = pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can")
large = pytest.mark.large


def dumbbell(*flows: dict[str, Any], **more: Any) -> Scenario:
    settings = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "10 s", "measure": {"from": "4 s"}}
    return Scenario.dumbbell(list(flows), **settings | more)


def flows(result: RawResult) -> list[dict[str, Any]]:
    return pl.DataFrame(result.tables["flows"]).to_dicts()


def measured_srtt_ms(result: RawResult) -> float:
    """Mean smoothed RTT over the samples of the measured part, of the only flow."""
    rows = pl.DataFrame(result.tables["samples"]).filter(pl.col("time_s") >= 4)
    return float(rows.select(1e3 * pl.col("srtt_s").mean()).item())


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
    "algorithm",
    ["reno", "cubic", *(pytest.param(name, marks=large) for name in ("illinois", "stcp", "hstcp", "htcp"))],
)
def test_a_flow_is_as_in_the_simulator(algorithm: str) -> None:
    scenario = dumbbell({"algorithm": f"{algorithm}:linux"})
    ran = [get(name).run(scenario) for name in ("linux", "sim")]
    [virtual], [simulated] = map(flows, ran)
    assert virtual["goodput_mbps"] == pytest.approx(simulated["goodput_mbps"], rel=0.02)
    assert virtual["cwnd_mean"] == pytest.approx(simulated["cwnd_mean"], rel=0.02)
    smoothed = [measured_srtt_ms(result) for result in ran]
    assert smoothed[0] == pytest.approx(smoothed[1], rel=0.02)
    rtts = [f"rtt_{what}_ms" for what in ("min", "mean", "p50", "p95", "p99")]
    assert [virtual[name] for name in rtts] == [None] * 5, "a socket tells no RTT of a packet"
    assert simulated["rtt_min_ms"] <= simulated["rtt_mean_ms"] <= simulated["rtt_p99_ms"]
    assert virtual["start_s"] == pytest.approx(simulated["start_s"], abs=1e-6)
    assert virtual["timeouts"] == simulated["timeouts"]
    assert virtual["retransmits"] == pytest.approx(simulated["retransmits"], rel=0.1, abs=5)


@pytest.mark.parametrize(
    ("rate", "buffer", "algorithm"),
    [
        ("1 Mbit/s", "4 BDP", "cubic"),
        pytest.param("1 Mbit/s", "4 BDP", "reno", marks=large),
        pytest.param("10 Mbit/s", "1 BDP", "cubic", marks=large),
    ],
)
def test_slow_links_lose_as_many_segments_as_in_the_simulator(rate: str, buffer: str, algorithm: str) -> None:
    """Quick ACKs end CUBIC's slow start early, RACK's window follows the handshake, and an episode that begins with a
    retransmission under way is not undone."""
    path = {"rate": rate, "buffer": buffer, "rtt": "100 ms", "duration": "40 s"}
    found = []
    for name in ("linux", "sim"):
        scenario = dumbbell({"algorithm": f"{algorithm}:linux"}, **path)
        found.append(flows(get(name).run(scenario)))
    [virtual], [simulated] = found
    assert virtual["retransmits"] == pytest.approx(simulated["retransmits"], abs=2)
    assert virtual["cwnd_mean"] == pytest.approx(simulated["cwnd_mean"], rel=0.005)


@pytest.mark.parametrize(("rate", "loss"), [("20 Mbit/s", 1e-3), pytest.param("400 Mbit/s", 1e-4, marks=large)])
def test_two_flows_lose_the_same_packets_as_in_the_simulator(rate: str, loss: float) -> None:
    """The guest draws the simulator's losses, its hosts have the simulator's phase of timer interrupts, and packets
    that arrive together are in the simulator's order."""
    scenario = dumbbell(
        {"algorithm": "hstcp:linux"},
        {"algorithm": "westwood:linux", "start": "1.3 s"},
        rate=rate, rtt="38 ms", buffer="1 BDP", loss=loss, duration="8 s", measure={"from": "2 s"},
    )  # fmt: skip
    assert Plan.of(scenario, 250).outside == ""
    virtual, simulated = (flows(get(name).run(scenario)) for name in ("linux", "sim"))
    for one, other in zip(virtual, simulated, strict=True):
        for column in ("segments_sent", "segments_delivered", "retransmits"):
            assert one[column] == other[column], column


def test_every_one_of_a_hundred_flows_has_its_device_and_its_connection() -> None:
    scenario = dumbbell(
        {"algorithm": "cubic:linux", "count": 100}, rate="100 Mbit/s", duration="6 s", measure={"from": "2 s"}
    )
    virtual, simulated = (get(name).run(scenario) for name in ("linux", "sim"))
    assert min(flow["segments_delivered"] for flow in flows(virtual)) > 100
    carried = [sum(flow["goodput_mbps"] for flow in flows(result)) for result in (virtual, simulated)]
    assert carried[0] == pytest.approx(carried[1], rel=0.02)


def test_the_same_seed_gives_the_same_bytes_on_a_busy_host_and_another_one_others() -> None:
    scenario = dumbbell({"algorithm": "cubic:linux"}, {"algorithm": "bbr", "start": "1 s"}, duration="3 s", measure={})
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
    assert last["delivered_bytes"] == (last["delivered_packets"] - 2) * 1500 + 60 + 52, "the SYN and its ACK"


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
    samples = pl.DataFrame(result.tables["samples"]).filter(pl.col("flow").cast(pl.String) == found[1]["name"])
    assert samples["srtt_s"].drop_nulls().to_numpy().min() > 0.08


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


@pytest.mark.parametrize(
    "algorithm",
    [
        "htcp",
        "bbr",
        pytest.param("cdg", marks=large),
        pytest.param("reno", marks=large),
        pytest.param("illinois", marks=large),
        pytest.param("vegas", marks=large),
    ],
)
def test_an_idle_application_restarts_the_window_as_in_linux(algorithm: str) -> None:
    application = {"rate": "30 Mbit/s", "on": "500 ms", "off": "700 ms"}
    flow = {"algorithm": f"{algorithm}:linux", "stack": "linux", "application": application}
    [virtual], [simulated] = (flows(get(name).run(dumbbell(flow))) for name in ("linux", "sim"))
    assert virtual["timeouts"] == simulated["timeouts"]
    # Data that wait for the end of the handshake are cut into slightly different bursts, which moves the first losses.
    assert virtual["retransmits"] == pytest.approx(simulated["retransmits"], abs=1)
    assert virtual["segments_delivered"] == pytest.approx(simulated["segments_delivered"], rel=0.002)


# ---- the engine as the path ----

OUTSIDE = pytest.mark.skipif(
    guest.path_program() is None or not kernels.kernels() or not kernels.chosen().leads_outside,
    reason="needs elephan-linux and a kernel with devices for a path outside: elephan lab linux build",
)


def on_linux(algorithm: str, **more: Any) -> dict[str, Any]:
    return {"algorithm": algorithm, "backend": "linux"} | more


def last_of(result: RawResult, link: str) -> dict[str, Any]:
    return pl.DataFrame(result.tables["links"]).filter(pl.col("link") == link).row(-1, named=True)


@OUTSIDE
@pytest.mark.parametrize(
    "algorithm", ["bbr", *(pytest.param(name, marks=large) for name in ("reno:linux", "cubic:linux"))]
)
def test_both_paths_agree_within_a_packet(algorithm: str) -> None:
    inside, outside = (
        get("linux").run(dumbbell({"algorithm": algorithm} | more)) for more in ({}, {"backend": "linux"})
    )
    assert inside.summary["linux"]["path"] == "netem in the guest"
    assert outside.summary["linux"]["path"].startswith("the engine")
    [one], [other] = flows(inside), flows(outside)
    assert other["goodput_mbps"] == pytest.approx(one["goodput_mbps"], rel=0.002)
    assert other["cwnd_mean"] == pytest.approx(one["cwnd_mean"], abs=1)
    assert other["retransmits"] == pytest.approx(one["retransmits"], abs=1)
    assert other["start_s"] == one["start_s"]
    queues = [last_of(result, "bottleneck")["queue_integral_packet_s"] / 10 for result in (inside, outside)]
    assert queues[1] == pytest.approx(queues[0], abs=1)


@OUTSIDE
def test_a_flow_on_linux_shares_a_queue_with_a_simulated_one() -> None:
    mixed = get("linux").run(
        dumbbell({"algorithm": "bbr3", "name": "first"}, on_linux("reno", name="real"), {"algorithm": "reno:linux"})
    )
    first, real, last = flows(mixed)
    assert [first["name"], real["name"], last["name"]] == ["first", "real", "reno:linux-3"]
    assert mixed.summary["linux"]["flows"] == ["real"]
    assert sum(flow["goodput_mbps"] for flow in (first, real, last)) == pytest.approx(20 * 1448 / 1500, rel=0.01)
    assert min(flow["goodput_mbps"] for flow in (first, real, last)) > 1
    samples = pl.DataFrame(mixed.tables["samples"])
    assert samples["flow"].unique(maintain_order=True).to_list() == ["first", "real", "reno:linux-3"]
    assert samples.group_by("flow").len()["len"].n_unique() == 1
    # Packets of both are in the link's books.
    books = mixed.summary["conservation"]
    assert books["sent"] + books["duplicated"] == books["received"] + books["dropped"] + books["under_way"]


@OUTSIDE
def test_with_the_engine_as_the_path_the_same_seed_gives_the_same_bytes() -> None:
    scenario = dumbbell(
        on_linux("cubic"), on_linux("bbr", start="1 s"), {"algorithm": "bbr3"}, duration="4 s", measure={}, queue="red"
    )
    first = tables(get("linux").run(scenario))
    with busy():
        assert tables(get("linux").run(scenario)) == first
    assert tables(get("linux").run(scenario, 2)) != first


@OUTSIDE
@pytest.mark.parametrize("more", [{"queue": "codel"}, {"loss": {"to_bad": "0.1%", "to_good": "20%"}}])
def test_a_path_that_only_the_engine_has_is_as_in_the_simulator(more: dict[str, Any]) -> None:
    scenario = dumbbell({"algorithm": "reno:linux"}, duration="20 s", **more)
    results = [get(name).run(scenario) for name in ("linux", "sim")]
    [virtual], [simulated] = (flows(result) for result in results)
    assert virtual["goodput_mbps"] == pytest.approx(simulated["goodput_mbps"], rel=0.02)
    assert virtual["cwnd_mean"] == pytest.approx(simulated["cwnd_mean"], abs=1)
    assert virtual["retransmits"] == pytest.approx(simulated["retransmits"], abs=5)
    queues = [last_of(result, "bottleneck")["queue_integral_packet_s"] / 20 for result in results]
    assert queues[0] == pytest.approx(queues[1], abs=1)


@OUTSIDE
def test_a_path_that_loses_everything_for_a_time_has_the_timeouts_of_the_simulator() -> None:
    scenario = dumbbell({"algorithm": "reno:linux"}, loss={"probability": 1, "from": "3 s", "to": "4 s"})
    [virtual], [simulated] = (flows(get(name).run(scenario)) for name in ("linux", "sim"))
    assert virtual["timeouts"] == simulated["timeouts"] > 0


def test_a_flow_does_not_give_up_though_all_its_syns_are_lost() -> None:
    scenario = dumbbell({"algorithm": "reno:linux"}, rtt="80 ms", loss="99.9999%", duration="140 s")
    [virtual] = flows(get("linux").run(scenario))
    assert virtual["segments_delivered"] == 0


@OUTSIDE
def test_background_traffic_beside_linux_is_simulated() -> None:
    traffic = [{"algorithm": "reno", "load": "30%", "sizes": {"mean": "50 kB"}}]
    flow_of = {"linux": on_linux("cubic"), "sim": {"algorithm": "cubic:linux"}}
    virtual, simulated = (get(name).run(dumbbell(flow, traffic=traffic)) for name, flow in flow_of.items())
    drawn = [
        pl.DataFrame(result.tables["transfers"]).select("start_s", "size_bytes") for result in (virtual, simulated)
    ]
    assert len(drawn[0]) > 50
    assert drawn[0].equals(drawn[1])
    # The traffic takes 6 of 20 Mbit/s; how much of the rest CUBIC gets depends on which packets meet.
    [flow] = flows(virtual)
    assert 5 < flow["goodput_mbps"] < 20 * 1448 / 1500


@OUTSIDE
def test_flows_that_start_at_any_time_connect_and_start_then() -> None:
    starts = ["0 s", "50 ms", "150 ms", "300 ms", "2 s"]
    scenario = dumbbell(*(on_linux("reno", start=start) for start in starts), duration="6 s", start_jitter="0 s")
    found = flows(get("linux").run(scenario))
    assert [flow["start_s"] for flow in found] == [0, 0.05, 0.15, 0.3, 2]
    assert min(flow["segments_delivered"] for flow in found) > 100


@OUTSIDE
def test_marks_of_the_engines_queues_reach_linux() -> None:
    scenario = dumbbell(
        {"algorithm": "cubic:linux", "stack": {"base": "linux", "ecn": True}}, queue="codel", duration="20 s"
    )
    results = [get(name).run(scenario) for name in ("linux", "sim")]
    [virtual], [simulated] = (flows(result) for result in results)
    marks = [last_of(result, "bottleneck")["marked_packets"] for result in results]
    assert marks[1] > 5
    assert marks[0] == pytest.approx(marks[1], abs=2)
    assert virtual["retransmits"] == simulated["retransmits"] == 0
    assert virtual["marked_segments"] > marks[0]
    assert virtual["cwnd_mean"] == pytest.approx(simulated["cwnd_mean"], abs=1)


@OUTSIDE
@pytest.mark.parametrize(
    ("algorithms", "path"),
    [
        (["dctcp"], {}),
        pytest.param(["westwood"], {}, marks=large),
        pytest.param(["htcp"], {}, marks=large),
        (["cubic", "dctcp"], {}),
        pytest.param(
            ["dctcp"],
            {"rate": "1 Gbit/s", "rtt": "5 ms", "queue_parameters": {"mark": "65 packets"}, "duration": "2 s"},
            marks=large,
        ),
        (
            ["vegas"],
            {"rate": "5 Mbit/s", "rtt": "80 ms", "buffer": "1 BDP", "queue_parameters": {"mark": "30 packets"}},
        ),
    ],
)
def test_the_response_to_marks_is_that_of_linux(algorithms: list[str], path: dict[str, Any]) -> None:
    """Every mark changes the window, so equal numbers of marks and segments mean equal reductions. Vegas also loses
    packets in slow start."""
    stack = {"base": "linux", "ecn": True}
    settings = {"buffer": "1000 packets", "queue_parameters": {"mark": "20 packets"}, "duration": "8 s"} | path
    flows_ = [{"algorithm": f"{algorithm}:linux", "stack": stack} for algorithm in algorithms]
    scenario = dumbbell(*flows_, queue="threshold", measure={"from": "1 s"}, **settings)
    virtual, simulated = (get(name).run(scenario) for name in ("linux", "sim"))
    counted = [
        [last_of(result, "bottleneck")["marked_packets"], *(flow["segments_delivered"] for flow in flows(result))]
        for result in (virtual, simulated)
    ]
    assert counted[0] == counted[1]
    assert counted[0][0] > 50


@OUTSIDE
def test_a_receiver_of_dctcp_echoes_each_mark_once() -> None:
    """A receiver of another congestion control would echo each mark for a round trip (RFC 3168)."""
    result = get("linux").run(
        dumbbell(
            {"algorithm": "dctcp:linux"}, queue="threshold", queue_parameters={"mark": "20 packets"}, buffer="4 BDP"
        )
    )
    [flow] = flows(result)
    link = last_of(result, "bottleneck")
    assert link["dropped_packets"] == flow["retransmits"] == 0
    assert flow["marked_segments"] == pytest.approx(link["marked_packets"], rel=0.05)
    assert flow["goodput_mbps"] == pytest.approx(20 * 1448 / 1500, rel=0.01)


@OUTSIDE
def test_the_example_of_a_mixed_scenario_has_the_segments_of_the_simulator(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "examples" / "linux_beside_bbr3.toml"
    short = ["--set", "duration=4 s", "--set", "measure.from=1 s", "--set", "flow[*].start=0 s"]
    simulated = tmp_path / "simulated.toml"
    simulated.write_text(path.read_text().replace('backend = "linux"\n', ""))
    assert run_command(["run", str(path), "--on", "linux", "--store", str(tmp_path / "mixed"), *short]) == 0
    assert run_command(["run", str(simulated), "--store", str(tmp_path / "sim"), *short]) == 0
    [mixed], [sim] = (list((tmp_path / store).glob("*/summary.json")) for store in ("mixed", "sim"))
    kept = ("name", "segments_delivered", "retransmits", "timeouts")
    of_flows = [[{key: flow[key] for key in kept} for flow in json.loads(p.read_text())["flows"]] for p in (mixed, sim)]
    assert of_flows[0] == of_flows[1]
