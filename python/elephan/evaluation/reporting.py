"""Content that the pages of all evaluations share: each run with its curves and its scenario, and the warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.report.figures import Curve
from elephan.report.series import flow_curve, link_curve
from elephan.runs import Run
from elephan.scenario import Scenario

MOST_BINS = 400
_MOST_VALUES = 400_000
"""Values of all curves of a page, so that a paper with hundreds of runs has a page that opens."""
_LEVELS = 500
"""Steps of a curve between zero and its largest value, more than a panel has pixels."""


def run_views(experiments: Iterable[Experiment], runs: Evidence, where: str = "") -> list[dict[str, Any]]:
    """For each scenario, the run with the smallest seed, listed under the first experiment that uses the scenario."""
    found: dict[str, tuple[Experiment, str, Scenario]] = {}
    for experiment in experiments:
        for label, scenario in experiment.scenarios.items():
            if runs.first(scenario) is not None:
                found.setdefault(scenario.hash, (experiment, label, scenario))
    return [*_views(found.values(), runs, where)]


def _views(found: Iterable[tuple[Experiment, str, Scenario]], runs: Evidence, where: str) -> Iterator[dict[str, Any]]:
    from elephan.metrics.reading import flow_names

    listed = [*found]
    bins = min(MOST_BINS, _MOST_VALUES // (6 * max(1, len(listed))))  # two flows and a queue, two values in a bin
    for experiment, label, scenario in listed:
        run, replicates = runs.first(scenario), runs.of(scenario)
        assert run is not None
        names = flow_names(run) if run.form.flows else []  # the scenario has only background traffic
        windows = [flow_curve(run, name, "cwnd", name, color, bins) for color, name in enumerate(names)]
        wall_s = sum(float(one.manifest.get("wall_seconds", 0.0)) for one in replicates)
        yield {
            "experiment": where + experiment.title, "label": label, "title": where + (scenario.title or label),
            "hash": str(run.manifest["scenario_hash"]), "seeds": ", ".join(str(one.seed) for one in replicates),
            "wall": f"{wall_s:.2f} s", "toml": _text(run, scenario),
            "windows": list(map(_stepped, windows)), "queue": [_stepped(_queue(run, bins))],
        }  # fmt: skip


def _queue(run: Run, bins: int) -> Curve:
    from elephan.metrics.reading import bottleneck

    return link_curve(run, bottleneck(run), "queue_mean", "queue", 6, bins)


def _text(run: Run, scenario: Scenario) -> str:
    """The scenario that was run, which a kernel's run has in another form than the experiment."""
    own = run.manifest["scenario_hash"] == scenario.hash
    return scenario.to_toml() if own else run.scenario.to_toml()


def _stepped(curve: Curve) -> dict[str, Any]:
    """A curve whose values are multiples of what a panel can show, so that a page compresses them well."""
    top = max((abs(value) for value in curve.values if value is not None), default=0.0)
    step = top / _LEVELS or 1.0
    return vars(curve) | {
        "unit": step, "values": [None if value is None else round(value / step) for value in curve.values]
    }  # fmt: skip


def warnings(runs: Evidence) -> list[str]:
    """Warnings of the runs without duplicates, each with one run that has it."""
    lines = (f"{run.manifest.get('title') or run.id}: {line}" for run in runs for line in run.warnings)
    return list(dict.fromkeys(lines))
