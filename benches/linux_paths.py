"""Comparison of the two emulations of a path in the backend 'linux': netem in the guest, and the engine.

.venv/bin/python benches/linux_paths.py
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from elephan import Scenario
from elephan.backends import get

PATHS = (
    ("1 Mbit/s", "40 ms", "1 BDP", 30),
    ("10 Mbit/s", "40 ms", "1 BDP", 20),
    ("20 Mbit/s", "100 ms", "0.5 BDP", 20),
    ("100 Mbit/s", "40 ms", "1 BDP", 10),
    ("100 Mbit/s", "40 ms", "2 BDP", 10),
    ("622 Mbit/s", "100 ms", "1 BDP", 8),
)
ALGORITHMS = ("reno", "cubic", "bbr")
BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Figures:
    """Measurements of a run with one flow."""

    goodput_mbps: float
    cwnd: float
    retransmits: int
    queue: float
    processor_s: float


def run(rate: str, rtt: str, buffer: str, seconds: int, flow: dict[str, str]) -> Figures:
    """Runs one flow over a dumbbell; the processor time is for one second of simulated time."""
    result = get("linux").run(Scenario.dumbbell([flow], rate=rate, rtt=rtt, buffer=buffer, duration=f"{seconds} s"))
    [row] = pl.DataFrame(result.tables["flows"]).to_dicts()
    link = pl.DataFrame(result.tables["links"]).filter(pl.col("link") == BOTTLENECK)
    return Figures(
        row["goodput_mbps"],
        row["cwnd_mean"],
        row["retransmits"],
        link["queue_integral_packet_s"].to_list()[-1] / seconds,
        result.summary["linux"]["processor_s"] / seconds,
    )


def main() -> None:
    """Run each algorithm on each path with netem and with the engine, and print a Markdown table."""
    columns = ("goodput Mbit/s", "mean window", "retransmissions", "mean queue, packets", "processor s a second")
    print(f"| path | flow | {' | '.join(columns)} |\n| --- | --- |{' --- |' * len(columns)}")
    for rate, rtt, buffer, seconds in PATHS:
        for algorithm in ALGORITHMS:
            flow = {"algorithm": f"{algorithm}:linux"}
            one, other = (run(rate, rtt, buffer, seconds, flow | more) for more in ({}, {"backend": "linux"}))
            shown = [
                f"{one.goodput_mbps:.4g}, {other.goodput_mbps:.4g}",
                f"{one.cwnd:.2f}, {other.cwnd:.2f}",
                f"{one.retransmits}, {other.retransmits}",
                f"{one.queue:.2f}, {other.queue:.2f}",
                f"{one.processor_s:.2g}, {other.processor_s:.2g}",
            ]
            print(f"| {rate} × {rtt}, {buffer} | {algorithm} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
