"""Several papers in one sweep: the order of the runs, and the judgment of each paper as soon as its runs are there."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import elephan.runs
from elephan import papers
from elephan.cli.main import main
from elephan.evaluation.planning import Job, Planner
from elephan.papers.paper import Paper
from elephan.papers.reproduction import Reproduction, Wanted, reproduce_all
from elephan.report import figures
from elephan.runs import Run, Store
from elephan.runs.work import work
from elephan.scenario import ScenarioError

RULES, FLUID = Wanted(figure="ALG"), Wanted(figure="F3a")


def test_the_longest_run_of_each_stage_comes_first() -> None:
    """The first seeds come before the others and these before the variants, so that an interrupted sweep is of use."""
    paper = papers.get("leith2008")
    planner = Planner()
    planner.experiments(paper.experiments.values(), 2)
    planner.one_seed((variant.title, variant.scenarios) for variant in paper.variants)
    jobs, in_plan = planner.in_order(), [job for jobs in planner.plan.values() for job in jobs]
    assert sorted(jobs, key=lambda job: (job[0].hash, job[1])) == sorted(in_plan, key=lambda job: (job[0].hash, job[1]))
    firsts = [job for phase, jobs in planner.plan.items() for job in jobs if phase in _titles(paper)]
    assert set(jobs[: len(firsts)]) == set(firsts)
    amounts = [work(scenario) for scenario, _ in jobs[: len(firsts)]]
    assert amounts == sorted(amounts, reverse=True)
    assert amounts != [work(scenario) for scenario, _ in firsts]


def _titles(paper: Paper) -> set[str]:
    return {experiment.title for experiment in paper.experiments.values()}


def test_papers_are_one_sweep_with_the_results_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps: list[int] = []
    sweep = elephan.runs.sweep

    def counted(scenarios: list[Job], **more: Any) -> Sequence[Run]:
        sweeps.append(len(scenarios))
        return sweep(scenarios, **more)

    monkeypatch.setattr(elephan.runs, "sweep", counted)
    monkeypatch.setattr(figures, "save", lambda figure, folder: [])
    paper, store, told = papers.get("leith2008", quick=True), Store(tmp_path / "store"), []
    listed = [(paper, wanted, tmp_path / str(wanted.figure)) for wanted in (RULES, FLUID, RULES)]
    together = reproduce_all(listed, jobs=1, store=store, progress=lambda *state: told.append(state))
    assert sweeps == [sum(len(Reproduction(paper, wanted).jobs) for _, wanted, _ in listed)]
    assert told[-1][2] == told[-1][3]
    for result, (_, wanted, folder) in zip(together, listed, strict=True):
        alone = papers.reproduce(paper, wanted.figure, jobs=1, store=store, out=tmp_path / "alone")
        assert [claim.to_json() for claim in result.claims] == [claim.to_json() for claim in alone.claims]
        assert [phase.runs for phase in result.phases] == [phase.runs for phase in alone.phases]
        assert result.report_path is not None
        assert result.report_path.parent == folder


def test_a_command_over_papers_collects_garbage_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def scoreboard(**_: Any) -> None:
        seen.append(gc.get_threshold()[0])
        raise ScenarioError("no further")

    before = gc.get_threshold()
    monkeypatch.setattr(papers, "scoreboard", scoreboard)
    with pytest.raises(SystemExit, match="2"):
        main(["papers"])
    assert seen == [10_000]
    assert gc.get_threshold() == before


def test_a_paper_is_judged_before_the_runs_of_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last run of the second paper fails; the first one has its report all the same."""
    paper, folder = papers.get("leith2008", quick=True), tmp_path / "rules"
    last_scenario, _ = Reproduction(paper, FLUID).jobs[-1]
    save = Store.save

    def failing(store: Store, run: Run, *, replace: bool = False) -> Run:
        if run.scenario.hash == last_scenario.hash:
            raise OSError("no space left on device")
        return save(store, run, replace=replace)

    monkeypatch.setattr(Store, "save", failing)
    with pytest.raises(elephan.runs.SweepError, match="no space left"):
        reproduce_all(
            [(paper, RULES, folder), (paper, FLUID, tmp_path / "fluid")], jobs=1, store=Store(tmp_path / "store")
        )
    assert (folder / "report.html").is_file()
    assert not (tmp_path / "fluid").exists()
