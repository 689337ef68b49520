"""The handshake of the stack ``linux``: its packets cross the path as it is, and its RTT is the first sample."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import elephan
from elephan.scenario import Scenario

SMALL_S = 0.1 + 2 * 60 * 8 / 10e6
"""RTT of the handshake on the empty path of 10 Mbit/s × 100 ms: a SYN has 60 bytes, and the access links count too."""
LATE_S = 32 * 0.004 + 0.005
"""A timer of a second expires at a multiple of 8 jiffies, up to 8 jiffies late; the rest is a transmission."""


def one_segment(*lost: int, handshake: bool = True) -> Scenario:
    """A transfer of one segment over a path that loses the packets ``lost``: 1 is the SYN, 2 its ACK, 3 the segment."""
    flow = {"algorithm": "reno", "size": "1 segments", "stack": {"handshake": handshake}}
    path: dict[str, Any] = {
        "rate": "10 Mbit/s",
        "rtt": "100 ms",
        "buffer": "1 BDP",
        "duration": "9 s",
        "perturb": "none",
    }
    return Scenario.dumbbell([flow], **path | ({"loss": {"packets": list(lost)}} if lost else {}))


def completed(scenario: Scenario) -> float:
    return float(elephan.run(scenario, force=True).flows["completion_s"][0])


def two_links(*, loses_answer: bool) -> Scenario:
    """A transfer of one segment; the reverse path may lose its first packet, the SYN-ACK."""
    link = {"rate": "10 Mbit/s", "delay": "50 ms", "buffer": "100 packets", "duplex": False}
    back = {"loss": {"packets": [1]}} if loses_answer else {}
    return Scenario.from_dict(
        {
            "duration": "5 s",
            "perturb": "none",
            "link": [
                {"name": "there", "from": "a", "to": "b", **link},
                {"name": "back", "from": "b", "to": "a", **link, **back},
            ],
            "flow": [{"algorithm": "reno", "size": "1 segments", "path": ["there"], "reverse_path": ["back"]}],
        }
    )


def test_a_transfer_takes_a_round_trip_more_than_its_data() -> None:
    more = completed(one_segment()) - completed(one_segment(handshake=False))
    assert more == pytest.approx(SMALL_S, abs=3e-5), "the access links send small packets in microseconds"


def test_the_first_timeout_follows_from_the_handshake() -> None:
    """RFC 6298 section 2: one sample R gives R + max(4 R/2, G), and G is 200 ms in Linux; without one, it is 1 s.

    The timeout has 76 jiffies, and such a timer expires at a multiple of 8 jiffies, up to 8 jiffies late.
    """
    with_sample, without = completed(one_segment(3)), completed(one_segment(1, handshake=False))
    expected = SMALL_S + SMALL_S + 2 * SMALL_S + 0.1  # the handshake, the timeout, and a round trip
    assert expected < with_sample < expected + 8 * 0.004 + 0.005  # the segment's transmission takes 2.5 ms
    assert without > 1.0


@pytest.mark.parametrize(
    ("lost", "waits_s"), [((1,), 1.0), ((1, 2), 2.0), ((1, 2, 3, 4, 5), 5.0), ((1, 2, 3, 4, 5, 6), 7.0)]
)
def test_a_lost_syn_is_repeated_every_second_and_later_with_a_backoff(lost: tuple[int, ...], waits_s: float) -> None:
    """Linux 6.12 doubles the timeout of a SYN from the fifth on (tcp_syn_linear_timeouts)."""
    later = completed(one_segment(*lost)) - completed(one_segment())
    assert waits_s <= later < waits_s + len(lost) * LATE_S


def test_a_lost_syn_ack_costs_a_second_and_a_lost_ack_nothing() -> None:
    assert 1.0 <= completed(two_links(loses_answer=True)) - completed(two_links(loses_answer=False)) < 1.0 + LATE_S
    assert completed(one_segment(2)) == completed(one_segment())


def test_a_late_flow_meets_the_queue_with_its_first_packet() -> None:
    flows = [{"algorithm": "cubic"}, {"name": "late", "algorithm": "bbr", "start": "10 s"}]
    path: dict[str, Any] = {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "12 s"}
    run = elephan.run(Scenario.dumbbell(flows, **path, sample_period="10 ms", perturb="none"), force=True)
    samples = run.samples.filter(pl.col("flow") == "late", pl.col("time_s") > 10, pl.col("srtt_s").is_not_null())
    first = samples.row(0, named=True)
    assert first["srtt_s"] > 0.055, "CUBIC's queue was in front of the SYN"
    assert first["time_s"] >= 10 + first["srtt_s"]


def test_packets_are_accounted_for_if_every_packet_of_a_handshake_is_lost() -> None:
    run = elephan.run(one_segment(*range(1, 20)), force=True)
    assert run.flows["completion_s"][0] is None
    assert run.manifest["conservation"]["dropped"] > 5


def test_a_path_without_reordering_has_no_episode_undone() -> None:
    """The ACK of a retransmission that is under way when the next episode begins is no sign of a false alarm."""
    flow = {"algorithm": "cubic:linux"}
    scenario = Scenario.dumbbell([flow], rate="1 Mbit/s", rtt="100 ms", buffer="4 BDP", duration="60 s")
    run = elephan.run(scenario, force=True)
    samples = run.samples.select("time_s", "cwnd", "loss_events", new=pl.col("loss_events").diff())
    found = samples.filter((pl.col("new") > 0) & (pl.col("time_s") < 57))
    assert found.height > 5
    # CUBIC goes to 70 %, by proportional rate reduction within two round trips with a full queue.
    for row in found.to_dicts():
        later = samples.filter(pl.col("time_s").is_between(row["time_s"], row["time_s"] + 1.2))["cwnd"].min()
        before = samples.filter(pl.col("time_s") < row["time_s"])["cwnd"].tail(2).max()
        assert float(later) < 0.8 * float(before), row  # type: ignore[arg-type]


def test_a_base_rtt_that_is_too_short_does_not_empty_the_queue() -> None:
    """Copa sends at most 1 / (delta dq) segments a second: with dq of at least 1 ms and delta = 1/2, 2,000 of them.

    "Starvation in end-to-end congestion control" (SIGCOMM 2022) has 8 of 120 Mbit/s on such a path.
    """
    parameters = {"competitive": False, "min_rtt_window": 1000}
    flow = {"algorithm": "copa", "base_rtt_error": "-1 ms", "parameters": parameters}
    path: dict[str, Any] = {"rate": "120 Mbit/s", "rtt": "60 ms", "buffer": "unlimited", "duration": "60 s"}
    run = elephan.run(Scenario.dumbbell([flow], **path, measure={"from": "20 s"}), force=True)
    assert 22 < run.flows["goodput_mbps"][0] <= 2000 * 1448 * 8 / 1e6 + 0.1
