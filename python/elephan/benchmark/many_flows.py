"""Benchmarks with many flows: short transfers, and many long-lived flows over one bottleneck."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from elephan.benchmark import ns2
from elephan.benchmark.timing import median_run, speed, timed
from elephan.scenario import Scenario

# Short transfers: about 100,000 of them in 10 s, with sizes and round-trip times as on the Internet.
TRANSFERS_S, TRANSFERS_RATE, TRANSFERS_LOAD = 10, "10 Gbit/s", "60%"
# Number of flows, rate of their bottleneck, and simulated seconds. With a smaller share of the BDP the flows would only
# have timeouts.
CROWDS = ((2, "10 Gbit/s", 10), (100, "10 Gbit/s", 10), (1000, "10 Gbit/s", 10), (10_000, "10 Gbit/s", 10),
          (100_000, "100 Gbit/s", 2))  # fmt: skip


def time_transfers(repeat: int) -> dict[str, float]:
    """Measure the cost of short transfers; a flow of one segment is added, since a scenario must have a flow.

    The transfers use CUBIC with an ACK for each segment, as in the engine's workload, and the RTTs measured by Aikat et
    al.
    """
    scenario = Scenario.dumbbell(
        [{"algorithm": "cubic", "size": "1 segment"}],
        rate=TRANSFERS_RATE,
        rtt="40 ms",
        buffer="6000 packets",
        duration=f"{TRANSFERS_S} s",
        stack={"base": "linux", "ack_every": 1},
        traffic=[{"algorithm": "cubic", "load": TRANSFERS_LOAD, "rtts": "aikat"}],
    )
    runs = [timed(scenario) for _ in range(repeat)]
    source = runs[0][1]["traffic"][0]
    delivered = speed(source["segments_delivered"], statistics.median(wall_s for wall_s, _ in runs))
    return delivered | {"transfers": source["transfers"]}


def crowd(flows: int, rate: str, duration_s: float) -> Scenario:
    """CUBIC flows that start within a second, on Linux's stack, sampled each second."""
    return Scenario.dumbbell(
        [{"algorithm": "cubic", "count": flows, "start_spread": "1 s"}],
        rate=rate,
        rtt="100 ms",
        buffer="50% BDP",
        duration=f"{duration_s} s",
        sample_period="1 s",
    )


def time_crowds(repeat: int) -> list[dict[str, Any]]:
    """Measure the cost per delivered segment, tables included, with increasing numbers of long-lived flows.

    Each row also has the ratio of the row's cost to the cost in the first row.
    """
    rows: list[dict[str, Any]] = []
    for flows, rate, duration_s in CROWDS:
        started_s = time.perf_counter()
        scenario = crowd(flows, rate, duration_s)
        built_s = time.perf_counter() - started_s
        row: dict[str, Any] = median_run(scenario, repeat) | {"flows": flows, "rate": rate, "build_seconds": built_s}
        rows.append(row | {"slowdown": row["ns_per_segment"] / (rows or [row])[0]["ns_per_segment"], "ns2": None})
    return rows


def add_ns2(crowds: list[dict[str, Any]], repeat: int, warn: Callable[[str], None]) -> None:
    """Set the entry ``ns2`` of each row that ns-2 can run: ns-2's cost per segment, and its ratio to the engine's
    cost."""
    for row in crowds:
        if row["flows"] <= ns2.MOST_FLOWS:
            found = ns2.time_crowd(row["flows"], row["rate"], repeat, warn)
            if found is None:
                return
            row["ns2"] = found | {"ratio": found["ns_per_segment"] / row["ns_per_segment"]}
