"""The backend 'quic': quinn's connections over the engine's paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from elephan import Scenario, ScenarioError, backends
from elephan.backends import quic

pytestmark = pytest.mark.skipif(quic.program() is None, reason="elephan-quic is not built")

# Rate, base RTT, buffer.
PATHS = [
    ("10 Mbit/s", "40 ms", "50% BDP"),
    ("20 Mbit/s", "60 ms", "100% BDP"),
    pytest.param(("50 Mbit/s", "30 ms", "100% BDP"), marks=pytest.mark.large),
    pytest.param(("100 Mbit/s", "40 ms", "60% BDP"), marks=pytest.mark.large),
]
SIZES_OF_WEB = {"distribution": "exponential", "mean": "50 kB"}
WEB = [{"name": "web", "algorithm": "cubic", "load": "10%", "sizes": SIZES_OF_WEB}]
# A full datagram of quinn carries 1,440 bytes of a stream in 1,500 on the wire.
SIZES = {"payload": "1440 B", "header": "60 B"}
# Behavior of quinn's endpoints besides: an ACK for every second packet, at most 25 ms late, and paced packets.
AS_QUINN = {"ack_every": 2, "delayed_ack": "25 ms", "quick_acks": 0, "pacing": True}


def scenario(algorithm: str, *, duration: str = "10 s", stack: dict[str, Any] | None = None, **more: Any) -> Scenario:
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "50 packets"}
    path |= {name: more.pop(name) for name in list(path) if name in more}
    flow = {"algorithm": algorithm} | more.pop("flow", {})
    document = {"duration": duration, "dumbbell": path, "flow": [flow], "stack": SIZES | (stack or {})} | more
    return Scenario.from_dict(document)


def tables(of: Scenario, on: str = "quic", seed: int | None = None) -> dict[str, pl.DataFrame]:
    return {name: pl.DataFrame(table) for name, table in backends.get(on).run(of, seed).tables.items()}


def sawtooth_period_s(samples: pl.DataFrame, from_s: float) -> float:
    steady = samples.filter(pl.col("time_s") >= from_s)
    events = steady["loss_events"].to_numpy().astype(np.int64)
    at = np.flatnonzero(np.diff(events) > 0) + 1
    times = steady["time_s"].to_numpy()
    return float((times[at[-1]] - times[at[0]]) / (events[at[-1]] - events[at[0]]))


@pytest.mark.parametrize("path", PATHS, ids=", ".join)
def test_quinn_s_newreno_and_elephan_s_reno_agree(path: tuple[str, str, str]) -> None:
    where: dict[str, Any] = {"rate": path[0], "rtt": path[1], "buffer": path[2], "measure": {"from": "60 s"}}
    quinn = tables(scenario("quinn:newreno", duration="240 s", **where))
    ours = tables(scenario("reno", duration="240 s", stack=AS_QUINN, **where), on="sim")
    assert quinn["flows"]["goodput_mbps"][0] == pytest.approx(ours["flows"]["goodput_mbps"][0], rel=0.02)
    periods = [sawtooth_period_s(found["samples"], 60.0) for found in (quinn, ours)]
    assert periods[0] == pytest.approx(periods[1], rel=0.05)


@pytest.mark.parametrize("algorithm", ["quinn:cubic", "quinn:bbr", "hcc", "reno"])
def test_a_seed_gives_the_same_tables_and_another_one_others(algorithm: str) -> None:
    of = scenario(algorithm, duration="3 s")
    first, again, other = tables(of, seed=1), tables(of, seed=1), tables(of, seed=2)
    for name, table in first.items():
        assert table.equals(again[name]), name
    assert not first["samples"].equals(other["samples"])


def test_elephan_s_reno_in_quinn_is_quinn_s_newreno_within_a_percent() -> None:
    ours, theirs = (tables(scenario(algorithm, duration="60 s"))["flows"] for algorithm in ("reno", "quinn:newreno"))
    assert ours["goodput_mbps"][0] == pytest.approx(theirs["goodput_mbps"][0], rel=0.01)
    assert ours["cwnd_mean"][0] == pytest.approx(theirs["cwnd_mean"][0], rel=0.01)


@pytest.mark.parametrize("alpha", [100, *(pytest.param(alpha, marks=pytest.mark.large) for alpha in (50, 200))])
def test_hcc_keeps_the_same_queue_in_quinn_and_in_the_simulator(alpha: int) -> None:
    flow: dict[str, Any] = {"parameters": {"alpha": alpha}}
    where: dict[str, Any] = {"rate": "100 Mbit/s", "buffer": "600 packets", "measure": {"from": "30 s"}, "flow": flow}
    queues = []
    for on in ("quic", "sim"):
        links = tables(scenario("hcc", duration="60 s", **where), on=on)["links"].filter(pl.col("time_s") >= 30)
        integral = links["queue_integral_packet_s"]
        queues.append((integral[-1] - integral[0]) / 30)
    assert queues[0] == pytest.approx(queues[1], rel=0.05)
    assert queues[0] == pytest.approx(alpha, rel=0.05)


def test_a_transfer_ends_when_all_of_it_is_acknowledged() -> None:
    flow = tables(scenario("quinn:cubic", flow={"size": "2 MB"}))["flows"].row(0, named=True)
    assert flow["segments_delivered"] == -(-2_000_000 // 1440)
    # One round trip of handshake, then 2 MB at no more than 20 Mbit/s.
    assert 0.04 + 0.8 < flow["completion_s"] < 2.0


def test_a_flow_that_stops_sends_no_more() -> None:
    samples = tables(scenario("quinn:newreno", flow={"stop": "5 s"}))["samples"]
    late = samples.filter(pl.col("time_s") > 5.5)["delivered_segments"]
    assert late.n_unique() == 1


def test_marks_of_a_queue_reach_quinn() -> None:
    queue = {"queue": "codel"}
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "200 packets"} | queue
    document = {
        "duration": "20 s", "dumbbell": path, "flow": [{"algorithm": "quinn:newreno"}], "stack": SIZES | {"ecn": True},
    }  # fmt: skip
    found = tables(Scenario.from_dict(document))
    assert found["links"]["marked_packets"].max() > 0  # type: ignore[operator]
    flow = found["flows"].row(0, named=True)
    assert flow["ecn_events"] > 0


@pytest.mark.parametrize(
    ("algorithm", "reason"),
    [
        (
            "bbr",
            "flow[0].algorithm: the backend 'quic' cannot do it: 'bbr' needs a pacing rate that the transport obeys",
        ),
        ("dctcp", "a count of CE marks with each ACK"),
        ("vivace", "a pacing rate that the transport obeys"),
    ],
)
def test_an_algorithm_that_quinn_cannot_serve_is_refused(algorithm: str, reason: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        backends.get("quic").check(scenario(algorithm))
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"internals": True}, "internals: the backend 'quic' cannot do internals"),
        ({"stack": {"ack_every": 4}}, "quinn's own endpoints, which do not support ack_every = 4"),
        ({"stack": {"payload": "1000 B"}}, "QUIC needs packets of at least 1228 B on the wire"),
        (
            {"flow": {"application": {"writes": [{"at": "1 s", "size": "1 kB"}]}}},
            "flow[0].application.writes: the backend 'quic' cannot do single writes",
        ),
    ],
)
def test_what_no_connection_of_quinn_has_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        backends.get("quic").check(scenario("reno", **change))
    assert reason in str(refused.value)


@pytest.mark.parametrize("on", ["sim", "model"])
def test_other_backends_name_the_one_that_runs_quinn(on: str) -> None:
    with pytest.raises(ScenarioError, match=f"the backend '{on}' has no endpoints of quinn; write --on quic"):
        backends.get(on).check(scenario("quinn:cubic"))


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ("quinn:cubik", "did you mean 'quinn:cubic'?"),
        ("quinn", "write one of quinn:cubic, quinn:newreno, quinn:bbr"),
    ],
)
def test_a_controller_that_quinn_does_not_have_is_named(algorithm: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(algorithm)
    assert message in str(refused.value)


def test_controllers_of_quinn_have_no_parameters() -> None:
    with pytest.raises(ScenarioError, match="quinn:cubic has no parameters"):
        scenario("quinn:cubic", flow={"parameters": {"beta": 0.5}})


def test_a_jittering_sender_s_packets_are_late() -> None:
    # A window of two segments never queues. A packet is late by 1 ms on average, the later of two by 4/3 ms.
    path = {"rate": "1 Gbit/s", "rtt": "40 ms", "buffer": "1000 packets"}
    quiet: dict[str, Any] = {"stack": {"receive_window": "2 segments"}, "duration": "20 s"} | path
    late: dict[str, Any] = {"send_jitter": "2 ms"}
    still, jittering = (
        tables(scenario("quinn:newreno", **quiet, **more))["flows"]["rtt_mean_ms"][0] for more in ({}, late)
    )
    assert 1.0 < jittering - still < 4 / 3


def test_a_receiver_s_clock_that_gains_shows_a_delay_that_grows() -> None:
    """With a gain of 1 % the delay grows by 10 ms each second: after ten, LEDBAT's target of 100 ms is exceeded."""
    drifts: list[dict[str, Any]] = [{}, {"receiver_clock": {"drift": "10000 ppm"}}]
    drifts.append(drifts[1] | {"sender_clock": {"drift": "10000 ppm"}})
    steady, gaining, together = (
        tables(scenario("ledbat", duration="25 s", measure={"from": "20 s"}, flow=drift))["flows"]["goodput_mbps"][0]
        for drift in drifts
    )
    assert gaining < steady / 2
    assert together == pytest.approx(steady, rel=0.02)


