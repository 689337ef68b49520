"""Figures of the kernel's runs: each flow compared with the simulator, and the paper's figures drawn from the kernel's
runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from elephan.evaluation.evidence import Evidence
from elephan.report.charts import LineChart, LinePanel, Points
from elephan.report.figures import COLORS, Figure
from elephan.scenario.lookups import base_rtt_ps, slowest_bps

if TYPE_CHECKING:
    from elephan.papers.results import KernelColumn, PaperResult
    from elephan.runs import Run

PREFIX = "kernel-"
_OTHERS = "others"
_PS_PER_MS = 1e9
Place = tuple[float, tuple[float, ...]]
"""Values of a flow: in the kernel, and in the simulator with each seed."""

QUANTITIES = {
    "share": ("Goodput over the rate of the bottleneck", "goodput / rate"),
    "waiting_ms": ("Mean smoothed RTT without the propagation delay", "mean smoothed RTT − propagation (ms)"),
}


def figures(result: PaperResult, column: KernelColumn) -> list[Figure]:
    """All figures; none without runs."""
    beside = _beside(result, column)
    return [*([] if beside is None else [beside]), *_own(result, column.runs)]


def _own(result: PaperResult, runs: Evidence) -> Iterator[Figure]:
    """The paper's figures from runs of the kernel, without figures that need no run."""
    without = {figure.id for figure in result.paper.figures(Evidence())}
    for figure in result.paper.figures(runs) if len(runs) else ():
        if figure.id not in without:
            made: Any = figure
            yield replace(made, id=f"{PREFIX}{figure.id}", title=f"In the kernel: {figure.title}")


def _beside(result: PaperResult, column: KernelColumn) -> LineChart | None:
    """Each flow's share and RTT, in the simulator relative to the kernel."""
    places: dict[str, dict[str, list[Place]]] = {name: {} for name in QUANTITIES}
    for outcome in column.outcomes:
        simulated = result.runs.made(outcome.piece.scenario)
        if outcome.run is None or not outcome.valid or not simulated:
            continue
        for i, algorithm in enumerate(_algorithms(outcome.run)):
            for name in QUANTITIES:
                real, others = _number(outcome.run, name, i), [_number(run, name, i) for run in simulated]
                known = tuple(sorted(value for value in others if value is not None))
                if real is not None and known:
                    places[name].setdefault(algorithm, []).append((real, known))
    panels = [_panel(name, found) for name, found in places.items() if found]
    if not panels:
        return None
    return LineChart(
        id=f"{PREFIX}beside",
        title="Each flow in the simulator, compared with the same flow in the kernel",
        caption=(
            "A point is a flow of a run; on the line, both values are equal. The simulator has the paper's "
            "endpoints, and the kernel has its own. Whiskers reach from the smallest to the largest value over the "
            "simulator's seeds; the kernel has one run of each scenario."
        ),
        panels=tuple(panels),
    )


def _algorithms(run: Run) -> list[str]:
    return [flow.algorithm.partition(":")[0] for flow in run.form.flows]


def _number(run: Run, name: str, flow: int) -> float | None:
    row, spec = run.summary()["flows"][flow], run.form.flows[flow]
    if name == "share":
        return float(row["goodput_mbps"]) * 1e6 / slowest_bps(run.form, spec)
    if row.get("srtt_mean_ms") is None:
        return None
    return float(row["srtt_mean_ms"]) - base_rtt_ps(run.form, spec) / _PS_PER_MS


def _panel(name: str, found: dict[str, list[Place]]) -> LinePanel:
    title, unit = QUANTITIES[name]
    reach = max(max(real, *seeds) for places in found.values() for real, seeds in places)
    shown = list(found)[: len(COLORS) - 2]
    merged: dict[str, list[Place]] = {}
    for algorithm, places in found.items():
        merged.setdefault(algorithm if algorithm in shown else _OTHERS, []).extend(places)
    series = [_points(algorithm, style, places) for style, (algorithm, places) in enumerate(merged.items())]
    equal = Points("equal", (0.0, reach), (0.0, reach), style=len(COLORS) - 1, drawn="line")
    return LinePanel(title, f"{unit}, kernel", f"{unit}, simulator", (equal, *series))


def _points(name: str, style: int, places: Sequence[Place]) -> Points:
    return Points(
        name,
        x=[real for real, _ in places],
        y=[median(seeds) for _, seeds in places],
        low=[seeds[0] for _, seeds in places],
        high=[seeds[-1] for _, seeds in places],
        style=style,
        drawn="markers",
    )
