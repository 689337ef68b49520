"""Differences of quinn's controllers from the RFCs, each shown on a path; docs/upstream.md names their causes."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from elephan import Scenario, backends
from elephan.backends import quic

pytestmark = pytest.mark.skipif(quic.program() is None, reason="elephan-quic is not built")


def run(algorithm: str, on: str = "quic", **path: Any) -> dict[str, pl.DataFrame]:
    document = {
        "duration": "120 s", "measure": {"from": "10 s"}, "sample_period": "20 ms", "flow": [{"algorithm": algorithm}],
        "dumbbell": path, "stack": {"payload": "1440 B", "header": "60 B"},
    }  # fmt: skip
    return {
        name: pl.DataFrame(table) for name, table in backends.get(on).run(Scenario.from_dict(document)).tables.items()
    }


def test_quinn_leaves_one_datagram_of_the_window_unused() -> None:
    path = {"rate": "10 Mbit/s", "rtt": "50 ms", "buffer": "100 packets", "loss": "15 %"}
    in_flight, goodput = {}, {}
    for algorithm in ("quinn:newreno", "reno"):
        found = run(algorithm, **path)
        at_minimum = found["samples"].filter((pl.col("time_s") >= 10) & (pl.col("cwnd") < 2.01))
        in_flight[algorithm] = float(at_minimum["in_flight"].to_numpy().mean())
        goodput[algorithm] = found["flows"]["goodput_mbps"][0]
    # Both have a window of two datagrams there. Elephan's controller asks for one byte more than its window.
    assert in_flight["quinn:newreno"] < 1.5
    assert in_flight["reno"] >= 2.0
    assert goodput["quinn:newreno"] < 0.9 * goodput["reno"]


def test_quinn_s_bbr_is_not_paced_at_its_pacing_rate() -> None:
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "50 packets"}
    quinn, ours = (
        run(name, on, **path)["flows"].row(0, named=True) for name, on in (("quinn:bbr", "quic"), ("bbr", "sim"))
    )
    # Its window of two BDPs limits it, so the queue is full all the time.
    assert quinn["rtt_mean_ms"] > 65 > 50 > ours["rtt_mean_ms"]
    assert quinn["retransmits"] > 0.1 * quinn["segments_sent"]
    assert ours["retransmits"] < 0.01 * ours["segments_sent"]


def test_quinn_s_reno_friendly_window_grows_by_time_where_timeouts_are_frequent() -> None:
    path = {"rate": "10 Mbit/s", "rtt": "50 ms", "buffer": "100 packets", "loss": "15 %"}
    quinn, ours = (run(name, **path)["flows"]["goodput_mbps"][0] for name in ("quinn:cubic", "cubic"))
    assert quinn > 1.2 * ours
