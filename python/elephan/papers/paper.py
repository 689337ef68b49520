"""What a paper is made of: its experiments as scenarios, its claims, and what it leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from elephan.papers.claims import ClaimSet, Measurer
from elephan.papers.measurement import NotJudgedError
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.report.figures import Figure
    from elephan.runs import Run

_OPEN_RUNS = 8


@dataclass(frozen=True)
class Assumption:
    """Something that the paper does not state, and what was taken for it.

    Attributes:
        name: short.
        value: what the experiments use.
        reason: why.
    """

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class Experiment:
    """A set of runs that the paper speaks of under one name.

    Attributes:
        id: as in the claims file.
        title: one line.
        figure: figure or section.
        scenarios: by label; one scenario may be in several experiments and is run once.
        seeds: how many replicates the paper's own settings ask for.
    """

    id: str
    title: str
    figure: str
    scenarios: Mapping[str, Scenario]
    seeds: int = 1


@dataclass(frozen=True)
class Variant:
    """Another reading of what the paper leaves open, to see which verdicts hang on it.

    Attributes:
        id: short.
        title: what is changed.
        scenarios: what has to be run for it; a scenario that it does not change is shared with the paper's own.
        measurer: how subjects are measured under it.
        by_default: run it with the paper, though the paper's other readings are not.
    """

    id: str
    title: str
    scenarios: tuple[Scenario, ...]
    measurer: Callable[[RunSet], Measurer]
    by_default: bool = False


@dataclass(frozen=True)
class Beyond:
    """A question that a paper left open, answered with the same machinery.

    Attributes:
        question: in one sentence.
        why: why it is worth an answer, and what the paper says of it.
        experiments: what is run for it, by id.
        figures: draws the answer; figures whose runs are missing are left out.
        answer: sentences built from measured values only.
    """

    question: str
    why: str
    experiments: Mapping[str, Experiment]
    figures: Callable[[RunSet], Sequence[Figure]]
    answer: Callable[[RunSet], Sequence[str]]


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes:
        id: as in claims and commands.
        title: the paper's.
        reference: authors, venue, year.
        claims: what it says.
        experiments: what it ran, by id; the first is its main one.
        quick: the experiments are small ones, for a first look: the same shapes at about a tenth of the work.
        quick_note: what ``quick`` made smaller.
        assumptions: what it leaves open.
        variants: other readings of that.
        variants_by_default: run them with the paper; otherwise only when asked, since there are many.
        beyond: a question that the paper left open; run only when asked.
        measurer: how its subjects are measured.
        figures: draws its figures from runs; figures whose runs are missing are left out.
        findings: our explanations of differences, by claim id.
    """

    id: str
    title: str
    reference: str
    claims: ClaimSet
    experiments: Mapping[str, Experiment]
    measurer: Callable[[RunSet], Measurer]
    figures: Callable[[RunSet], Sequence[Figure]]
    quick: bool = False
    quick_note: str = ""
    assumptions: tuple[Assumption, ...] = ()
    variants: tuple[Variant, ...] = ()
    variants_by_default: bool = False
    findings: Mapping[str, str] = field(default_factory=dict)
    beyond: Beyond | None = None


class RunSet:
    """The finished runs of a paper, found by their scenario; tables are read when looked at and not all kept open."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._by_hash: dict[str, dict[int, Run]] = {}
        for run in runs:
            self._by_hash.setdefault(str(run.manifest["scenario_hash"]), {})[run.seed] = run
        self._values: dict[tuple[Any, ...], Any] = {}
        self._open = lru_cache(maxsize=_OPEN_RUNS)(self._opened)

    def _opened(self, run_id: str) -> Run:
        from elephan.runs import Run

        run = next(run for run in self if run.id == run_id)
        # A second object for the same folder: its tables go away with it, those of the first would stay.
        return Run.load(run.dir) if run.saved else run

    def __iter__(self) -> Iterator[Run]:
        for replicates in self._by_hash.values():
            yield from replicates.values()

    def __len__(self) -> int:
        return sum(len(replicates) for replicates in self._by_hash.values())

    def of(self, scenario: Scenario) -> list[Run]:
        """The replicates of a scenario, in order of seed.

        Raises:
            NotJudgedError: it was not run.
        """
        found = self._by_hash.get(scenario.hash)
        if not found:
            raise NotJudgedError(f"the run '{scenario.title or scenario.hash}' is not part of this selection")
        return [found[seed] for seed in sorted(found)]

    def first(self, scenario: Scenario) -> Run | None:
        """The replicate with the smallest seed, with its tables; ``None`` when it was not run."""
        found = self._by_hash.get(scenario.hash)
        return self._open(found[min(found)].id) if found else None

    def metric(self, run: Run, name: str, window: tuple[float, float] | None = None, **options: Any) -> Any:
        """A registered metric of a run; computed once. ``options`` are the metric's own, such as ``flows`` (a tuple).

        Raises:
            NotJudgedError: it is not defined for this run.
        """
        from elephan import metrics

        key = (run.id, name, window, *sorted(options.items()))
        if key not in self._values:
            opened = self._open(run.id)
            try:
                self._values[key] = metrics.get(name)(opened, window=window, **options)
            except metrics.MetricError as error:
                raise NotJudgedError(str(error)) from error
        return self._values[key]

    @property
    def replicates(self) -> int:
        """The largest number of seeds of any scenario; 0 without runs."""
        return max(map(len, self._by_hash.values()), default=0)

    def of_scenarios(self, scenarios: Iterable[Scenario]) -> RunSet:
        """The runs of some scenarios. Computed metrics are shared."""
        hashes = {scenario.hash for scenario in scenarios}
        # In the order of the runs: that of a set differs from process to process, and reports with it.
        fewer = RunSet(run for name, runs in self._by_hash.items() if name in hashes for run in runs.values())
        fewer._values = self._values
        return fewer

    def first_seeds(self, count: int) -> RunSet:
        """Of each scenario the replicates with the ``count`` smallest seeds. Computed metrics are shared."""
        fewer = RunSet(found[seed] for found in self._by_hash.values() for seed in sorted(found)[:count])
        fewer._values = self._values
        return fewer
