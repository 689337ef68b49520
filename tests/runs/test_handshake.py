"""The handshake that the stack ``linux`` times: the first sample of the RTT, before any data."""

from __future__ import annotations

from typing import Any

import polars as pl

import elephan
from elephan.scenario import Scenario

SMALL_S = 0.1 + 2 * 60 * 8 / 10e6
"""RTT of the handshake on the empty path of 10 Mbit/s × 100 ms: a SYN has 60 bytes, and the access links count too."""


def one_segment(handshake: bool) -> Scenario:
    """A transfer of one segment, which is lost."""
    flow = {"algorithm": "reno", "size": "1 segments", "stack": {"handshake": handshake}}
    path: dict[str, Any] = {
        "rate": "10 Mbit/s",
        "rtt": "100 ms",
        "buffer": "1 BDP",
        "duration": "5 s",
        "loss": {"packets": [1]},
    }
    return Scenario.dumbbell([flow], **path)


def completed(scenario: Scenario) -> float:
    return float(elephan.run(scenario, force=True).flows["completion_s"][0])


def test_the_first_timeout_follows_from_the_handshake() -> None:
    """RFC 6298 section 2: one sample R gives R + max(4 R/2, G), and G is 200 ms in Linux; without one, it is 1 s.

    The timeout has 76 jiffies, and such a timer expires at a multiple of 8 jiffies, up to 8 jiffies late.
    """
    with_sample, without = completed(one_segment(True)), completed(one_segment(False))
    expected = SMALL_S + 2 * SMALL_S + 0.1  # the timeout, and a round trip
    assert expected < with_sample < expected + 8 * 0.004 + 0.005  # the segment's transmission takes 2.5 ms
    assert without > 1.0


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
