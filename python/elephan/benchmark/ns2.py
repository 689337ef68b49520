"""The benchmark's workloads in ns-2, if it is installed (Debian's package ``ns2``)."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
from collections.abc import Callable
from typing import Any

from elephan.benchmark.timing import ROOT, speed
from elephan.scenario import ScenarioError
from elephan.scenario.units import parse_rate

FOLDER = ROOT / "benches" / "ns2"
TIMEOUT_S = 300
MOST_FLOWS = 1000
"""Largest number of flows for ns-2; a run with more flows takes minutes."""

CROWD_SPAN_S = (3.0, 4.0)
"""Interval of simulated seconds that is timed with many flows; the link is full from the third second on."""

Warn = Callable[[str], None]


def time_two_flows(repeat: int, warn: Warn) -> dict[str, float] | None:
    """Measure the time of the engine's workload in ns-2; warn and return ``None`` if ns-2 is not installed or fails."""
    return _timed("speed.tcl", [], repeat, warn)


def time_crowd(flows: int, rate: str, repeat: int, warn: Warn) -> dict[str, float] | None:
    """Measure the cost of the CUBIC flows of ``many_flows.crowd`` in ns-2, while the link is full.

    The windows of ns-2's flows are limited such that they fill the link without a loss. This is the best case for ns-2.
    """
    arguments = [str(flows), str(parse_rate(rate)), *map(str, CROWD_SPAN_S)]
    return _timed("crowd.tcl", arguments, repeat, warn)


def _timed(name: str, arguments: list[str], repeat: int, warn: Warn) -> dict[str, float] | None:
    script, ns = FOLDER / name, shutil.which("ns")
    if ns is None or not script.is_file():
        what = "ns-2 is not installed" if ns is None else f"{script} does not exist"
        warn(f"{what}, so there is no ratio to it")
        return None
    rows = []
    for _ in range(repeat):
        command = [ns, str(script), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            warn(f"ns-2 took more than {TIMEOUT_S} s for {name}, so there is no ratio to it")
            return None
        if done.returncode != 0:
            warn(f"ns-2 failed, so there is no ratio to it: {(done.stderr or done.stdout).strip()[:200]}")
            return None
        rows.append(answer(done.stdout))
    median_s = statistics.median(row["wall_seconds"] for row in rows)
    return speed(rows[0]["segments_delivered"], median_s)


def answer(output: str) -> dict[str, Any]:
    """The JSON object in the output of ns-2. TCP/Linux prints other lines too, some of them without a newline.

    Raises:
        ScenarioError: the output contains no JSON object.
    """
    for line in output.splitlines():
        _, brace, rest = line.partition("{")
        if brace:
            found: dict[str, Any] = json.loads(brace + rest)
            return found
    raise ScenarioError("the ns-2 script printed no answer")
