"""Experiments as scenarios, and their finished runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.measures import measured
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.runs import Run

_OPEN_RUNS = 8


@dataclass(frozen=True)
class Experiment:
    """A set of runs under one name.

    Attributes:
        id: the experiment's id in criteria.
        title: one line.
        figure: figure or section of the document.
        scenarios: scenarios, by label; one scenario may be in several experiments and is run once.
        seeds: number of replicates that the experiment's own settings ask for.
    """

    id: str
    title: str
    figure: str
    scenarios: Mapping[str, Scenario]
    seeds: int = 1


class RunSet:
    """Finished runs by their scenario. The tables of the runs are read on access and released afterwards."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._by_hash: dict[str, dict[int, Run]] = {}
        for run in runs:
            self._by_hash.setdefault(str(run.manifest["scenario_hash"]), {})[run.seed] = run
        self._values: dict[tuple[Any, ...], Any] = {}
        self._open = lru_cache(maxsize=_OPEN_RUNS)(self._opened)

    def _opened(self, run_id: str) -> Run:
        from elephan.runs import Run

        run = next(run for run in self if run.id == run_id)
        # Read the tables through a second object for the same folder. They are released with this object, while tables
        # that the first object has read would stay in memory.
        return Run.load(run.dir) if run.saved else run

    def __iter__(self) -> Iterator[Run]:
        for replicates in self._by_hash.values():
            yield from replicates.values()

    def __len__(self) -> int:
        return sum(len(replicates) for replicates in self._by_hash.values())

    def of(self, scenario: Scenario) -> list[Run]:
        """The replicates of a scenario, in order of seed.

        Raises:
            NotJudgedError: the scenario was not run.
        """
        found = self._by_hash.get(scenario.hash)
        if not found:
            raise NotJudgedError(f"the run '{scenario.title or scenario.hash}' is not part of this selection")
        return [found[seed] for seed in sorted(found)]

    def first(self, scenario: Scenario) -> Run | None:
        """The replicate with the smallest seed, with its tables; ``None`` if the scenario was not run."""
        found = self._by_hash.get(scenario.hash)
        return self._open(found[min(found)].id) if found else None

    def metric(self, run: Run, name: str, window: tuple[float, float] | None = None, **options: Any) -> Any:
        """A registered metric of a run; computed once. ``options`` are options of the metric, such as ``flows`` (a
        tuple).

        Raises:
            NotJudgedError: the metric is not defined for this run.
        """
        key = (run.id, name, window, *sorted(options.items()))
        if key not in self._values:
            self._values[key] = measured(self._open(run.id), name, window=window, **options)
        return self._values[key]

    @property
    def replicates(self) -> int:
        """The largest number of seeds of any scenario; 0 without runs."""
        return max(map(len, self._by_hash.values()), default=0)

    def of_scenarios(self, scenarios: Iterable[Scenario]) -> RunSet:
        """The runs of some scenarios. Computed metrics are shared."""
        hashes = {scenario.hash for scenario in scenarios}
        # Keep the order of the runs: the order of a set differs between processes, and the report has this order.
        fewer = RunSet(run for name, runs in self._by_hash.items() if name in hashes for run in runs.values())
        fewer._values = self._values
        return fewer

    def first_seeds(self, count: int) -> RunSet:
        """The replicates of each scenario with the ``count`` smallest seeds. Computed metrics are shared."""
        fewer = RunSet(found[seed] for found in self._by_hash.values() for seed in sorted(found)[:count])
        fewer._values = self._values
        return fewer
