"""Reproducing a paper: run what it ran, judge what it says, write the report."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.papers.claims import ClaimSet, Judgment, judge_all, totals
from elephan.papers.paper import Experiment, Paper, RunSet, Variant
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.runs import Run, Store

Progress = Callable[[float, float, int, int], bool | None]
"""Simulated seconds done and in all, runs finished and in all; returning ``False`` cancels."""

Job = tuple[Scenario, int]


@dataclass(frozen=True)
class Sensitivity:
    """What another reading of the paper does to its verdicts, one seed each.

    Attributes:
        variant: the reading.
        runs: how many runs it needed that the paper's own setup had not.
        judged: claims that both could judge.
        reproduced: of those, under this reading.
        reproduced_before: of those, under the paper's own setup with the same seed.
        gained: ids that hold under this reading only.
        lost: ids that hold under the paper's own setup only.
    """

    variant: Variant
    runs: int
    judged: int
    reproduced: int
    reproduced_before: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As in the ``paper`` document."""
        return {
            "variant": self.variant.id,
            "title": self.variant.title,
            "runs": self.runs,
            "judged": self.judged,
            "reproduced": self.reproduced,
            "reproduced_before": self.reproduced_before,
            "gained": list(self.gained),
            "lost": list(self.lost),
        }


@dataclass(frozen=True)
class Phase:
    """One part of the work and what it took.

    Attributes:
        name: what was run.
        runs: how many.
        wall_seconds: from its first to its last.
    """

    name: str
    runs: int
    wall_seconds: float


@dataclass
class PaperResult:
    """A reproduced paper.

    Attributes:
        paper: what was reproduced.
        claims: every claim of the selection with its verdict.
        runs: the runs behind them.
        sensitivity: other readings.
        phases: what the work took.
        selection: what part of the paper was run; empty for all of it.
        report_path: the HTML report.
    """

    paper: Paper
    claims: list[Judgment]
    runs: RunSet
    sensitivity: list[Sensitivity] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    selection: str = ""
    report_path: Path | None = None

    @property
    def totals(self) -> dict[str, int]:
        """Claims by verdict."""
        return totals(self.claims)

    @property
    def firm(self) -> dict[str, int]:
        """As ``totals``, of the claims that the paper states plainly and that hang little on what it leaves open."""
        return totals(judgment for judgment in self.claims if judgment.claim.firm)

    @property
    def wall_seconds(self) -> float:
        """Time spent on runs; what was saved already costs nothing."""
        return sum(phase.wall_seconds for phase in self.phases)

    @property
    def segments_delivered(self) -> int:
        """Segments delivered in all runs of the paper's own setup."""
        return sum(int(run.summary()["segments_delivered"]) for run in self.runs)

    def to_json(self) -> dict[str, Any]:
        """The document that ``elephan paper --json`` prints."""
        return {
            "paper": self.paper.id,
            "selection": self.selection,
            "claims": [judgment.to_json() for judgment in self.claims],
            "totals": self.totals,
            "certain_and_robust": self.firm,
            "runs": len(self.runs),
            "segments_delivered": self.segments_delivered,
            "wall_seconds": self.wall_seconds,
            "phases": [
                {"name": phase.name, "runs": phase.runs, "wall_seconds": phase.wall_seconds} for phase in self.phases
            ],
            "sensitivity": [row.to_json() for row in self.sensitivity],
            "report": str(self.report_path) if self.report_path else None,
        }


def reproduce(
    paper: Paper,
    *,
    figure: str | None = None,
    quick: bool = False,
    jobs: int | None = None,
    store: Store | None = None,
    out: str | Path | None = None,
    seeds: int | None = None,
    sensitivity: bool | None = None,
    progress: Progress | None = None,
) -> PaperResult:
    """Run a paper's experiments, judge its claims, and write the report; what is saved is not run again.

    Args:
        paper: which.
        figure: only the experiments of one figure (``"2"``, ``"Fig 2"`` or ``"F2"``).
        quick: one seed, and without a figure only the paper's quick part (of weigle2006, Figures 3 to 8).
        jobs: runs at a time; one a core by default.
        store: where results are kept.
        out: folder of the report; ``reports/<id>`` by default.
        seeds: replicates of every experiment instead of the paper's own numbers.
        sensitivity: run the other readings of the paper as well, one seed each; not by default, since it doubles the
            work.
        progress: told how far it is.

    Raises:
        ScenarioError: no such figure, or fewer than one seed.
        SweepError: a run failed.
        Interrupted: Ctrl-C; what was finished is saved.
    """
    from elephan.runs import Store

    store = store or Store()
    chosen, selection = select(paper, figure, quick)
    if seeds is not None and seeds < 1:
        raise ScenarioError(f"{seeds} is not a number of seeds; it is at least 1", path="seeds")
    variants = paper.variants if sensitivity else ()
    plan = _plan(chosen, variants, seeds)
    counter = _Counter(plan, progress)
    found: dict[str, list[Run]] = {}
    phases = []
    for name, tasks in plan.items():
        started_s = time.perf_counter()
        found[name] = _run(tasks, jobs, store, counter)
        phases.append(Phase(name, len(tasks), time.perf_counter() - started_s))
    own = RunSet(run for name, group in found.items() if name not in {v.title for v in variants} for run in group)
    every = RunSet(run for group in found.values() for run in group)
    claims = paper.claims.of_experiments(chosen) if selection else paper.claims
    result = PaperResult(paper, judge_all(claims, paper.measurer(own), paper.findings), own, phases=phases)
    result.selection = selection
    before = judge_all(claims, paper.measurer(own.only_first_seed())) if variants else []
    result.sensitivity = [_compare(variant, every, before, claims, own) for variant in variants]
    folder = Path(out) if out is not None else Path("reports") / paper.id
    from elephan.papers.reporting import write

    result.report_path = write(result, folder)
    return result


