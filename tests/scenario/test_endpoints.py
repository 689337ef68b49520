"""Marking queues, ECN, pacing, clocks and slow hosts in a scenario: what they mean, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from elephan.scenario import Scenario, ScenarioError, units


def scenario(flow: dict[str, Any] | None = None, path: dict[str, Any] | None = None, stack: Any = "ns2") -> Scenario:
    dumbbell = {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "access_rate": "1 Gbit/s", **(path or {})}
    table = {"duration": "20 s", "stack": stack, "dumbbell": dumbbell, "flow": [{"algorithm": "reno", **(flow or {})}]}
    return Scenario.from_dict(table)


MARKING = {"queue": "threshold", "mark": "100 packets"}


def bottleneck(one: Scenario) -> dict[str, Any]:
    return next(link for link in one.canonical()["links"] if link["name"] == "bottleneck")


def test_a_threshold_is_an_amount_like_a_buffer() -> None:
    assert bottleneck(scenario(path=MARKING))["queue"]["mark_packets"] == 100
    assert bottleneck(scenario(path=MARKING | {"mark": "30 kB"}))["queue"]["mark_bytes"] == 30_000
    # 100 Mbit/s x 40 ms are 480.8 packets of 1040 bytes.
    assert bottleneck(scenario(path=MARKING | {"mark": "50% BDP"}))["queue"]["mark_packets"] == 240


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ({"queue": "threshold"}, "dumbbell.mark: the queue threshold needs a mark"),
        ({"mark": "10 packets"}, "dumbbell.mark: '10 packets' means nothing to the queue 'droptail'"),
        ({"queue": "threshold", "mark": "unlimited"}, "dumbbell.mark: the queue threshold needs a mark"),
        ({"queue": "treshold", "mark": "9 packets"}, "did you mean 'threshold'?"),
    ],
)
def test_a_threshold_that_makes_no_sense_is_refused(path: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError, match=line.replace("?", r"\?")):
        scenario(path=path).canonical()


def test_what_is_off_is_not_in_the_canonical_form() -> None:
    plain = scenario()
    assert scenario(stack={"base": "ns2", "ecn": False, "pacing": False, "host_scan": "0 s"}).hash == plain.hash
    assert scenario(flow={"sender_clock": {"offset": "0 s"}}).hash == plain.hash
    for other in (
        scenario(stack={"base": "ns2", "ecn": True}),
        scenario(stack={"base": "ns2", "pacing": True}),
        scenario(stack={"base": "ns2", "host_ack": "5 us"}),
        scenario(flow={"sender_clock": {"offset": "-3 ms"}}),
        scenario(flow={"receiver_clock": {"drift": "50 ppm"}}),
    ):
        assert other.hash != plain.hash
        assert Scenario.from_toml(other.to_toml()).hash == other.hash


def test_offsets_and_drifts_have_a_sign_and_a_unit() -> None:
    assert units.parse_offset("-3 ms") == -3 * 10**9
    assert units.parse_drift("-0.5 ppm") == -500
    for text in ("-3 ms", "2 s", "0 s", "1.5 us"):
        assert units.format_offset(units.parse_offset(text)) == text
    for text in ("50 ppm", "-3 ppb"):
        assert units.format_drift(units.parse_drift(text)) == text
    for parse, wrong in ((units.parse_drift, "2 %"), (units.parse_drift, "20000 ppm"), (units.parse_offset, "3 days")):
        with pytest.raises(ScenarioError):
            parse(wrong)