def beside(*flows: dict[str, Any], duration: str = "8 s", **more: Any) -> Scenario:
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "50 packets"}
    return Scenario.from_dict({"duration": duration, "dumbbell": path, "flow": list(flows)} | more)


TCP = {"name": "tcp", "algorithm": "cubic"}
QUIC = {"name": "quic", "algorithm": "quinn:cubic", "backend": "quic", "stack": SIZES}


def test_a_flow_beside_a_connection_is_the_simulator_s_until_they_meet() -> None:
    both = tables(beside(TCP, QUIC | {"start": "4 s"}))["samples"]
    alone = tables(beside(TCP), on="sim")["samples"]
    of_tcp = both.filter(pl.col("flow") == "tcp")
    first = pl.col("time_s") <= 4
    columns = [name for name in alone.columns if name != "flow"]
    assert of_tcp.filter(first).select(columns).equals(alone.filter(first).select(columns))
    assert not of_tcp.select(columns).equals(alone.select(columns))


def test_both_kinds_of_flows_fill_the_path_together() -> None:
    found = tables(beside(TCP, QUIC, duration="60 s", measure={"from": "20 s"}), seed=3)
    flows = found["flows"]
    # 1,448 of 1,500 bytes of a segment and 1,440 of a datagram are data.
    assert flows["goodput_mbps"].sum() == pytest.approx(20 * 1444 / 1500, rel=0.02)
    assert flows["goodput_mbps"].min() > 4  # type: ignore[operator]
    assert flows["loss_events"].min() > 0  # type: ignore[operator]


