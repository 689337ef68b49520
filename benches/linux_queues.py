"""Comparison of the kernel's and the engine's queue disciplines, with flows on Linux over the same links.

.venv/bin/python benches/linux_queues.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from elephan import Scenario
from elephan.backends import RawResult, get

PATHS = (("10 Mbit/s", 10.0, "40 ms"), ("100 Mbit/s", 100.0, "20 ms"))
# Parameters of the engine's disciplines in each comparison: the defaults, and Linux's rules.
KINDS: dict[str, tuple[dict[str, bool], ...]] = {
    "codel": ({}, {"newton": True}),
    "fq_codel": ({}, {"newton": True, "whole_backlog": True, "count_bound_drops": True}),
    "pie": ({},),
    "red": ({},),
}
FLOWS = (("reno", 1, False), ("cubic", 4, False), ("cubic", 4, True))
SECONDS, FROM_S = 30, 10
WIRE_BITS = 1500 * 8
BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Figures:
    """Measurements of a run, from 10 s on."""

    goodput_mbps: float
    delay_ms: float
    dropped: int
    marked: int


def figures(result: RawResult, mbps: float) -> Figures:
    """Goodput of all flows, mean queueing delay, and numbers of packets that the bottleneck dropped and marked."""
    flows = pl.DataFrame(result.tables["flows"])
    link = pl.DataFrame(result.tables["links"]).filter((pl.col("link") == BOTTLENECK) & (pl.col("time_s") >= FROM_S))
    first, last = link.row(0, named=True), link.row(-1, named=True)

    def grown(column: str) -> float:
        return float(last[column]) - float(first[column])

    packets = grown("queue_integral_packet_s") / (last["time_s"] - first["time_s"])
    return Figures(
        float(flows["goodput_mbps"].sum()),
        packets * WIRE_BITS / mbps / 1e3,
        int(grown("dropped_packets")),
        int(grown("marked_packets")),
    )


def measured(
    rate: str, mbps: float, rtt: str, flow: dict[str, Any], queue: str, parameters: dict[str, bool]
) -> Figures:
    """Figures of a run on Linux with a queue of the kernel or of the engine."""
    scenario = Scenario.dumbbell(
        [flow], rate=rate, rtt=rtt, buffer="1000 packets", queue=queue, queue_parameters=parameters,
        duration=f"{SECONDS} s", measure={"from": f"{FROM_S} s"},
    )  # fmt: skip
    return figures(get("linux").run(scenario), mbps)


def main() -> None:
    """Run each discipline of the kernel and of the engine on each path with each set of flows, and print a table."""
    columns = ("goodput Mbit/s", "mean queueing delay, ms", "dropped", "marked")
    print(f"| path | flows | queue | {' | '.join(columns)} |\n|{' --- |' * (3 + len(columns))}")
    for rate, mbps, rtt in PATHS:
        for algorithm, count, ecn in FLOWS:
            flow = {"algorithm": f"{algorithm}:linux", "count": count, "stack": {"base": "linux", "ecn": ecn}}
            flows = f"{count} {algorithm}{', ECN' if ecn else ''}"
            for kind, forms in KINDS.items():
                one = measured(rate, mbps, rtt, flow, f"linux:{kind}", {})
                for parameters in forms:
                    other = measured(rate, mbps, rtt, flow, kind, parameters)
                    shown = [
                        f"{one.goodput_mbps:.4g}, {other.goodput_mbps:.4g}",
                        f"{one.delay_ms:.2f}, {other.delay_ms:.2f}",
                        f"{one.dropped}, {other.dropped}",
                        f"{one.marked}, {other.marked}",
                    ]
                    queue = " ".join([kind, *(f"`{name}`" for name in parameters)])
                    print(f"| {rate} × {rtt} | {flows} | {queue} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
