"""Rules of a host and loss detection are two settings: one does not change what the other does."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from elephan import Scenario, ScenarioError, backends
from elephan.scenario.stacks import DETECTIONS, HOST_RULES, STACKS

PATH: dict[str, Any] = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "2000 packets", "duration": "10 s"}


def tables(stack: dict[str, Any], flow: dict[str, Any] | None = None, **path: Any) -> dict[str, pl.DataFrame]:
    made = Scenario.dumbbell([{"algorithm": "cubic", "stack": stack} | (flow or {})], **PATH | path)
    return {name: pl.DataFrame(table) for name, table in backends.get("sim").run(made, 1).tables.items()}


def same(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> bool:
    return all(table.equals(other[name]) for name, table in one.items())


@pytest.mark.parametrize("host", ["linux", "plain"])
def test_loss_detection_changes_nothing_where_nothing_is_lost(host: str) -> None:
    """HyStart leaves slow start before a window of 2,000 packets: the clock, the timers and the ACKs are the host's."""
    found = [tables({"host": host, "detection": detection}) for detection in DETECTIONS]
    assert found[0]["flows"]["retransmits"][0] == 0
    assert all(same(found[0], other) for other in found[1:])


def test_the_host_changes_what_is_not_loss_detection() -> None:
    linux, plain = (tables({"host": host}, rate="19.37 Mbit/s") for host in ("linux", "plain"))
    assert not same(linux, plain)
    # Whole microseconds of a clock, against exact times.
    rtts = {name: found["samples"]["rtt_s"].drop_nulls().tail(5) for name, found in (("l", linux), ("p", plain))}
    assert all((rtts["l"] * 1e6 - (rtts["l"] * 1e6).round()).abs() < 1e-6)
    assert any((rtts["p"] * 1e6 - (rtts["p"] * 1e6).round()).abs() > 1e-6)


@pytest.mark.parametrize("detection", DETECTIONS)
def test_a_linux_host_repairs_losses_with_every_detection(detection: str) -> None:
    flow = tables({"detection": detection}, loss="0.5%", buffer="100 packets")["flows"].row(0, named=True)
    assert flow["loss_events"] > 10
    assert flow["goodput_mbps"] > 3


MOVED: dict[str, dict[str, Any]] = {
    "clock": {"rate": "19.37 Mbit/s"},
    "timers": {"loss": "2%"},
    "timeout": {"loss": "5%"},
    "timer-restart": {"loss": "5%"},
    "tail-loss-probe": {"loss": "10%", "application": {"rate": "1 Mbit/s", "on": "100 ms", "off": "500 ms"}},
    "rtt-samples": {"loss": "1%"},
    "window-validation": {"application": {"rate": "10 Mbit/s", "on": "300 ms", "off": "300 ms"}},
    "idle-restart": {
        "algorithm": "cubic:linux",
        "application": {"rate": "10 Mbit/s", "on": "300 ms", "off": "900 ms"},
    },
    "receive-window": {"stack": {"receive_window": "1000 segments"}, "algorithm": "hybla", "rtt": "200 ms"},
    "sack-blocks": {"loss": "10%", "algorithm": "fixed", "parameters": {"window": 200}},
    "cwr": {"queue": "codel", "stack": {"ecn": True}},
    # An outage; timestamps would show the same timeout to be spurious.
    "f-rto": {
        "stack": {"undo": False},
        "rate_steps": [{"at": "2 s", "rate": "50 kbit/s"}, {"at": "3.5 s", "rate": "20 Mbit/s"}],
    },
    "d-sack": {"reorder": {"share": "1%", "delay": "30 ms"}},
    "undo": {"reorder": {"share": "1%", "delay": "30 ms"}},
}
"""A path or a flow on which each rule of Linux changes something."""


@pytest.mark.parametrize("rule", HOST_RULES)
def test_each_rule_can_be_removed_alone_and_moves_something(rule: str) -> None:
    given = dict(MOVED[rule])
    stack = given.pop("stack", {})
    of_flow = given.keys() & {"algorithm", "parameters", "application"}
    flow: dict[str, Any] = {name: given.pop(name) for name in of_flow}
    with_all, without = (tables(stack | more, flow, **given) for more in ({}, {"without": [rule]}))
    assert not same(with_all, without)
    assert 0.3 < without["flows"]["goodput_mbps"][0] / with_all["flows"]["goodput_mbps"][0] < 3


def test_a_plain_host_has_none_of_the_rules_to_remove() -> None:
    with pytest.raises(ScenarioError, match="without: a plain host has none of these rules"):
        tables({"base": "rfc6675", "without": ["f-rto"]})
    with pytest.raises(ScenarioError, match="'frto' is not a rule of Linux that a host may lack; did you mean 'f-rto'"):
        tables({"without": "frto"})
    of = Scenario.dumbbell([{"algorithm": "reno", "stack": {"without": ["undo", "clock", "undo"]}}], **PATH)
    assert of.form.flows[0].stack.without == ("clock", "undo")
    assert Scenario.from_toml(of.to_toml()).hash == of.hash


def test_only_todays_linux_has_a_linux_host() -> None:
    assert {name for name, stack in STACKS.items() if stack.host == "linux"} == {"linux"}
    with pytest.raises(ScenarioError, match="'linx' is not a host; did you mean 'linux'"):
        tables({"host": "linx"})
