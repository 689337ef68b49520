"""Receivers that misbehave: one that hides losses from its sender, and one that hides marks."""

from __future__ import annotations

from typing import Any

import pytest

from elephan.runs import Run, run
from elephan.scenario import Scenario, ScenarioError

ECN = {"ecn": True}


def carried(stack: dict[str, Any], **path: Any) -> Run:
    """One Reno flow with these settings of its stack."""
    dumbbell = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"} | path
    flow = {"name": "a", "algorithm": "reno", "stack": stack}
    return run(Scenario.from_dict({"duration": "20 s", "dumbbell": dumbbell, "flow": [flow]}))


def ecn_events(found: Run) -> int:
    """Answers of its sender to marks."""
    return int(found.flows["ecn_events"][0])


@pytest.mark.parametrize("ack_every", [1, 2])
def test_a_sender_hears_of_no_loss_that_its_receiver_hides(ack_every: int) -> None:
    honest, hidden = (
        carried({"ack_every": ack_every, "hide_losses": hides}, loss="1%").summary()["flows"][0]
        for hides in (False, True)
    )
    assert honest["retransmits"] > 10
    assert hidden["retransmits"] == 0
    assert hidden["loss_events"] == 0


@pytest.mark.parametrize("ack_every", [1, 2])
def test_a_sender_hears_of_no_mark_that_its_receiver_hides(ack_every: int) -> None:
    honest, hidden = (
        ecn_events(carried(ECN | {"ack_every": ack_every, "hide_marks": hides}, queue="codel"))
        for hides in (False, True)
    )
    assert honest > 0
    assert hidden == 0


def test_marks_that_are_echoed_one_by_one_are_hidden_too() -> None:
    """DCTCP has an echo for each mark."""
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "4 BDP", "queue": "codel"}

    def window(hides: bool) -> float:
        flow = {"name": "a", "algorithm": "dctcp", "stack": {"ack_every": 1, "hide_marks": hides}}
        found = run(Scenario.from_dict({"duration": "10 s", "dumbbell": path, "flow": [flow]}))
        assert found.summary()["links"][0]["marks"] > 0
        return float(found.summary()["flows"][0]["cwnd_mean"])

    assert window(True) > 2 * window(False)


@pytest.mark.parametrize("algorithm", ["dctcp", "prague", "cubic"])
def test_a_counter_of_marks_holds_the_queue_as_an_echo_does(algorithm: str) -> None:
    """ACKs wait for every second segment, so the echo of each mark has ACKs of its own."""
    path = {"rate": "100 Mbit/s", "rtt": "10 ms", "buffer": "4 BDP", "queue": "dualpi2"}

    def link(**stack: Any) -> dict[str, Any]:
        flow = {"name": "a", "algorithm": algorithm, "stack": ECN | stack}
        found: dict[str, Any] = run(
            Scenario.from_dict({"duration": "10 s", "dumbbell": path, "flow": [flow]})
        ).summary()["links"][0]
        assert found["marks"] > 0
        return found

    echo, counter = link(), link(accurate_ecn=True)
    assert counter["utilization"] == pytest.approx(echo["utilization"], abs=0.02)
    assert counter["queue_mean_packets"] == pytest.approx(echo["queue_mean_packets"], rel=0.25)


def test_a_counter_of_marks_is_hidden_too() -> None:
    """A receiver that hides marks does not count them."""
    shown, hidden = (
        ecn_events(carried(ECN | {"accurate_ecn": True, "hide_marks": hides}, queue="codel")) for hides in (False, True)
    )
    assert shown > 0
    assert hidden == 0


SLOW_START = {"handshake": False, "ack_every": 1, "initial_window": "2 segments", "initial_ssthresh": "unlimited"}


