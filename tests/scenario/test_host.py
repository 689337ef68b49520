"""Rules of a host and loss detection are two settings: one does not change what the other does."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from elephan import Scenario, ScenarioError, backends
from elephan.scenario.stacks import DETECTIONS, STACKS


def tables(stack: dict[str, Any], **path: Any) -> dict[str, pl.DataFrame]:
    dumbbell = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "2000 packets"} | path
    flow = {"algorithm": "cubic", "stack": stack}
    made = Scenario.from_dict({"duration": "10 s", "dumbbell": dumbbell, "flow": [flow]})
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


def test_only_todays_linux_has_a_linux_host() -> None:
    assert {name for name, stack in STACKS.items() if stack.host == "linux"} == {"linux"}
    with pytest.raises(ScenarioError, match="'linx' is not a host; did you mean 'linux'"):
        tables({"host": "linx"})
