"""Bug reports for runs that fail because of a defect in Elephan: a file with the data, beside the store's results."""

from __future__ import annotations

import json
import traceback
from typing import Any

from elephan.algorithm import AlgorithmError
from elephan.backends import Cancelled, EngineDefectError, RunMemoryError
from elephan.runs.provenance import provenance
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError

FOLDER = ".failures"
_TOLD = (ScenarioError, AlgorithmError, Cancelled, RunMemoryError, OSError, MemoryError, KeyboardInterrupt)


class RunFailedError(Exception):
    """A run failed because of a defect in Elephan; the message names the file for the bug report."""


def explained(
    error: BaseException, store: Store, run_id: str, scenario: Scenario, seed: int, engine: str
) -> BaseException:
    """The error to report: a user's error is unchanged; a defect becomes a message of one line and a file for a bug
    report.

    The file holds the scenario as TOML, the seed, versions, the failed check and the traceback.
    """
    if isinstance(error, _TOLD) or (
        type(error).__module__.startswith("elephan.") and not isinstance(error, EngineDefectError)
    ):
        return error
    what = str(error) or type(error).__name__
    try:
        folder = store.root / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{run_id}.json"
        file.write_text(json.dumps(_report(error, scenario, seed, engine), indent=2), encoding="utf-8")
    except OSError as refused:
        told = RunFailedError(f"a defect of Elephan: {what}; its report cannot be written: {refused}")
    else:
        told = RunFailedError(f"a defect of Elephan: {what}; please report it with {file}")
    told.__cause__ = error
    return told


def _report(error: BaseException, scenario: Scenario, seed: int, engine: str) -> dict[str, Any]:
    try:
        stated = scenario.to_toml()
    except ScenarioError as refused:
        stated = f"cannot be written as TOML: {refused}"
    return {
        "failed": str(error),
        "kind": type(error).__name__,
        "traceback": traceback.format_exception(error),
        "scenario": stated,
        "canonical": scenario.canonical(),
        "seed": seed,
        **provenance(engine=engine, wall_seconds=0.0),
    }
