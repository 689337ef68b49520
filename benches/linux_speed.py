"""Processor time and wall-clock time of the host for one second of simulated time in a guest, as a Markdown table.

.venv/bin/python benches/linux_speed.py
"""

from __future__ import annotations

import time

from elephan import Scenario
from elephan.backends import get

PATHS = (("10 Mbit/s", "40 ms"), ("100 Mbit/s", "40 ms"), ("622 Mbit/s", "100 ms"), ("1 Gbit/s", "40 ms"))
FLOWS = (1, 10)
SECONDS = 10
NETEM: dict[str, str] = {}
ENGINE = {"backend": "linux"}


def run(rate: str, rtt: str, count: int, more: dict[str, str]) -> tuple[float, float]:
    """Processor time and wall-clock time for one simulated second of CUBIC flows, with a buffer of one BDP."""
    flows = [{"algorithm": "cubic:linux"} | more] * count
    scenario = Scenario.dumbbell(flows, rate=rate, rtt=rtt, buffer="1 BDP", duration=f"{SECONDS} s")
    began = time.monotonic()
    result = get("linux").run(scenario)
    return result.summary["linux"]["processor_s"] / SECONDS, (time.monotonic() - began) / SECONDS


def main() -> None:
    """Run CUBIC flows on each path, with netem in the guest and with the engine."""
    print("| path | flows | netem: processor s | wall-clock s | engine: processor s | wall-clock s |")
    print("| --- |" + " --- |" * 5)
    for rate, rtt in PATHS:
        for count in FLOWS:
            seconds = (*run(rate, rtt, count, NETEM), *run(rate, rtt, count, ENGINE))
            print(f"| {rate} × {rtt} | {count} | " + " | ".join(f"{s:.2g}" for s in seconds) + " |", flush=True)


if __name__ == "__main__":
    main()