def first_windows(algorithm: str = "reno", **stack: Any) -> tuple[list[float], float]:
    """Windows of a lone flow in the middle of its first round trips, and its goodput, Mbit/s."""
    flow = {"name": "a", "algorithm": algorithm, "stack": SLOW_START | stack}
    path = {"rate": "1 Gbit/s", "rtt": "100 ms", "buffer": "16 BDP", "access_rate": "10 Gbit/s"}
    scenario = {"duration": "0.46 s", "sample_period": "50 ms", "perturb": "none", "start_jitter": "0 s"}
    found = run(Scenario.from_dict(scenario | {"dumbbell": path, "flow": [flow], "measure": {"from": "0 s"}}))
    samples = found.samples.sort("time_s")
    windows = [float(samples.filter((samples["time_s"] - at).abs() < 1e-6)["cwnd"][0]) for at in (0.05, 0.15, 0.25)]
    return windows, float(found.flows["goodput_mbps"][0])


def test_a_sender_that_counts_acks_multiplies_its_window_by_those_of_a_segment() -> None:
    """In slow start each ACK adds a segment: N ACKs a segment make the window 1 + N times as large each round trip."""
    assert first_windows()[0] == [2, 4, 8]
    assert first_windows(count_acks=True)[0] == [2, 4, 8]
    assert first_windows(count_acks=True, divide_acks=4)[0] == [2, 10, 50]


def test_a_sender_that_counts_delayed_acks_is_slower() -> None:
    """RFC 3465, section 2.1: half as many ACKs add half as many segments."""
    delayed: dict[str, Any] = {"ack_every": 2, "initial_window": "8 segments", "delayed_ack": "40 ms", "quick_acks": 0}
    assert first_windows(**delayed)[0] == [8, 16, 32]
    assert first_windows(**delayed, count_acks=True)[0] == [8, 12, 18]


LOSS_BASED = ["reno", "cubic", "htcp", "illinois", "veno", "westwood", "hybla", "stcp"]


@pytest.mark.parametrize("algorithm", [*LOSS_BASED, "bbr", "bbr3", "vegas", "copa", "dctcp"])
def test_who_counts_segments_gains_nothing_from_acks_that_are_divided(algorithm: str) -> None:
    # ACKs of 520 B take 4 us more of the reverse path's 1 Gbit/s; nothing else differs.
    honest, divided = (first_windows(algorithm, divide_acks=acks) for acks in (1, 10))
    assert divided[0] == pytest.approx(honest[0], rel=1e-3)
    assert divided[1] == pytest.approx(honest[1], rel=1e-3)


@pytest.mark.parametrize("algorithm", LOSS_BASED)
def test_who_counts_acks_gains_from_acks_that_are_divided(algorithm: str) -> None:
    honest, divided = (first_windows(algorithm, count_acks=True, divide_acks=acks)[0] for acks in (1, 10))
    assert divided[1] > 3 * honest[1]


def test_an_algorithm_that_goes_by_the_rate_of_delivery_is_not_deceived() -> None:
    """BBR's window follows from segments delivered: counting ACKs misleads it in the first round trips only."""
    windows = [
        carried({"count_acks": True, "divide_acks": acks}).summary()["flows"][0]["goodput_mbps"] for acks in (1, 10)
    ]
    assert windows[1] == pytest.approx(windows[0], rel=0.01)
    flow = [{"name": "a", "algorithm": "bbr3", "stack": {"count_acks": True, "divide_acks": 10}}]
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "8 BDP"}
    found = run(Scenario.from_dict({"duration": "20 s", "dumbbell": path, "flow": flow}))
    assert found.summary()["flows"][0]["rtt_mean_ms"] < 80


def test_divided_acks_are_carried_with_their_size() -> None:
    plain, divided = (
        Scenario.from_dict(
            {
                "duration": "1 s",
                "dumbbell": {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"},
                "flow": [{"algorithm": "reno", "stack": stack}],
            }
        ).canonical()["flows"][0]["stack"]
        for stack in ({}, {"divide_acks": 10, "count_acks": True})
    )
    assert (divided["ack_bytes"], divided["acks_counted"]) == (10 * plain["ack_bytes"], 10)
    assert "acks_counted" not in plain


def test_too_many_acks_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"stack\.divide_acks: 1000 ACKs of 100 B are too many"):
        carried({"divide_acks": 1000, "ack_size": "100 B"})


def test_a_wrong_name_has_the_nearest_beside_it() -> None:
    with pytest.raises(ScenarioError, match="hide_losses"):
        carried({"hide_loses": True})
