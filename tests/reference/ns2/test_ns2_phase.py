"""Five Reno flows of ns-2 whose shares stay unequal by phase are as unequal in the engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from elephan.backends import get
from elephan.scenario import Scenario

KEPT = json.loads((Path(__file__).parent / "phase.json").read_text(encoding="utf-8"))


def segments(algorithm: str, starts_s: list[float]) -> list[int]:
    """Segments that each flow delivers in the measured time."""
    stack: dict[str, Any] = {"base": "ns2", "payload": "1460 B", "receive_window": "67000 segments"}
    scenario = Scenario.dumbbell(
        [{"algorithm": algorithm} for _ in starts_s],
        rate="40 Mbit/s",
        rtt="30 ms",
        buffer="150 packets",
        starts=[f"{start_s:g} s" for start_s in starts_s],
        duration=f"{KEPT['to_s']} s",
        queue="droptail:ns2",
        access_rate="100 Mbit/s",
        access_delay="1 ms",
        stack={**stack, "initial_ssthresh": "67000 segments"},
        start_jitter="0 s",
        sample_period="1 s",
    )
    samples = pl.DataFrame(get("sim").run(scenario).tables["samples"])
    found = []
    for name in samples["flow"].unique(maintain_order=True):
        mine = samples.filter(pl.col("flow") == name).sort("time_s")
        early = mine.filter(pl.col("time_s") <= KEPT["from_s"])["delivered_segments"][-1]
        found.append(mine["delivered_segments"][-1] - early)
    return found


@pytest.mark.parametrize("run", KEPT["runs"], ids=lambda run: f"{run['starts_s'][1]:g}")
def test_five_flows_keep_the_unequal_shares_of_ns2(run: dict[str, Any]) -> None:
    found = segments("reno:ns2", run["starts_s"])
    assert max(found) > 3 * min(found)
    assert found == pytest.approx(run["segments"], rel=0.01)


def test_a_step_of_one_ack_more_ends_the_phase() -> None:
    found = segments("reno:linux-2.6", KEPT["runs"][0]["starts_s"])
    assert max(found) < 1.2 * min(found)
