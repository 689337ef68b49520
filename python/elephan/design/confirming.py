"""Confirmation of a failure on a real Linux kernel, in virtual time."""

from __future__ import annotations

import tempfile
from typing import Any

from elephan import metrics
from elephan.design.goals import Row
from elephan.design.searching import Found, Judge
from elephan.design.space import Point, has_pulses
from elephan.design.trials import BASELINE
from elephan.metrics import MetricError
from elephan.runs import Run, RunError, Store, run
from elephan.scenario import ScenarioError

BACKEND = "linux"
SEEDS = 4
_BOTTLENECK = "bottleneck"


def on_linux(judge: Judge, found: Found, seeds: int = SEEDS) -> dict[str, Any]:
    """The numbers of the goal on Linux with some seeds, or the reason why there are none."""
    try:
        with tempfile.TemporaryDirectory(prefix="elephan-confirm-") as folder:
            store = Store(folder)
            values = [_value(judge, found.point, seed, store) for seed in range(1, seeds + 1)]
    except (ScenarioError, RunError) as error:
        return {"why": str(error)}
    return {"values": values, "fails": [judge.goal.severity(value) >= 0 for value in values]}


def _value(judge: Judge, point: Point, seed: int, store: Store) -> float:
    scenario = judge.scenario(point, seed)
    if has_pulses(point):
        # Linux sends the TCP flows, and the engine the datagrams.
        scenario = scenario.replace({"flow[2].backend": "sim"})
    baseline = None
    if judge.goal.beside:
        baseline = _row(run(scenario.replace({"flow[0].algorithm": BASELINE}), on=BACKEND, store=store))
    return judge.goal.value(_row(run(scenario, on=BACKEND, store=store)), point, baseline)


def _row(done: Run) -> Row:
    row: dict[str, float | None] = {f"goodput_mbps[{flow}]": rate for flow, rate in metrics.goodput_mbps(done).items()}
    for name in ("mean_queue_delay_ms", "loss_rate"):
        try:
            row[name] = float(getattr(metrics, name)(done, link=_BOTTLENECK))
        except MetricError:
            row[name] = None  # no packet left the queue
    return row
