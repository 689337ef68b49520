"""Comparison of the kernel's DualPI2 with the engine's: queueing delay and marks over five BDPs, and shares.

    .venv/bin/python benches/linux_dualpi2.py            # needs a guest kernel of Linux 6.17 or later
    .venv/bin/python benches/linux_dualpi2.py --share    # the simulator alone
    .venv/bin/python benches/linux_dualpi2.py --published    # shares beside those that were measured with Linux in 2020

The first table has six CUBIC flows with ECN on Linux, through ``linux:dualpi2`` and through the engine's queue on the
same kernel: means over the seeds, of the last 30 of 40 s. The second has a Prague and a CUBIC flow in the simulator,
and beside the ratio of their throughputs the ratio of their RTTs, to which RFC 9332, section 2.1, leaves it.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import linux_queues
import polars as pl
from linux_queues import Figures

from elephan import Scenario
from elephan.backends import get

PATHS = (
    ("10 Mbit/s", 10.0, "20 ms"), ("40 Mbit/s", 40.0, "20 ms"), ("40 Mbit/s", 40.0, "60 ms"),
    ("100 Mbit/s", 100.0, "20 ms"), ("100 Mbit/s", 100.0, "50 ms"),
)  # fmt: skip
SECONDS, FLOWS = 40, 6
PUBLISHED = {
    ("50 Mbit/s", "10 ms"): "2.61, 2.73", ("50 Mbit/s", "20 ms"): "2.05, 2.17", ("50 Mbit/s", "80 ms"): "1.66, 1.71",
    ("10 Mbit/s", "10 ms"): "2.12, 2.13", ("10 Mbit/s", "20 ms"): "1.81, 1.86", ("10 Mbit/s", "80 ms"): "1.70, 1.74",
}  # fmt: skip
"""Prague's throughput / CUBIC's of two runs each, last minute of three (github.com/heistp/l4s-tests, November 2020)."""
SINGLE: dict[str, Any] = {"algorithm": "prague:rtt-dependent", "stack": {"tso": False}}
STACK = {"base": "linux", "ecn": True}


def scenario(flows: list[dict[str, Any]], rate: str, rtt: str, seed: int, queue: str) -> Scenario:
    """Flows through a queue without parameters."""
    return Scenario.dumbbell(
        flows, rate=rate, rtt=rtt, buffer="1000 packets", queue=queue, duration=f"{SECONDS} s",
        measure={"from": f"{linux_queues.FROM_S} s"}, seed=seed,
    )  # fmt: skip


def through(queue: str, rate: str, mbps: float, rtt: str, seeds: int) -> Figures:
    """Means over the seeds of CUBIC flows on Linux."""
    flow = {"algorithm": "cubic:linux", "count": FLOWS, "stack": STACK}
    if not queue.startswith("linux:"):
        flow["backend"] = "linux"
    found = [
        linux_queues.figures(get("linux").run(scenario([flow], rate, rtt, seed, queue)), mbps)
        for seed in range(1, seeds + 1)
    ]
    return Figures(
        statistics.mean(one.goodput_mbps for one in found),
        statistics.mean(one.delay_ms for one in found),
        round(statistics.mean(one.dropped for one in found)),
        round(statistics.mean(one.marked for one in found)),
    )


def beside(rate: str, rtt: str, seeds: int) -> tuple[float, float]:
    """Ratio of Prague's throughput to CUBIC's, and of CUBIC's mean RTT to Prague's, means over the seeds."""
    flows = [{"algorithm": "prague"}, {"algorithm": "cubic", "stack": {"ecn": True}}]
    ratios, rtts = [], []
    for seed in range(1, seeds + 1):
        result = get("sim").run(scenario(flows, rate, rtt, seed, "dualpi2"))
        prague, cubic = pl.DataFrame(result.tables["flows"]).iter_rows(named=True)
        ratios.append(prague["goodput_mbps"] / cubic["goodput_mbps"])
        rtts.append(cubic["rtt_mean_ms"] / prague["rtt_mean_ms"])
    return statistics.mean(ratios), statistics.mean(rtts)


def published(seeds: int) -> None:
    """Print the shares of Prague as it was in 2020, with bursts and without, without the step, and as it is."""
    kinds: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({"algorithm": "prague:rtt-dependent"}, {}),
        (SINGLE, {}),
        (SINGLE, {"step": "100 ms"}),
        ({"algorithm": "prague"}, {}),
    )
    print("| path | Linux, 2020 | rtt-dependent | single segments | no step | prague |\n| --- |" + " --- |" * 5)
    for (rate, rtt), measured in PUBLISHED.items():
        cells = []
        for prague, parameters in kinds:
            path = {
                "rate": rate,
                "rtt": rtt,
                "buffer": "1000 packets",
                "queue": "dualpi2",
                "queue_parameters": parameters,
            }
            flow = [prague, {"algorithm": "cubic", "stack": {"ecn": True}}]
            ratios = []
            for seed in range(1, seeds + 1):
                tables = {
                    "dumbbell": path,
                    "flow": flow,
                    "duration": "180 s",
                    "measure": {"from": "120 s"},
                    "seed": seed,
                }
                result = get("sim").run(Scenario.from_dict(tables))
                one, other = pl.DataFrame(result.tables["flows"])["goodput_mbps"]
                ratios.append(one / other)
            cells.append(", ".join(f"{ratio:.2f}" for ratio in sorted(ratios)))
        print(f"| {rate}, {rtt} | {measured} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", action="store_true", help="only Prague beside CUBIC, in the simulator")
    parser.add_argument(
        "--published", action="store_true", help="only Prague beside CUBIC as in 2020, in the simulator"
    )
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    if given.published:
        published(given.seeds)
        return
    if not given.share:
        print("| path | queueing delay, ms: kernel, engine | marks: kernel, engine | drops: kernel, engine |")
        print("| --- | --- | --- | --- |")
        for rate, mbps, rtt in PATHS:
            one, other = (through(queue, rate, mbps, rtt, given.seeds) for queue in ("linux:dualpi2", "dualpi2"))
            delays, marks = f"{one.delay_ms:.2f}, {other.delay_ms:.2f}", f"{one.marked}, {other.marked}"
            print(f"| {rate}, {rtt} | {delays} | {marks} | {one.dropped}, {other.dropped} |", flush=True)
    print("| path | Prague's throughput / CUBIC's | CUBIC's RTT / Prague's |\n| --- | --- | --- |")
    for rate, _, rtt in PATHS:
        ratio, of_rtts = beside(rate, rtt, given.seeds)
        print(f"| {rate}, {rtt} | {ratio:.2f} | {of_rtts:.2f} |", flush=True)


if __name__ == "__main__":
    main()
