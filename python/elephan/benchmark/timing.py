"""Measurement of the wall time of runs."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

from elephan.backends.sim import own_objects
from elephan.scenario import Scenario, catalog

ROOT = Path(__file__).resolve().parents[3]
"""Folder of the repository, with the examples and the scripts for ns-2; an installed package has neither."""


def timed(scenario: Scenario) -> tuple[float, dict[str, Any]]:
    """Wall time of one run, s, including the conversion to tables, and the run's summary."""
    spec = scenario.canonical_json()
    engine = catalog.engine()
    started_s = time.perf_counter()
    result = engine.run(spec, None, own_objects(scenario))
    elapsed_s = time.perf_counter() - started_s
    return elapsed_s, json.loads(result["summary"])


def speed(segments: float, wall_s: float) -> dict[str, float]:
    """Rate of segments and processing time of a segment, from a number of segments and their wall time."""
    return {
        "segments_per_second": segments / wall_s,
        "ns_per_segment": wall_s / segments * 1e9,
        "segments_delivered": segments,
        "wall_seconds": wall_s,
    }


def median_run(scenario: Scenario, repeat: int) -> dict[str, float]:
    """The median of several timings of one scenario."""
    runs = [timed(scenario) for _ in range(repeat)]
    return speed(runs[0][1]["segments_delivered"], statistics.median(wall_s for wall_s, _ in runs))
