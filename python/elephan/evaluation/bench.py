"""The bench of all that is judged: looks at the replicates, the time that is left, and the sweep that keeps to it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from elephan.algorithm import Algorithm
from elephan.backends import Cancelled, ProgramError, RunMemoryError
from elephan.evaluation.planning import Progress as Progress
from elephan.evaluation.planning import until
from elephan.metrics.statistics import CONFIDENCE, LOOK_CONFIDENCE, LOOKS
from elephan.runs import Store, SweepError, sweep
from elephan.runs.provenance import cores
from elephan.runs.saved import run_id
from elephan.runs.work import takes_s
from elephan.scenario import Scenario, ScenarioError, catalog, own
from elephan.scenario.units import PS_PER_S, parse_positive_time

if TYPE_CHECKING:
    from elephan.runs import Run

Named = str | Callable[..., Algorithm]
"""An algorithm of the user: its name with a preset, a class of a file, or the class."""
_Case = TypeVar("_Case", bound=Hashable)


def looks(seeds: int | None, *, quick: bool = False) -> tuple[int, ...]:
    """Numbers of seeds at which verdicts are computed: the number that the user states, or 8, 16 and 32."""
    return (seeds,) if seeds is not None else LOOKS[:1] if quick else LOOKS


def confidence(taken: Sequence[int]) -> float:
    """Confidence of each look; with several looks it is higher, so that all of them together have 95 %."""
    return CONFIDENCE if len(taken) == 1 else LOOK_CONFIDENCE


def budget_s(budget: str, source: str = "budget") -> float:
    """A budget in seconds.

    Raises:
        ScenarioError: the text is not a time.
    """
    try:
        return parse_positive_time(budget) / PS_PER_S
    except ScenarioError as error:
        raise error.located(source=source) from None


def labelled(algorithms: Sequence[Named]) -> dict[str, str]:
    """Name of each algorithm in a scenario, by its label in tables; an algorithm that is given twice has one label.

    Raises:
        ScenarioError: there is no such algorithm.
    """
    specs: dict[str, str] = {}
    for name in algorithms:
        spec = own.pin(name)
        if not own.pinned(spec):
            catalog.check_name(spec, catalog.algorithms(), "an algorithm")
        label = own.label(spec)
        # Labels may be equal: two files with the same name in two folders, or one class with two sets of parameters.
        names = [label, *(f"{label} ({count})" for count in range(2, len(algorithms) + 1))]
        specs[next(name for name in names if specs.get(name, spec) == spec)] = spec
    return specs


@dataclass
class Bench:
    """Runs on one backend within a budget.

    Attributes:
        on, jobs, store: the arguments of :func:`elephan.sweep`.
        budget_s: wall time from ``started_s`` on; ``None`` without a budget.
        started_s: ``time.monotonic()`` of the question.
        notes: runs that were not made, for the reader.
        refused: the reason why runs do not fit into the memory; empty if they do.
        allow_programs: true to run the programs of scenarios.
        failed: the reason of each run whose program failed, by the scenario's hash and the seed.
    """

    on: str
    jobs: int | None
    store: Store | None
    budget_s: float | None
    started_s: float = field(default_factory=time.monotonic)
    notes: list[str] = field(default_factory=list)
    refused: str = ""
    allow_programs: bool = False
    failed: dict[tuple[str, int], str] = field(default_factory=dict)

    @property
    def cores(self) -> int:
        """Number of simultaneous runs; runs in real time are made one by one."""
        return 1 if self.on == "kernel" else self.jobs or cores()

    def room_s(self, until_s: float) -> float:
        """Time of all cores until a monotonic time, s."""
        return max(0.0, until_s - time.monotonic()) * self.cores

    def cost_s(self, scenario: Scenario, seeds: Iterable[int]) -> float:
        """Estimated time of the replicates that are not saved, on one core, s."""
        missing = sum(self.store is None or run_id(scenario.hash, self.on, seed) not in self.store for seed in seeds)
        return missing * takes_s(scenario, self.on)

    def fitting(
        self, cases: Iterable[_Case], of: Callable[[_Case], Iterable[Scenario]], seeds: Sequence[int], room_s: float
    ) -> set[_Case]:
        """The cases whose runs fit by estimate, the first ones first; a run of several cases counts once."""
        taken, kept = set[str](), set[_Case]()
        for case in cases:
            scenarios = {scenario.hash: scenario for scenario in of(case) if scenario.hash not in taken}
            cost_s = sum(self.cost_s(scenario, seeds) for scenario in scenarios.values())
            if cost_s <= room_s:
                room_s -= cost_s
                taken.update(scenarios)
                kept.add(case)
        return kept

    def make(
        self, runs: Sequence[Scenario], each: Callable[[Run], None], until_s: float = math.inf,
        progress: Progress | None = None,
    ) -> bool:  # fmt: skip
        """Make runs in order until a monotonic time. Returns False if not all were made.

        Raises:
            SweepError: a run failed otherwise than by a program of the user or by the memory that it needs.
        """
        try:
            sweep(
                runs, on=self.on, store=self.store, jobs=self.jobs, in_order=True, each=each,
                progress=until(until_s, progress), allow_programs=self.allow_programs,
            )  # fmt: skip
        except Cancelled:
            return False
        except SweepError as failed:
            others = []
            for failure in failed.failures:
                if isinstance(failure.error, ProgramError):
                    self.failed[failure.scenario.hash, failure.seed] = str(failure.error)
                else:
                    others.append(failure.error)
            if not others:
                return True
            if not all(isinstance(error, RunMemoryError) for error in others):
                raise
            self.refused = str(others[0])
            self.notes.append(f"not all runs were completed: {self.refused}")
            return False
        return True