def evaluate(paper: Paper, runs: Iterable[Run]) -> list[Judgment]:
    """Judge a paper's claims by runs that are there; claims whose runs are missing are not judged."""
    return judge_all(paper.claims, paper.measurer(RunSet(runs)), paper.findings)


def select(paper: Paper, figure: str | None, quick: bool) -> tuple[dict[str, Experiment], str]:
    """The experiments to run, and in words what part of the paper they are; no words for all of it.

    Raises:
        ScenarioError: no experiment is of this figure.
    """
    chosen = dict(paper.experiments)
    words = []
    if figure is not None:
        names = {name: _figure_names(experiment) for name, experiment in chosen.items()}
        wanted = figure.strip().casefold()
        chosen = {name: chosen[name] for name, spellings in names.items() if wanted in spellings}
        if not chosen:
            known = sorted({spellings[0] for spellings in names.values()})
            raise ScenarioError(f"'{figure}' is not a figure of {paper.id}; {hint(figure, known)}", path="figure")
        words.append(", ".join(experiment.figure for experiment in chosen.values()))
    if quick:
        kept = [name for name in chosen if figure is not None or name in paper.quick]
        chosen = {name: replace(chosen[name], seeds=1) for name in kept}
        words.append("quick, one seed")
    return chosen, ", ".join(words)


def _figure_names(experiment: Experiment) -> list[str]:
    short = experiment.id.partition(".")[2].casefold()
    figure = experiment.figure.casefold()
    return [short, figure, figure.removeprefix("fig "), experiment.id.casefold()]


def _plan(
    experiments: Mapping[str, Experiment], variants: Iterable[Variant], seeds: int | None
) -> dict[str, list[Job]]:
    """What to run, by phase: each experiment, then each variant; a job is in the first phase that asks for it.

    The first seeds of all experiments come before the others, so that an interrupted reproduction is most of one.
    """
    plan: dict[str, list[Job]] = {}
    seen: set[tuple[str, int]] = set()

    def add(phase: str, scenario: Scenario, seed: int) -> None:
        if (scenario.hash, seed) not in seen:
            seen.add((scenario.hash, seed))
            plan.setdefault(phase, []).append((scenario, seed))

    for first in (True, False):
        for experiment in experiments.values():
            for scenario in experiment.scenarios.values():
                count = (seeds or experiment.seeds) if scenario.is_random else 1
                for offset in range(count):
                    if (offset == 0) == first:
                        phase = experiment.title if first else f"{experiment.title}: more seeds"
                        add(phase, scenario, scenario.seed + offset)
    for variant in variants:
        for scenario in variant.scenarios:
            add(variant.title, scenario, scenario.seed)
    return plan


class _Counter:
    """Adds the progress of consecutive sweeps."""

    def __init__(self, plan: Mapping[str, list[Job]], progress: Progress | None) -> None:
        jobs = [job for tasks in plan.values() for job in tasks]
        self._total_s = sum(_seconds(scenario) for scenario, _ in jobs)
        self._runs = len(jobs)
        self._done_s = 0.0
        self._finished = 0
        self._progress = progress

    def report(self, done_s: float, total_s: float, finished: int, runs: int) -> bool | None:
        if self._progress is None:
            return None
        return self._progress(self._done_s + done_s, self._total_s, self._finished + finished, self._runs)

    def close(self, tasks: list[Job]) -> None:
        self._done_s += sum(_seconds(scenario) for scenario, _ in tasks)
        self._finished += len(tasks)


def _seconds(scenario: Scenario) -> float:
    return float(scenario.canonical()["duration_ps"]) / 1e12


def _run(tasks: list[Job], jobs: int | None, store: Store, counter: _Counter) -> list[Run]:
    from elephan.runs import sweep

    runs = sweep(tasks, jobs=jobs, store=store, progress=counter.report)
    counter.close(tasks)
    return runs


def _compare(variant: Variant, every: RunSet, before: list[Judgment], claims: ClaimSet, own: RunSet) -> Sensitivity:
    """A variant's verdicts beside those of the paper's own setup with the same seed."""
    after = judge_all(claims, variant.measurer(every.only_first_seed()))
    both = [(a, b) for a, b in zip(after, before, strict=True) if "not_judged" not in (a.verdict, b.verdict)]
    # Only what the variant touches: a claim that is judged by the very same runs and in the same way cannot change.
    changed = [(a, b) for a, b in both if a.runs != b.runs or not _same(a.measured, b.measured)]
    hashes = {str(run.manifest["scenario_hash"]) for run in own}
    return Sensitivity(
        variant=variant,
        runs=sum(scenario.hash not in hashes for scenario in variant.scenarios),
        judged=len(changed),
        reproduced=sum(a.verdict == "reproduced" for a, _ in changed),
        reproduced_before=sum(b.verdict == "reproduced" for _, b in changed),
        gained=tuple(a.claim.id for a, b in changed if a.verdict == "reproduced" and b.verdict == "differs"),
        lost=tuple(a.claim.id for a, b in changed if a.verdict == "differs" and b.verdict == "reproduced"),
    )


def _same(one: float | None, other: float | None) -> bool:
    return one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=1e-12))
