"""Sections of a report that all evaluations share: the runs' pages, the scenarios for copying, and provenance."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from elephan.evaluation.experiments import Experiment, RunSet
from elephan.evaluation.measurement import NotJudgedError
from elephan.report.provenance import facts
from elephan.report.series import flow_curve, link_curve
from elephan.report.views import RunView, ScenarioGroup, ScenarioRow

VIEW_BINS = 400


def run_views(experiments: Iterable[Experiment], runs: RunSet, where: str = "") -> Iterator[RunView]:
    """For each scenario, the run with the smallest seed, listed under the first experiment that uses the scenario."""
    from elephan.metrics.reading import bottleneck, flow_names

    seen: set[str] = set()
    for experiment in experiments:
        for label, scenario in experiment.scenarios.items():
            run = runs.first(scenario)
            if run is None or scenario.hash in seen:
                continue
            seen.add(scenario.hash)
            names = flow_names(run) if run.form.flows else []  # the scenario has only background traffic
            windows = tuple(flow_curve(run, name, "cwnd", name, color, VIEW_BINS) for color, name in enumerate(names))
            queue = (link_curve(run, bottleneck(run), "queue_mean", "queue", 6, VIEW_BINS),)
            yield RunView(where + experiment.title, label, where + (scenario.title or label), windows, queue)


def scenario_groups(experiments: Iterable[Experiment], runs: RunSet) -> Iterator[ScenarioGroup]:
    """Each scenario that was run, listed under the first experiment that uses it."""
    seen: set[str] = set()
    for experiment in experiments:
        rows = []
        for label, scenario in experiment.scenarios.items():
            if scenario.hash in seen:
                continue
            try:
                replicates = runs.of(scenario)
            except NotJudgedError:
                continue
            seen.add(scenario.hash)
            wall_s = sum(float(run.manifest.get("wall_seconds", 0.0)) for run in replicates)
            seeds = ", ".join(str(run.seed) for run in replicates)
            rows.append(ScenarioRow(scenario.hash, label, scenario.hash, seeds, f"{wall_s:.2f} s", scenario.to_toml()))
        if rows:
            yield ScenarioGroup(experiment.title, tuple(rows))


def warnings(runs: RunSet) -> list[str]:
    """Warnings of the runs without duplicates, each with one run that has it."""
    lines = (f"{run.manifest.get('title') or run.id}: {line}" for run in runs for line in run.warnings)
    return list(dict.fromkeys(lines))


def provenance(runs: RunSet) -> list[tuple[str, str]]:
    """The engine version of the runs, and the command that reproduces them."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""
    rows = [(name, value) for name, value in facts(runs) if name != "command"]
    return [("command", command), *rows]
