"""Applications and datagrams in a scenario: what they mean, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elephan.runs import Store, run
from elephan.scenario import Scenario, ScenarioError


def scenario(*flows: dict[str, Any], **more: Any) -> Scenario:
    dumbbell = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "access_rate": "100 Mbit/s"}
    return Scenario.from_dict({"duration": "20 s", "dumbbell": dumbbell, "flow": list(flows), **more})


def test_an_application_is_in_the_canonical_form_only_where_there_is_one() -> None:
    slow = {"algorithm": "reno", "application": {"rate": "2 Mbit/s", "on": "1 s", "off": "2 s", "times": "pareto"}}
    plain, with_application = scenario({"algorithm": "reno"}, slow).canonical()["flows"]
    assert not {"application", "datagrams"} & set(plain)
    times = {"kind": "pareto", "shape": 1.5}
    assert with_application["application"] == {
        "rate_bps": 2_000_000,
        "bursts": [{**times, "mean_ps": 10**12}, {**times, "mean_ps": 2 * 10**12}],
    }


def test_datagrams_have_sizes_of_their_own_and_no_algorithm() -> None:
    one = scenario({"datagrams": {"rate": "1 Mbit/s", "size": "500 B", "arrivals": "poisson"}})
    form = one.canonical()["flows"][0]
    assert (form["name"], form["algorithm"], form["datagrams"]) == ("datagrams-1", "datagrams", True)
    assert (form["stack"]["payload_bytes"], form["stack"]["header_bytes"]) == (472, 28)
    assert Scenario.from_toml(one.to_toml()).hash == one.hash
    assert one.is_random


@pytest.mark.parametrize(
    ("flow", "line"),
    [
        ({"datagrams": {"rate": "1 Mbit/s"}, "algorithm": "cubic"}, "flow[0].algorithm: 'cubic' has no meaning"),
        ({"datagrams": {"rate": "1 Mbit/s"}, "stack": "ns2"}, "flow[0].stack: has no meaning for datagrams"),
        ({"datagrams": {"rate": "1 Mbit/s", "size": "28 B"}}, "flow[0].datagrams.size: '28 B' is not a datagram's"),
        ({"datagrams": {}}, "flow[0].datagrams.rate: missing"),
        ({"algorithm": "reno", "application": {"rate": 5}}, "flow[0].application.rate: 5 has no unit"),
        ({"algorithm": "reno", "application": {"rate": "1 Mbit/s", "on": "1 s"}}, "flow[0].application.off: missing"),
        ({"algorithm": "reno", "application": {"rate": "1 Mbit/s", "shape": 2}}, "has no meaning without on and off"),
        ({"algorithm": "reno", "application": {"rate": "1 Mbit/s", "shape": 1}}, "1 is not a shape"),
        ({"algorithm": "reno", "application": {"rate": "1 Mbit/s", "times": "pareot"}}, "did you mean 'pareto'?"),
        ({"algorithm": "reno", "application": {"rat": "1 Mbit/s"}}, "not a field of application; did you mean 'rate'?"),
    ],
)
def test_traffic_that_makes_no_sense_is_refused(flow: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(flow)
    assert line in str(refused.value)


def test_a_flow_of_datagrams_is_a_row_like_others(tmp_path: Path) -> None:
    result = run(
        scenario(
            {"algorithm": "cubic"},
            {"name": "noise", "datagrams": {"rate": "2 Mbit/s"}},
            {"name": "slow", "algorithm": "reno", "application": {"rate": "1 Mbit/s"}},
            measure={"from": "10 s"},
        ),
        store=Store(tmp_path),
    )
    rows = {row["name"]: row for row in result.flows.to_dicts()}
    noise, slow = rows["noise"], rows["slow"]
    assert noise["algorithm"] == "datagrams"
    assert noise["throughput_mbps"] == pytest.approx(2.0, rel=0.05)
    assert noise["goodput_mbps"] == pytest.approx(noise["throughput_mbps"] * 0.972)
    assert noise["rtt_mean_ms"] is None
    assert noise["cwnd_mean"] is None
    assert slow["goodput_mbps"] == pytest.approx(1.0, rel=0.05)
    assert 6 < rows["cubic-1"]["throughput_mbps"] < 7.1
    assert result.summary()["flows"][1]["cwnd_mean"] is None
