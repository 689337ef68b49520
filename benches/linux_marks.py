"""Comparison of the simulator with Linux on queues that mark: delivered segments and marks, for flows with ECN.

.venv/bin/python benches/linux_marks.py
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from elephan import Scenario
from elephan.backends import get

PATHS = (("20 Mbit/s", "40 ms", "20 packets"), ("30 Mbit/s", "60 ms", "40 packets"))
"""Rate, round-trip time and threshold of marking."""
ALONE = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "hstcp", "htcp", "hybla", "illinois", "lp", "reno", "stcp", "vegas", "veno",
    "westwood", "yeah",
)  # fmt: skip
PAIRS = (
    ("bbr", "cubic"), ("cubic", "dctcp"), ("cubic", "reno"), ("dctcp", "dctcp"), ("htcp", "reno"),
    ("westwood", "cubic"),
)  # fmt: skip
BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Figures:
    """Measurements of a run."""

    delivered: tuple[int, ...]
    marked: int

    def __str__(self) -> str:
        return f"{' and '.join(map(str, self.delivered))} | {self.marked}"


def figures(backend: str, scenario: Scenario) -> Figures:
    """Segments that each flow delivered, and packets that the bottleneck marked."""
    tables = get(backend).run(scenario).tables
    link = pl.DataFrame(tables["links"]).filter(pl.col("link") == BOTTLENECK).row(-1, named=True)
    return Figures(tuple(pl.DataFrame(tables["flows"])["segments_delivered"]), int(link["marked_packets"]))


def main() -> None:
    """Run each algorithm and each pair on each path in the simulator and on Linux, and print the runs that differ."""
    equal = runs = 0
    for algorithms in (*((name,) for name in ALONE), *PAIRS):
        for rate, rtt, mark in PATHS:
            flows = [{"algorithm": f"{name}:linux", "stack": {"base": "linux", "ecn": True}} for name in algorithms]
            scenario = Scenario.dumbbell(
                flows, rate=rate, rtt=rtt, buffer="1000 packets", queue="threshold", queue_parameters={"mark": mark},
                duration="10 s",
            )  # fmt: skip
            simulated, virtual = (figures(backend, scenario) for backend in ("sim", "linux"))
            runs += 1
            equal += simulated == virtual
            if simulated != virtual:
                print(f"{rate} × {rtt} | {', '.join(algorithms)} | {simulated} | {virtual}", flush=True)
    print(f"{equal} of {runs} runs have the same numbers of delivered segments and marks")


if __name__ == "__main__":
    main()
