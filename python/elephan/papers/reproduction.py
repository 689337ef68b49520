"""Reproduction of a paper: runs its experiments, judges its claims, writes the report."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.planning import Planner, Running, by_phase, phase, sweep_and_judge
from elephan.papers.claims import ClaimSet
from elephan.papers.judging import Judgment, judge_all
from elephan.papers.paper import Beyond, Paper, Variant
from elephan.papers.results import Answer, PaperResult, SeedCheck, Sensitivity
from elephan.scenario import ScenarioError
from elephan.scenario.words import nearest

if TYPE_CHECKING:
    from elephan.runs import Run


@dataclass(frozen=True)
class Wanted:
    """Selection of a paper's runs, with options.

    Attributes:
        figure: only the experiments of one figure (``"2"``, ``"Fig 2"`` or ``"F2"``).
        seeds: replicates of every experiment instead of the paper's own numbers.
        sensitivity: true to run the variants of the paper with one seed each; ``None`` for the paper's default.
        beyond: also answer the question that the paper left open.
    """

    figure: str | None = None
    seeds: int | None = None
    sensitivity: bool | None = None
    beyond: bool = False


class Reproduction:
    """Reproduction of one paper: its runs, and their results.

    Raises:
        ScenarioError: there is no such figure or no open question, or the number of seeds is below one.
    """

    def __init__(self, paper: Paper, wanted: Wanted) -> None:
        if wanted.seeds is not None and wanted.seeds < 1:
            raise ScenarioError(f"{wanted.seeds} is not a number of seeds; it is at least 1", path="seeds")
        if wanted.beyond and paper.beyond is None:
            raise ScenarioError(f"{paper.id} has no question beyond the paper", path="beyond")
        self.paper = paper
        self.chosen, self.selection = select(paper, wanted.figure)
        self.variants = _variants(paper, wanted)
        self.beyond = paper.beyond if wanted.beyond else None
        planner = Planner()
        planner.experiments(self.chosen.values(), wanted.seeds)
        planner.one_seed((variant.title, variant.scenarios) for variant in self.variants)
        if self.beyond is not None:
            planner.experiments(self.beyond.experiments.values(), wanted.seeds)
        self.plan = planner.plan
        self.jobs = planner.in_order()

    def judge(self, found: Mapping[str, Run], wall_seconds: float) -> PaperResult:
        """The verdicts from finished runs, given by id; ``wall_seconds`` is the time spent on these runs."""
        listed = by_phase(self.plan, found)
        phases = [phase(name, runs) for name, runs in listed.items()]
        every = Evidence(run for runs in listed.values() for run in runs)
        own = every.of_scenarios(s for e in self.chosen.values() for s in e.scenarios.values())
        paper = self.paper
        claims = paper.claims.of_experiments(self.chosen) if self.selection else paper.claims
        judged = judge_all(claims, paper.measurer(own), paper.explanations, reduced=paper.reduced)
        before = (
            judge_all(claims, paper.measurer(own.first_seeds(1)), intervals=False, reduced=paper.reduced)
            if self.variants
            else []
        )
        sensitivity = [_compare(variant, every, before, claims, own) for variant in self.variants]
        return PaperResult(
            paper,
            [_dependent(judgment, sensitivity) for judgment in judged],
            own,
            sensitivity=sensitivity,
            seed_checks=_seed_checks(paper, claims, own, judged),
            phases=phases,
            wall_seconds=wall_seconds,
            selection=", ".join(filter(None, [self.selection, "quick" if paper.quick else ""])),
            beyond=None if self.beyond is None else _answered(self.beyond, every),
        )


def reproduce_all(papers: Iterable[tuple[Paper, Wanted, Path]], **running: Unpack[Running]) -> list[PaperResult]:
    """Reproduce several papers, each with the folder of its report; progress covers all papers.

    All runs are one sweep, and a paper is judged while later papers are run (:func:`sweep_and_judge`).
    """
    from elephan.papers.reporting import write

    listed = [(Reproduction(paper, wanted), folder) for paper, wanted, folder in papers]

    def finish(i: int, found: Mapping[str, Run], wall_s: float) -> PaperResult:
        reproduction, folder = listed[i]
        result = reproduction.judge(found, wall_s)
        result.report_path = write(result, folder)
        return result

    each = [reproduction.jobs for reproduction, _ in listed]
    return sweep_and_judge(each, finish, **running)


def _variants(paper: Paper, wanted: Wanted) -> tuple[Variant, ...]:
    """The variants to run: all or none by the caller's choice, else the paper's default."""
    if wanted.sensitivity is not None:
        return paper.variants if wanted.sensitivity else ()
    if wanted.figure is not None or paper.quick:
        return ()
    return tuple(variant for variant in paper.variants if paper.variants_by_default or variant.by_default)


def _dependent(judgment: Judgment, sensitivity: Iterable[Sensitivity]) -> Judgment:
    """The judgment of a claim, with the variants that change the verdict."""
    names = [row.variant.id for row in sensitivity if judgment.claim.id in (*row.gained, *row.lost)]
    return replace(judgment, depends_on=tuple(names)) if names else judgment


def _seed_checks(paper: Paper, claims: ClaimSet, own: Evidence, judged: Sequence[Judgment]) -> list[SeedCheck]:
    """Verdicts with fewer seeds; empty if no claim has more than one seed."""
    several = {judgment.claim.id: judgment for judgment in judged if judgment.support is not None}
    if not several:
        return []
    some = replace(claims, claims=tuple(claim for claim in claims.claims if claim.id in several))
    checks = []
    for count in range(1, own.replicates):
        fewer = judge_all(some, paper.measurer(own.first_seeds(count)), intervals=False, reduced=paper.reduced)
        other = sum(judgment.verdict != several[judgment.claim.id].verdict for judgment in fewer)
        checks.append(SeedCheck(count, len(fewer), other))
    return checks


def _answered(beyond: Beyond, every: Evidence) -> Answer:
    runs = every.of_scenarios(s for e in beyond.experiments.values() for s in e.scenarios.values())
    return Answer(beyond, runs, tuple(beyond.answer(runs)))


def select(paper: Paper, figure: str | None) -> tuple[dict[str, Experiment], str]:
    """The experiments to run, and the selection in words; the words are empty for the whole paper.

    Raises:
        ScenarioError: no experiment has this figure.
    """
    chosen = dict(paper.experiments)
    if figure is None:
        return chosen, ""
    names = {name: _figure_names(experiment) for name, experiment in chosen.items()}
    wanted = figure.strip().casefold()
    chosen = {name: chosen[name] for name, spellings in names.items() if wanted in spellings}
    if not chosen:
        known = sorted({spellings[0] for spellings in names.values()})
        near = nearest(figure, known)
        meant = f"did you mean '{near}'?" if near else f"it has {', '.join(known)}"
        raise ScenarioError(f"'{figure}' is not a figure of {paper.id}; {meant}", path="figure")
    return chosen, ", ".join(experiment.figure for experiment in chosen.values())


def _figure_names(experiment: Experiment) -> list[str]:
    """Names by which a user may request an experiment: its id, its figures, and the numbers of its figures.

    For example, an experiment with "Fig 2a, 7a" has the names 2a, F2a, 7a, 2 and 7.
    """
    figure = experiment.figure.casefold()
    panels = [part.strip().replace("(", "").replace(")", "") for part in figure.removeprefix("fig ").split(",")]
    numbers = [match[0] for panel in panels if (match := re.match(r"\d+", panel))]
    spellings = [form for name in (*panels, *numbers) for form in (name, f"f{name}", f"fig {name}")]
    short = experiment.id.partition(".")[2].casefold()
    return [short, figure, figure.removeprefix("fig "), experiment.id.casefold(), *spellings]


def _compare(variant: Variant, every: Evidence, before: list[Judgment], claims: ClaimSet, own: Evidence) -> Sensitivity:
    """Comparison of a variant's verdicts with the verdicts of the paper's own setup with the same seed."""
    after = judge_all(claims, variant.measurer(every.first_seeds(1)), intervals=False)
    both = [(a, b) for a, b in zip(after, before, strict=True) if "not_judged" not in (a.verdict, b.verdict)]
    # Only the claims that the variant affects: a claim with the same runs and the same measurer has the same verdict.
    changed = [(a, b) for a, b in both if a.runs != b.runs or not _same(a.measured, b.measured)]
    hashes = {str(run.manifest["scenario_hash"]) for run in own}
    return Sensitivity(
        variant=variant,
        scenarios=tuple(scenario.hash for scenario in variant.scenarios if scenario.hash not in hashes),
        judged=len(changed),
        reproduced=sum(a.verdict == "reproduced" for a, _ in changed),
        reproduced_before=sum(b.verdict == "reproduced" for _, b in changed),
        gained=tuple(a.claim.id for a, b in changed if a.verdict == "reproduced" and b.verdict == "differs"),
        lost=tuple(a.claim.id for a, b in changed if a.verdict == "differs" and b.verdict == "reproduced"),
    )


def _same(one: float | None, other: float | None) -> bool:
    return one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=1e-12))
