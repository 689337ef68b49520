"""A policer whose tokens other traffic takes, too, has the rate that the capture shows, or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import elephan
from elephan import export
from elephan.explanation import PathFit

_POLICER = {"rate": "10 Mbit/s", "burst": "45000 B"}


def _fit(folder: Path, *flows: dict[str, Any], **path: Any) -> PathFit:
    options: dict[str, Any] = {"rate": "40 Mbit/s", "rtt": "20 ms", "buffer": "1000 packets", "duration": "20 s"}
    options |= {"queue": "policer", "queue_parameters": _POLICER, "stack": "linux"}
    run = elephan.run(elephan.Scenario.dumbbell(list(flows), **{**options, **path}))
    export.write_pcapng(run, export.events_of(run), folder / "one.pcapng", at="sender")
    return elephan.explain(folder / "one.pcapng").path


def test_all_tokens_show_while_nobody_else_takes_some(tmp_path: Path) -> None:
    fit = _fit(tmp_path, {"algorithm": "westwood:linux"}, {"algorithm": "cubic", "start": "7 s"})
    rate = fit.by_name["rate"]
    assert fit.queue == "policer"
    assert rate.value == pytest.approx(10e6, rel=0.01)
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low <= 10e6 <= rate.high
    assert fit.by_name["buffer"].value == pytest.approx(45e3, rel=0.1)


def test_others_who_do_not_yield_are_met_behind_a_policer(tmp_path: Path) -> None:
    datagrams: dict[str, Any] = {"rate": "2.5 Mbit/s", "size": "1000 B", "arrivals": "poisson"}
    fit = _fit(tmp_path, {"algorithm": "bic:linux"}, {"algorithm": "datagrams", "datagrams": datagrams})
    rate, others = fit.by_name["rate"], fit.others
    assert rate.value == pytest.approx(10e6, rel=0.05)
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low <= 10e6 <= rate.high
    assert others is not None
    assert others.kind == "steady"
    assert others.share == pytest.approx(0.25, rel=0.2)
    assert others.packet_bytes == pytest.approx(1000, abs=50)


def test_tokens_that_this_flow_does_not_use_up_have_no_rate(tmp_path: Path) -> None:
    datagrams: dict[str, Any] = {"rate": "2.5 Mbit/s", "size": "1000 B", "arrivals": "poisson"}
    flows: list[dict[str, Any]] = [{"algorithm": "reno:linux"}, {"algorithm": "datagrams", "datagrams": datagrams}]
    fit = _fit(tmp_path, *flows, rtt="60 ms", queue_parameters=_POLICER | {"burst": "6000 B"})
    assert not fit.by_name["rate"].identifiable
    assert "passed between drops" in fit.by_name["rate"].reason
    assert fit.best.queue == "policer"
    assert fit.best.rate_bps <= 10e6


def test_a_short_queue_with_others_is_no_policer(tmp_path: Path) -> None:
    datagrams: dict[str, Any] = {"rate": "2.5 Mbit/s", "size": "1000 B", "arrivals": "poisson"}
    flows: list[dict[str, Any]] = [{"algorithm": "cubic"}, {"algorithm": "datagrams", "datagrams": datagrams}]
    fit = _fit(tmp_path, *flows, rate="10 Mbit/s", buffer="8 packets", queue="droptail", queue_parameters={})
    assert fit.queue == "droptail"
    assert fit.by_name["rate"].value == pytest.approx(10e6, rel=0.01)
