"""A delay-based flow and a CUBIC flow the other way (hcc2011, figures 15 to 19, with today's endpoints)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from elephan import habitats
from elephan.runs import Run
from elephan.runs.execute import compute
from elephan.scenario import Scenario

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "against_the_stream.toml"
PACKET_BYTES = 1500


def beside_cubic(algorithm: str, **changed: Any) -> Run:
    overrides = {"flow[0].algorithm": algorithm} | {name.replace("__", "."): value for name, value in changed.items()}
    return compute(habitats.get("sim"), Scenario.load(EXAMPLE).with_overrides(overrides), 1)


def goodput_mbps(run: Run) -> float:
    return float(run.summary()["flows"][0]["goodput_mbps"])


def waiting_segments(run: Run) -> float:
    """Segments of the first flow on the forward link: its part of the packets there, which wait like all others."""
    link = run.links.filter(pl.col("link").cast(pl.String) == "bottleneck")
    flow = run.samples.filter(pl.col("flow").cast(pl.String) == "there")
    since = pl.col("time_s") >= 20.0
    parts = [
        table.filter(since)[column].to_list()
        for table, column in (
            (link, "queue_integral_packet_s"), (link, "delivered_packets"), (flow, "wire_bytes"), (link, "time_s"),
        )
    ]  # fmt: skip
    integral, packets, wire_bytes, seconds = (values[-1] - values[0] for values in parts)
    return float(integral / seconds * wire_bytes / PACKET_BYTES / packets)


def test_hcc_keeps_its_rate_and_alpha_and_fast_collapses_where_both_ends_pace() -> None:
    hcc, fast = beside_cubic("hcc"), beside_cubic("fast")
    assert goodput_mbps(hcc) > 80
    assert 80 <= waiting_segments(hcc) <= 120
    # FAST takes what waits on the way back for its own.
    assert goodput_mbps(fast) < 65
    assert waiting_segments(fast) < 50


def test_without_pacing_the_two_directions_gather_packets_in_bursts_and_hcc_sees_its_own() -> None:
    run = beside_cubic("hcc", stack__pacing=False)
    assert goodput_mbps(run) < 60
    queue = run.links.filter((pl.col("link").cast(pl.String) == "bottleneck") & (pl.col("time_s") > 20))
    # It comes and goes: empty and far above alpha within the same second.
    assert min(queue["queue_min"].to_list()) == 0
    assert max(queue["queue_max"].to_list()) > 300
