"""Benchmark of the two resolutions: the cost of a segment against rate and RTT, in single segments and in trains."""

from __future__ import annotations

import statistics
from typing import Any

from elephan.benchmark.timing import speed, timed
from elephan.scenario import Scenario

# Rate, RTT and simulated seconds; slow start, which has short trains only, is a part of each.
PATHS = (
    ("100 Mbit/s", "50 ms", 60), ("1 Gbit/s", "50 ms", 60), ("10 Gbit/s", "50 ms", 20),
    ("10 Gbit/s", "200 ms", 20), ("40 Gbit/s", "100 ms", 10), ("100 Gbit/s", "300 ms", 12),
)  # fmt: skip
RESOLUTIONS = ("segment", "train")


def path(rate: str, rtt: str, duration_s: float, resolution: str) -> Scenario:
    """Two CUBIC flows with Linux's stack and a buffer of one BDP."""
    return Scenario.dumbbell(
        ["cubic", "cubic"], rate=rate, rtt=rtt, buffer="1 BDP", starts=["0 s", "0.1 s"], duration=f"{duration_s} s",
        resolution=resolution,
    )  # fmt: skip


def time_resolutions(repeat: int) -> list[dict[str, Any]]:
    """Measure the cost of a delivered segment at both resolutions; a run in trains includes its checks.

    The resolutions take turns, so that a change of the host's speed affects both.
    """
    rows = []
    for rate, rtt, duration_s in PATHS:
        scenarios = {name: path(rate, rtt, duration_s, name) for name in RESOLUTIONS}
        runs = [{name: timed(scenario) for name, scenario in scenarios.items()} for _ in range(repeat)]
        found = {
            name: speed(runs[0][name][1]["segments_delivered"], statistics.median(run[name][0] for run in runs))
            for name in RESOLUTIONS
        }
        single, trains = (found[name]["ns_per_segment"] for name in RESOLUTIONS)
        rows.append({"rate": rate, "rtt": rtt, "seconds": duration_s, **found, "ratio": single / trains})
    return rows
