"""Handshakes on busy paths, and late packets, in a real kernel and in the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.linux.test_linux_runs import OUTSIDE, large, pytestmark

from elephan.backends import get
from elephan.scenario import Scenario

__all__ = ["pytestmark"]
COUNTED = ("delivered_segments", "retransmits")


def both(*flows: dict[str, Any], **path: Any) -> list[pl.DataFrame]:
    """The `flows` and counted samples of a scenario, on Linux and in the simulator."""
    settings = {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "12 s", "perturb": "none"}
    scenario = Scenario.dumbbell(list(flows), **settings | {"sample_period": "100 ms"} | path)
    results = [get(name).run(scenario) for name in ("linux", "sim")]
    return [pl.DataFrame(result.tables["samples"]).select("time_s", "flow", *COUNTED) for result in results]


def agree(samples: list[pl.DataFrame], share: float, *, resent: int) -> None:
    """Check that no count of delivered segments differs by more than a share of all, and that both sides sent as many
    segments again, but for ``resent``."""
    real, simulated = samples
    joined = real.join(simulated, on=["time_s", "flow"], suffix="_sim").cast({pl.UInt64: pl.Int64})
    delivered, expected = (joined[name].to_numpy() for name in ("delivered_segments", "delivered_segments_sim"))
    assert np.abs(delivered - expected).max() <= share * delivered.max()
    last = joined.filter(pl.col("time_s") == pl.col("time_s").max())
    again, expected = (last[name].to_numpy() for name in ("retransmits", "retransmits_sim"))
    assert np.abs(again - expected).max() <= resent


@pytest.mark.parametrize("late", ["bbr:linux", pytest.param("cubic:linux", marks=large)])
def test_a_late_flow_has_the_segments_of_linux(late: str) -> None:
    """The queue in front of its SYN decides the first seconds of BBR, which otherwise repeats a tenth as much."""
    samples = both({"algorithm": "cubic:linux"}, {"algorithm": late, "start": "6 s"})
    agree(samples, 0.001, resent=1)
    assert samples[0]["retransmits"].to_numpy().max() > 30


@pytest.mark.parametrize("lost", [(1,), (1, 2), (1, 2, 3, 4, 5), (2,), (2, 3)])
def test_lost_packets_of_a_handshake_have_the_consequences_of_linux(lost: tuple[int, ...]) -> None:
    """Packet 1 is the SYN if it is not lost, 2 the ACK that follows it, 3 the first segment."""
    samples = both({"algorithm": "cubic:linux"}, loss={"packets": list(lost)}, duration=f"{2 + 2 * len(lost)} s")
    agree(samples, 0.0, resent=0)


LATE = [
    ("cubic:linux", "9 ms", "6 s"),
    ("reno:linux", "15 ms", "6 s"),
    pytest.param("cubic:linux", "9 ms", "12 s", marks=large),
    pytest.param("reno:linux", "9 ms", "12 s", marks=large),
    pytest.param("reno:linux", "15 ms", "12 s", marks=large),
    pytest.param("bbr:linux", "9 ms", "12 s", marks=large),
    pytest.param("bbr:linux", "15 ms", "12 s", marks=large),
]


@OUTSIDE
@pytest.mark.parametrize(("algorithm", "late", "duration"), LATE)
def test_late_packets_have_the_consequences_of_linux(algorithm: str, late: str, duration: str) -> None:
    """Without reports of segments that arrived twice, CUBIC had a sixth of the rate, and Reno a fifth."""
    agree(both({"algorithm": algorithm}, reorder={"share": "0.5%", "delay": late}, duration=duration), 0.002, resent=5)


@OUTSIDE
def test_duplicated_packets_do_not_undo_a_reduction() -> None:
    agree(both({"algorithm": "cubic:linux"}, duplicate="1%", duration="5 s"), 0.002, resent=1)


def test_a_path_without_a_recorded_queue_has_a_table_of_links_without_rows() -> None:
    result = get("linux").run(
        Scenario.dumbbell(["reno"], rate="10 Mbit/s", rtt="40 ms", buffer="unlimited", duration="2 s")
    )
    links = pl.DataFrame(result.tables["links"])
    assert links.height == 0
    assert "queue_packets" in links.columns
