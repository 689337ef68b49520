"""Comparison of the simulator with Linux on queues that mark: delivered segments, retransmissions and marks of flows
with ECN.

    .venv/bin/python benches/linux_marks.py                 # each algorithm and six pairs on two paths
    .venv/bin/python benches/linux_marks.py --random 0 60   # 60 random scenarios, from number 0 on

A random scenario has one to three flows of random algorithms, a rate between 5 and 100 Mbit/s, a round-trip time
between 5 and 150 ms, a threshold of marking or CoDel, and random losses with probability 0, 1e-4 or 1e-3. The script
prints the runs that differ, and the number of runs that are equal.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
RATES_MBPS, RTTS_MS, MARKS_PACKETS = (5, 10, 25, 60, 100), (5, 15, 40, 80, 150), (5, 10, 30, 60)
BUFFERS = ("1000 packets", "1 BDP", "4 BDP")
LOSSES = (0.0, 0.0, 1e-4, 1e-3)
BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Figures:
    """Measurements of a run: for each flow the delivered segments and the retransmissions, and the packets that the
    bottleneck marked and dropped.
    """

    delivered: tuple[int, ...]
    retransmits: tuple[int, ...]
    marked: int
    dropped: int

    def __str__(self) -> str:
        delivered, retransmits = (" and ".join(map(str, counts)) for counts in (self.delivered, self.retransmits))
        return f"{delivered} | {retransmits} | {self.marked} | {self.dropped}"


def figures(backend: str, scenario: Scenario) -> Figures:
    """Run a scenario on a backend."""
    tables = get(backend).run(scenario).tables
    flows = pl.DataFrame(tables["flows"])
    link = pl.DataFrame(tables["links"]).filter(pl.col("link") == BOTTLENECK).row(-1, named=True)
    return Figures(
        tuple(flows["segments_delivered"]),
        tuple(flows["retransmits"]),
        int(link["marked_packets"]),
        int(link["dropped_packets"]),
    )


def dumbbell(algorithms: tuple[str, ...], **fields: Any) -> Scenario:
    """A scenario of flows with ECN on Linux's stack."""
    flows = [{"algorithm": f"{name}:linux", "stack": {"base": "linux", "ecn": True}} for name in algorithms]
    return Scenario.dumbbell(flows, **fields)


def chosen() -> Iterator[tuple[str, Scenario]]:
    """Each algorithm alone and six pairs, on two paths."""
    for algorithms in (*((name,) for name in ALONE), *PAIRS):
        for rate, rtt, mark in PATHS:
            scenario = dumbbell(
                algorithms, rate=rate, rtt=rtt, buffer="1000 packets", queue="threshold",
                queue_parameters={"mark": mark}, duration="10 s",
            )  # fmt: skip
            yield f"{rate} × {rtt} | {', '.join(algorithms)}", scenario


def drawn(number: int) -> tuple[str, Scenario]:
    """The random scenario of a number."""
    draw = random.Random(number)
    algorithms = tuple(draw.choice(ALONE) for _ in range(draw.choice((1, 1, 2, 3))))
    path: dict[str, Any] = {
        "rate": f"{draw.choice(RATES_MBPS)} Mbit/s",
        "rtt": f"{draw.choice(RTTS_MS)} ms",
        "buffer": draw.choice(BUFFERS),
        "loss": draw.choice(LOSSES),
    }
    threshold: dict[str, Any] = {
        "queue": "threshold",
        "queue_parameters": {"mark": f"{draw.choice(MARKS_PACKETS)} packets"},
    }
    queue = draw.choice((threshold, {"queue": "codel"}))
    name = f"{number} | {', '.join(map(str, (path | queue).values()))} | {', '.join(algorithms)}"
    return name, dumbbell(algorithms, duration="8 s", seed=number + 1, **path, **queue)


def main() -> None:
    """Run the scenarios in the simulator and on Linux, and print the runs that differ."""
    parser = argparse.ArgumentParser(description="Compare flows with ECN in the simulator and on Linux.")
    parser.add_argument("--random", nargs=2, type=int, metavar=("FIRST", "NUMBER"), help="random scenarios instead")
    first_and_number = parser.parse_args().random
    equal = runs = 0
    for name, scenario in chosen() if first_and_number is None else map(drawn, _range(*first_and_number)):
        simulated, virtual = (figures(backend, scenario) for backend in ("sim", "linux"))
        runs += 1
        equal += simulated == virtual
        if simulated != virtual:
            print(f"{name} | {simulated} | {virtual}", flush=True)
    print(f"{equal} of {runs} runs have the same delivered segments, retransmissions, marks and drops")


def _range(first: int, number: int) -> range:
    return range(first, first + number)


if __name__ == "__main__":
    main()
