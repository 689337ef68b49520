"""A criterion in one cell: for each seed, a value from the numbers of one run or of two runs, and the quantity that it
is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from elephan.evaluation.evidence import Evidence, Probe
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.templates import filled
from elephan.evaluation.wording import Quantity, quantity_of
from elephan.metrics.friendliness import fraction_lost
from elephan.metrics.ranges import LOST, POSITIVE, REAL, Range
from elephan.metrics.registry import get
from elephan.scenario import Scenario
from elephan.scenario.units import parse_positive_time, parse_rate
from elephan.suites.schema import BaselineTable, CriterionTable
from elephan.suites.suite import Cell, Subject, Suite

_COMPARED = {"lost": LOST, "gained": LOST, "ratio": POSITIVE, "difference": REAL}
"""Ranges of values relative to a baseline."""
_PER = {"rtt": "base RTTs", "rate": "of the rate"}


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

    @cached_property
    def probes(self) -> list[tuple[Scenario, Probe]]:
        """Numbers that are read from the value's run and from that of the baseline."""
        stated, baseline = self.criterion, self.criterion.baseline
        options = (stated.over, stated.link, stated.window)
        found = [(self.scenario, Probe(stated.metric, stated.flows, *options))]
        if self.baseline is not None and baseline is not None:
            flows = stated.flows if baseline.flows is None else baseline.flows
            found.append((self.baseline, Probe(stated.metric, flows, *options)))
        return found

    @property
    def scenarios(self) -> list[Scenario]:
        """All scenarios that the value needs, with the first seed."""
        return [scenario for scenario, _ in self.probes]

    def sample(self, evidence: Evidence, seeds: Sequence[int]) -> list[float]:
        """Values of the case, one for each seed.

        Raises:
            NotJudgedError: a value is not defined.
        """
        return [self._value(evidence, seed) / self.divisor for seed in seeds]

    def _value(self, evidence: Evidence, seed: int) -> float:
        found = [evidence.read(evidence.replicate(scenario, seed), probe) for scenario, probe in self.probes]
        baseline = self.criterion.baseline
        return found[0] if baseline is None else relative(baseline.kind, *found)

    def runs(self, evidence: Evidence, seeds: Sequence[int]) -> tuple[str, ...]:
        """Ids of the runs of the case."""
        return tuple(evidence.replicate(scenario, seed).id for scenario in self.scenarios for seed in seeds)

    @property
    def within(self) -> Range:
        """The range of the values."""
        if self.criterion.baseline is not None:
            return _COMPARED[self.criterion.baseline.kind]
        low, high = get(self.criterion.metric).within
        return low, math.inf if self.criterion.over == "sum" else high

    @property
    def divisor(self) -> float:
        """The number by which values are divided, in the unit of the metric."""
        if self.criterion.per is None:
            return 1.0
        if self.criterion.per == "rate":
            return parse_rate(self.cell.values["rate"]) / 1e6
        unit_ps = 1e9 if get(self.criterion.metric).unit == "ms" else 1e12
        return parse_positive_time(self.cell.values["rtt"]) / unit_ps


def relative(kind: str, value: float, baseline: float) -> float:
    """A value relative to the baseline's value: difference, ratio, or fraction lost or gained, by ``kind``.

    Raises:
        NotJudgedError: the divisor is 0, or both values are infinite.
    """
    try:
        if kind in ("lost", "gained"):
            found = fraction_lost(baseline, value, more_is_better=kind == "lost")
        else:
            found = value / baseline if kind == "ratio" else value - baseline
    except ZeroDivisionError:
        raise NotJudgedError("the value that it is compared with is 0") from None
    if math.isnan(found):
        raise NotJudgedError("neither it nor the value that it is compared with was reached in the run")
    return found


def quantity(criterion: CriterionTable) -> Quantity:
    """The quantity of a criterion's values, limit and margin, in words and with its unit.

    The name of its metric is not enough, since a criterion may divide the metric, or compare it with a second run: 0.2
    of ``goodput_mbps`` are a fifth of a goodput and not 0.2 Mbit/s.
    """
    metric = quantity_of(criterion.metric)
    flows = " and ".join(criterion.flows or ())
    name = f"{metric.name} of {flows}" if flows else metric.name
    unit = metric.unit if criterion.per is None else _PER[criterion.per]
    baseline = criterion.baseline
    if baseline is None:
        return Quantity(name, unit)
    if baseline.kind == "lost":
        return Quantity(f"{metric.name} lost by {flows}" if flows else f"{metric.name} lost", "%", 100.0)
    if baseline.kind == "gained":
        return Quantity(f"share added to the {name}", "%", 100.0)
    if baseline.kind == "ratio":
        return Quantity(f"{name} relative to {_other(baseline)}")
    return Quantity(f"{name} above that of {_other(baseline)}", unit)


def _other(baseline: BaselineTable) -> str:
    """The run or the flows with which a criterion compares."""
    if baseline.experiment is not None:
        return baseline.experiment
    if "{" not in baseline.algorithm:
        return baseline.algorithm
    return " and ".join(baseline.flows) if baseline.flows else "the baseline"
