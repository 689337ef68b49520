"""A delay-based flow and a CUBIC flow on the reverse path (hcc2011, figures 15 to 19, with today's endpoints)."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

from elephan import backends
from elephan.runs import Run
from elephan.runs.execute import compute
from elephan.scenario import Scenario

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "against_the_stream.toml"
# From end to end, one way.
PROPAGATION_S = 0.05


def beside_cubic(algorithm: str, seed: int = 1, **changed: Any) -> Run:
    shorter = {"duration": "160 s", "measure.from": "40 s", "events": True, "flow[0].algorithm": algorithm}
    overrides = shorter | {name.replace("__", "."): value for name, value in changed.items()}
    return compute(backends.get("sim"), Scenario.load(EXAMPLE).with_overrides(overrides), seed)


def goodput_mbps(run: Run) -> float:
    return float(run.summary()["flows"][0]["goodput_mbps"])


def waits(run: Run) -> tuple[float, float]:
    """Average wait of the first flow's segments on their way, s, and the number that wait (Little's law)."""
    events = run.tables()["events"].filter(
        (pl.col("flow").cast(pl.String) == "there") & (pl.col("time_s") > 40) & pl.col("segment").is_not_null()
    )
    sent, received = (
        events.filter(pl.col("kind").cast(pl.String) == kind)
        .group_by("segment")
        .agg(pl.col("time_s").min().alias(kind))
        for kind in ("sent", "received")
    )
    taken = sent.join(received, on="segment")
    wait_s = float((taken["received"] - taken["sent"]).sum() / taken.height) - PROPAGATION_S
    return wait_s, wait_s * taken.height / 120.0


@pytest.mark.large
def test_hcc_keeps_its_rate_and_alpha_and_fast_collapses_where_both_ends_pace() -> None:
    hcc, fast = beside_cubic("hcc"), beside_cubic("fast")
    assert goodput_mbps(hcc) > 80
    assert 80 <= waits(hcc)[1] <= 120
    # FAST takes the queue on the reverse path for its own.
    assert goodput_mbps(fast) < 65
    assert waits(fast)[1] < 50


@pytest.mark.large
def test_without_pacing_hcc_sees_its_own_bursts() -> None:
    # Without segmentation offload too, the bursts are those of the ACKs.
    found = [beside_cubic("hcc", seed, stack__pacing=False, stack__tso=False) for seed in (1, 2, 3)]
    assert fmean(map(goodput_mbps, found)) < 0.75 * goodput_mbps(beside_cubic("hcc"))
    longer = []
    for run in found:
        wait_s, segments = waits(run)
        assert 80 <= segments <= 120
        queue = run.links.filter((pl.col("link").cast(pl.String) == "bottleneck") & (pl.col("time_s") > 40))
        assert min(queue["queue_min"].to_list()) == 0
        longer.append(wait_s * 100e6 / 12_000 / (float(queue["queue_mean"].sum()) / queue.height))
    # The queue that its segments find is a third longer than the average over time.
    assert fmean(longer) > 1.3
