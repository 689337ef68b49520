"""The simulator: the packet-level engine, in virtual time."""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from elephan.algorithm import Algorithm, AlgorithmError
from elephan.backends.base import (
    Backend,
    Cancelled,
    EngineDefectError,
    Progress,
    RawResult,
    refuse_other_transports,
)
from elephan.backends.memory import needs_more, outgrown
from elephan.scenario import Scenario, ScenarioError, long_json, own
from elephan.scenario.catalog import engine

TABLES = (
    "flows", "samples", "links", "transfers", "sources", "distributions", "writes", "events", "internals", "crowd",
)  # fmt: skip
BUILD_DIGITS = 12


class SimBackend(Backend):
    """Runs any scenario of this version. The simulator is deterministic: the same scenario and seed give the same
    bytes."""

    name = "sim"
    title = "the packet-level engine, in virtual time"

    def version(self) -> str:
        """The engine's version and build, ``0.1.0+9baf198325c1``; results of different builds may differ."""
        return f"{engine().version()}+{_build()}"

    def check(self, scenario: Scenario) -> None:
        """Reject flows of other transports, before the run.

        Raises:
            ScenarioError: a flow has endpoints that only another backend has.
        """
        refuse_other_transports(self.name, scenario)

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Run a scenario without holding Python's global lock, so that several threads can run at once.

        Ctrl-C takes effect at each progress report, about every 0.2 s.

        Each flow with a user's own algorithm gets a new object of the algorithm. A run with a user's own algorithm
        holds the global lock throughout.

        Raises:
            ScenarioError: the engine rejects the scenario, the scenario needs more memory than its limit, or a user's
                algorithm is missing or has changed.
            RunMemoryError: the run exceeded its memory limit.
            EngineDefectError: the engine has a defect.
            AlgorithmError: a user's algorithm raised an exception.
            Cancelled: ``progress`` returned ``False``.
            KeyboardInterrupt: Ctrl-C, in the main thread.
        """
        self.check(scenario)
        spec = scenario.canonical() | ({} if seed is None else {"seed": seed})
        report = _Report(progress)
        made = engine()
        try:
            result = self._run_in_memory(scenario, long_json.dumps(spec), report)
        except made.EngineDefectError as error:
            raise EngineDefectError(*error.args) from error
        except made.CallbackError as error:
            flow, callback, time_s = error.args
            cause = error.__cause__
            what = traceback.format_exception_only(cause)[-1].strip()
            trace = "".join(traceback.format_exception(cause))
            names = [*scenario.flow_names, *scenario.sources]
            raise AlgorithmError(names[flow], callback, time_s, what, trace) from cause
        except made.Cancelled:
            if report.raised is not None:
                raise report.raised from None
            raise Cancelled from None
        except ValueError as error:
            raise ScenarioError(str(error)) from None
        tables = {name: result[name] for name in TABLES if name in result}
        summary = result["summary"]
        return RawResult(tables, json.loads(summary) if isinstance(summary, str) else dict(summary))

    def _run_in_memory(self, scenario: Scenario, form: str, report: _Report) -> dict[str, Any]:
        """The engine's result within a share of the memory; if the share is not enough, the run is repeated alone with
        all of the memory."""
        made = engine()
        try:
            certain = made.memory(form)
        except ValueError as error:
            raise ScenarioError(str(error)) from None
        everything = self.memory.all_bytes()
        if certain > everything:
            raise needs_more(certain, self.memory)
        for alone in (False, True):
            with self.memory.share(certain, alone=alone, go_on=lambda: report(0.0)) as share:
                if share is None:
                    raise made.Cancelled
                try:
                    found: dict[str, Any] = made.run(form, report, own_objects(scenario), share)
                except made.MemoryLimitError as error:
                    if share >= self.memory.all_bytes():
                        raise outgrown(str(error), self.memory) from None
                else:
                    return found
        raise outgrown("memory: the run outgrew it", self.memory)


def own_objects(scenario: Scenario) -> dict[int, Algorithm | Callable[[], Algorithm]]:
    """New objects of a user's own algorithms by the flow's position, and functions that make the objects of a source's
    transfers by the number of flows plus the source's position."""
    made: dict[int, Algorithm | Callable[[], Algorithm]] = {}
    first = 0
    for i, flow in enumerate(scenario.flow):
        if own.pinned(flow.algorithm):
            try:
                made |= {first + k: own.make(flow.algorithm, flow.parameters) for k in range(flow.count)}
            except ScenarioError as error:
                raise error.located(path=f"flow[{i}].algorithm") from error
        first += flow.count
    for i, source in enumerate(scenario.traffic):
        if own.pinned(source.algorithm):
            try:
                made[first + i] = own.maker(source.algorithm, source.parameters)
            except ScenarioError as error:
                raise error.located(path=f"traffic[{i}].algorithm") from error
    return made


def libraries_of(scenario: Scenario) -> dict[int, str] | None:
    """Libraries of a scenario's own algorithms, numbered as in :func:`own_objects`; ``None`` if one is in Python."""
    found: dict[int, str] = {}
    first = 0
    for flow in scenario.flow:
        if own.pinned(flow.algorithm):
            path = own.library(flow.algorithm)
            if path is None:
                return None
            found |= {first + k: path for k in range(flow.count)}
        first += flow.count
    for i, source in enumerate(scenario.traffic):
        if own.pinned(source.algorithm):
            path = own.library(source.algorithm)
            if path is None:
                return None
            found[first + i] = path
    return found


@lru_cache(maxsize=1)
def _build() -> str:
    """First digits of the SHA-256 of the compiled engine. The digits identify an engine's results, even if the version
    number did not change with the engine's code."""
    with Path(engine().__file__).open("rb") as binary:
        return hashlib.file_digest(binary, "sha256").hexdigest()[:BUILD_DIGITS]


class _Report:
    """The engine's progress callback. An exception in the callback stops the run, and is raised again after the engine
    has returned."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self.raised: BaseException | None = None

    def __call__(self, fraction: float) -> bool:
        try:
            return self._progress is None or bool(self._progress(fraction))
        except BaseException as error:  # noqa: BLE001  (it is raised again, once the engine has stopped)
            self.raised = error
            return False
