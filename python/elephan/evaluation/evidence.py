"""Evidence: finished runs by scenario and seed, and the numbers that are read from them.

Papers and suites are judged by it. Each number of a run is computed once, and a run's tables are released afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

from elephan.evaluation.measurement import Measurement, NotJudgedError
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.runs import Run

_OPEN_RUNS = 8
_Key = TypeVar("_Key", bound=Hashable)
_COMBINED: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "max": max, "min": min, "sum": math.fsum}


def measured(run: Run, metric: str, **options: Any) -> Any:
    """A registered metric of a run: a number, or a number for each flow; ``options`` that are ``None`` are left out.

    Raises:
        NotJudgedError: the metric is not defined for this run.
    """
    from elephan.metrics import MetricError, get

    try:
        return get(metric)(run, **{name: value for name, value in options.items() if value is not None})
    except MetricError as error:
        raise NotJudgedError(str(error)) from error


@dataclass(frozen=True)
class Probe:
    """A number of a run.

    Attributes:
        metric: name of the metric in the registry.
        flows: the measured flows; all by default.
        over: function that combines the values of several flows.
        link: the measured link.
        window: the window, in fractions of the duration.
    """

    metric: str
    flows: tuple[str, ...] | None = None
    over: str = "mean"
    link: str | None = None
    window: tuple[float, float] | None = None


class Evidence:
    """Finished runs. Their tables are read on access and released afterwards."""

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._by_hash: dict[str, dict[int, Run]] = {}
        self._by_id: dict[str, Run] = {}
        self._values: dict[tuple[Any, ...], Any] = {}
        self._wanted: dict[str, set[Probe]] = {}
        # A second object for the same folder is released with its tables, while the first one would keep them.
        self._open = lru_cache(maxsize=_OPEN_RUNS)(lambda run_id: self._by_id[run_id].reread())
        for run in runs:
            self.add(run)

    def want(self, probes: Iterable[tuple[Scenario, Probe]]) -> None:
        """Name numbers that will be needed of the runs of scenarios, so that they are read while others are made."""
        for scenario, probe in probes:
            self._wanted.setdefault(scenario.hash, set()).add(probe)

    def add(self, run: Run, stands_for: str | None = None) -> None:
        """Add a run, and read the numbers that are wanted of it; ``stands_for`` is the hash of another scenario that it
        replaces."""
        name = stands_for or str(run.manifest["scenario_hash"])
        self._by_hash.setdefault(name, {})[run.seed] = self._by_id[run.id] = run
        for probe in self._wanted.get(name, ()):
            with suppress(NotJudgedError):  # raised again where the number is used
                self.read(run, probe)

    def __iter__(self) -> Iterator[Run]:
        for replicates in self._by_hash.values():
            yield from replicates.values()

    def __len__(self) -> int:
        return sum(len(replicates) for replicates in self._by_hash.values())

    def has(self, scenario: Scenario, seed: int) -> bool:
        """True if a replicate of a scenario was run."""
        return seed in self._by_hash.get(scenario.hash, {})

    def of(self, scenario: Scenario) -> list[Run]:
        """The replicates of a scenario, in order of seed.

        Raises:
            NotJudgedError: the scenario was not run.
        """
        found = self.made(scenario)
        if not found:
            raise NotJudgedError(f"the run '{scenario.title or scenario.hash}' is not part of this selection")
        return found

    def made(self, scenario: Scenario) -> list[Run]:
        """The replicates of a scenario, in order of seed; none if it was not run."""
        found = self._by_hash.get(scenario.hash, {})
        return [found[seed] for seed in sorted(found)]

    def replicate(self, scenario: Scenario, seed: int) -> Run:
        """The run of a scenario with a seed; :meth:`has` says if there is one."""
        return self._by_hash[scenario.hash][seed]

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
            try:
                self._values[key] = measured(self._open(run.id), name, window=window, **options)
            except NotJudgedError as error:
                self._values[key] = error
        if isinstance(self._values[key], NotJudgedError):
            raise NotJudgedError(str(self._values[key]))
        return self._values[key]

    def values(
        self, scenario: Scenario, metric: str, flow: str | None = None, window: tuple[float, float] | None = None,
        **options: Any,
    ) -> Measurement:  # fmt: skip
        """A registered metric of a scenario's runs, with one value for each seed.

        Args:
            scenario: the scenario whose runs are measured.
            metric: name in the registry.
            flow: the flow whose value is used, for a metric with a value for each flow.
            window: time window, in seconds; by default the measurement window.
            options: the metric's options; ``flows`` is the flow alone if not stated.

        Raises:
            NotJudgedError: the scenario was not run, or the metric is not defined for a run.
        """
        if flow is not None:
            options = {"flows": (flow,), **options}
        runs = self.of(scenario)
        found = [self.metric(run, metric, window, **options) for run in runs]
        sample = (float(value[flow] if isinstance(value, dict) else value) for value in found)
        return Measurement(tuple(sample), runs=tuple(run.id for run in runs))

    def of_each(
        self, scenarios: Mapping[_Key, Scenario], metric: str, flow: str | None = None,
        window: tuple[float, float] | None = None,
    ) -> dict[_Key, Measurement]:  # fmt: skip
        """The :meth:`values` of several scenarios, without those that were not run or whose metric is not defined."""
        found = {}
        for key, scenario in scenarios.items():
            with suppress(NotJudgedError):
                found[key] = self.values(scenario, metric, flow, window)
        return found

    def read(self, run: Run, probe: Probe) -> float:
        """The number of a run that a probe names.

        Raises:
            NotJudgedError: the number is not defined for this run.
        """
        from elephan.metrics.reading import duration_s

        stated = {"flows": probe.flows, "link": probe.link}
        options = {name: value for name, value in stated.items() if value is not None}
        start, end = probe.window or (math.nan, math.nan)
        window = None if probe.window is None else (start * duration_s(run), end * duration_s(run))
        found = self.metric(run, probe.metric, window, **options)
        value = float(_COMBINED[probe.over](list(found.values())) if isinstance(found, dict) else found)
        if math.isnan(value):
            raise NotJudgedError(f"{probe.metric} is not a number")
        return value

    @property
    def replicates(self) -> int:
        """The largest number of seeds of any scenario; 0 without runs."""
        return max(map(len, self._by_hash.values()), default=0)

    def of_scenarios(self, scenarios: Iterable[Scenario]) -> Evidence:
        """The runs of some scenarios. Computed metrics are shared."""
        hashes = {scenario.hash for scenario in scenarios}
        # Keep the order of the runs: the order of a set differs between processes, and the report has this order.
        return self._shared(run for name, runs in self._by_hash.items() if name in hashes for run in runs.values())

    def first_seeds(self, count: int) -> Evidence:
        """The replicates of each scenario with the ``count`` smallest seeds. Computed metrics are shared."""
        return self._shared(found[seed] for found in self._by_hash.values() for seed in sorted(found)[:count])

    def _shared(self, runs: Iterable[Run]) -> Evidence:
        fewer = Evidence(runs)
        fewer._values = self._values
        return fewer
