"""Test of determinism on Linux in virtual time with twenty pairs of runs: both runs of a pair must give the same bytes.

In the last ten pairs, two busy loops load the host during the second run. In every second pair, the engine simulates
the path and a BBRv3 flow, which competes with the flows on Linux.

.venv/bin/python benches/linux_pairs.py
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from elephan.backends import get
from elephan.backends.linux import guest, kernels, lab
from elephan.scenario import Scenario

PAIRS = 20
LOOPS = 2
FLOWS = (("cubic", "reno"), ("bbr", "cubic"), ("htcp", "illinois"), ("vegas", "reno"), ("westwood", "bic"))


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Run busy loops, one process each, within this context."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in started:
            loop.kill()
            loop.wait()


def digest(scenario: Scenario, seed: int) -> str:
    """SHA-256 of a run's tables."""
    sha = hashlib.sha256()
    for name, table in sorted(get("linux").run(scenario, seed).tables.items()):
        sha.update(name.encode() + pl.DataFrame(table).write_csv().encode())
    return sha.hexdigest()


def main() -> int:
    """Run the pairs and print the result of each; return 1 if the two runs of any pair differ."""
    lacking = [f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok]
    if lacking:
        print(f"skipped: {'; '.join(lacking)}")
        return 0
    can_be_outside = guest.path_program() is not None and kernels.chosen().leads_outside
    different = 0
    for pair in range(PAIRS):
        names = FLOWS[pair % len(FLOWS)]
        outside = pair % 2 == 1 and can_be_outside
        more = {"backend": "linux"} if outside else {}
        flows = [{"algorithm": name, "start": f"{i} s"} | more for i, name in enumerate(names)]
        flows += [{"algorithm": "bbr3"}] if outside else []
        scenario = Scenario.dumbbell(flows, rate="50 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="10 s", loss=1e-4)
        first = digest(scenario, pair + 1)
        loops = LOOPS if pair >= PAIRS // 2 else 0
        with busy(loops):
            second = digest(scenario, pair + 1)
        different += first != second
        state = "the same" if first == second else "DIFFERENT"
        print(f"{pair + 1:2} {' and '.join(names):20} {loops} loops: {state} ({first[:12]})", flush=True)
    print(f"{PAIRS - different} of {PAIRS} pairs gave the same bytes")
    return int(different > 0)


if __name__ == "__main__":
    raise SystemExit(main())