def test_background_traffic_and_datagrams_run_beside_connections() -> None:
    datagrams = {"name": "voice", "datagrams": {"rate": "100 kbit/s"}}
    of = beside(QUIC, datagrams, traffic=WEB)
    found, again = tables(of, seed=2), tables(of, seed=2)
    assert found["transfers"]["completion_s"].count() > 10
    assert all(table.equals(again[name]) for name, table in found.items())
    assert set(tables(of, seed=2)) == {"flows", "samples", "links", "transfers", "sources"}


def test_an_application_limits_a_connection() -> None:
    even = tables(scenario("quinn:cubic", flow={"application": {"rate": "2 Mbit/s"}}, duration="20 s"))
    assert even["flows"]["goodput_mbps"][0] == pytest.approx(2, rel=0.01)
    onoff = {"rate": "4 Mbit/s", "on": "1 s", "off": "1 s", "times": "constant"}
    samples = tables(scenario("quinn:cubic", flow={"application": onoff}))["samples"]
    at = dict(zip(samples["time_s"], samples["delivered_segments"], strict=True))
    assert at[2.0] == at[1.1] == pytest.approx(4e6 / 8 / 1440, rel=0.01)
    assert at[4.0] == pytest.approx(2 * at[2.0], rel=0.01)


def test_a_transfer_of_an_application_ends_with_its_last_segment() -> None:
    flow = {"application": {"rate": "1 Mbit/s"}, "size": "100 segments"}
    row = tables(scenario("quinn:cubic", flow=flow))["flows"].row(0, named=True)
    # The last segment needs a round trip and its transmission, and quinn acknowledges a lone datagram after 25 ms.
    assert row["segments_delivered"] == 100
    assert row["completion_s"] == pytest.approx(99 * 1440 * 8 / 1e6 + 0.0406 + 0.025, abs=0.001)


