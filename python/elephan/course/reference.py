"""Reference runs of the labs, and the numbers of their expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from elephan.course import expressions, labs, readings
from elephan.course.schema import LabTable, StepTable
from elephan.runs import Run, Store, sweep
from elephan.web.lessons import scenario_of


class Reference:
    """Runs of a lab, each made when the first expression needs it."""

    def __init__(self, entry: LabTable, store: Store) -> None:
        self.lab = entry
        self._store = store
        self._runs: dict[str, Run] = {}

    def run(self, name: str) -> Run:
        """A run of the lab."""
        if name not in self._runs:
            (self._runs[name],) = sweep([labs.scenario(self.lab, name)], on="sim", store=self._store, jobs=1)
        return self._runs[name]

    def prepare(self, names: Iterable[str] | None = None) -> None:
        """Make several runs at once, all by default."""
        wanted = [name for name in (names or self.lab.runs) if name not in self._runs]
        made = sweep([labs.scenario(self.lab, name) for name in wanted], on="sim", store=self._store)
        self._runs |= dict(zip(wanted, made, strict=True))

    def lookup(self, step: StepTable, own: Mapping[str, Any] | None = None) -> expressions.Lookup:
        """Numbers for the expressions of a step; without a run's name they belong to ``own`` if that is given, a
        complete setting of the page, and to the step's run otherwise."""
        made: list[Run] = []

        def value(run: str | None, name: str, flow: int | None) -> float:
            if run is None and own is not None:
                known = readings.of_setting(own, name, flow)
                if known is not None:
                    return known
                if not made:
                    made.extend(sweep([scenario_of(dict(own), sampled=True)], on="sim", store=self._store, jobs=1))
                return readings.of_run(made[0], name, flow)
            run = step.run if run is None else run
            if self.lab.runs[run].settings is not None:
                known = readings.of_setting(labs.settings(self.lab, run), name, flow)
                if known is not None:
                    return known
            return readings.of_run(self.run(run), name, flow)

        return value
