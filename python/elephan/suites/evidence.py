"""Values from runs, by scenario and seed. Each run is read once, and its tables are released afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.templates import filled
from elephan.scenario import Scenario
from elephan.suites.measures import Probe, baseline_probe, compared, divisor, probe
from elephan.suites.schema import CriterionTable
from elephan.suites.suite import Cell, Subject, Suite

if TYPE_CHECKING:
    from elephan.runs import Run


@dataclass(frozen=True)
class Case:
    """A criterion in one cell, for one algorithm.

    Attributes:
        suite: suite of the criterion.
        criterion: the judged criterion.
       cell: the cell.
        id: id of the criterion.
        subject: the algorithm that is judged.
    """

    suite: Suite = field(repr=False, hash=False, compare=False)
    criterion: CriterionTable = field(hash=False, compare=False)
    id: str
    cell: Cell
    subject: Subject

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario of the value's run."""
        return self.suite.scenario(self.criterion.experiment, self.cell, self.subject)

    @cached_property
    def baseline(self) -> Scenario | None:
        """The scenario of the baseline."""
        stated = self.criterion.baseline
        if stated is None:
            return None
        judges = self.suite.table.judges
        spec = str(filled(stated.algorithm, {**self.cell.values, judges: self.subject.spec}))
        experiment = stated.experiment or self.criterion.experiment
        other = self.subject if stated.algorithm == f"{{{judges}}}" else Subject(spec, spec)
        return self.suite.scenario(experiment, self.cell, other)

    @property
    def scenarios(self) -> list[Scenario]:
        """All scenarios that the value needs, with the first seed."""
        return [self.scenario] if self.baseline is None else [self.scenario, self.baseline]


@dataclass
class Evidence:
    """Values by scenario, seed and probe."""

    _values: dict[tuple[str, int, Probe], float | str] = field(default_factory=dict)
    _ids: dict[tuple[str, int], str] = field(default_factory=dict)
    _wanted: dict[str, set[Probe]] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)

    def want(self, cases: Iterable[Case]) -> None:
        """Register the values to read from the runs of some cases."""
        for case in cases:
            self._wanted.setdefault(case.scenario.hash, set()).add(probe(case.criterion))
            if case.baseline is not None and case.criterion.baseline is not None:
                beside = baseline_probe(case.criterion, case.criterion.baseline)
                self._wanted.setdefault(case.baseline.hash, set()).add(beside)

    def want_of(self, scenario: Scenario, probes: Iterable[Probe]) -> None:
        """Register additional values to read from a scenario's runs."""
        self._wanted.setdefault(scenario.hash, set()).update(probes)

    def add(self, run: Run) -> None:
        """Read the registered values of a run."""
        name = str(run.manifest["scenario_hash"])
        if (name, run.seed) in self._ids:
            return
        self._ids[name, run.seed] = run.id
        self.runs.append(run.manifest)
        for one in self._wanted.get(name, ()):
            try:
                self._values[name, run.seed, one] = one.read(run)
            except NotJudgedError as error:
                self._values[name, run.seed, one] = str(error)

    def has(self, scenario: Scenario, seed: int) -> bool:
        """True if the run was added."""
        return (scenario.hash, seed) in self._ids

    def seeds(self, scenario: Scenario) -> list[int]:
        """Seeds of the added runs of a scenario."""
        return sorted(seed for name, seed in self._ids if name == scenario.hash)

    def ids(self, case: Case, seeds: Sequence[int]) -> list[str]:
        """Ids of the added runs of a case."""
        found = ((scenario.hash, seed) for scenario in case.scenarios for seed in seeds)
        return [self._ids[key] for key in found if key in self._ids]

    def read(self, scenario: Scenario, seed: int, one: Probe) -> tuple[str, float]:
        """The id of an added run, and the value of a probe.

        Raises:
            NotJudgedError: the value is not defined.
        """
        return self._ids[scenario.hash, seed], self._value(scenario, seed, one)

    def sample(self, case: Case, seeds: Sequence[int]) -> list[float]:
        """Values of a case, one for each seed.

        Raises:
            NotJudgedError: a value is not defined.
        """
        criterion, parts = case.criterion, []
        share = divisor(criterion, case.cell.values)
        for seed in seeds:
            value = self._value(case.scenario, seed, probe(criterion))
            if case.baseline is not None and criterion.baseline is not None:
                beside = self._value(case.baseline, seed, baseline_probe(criterion, criterion.baseline))
                value = compared(criterion.baseline.kind, value, beside)
            parts.append(value / share)
        return parts

    def _value(self, scenario: Scenario, seed: int, one: Probe) -> float:
        found = self._values[scenario.hash, seed, one]
        if isinstance(found, str):
            raise NotJudgedError(found)
        return found