@pytest.mark.parametrize(
    ("flow", "reason"),
    [
        ({"algorithm": "udt", "stack": {}}, "flow[0].backend: 'quic' has QUIC alone, and this flow is of udt; leave"),
        ({"backend": "linux"}, "flow[0].backend: 'linux' has TCP alone, and this flow is of quinn; leave it out"),
        ({"backend": "quick"}, "did you mean 'quic'?"),
        ({"backend": "sim"}, "flow[0].backend: 'sim' has no quinn:cubic; leave it out"),
    ],
)
def test_a_flow_that_is_no_connection_cannot_name_the_backend(flow: dict[str, Any], reason: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        beside(QUIC | flow)
    assert reason in str(refused.value)


def test_the_program_runs_as_connections_what_the_manifest_names() -> None:
    def made(first: dict[str, Any], second: dict[str, Any]) -> tuple[list[str], pl.DataFrame]:
        flows = [{"name": "a", "algorithm": "reno"} | first, {"name": "b", "algorithm": "cubic:linux"} | second]
        result = backends.get("quic").run(beside(*flows, stack=SIZES), 1)
        return result.summary["quic"]["flows"], pl.DataFrame(result.tables["samples"])

    quic, sim = {"backend": "quic"}, {"backend": "sim"}
    mixed = [made(quic, {}), made(quic, sim), made({}, sim)]
    assert all(names == ["a"] and samples.equals(mixed[0][1]) for names, samples in mixed)
    both = [made({}, {}), made(quic, quic)]
    assert all(names == ["a", "b"] and samples.equals(both[0][1]) for names, samples in both)
    assert not mixed[0][1].equals(both[0][1])


def test_only_backends_with_single_flows_simulate_beside_them() -> None:
    of = beside(TCP | {"backend": "sim"})
    backends.get("sim").check(of)
    with pytest.raises(ScenarioError, match="the backend 'model' has no flows of 'sim'; write --on sim"):
        backends.get("model").check(of)


def test_the_simulator_names_the_backend_of_a_flow() -> None:
    with pytest.raises(ScenarioError, match="has no flows of 'quic'; write --on quic"):
        backends.get("sim").check(beside(QUIC | {"algorithm": "cubic"}, TCP))


def test_algorithms_of_a_simulated_flow_are_checked_before_the_run() -> None:
    with pytest.raises(ScenarioError, match="xcp"):
        backends.get("quic").check(beside(QUIC, TCP | {"algorithm": "xcp"}))
    backends.get("quic").check(beside(QUIC, TCP | {"algorithm": "bbr3"}))
