"""Host seconds for a second in a guest, as a Markdown table: processor time, and wall-clock time beside other work.

.venv/bin/python benches/linux_speed.py
"""

from __future__ import annotations

import time

from elephan import Scenario
from elephan.backends import get

PATHS = (("10 Mbit/s", "40 ms"), ("100 Mbit/s", "40 ms"), ("622 Mbit/s", "100 ms"), ("1 Gbit/s", "40 ms"))
FLOWS = (1, 10)
SECONDS = 10


def main() -> None:
    """Run CUBIC flows on each path, with a buffer of one BDP."""
    print("| path | flows | processor s | wall-clock s |\n| --- | --- | --- | --- |")
    for rate, rtt in PATHS:
        for count in FLOWS:
            scenario = Scenario.dumbbell(
                [{"algorithm": "cubic:linux"}] * count, rate=rate, rtt=rtt, buffer="1 BDP", duration=f"{SECONDS} s"
            )
            began = time.monotonic()
            result = get("linux").run(scenario)
            wall_s = (time.monotonic() - began) / SECONDS
            processor_s = result.summary["linux"]["processor_s"] / SECONDS
            print(f"| {rate} × {rtt} | {count} | {processor_s:.2g} | {wall_s:.2g} |", flush=True)


if __name__ == "__main__":
    main()
