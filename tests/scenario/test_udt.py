"""Flows of UDT in a scenario: what they mean, what they refuse, and rows like those of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elephan.metrics import jain_fi
from elephan.runs import Store, run
from elephan.scenario import Scenario, ScenarioError


def scenario(*flows: dict[str, Any], **more: Any) -> Scenario:
    dumbbell = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}
    return Scenario.from_dict({"duration": "20 s", "dumbbell": dumbbell, "flow": list(flows), **more})


def test_packets_are_as_large_as_the_scenario_s_segments() -> None:
    for shared, payload_bytes in (({}, 1456), ({"stack": "ns2"}, 996), ({"stack": {"payload": "8948 B"}}, 8956)):
        stated = scenario({"algorithm": "udt"}, **shared)
        stack = stated.canonical()["flows"][0]["stack"]
        assert (stack["payload_bytes"], stack["header_bytes"]) == (payload_bytes, 44)
        assert Scenario.from_toml(stated.to_toml()).hash == stated.hash
    own = scenario({"algorithm": "udt", "stack": {"payload": "1000 B"}}).canonical()["flows"][0]["stack"]
    assert own["payload_bytes"] == 1000


def test_what_is_said_of_tcp_s_endpoints_leaves_udt_the_same_experiment() -> None:
    plain, other = scenario({"algorithm": "udt"}), scenario({"algorithm": "udt"}, stack={"min_rto": "1 s", "ecn": True})
    assert plain.hash == other.hash


@pytest.mark.parametrize(
    ("flow", "more", "line"),
    [
        ({"stack": "ns2"}, {}, "flow[0].stack.base: has no effect for UDT"),
        ({"stack": {"ecn": True}}, {}, "flow[0].stack.ecn: has no effect for UDT"),
        ({"stack": {"ack_every": 2}}, {}, "flow[0].stack.ack_every: has no effect for UDT"),
        ({"stack": {"receive_window": "64 KiB"}}, {}, "flow[0].stack.receive_window: has no effect for UDT"),
        ({"stack": {"payload": "23 B"}}, {}, "flow[0].stack.payload: '23 B' is no payload of a UDT packet"),
        ({"base_rtt_error": "1 ms"}, {}, "flow[0].base_rtt_error: has no effect for UDT"),
        ({"sender_clock": {"offset": "1 ms"}}, {}, "flow[0].sender_clock: has no effect for UDT"),
        ({}, {"events": True}, "events: UDT's packets are not TCP's and have no event log"),
        ({"algorithm": "udt:2009"}, {}, "flow[0].algorithm: 'udt:2009' is not a preset of udt"),
        ({"parameters": {"syn": 5}}, {}, "flow[0].parameters.syn: 5 is not allowed"),
        (
            {},
            {"traffic": [{"algorithm": "udt", "load": "10%"}]},
            "traffic[0].algorithm: 'udt' has its own endpoints",
        ),
    ],
)
def test_what_only_tcp_has_is_refused(flow: dict[str, Any], more: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario({"algorithm": "udt"} | flow, **more)
    assert line in str(refused.value)


def test_a_flow_window_below_the_path_s_is_warned_of() -> None:
    stated = scenario({"algorithm": "udt", "name": "small", "parameters": {"flow_window": 32}})
    assert any("small: its flow window of 32 segments is less than its share" in line for line in stated.warnings())
    assert not any("flow window" in line for line in scenario({"algorithm": "udt"}).warnings())


def test_a_flow_of_udt_is_a_row_like_others(tmp_path: Path) -> None:
    flows = (
        {"algorithm": "udt"},
        {"name": "file", "algorithm": "udt:draft", "size": "2 MB", "start": "1 s"},
        {"name": "back", "algorithm": "udt", "direction": "left"},
        {"algorithm": "cubic"},
    )
    result = run(scenario(*flows), store=Store(tmp_path))
    rows = {row["name"]: row for row in result.flows.to_dicts()}
    assert rows["udt-1"]["algorithm"] == "udt"
    # 1456 of 1500 bytes are payload; ACK2s are on the wire too.
    assert rows["back"]["throughput_mbps"] == pytest.approx(rows["back"]["goodput_mbps"] * 1500 / 1456, rel=0.02)
    assert rows["back"]["goodput_mbps"] > 15
    assert rows["file"]["segments_delivered"] == -(-2_000_000 // 1456)
    assert 0.8 < rows["file"]["completion_s"] < 15
    for row in rows.values():
        # 40 ms, and at most a BDP of queue, 40 ms more, each way.
        assert row["rtt_min_ms"] is None or 40 <= row["rtt_min_ms"] <= row["rtt_p50_ms"] <= row["rtt_p99_ms"] <= 121
        # A window that stands still is its own mean, but for the rounding of a sum.
        assert row["cwnd_mean"] <= row["cwnd_max"] * (1 + 1e-12)
    assert 0 < jain_fi(result) <= 1


def test_only_runs_with_udt_have_a_sending_rate(tmp_path: Path) -> None:
    store = Store(tmp_path)
    both = run(scenario({"algorithm": "udt"}, {"algorithm": "cubic"}), store=store).samples
    late = both.filter(both["time_s"] > 5)
    of = {name: late.filter(late["flow"] == name)["sending_rate_mbps"].to_list() for name in ("udt-1", "cubic-2")}
    assert all(rate is None for rate in of["cubic-2"])
    # 1/P: while packets are sent as it says, it is a little below what the link carries.
    assert all(0.1 < rate < 30 for rate in of["udt-1"])
    assert "sending_rate_mbps" not in run(scenario({"algorithm": "cubic"}), store=store).samples.columns
