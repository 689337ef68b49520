"""Sections of a report that all evaluations share: the runs' pages, and the scenarios for copying."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.measurement import NotJudgedError
from elephan.report.series import flow_curve, link_curve
from elephan.scenario import Scenario

VIEW_BINS = 400


def run_views(experiments: Iterable[Experiment], runs: Evidence, where: str = "") -> Iterator[dict[str, Any]]:
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
            windows = [flow_curve(run, name, "cwnd", name, color, VIEW_BINS) for color, name in enumerate(names)]
            yield {
                "experiment": where + experiment.title, "label": label, "title": where + (scenario.title or label),
                "windows": list(map(vars, windows)),
                "queue": [vars(link_curve(run, bottleneck(run), "queue_mean", "queue", 6, VIEW_BINS))],
            }  # fmt: skip


def scenario_groups(experiments: Iterable[Experiment], runs: Evidence) -> Iterator[dict[str, Any]]:
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
            rows.append(scenario_row(scenario, label, seeds, f"{wall_s:.2f} s", scenario.hash))
        if rows:
            yield {"title": experiment.title, "rows": rows}


def scenario_row(scenario: Scenario, label: str, seeds: str, wall: str, key: str) -> dict[str, str]:
    """One scenario, for copying from the page."""
    return {"key": key, "label": label, "hash": scenario.hash, "seeds": seeds, "wall": wall,
            "toml": scenario.to_toml()}  # fmt: skip


def warnings(runs: Evidence) -> list[str]:
    """Warnings of the runs without duplicates, each with one run that has it."""
    lines = (f"{run.manifest.get('title') or run.id}: {line}" for run in runs for line in run.warnings)
    return list(dict.fromkeys(lines))
