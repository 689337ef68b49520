"""Time around a run of ``elephan.batch``: of tiny runs, all time besides the engine's own, on one core.

    python benches/batch.py [RUNS]

The engine's time is that from the layout of a run to its end. Computing the metrics, stating the run and the data frame
belong to the time around it. Processor time is given too, since a busy host lengthens the other.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import elephan
from elephan.metrics import batch
from elephan.metrics.summary import RUN_METRICS
from elephan.scenario.catalog import engine

RUNS = 2000
TINY = elephan.Scenario.dumbbell(
    ["cubic", "reno"], rate="20 Mbit/s", rtt="20 ms", buffer="1 BDP", duration="200 ms", perturb="hosts"
)


def tables(runs: int) -> dict[str, dict[str, list[Any]]]:
    """A table for each way of stating a run."""
    return {
        "seed": {"seed": list(range(1, runs + 1))},
        "flow[0].parameters.beta": {"flow[0].parameters.beta": [0.3 + 0.5 * i / runs for i in range(runs)]},
        "both, on ten paths": {
            "dumbbell.rate": [f"{10 + i % 10} Mbit/s" for i in range(runs)],
            "flow[0].parameters.beta": [0.3 + 0.5 * i / runs for i in range(runs)],
        },
        "dumbbell.rate": {"dumbbell.rate": [f"{10 + 10 * i / runs:.4f} Mbit/s" for i in range(runs)]},
    }


def around_ms(table: Mapping[str, list[Any]], names: tuple[str, ...]) -> tuple[float, float, float]:
    """Wall and processor time around a run, and the engine's own time, ms."""
    spent: list[float] = []
    made = engine().Batch

    class Timed:
        """The engine's threads, with the time of their runs."""

        def __init__(self, *arguments: Any) -> None:
            self._threads = made(*arguments)
            self.submit, self.stop = self._threads.submit, self._threads.stop

        def collect(self, timeout_s: float) -> Any:
            found = self._threads.collect(timeout_s)
            spent.extend(seconds for _, seconds, _, _ in found)
            return found

    begun_s, used_s = time.perf_counter(), time.process_time()
    try:
        engine().Batch = Timed
        found = batch.batch(TINY, table, names, jobs=1)
    finally:
        engine().Batch = made
    wall_s, processor_s = time.perf_counter() - begun_s, time.process_time() - used_s
    engine_s, per_run = sum(spent), 1e3 / len(found)
    return (wall_s - engine_s) * per_run, (processor_s - engine_s) * per_run, engine_s * per_run


def main() -> None:
    """Print the times."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(f"{'field that changes':28s}{'around, wall ms':>17s}{'processor ms':>14s}{'engine ms':>11s}")
    for name, table in tables(runs).items():
        wall_ms, processor_ms, engine_ms = around_ms(table, RUN_METRICS)
        print(f"{name:28s}{wall_ms:17.3f}{processor_ms:14.3f}{engine_ms:11.3f}")


if __name__ == "__main__":
    main()
