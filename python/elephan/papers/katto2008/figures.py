"""The figures of katto2008: models as lines, simulations as markers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from elephan.models import abstracted, hybrid
from elephan.papers.katto2008.measure import IDEALS
from elephan.papers.katto2008.setup import CANDIDATES, GRID, HYBRIDS, PIPE, PROTOCOLS, TITLES, Setup
from elephan.papers.measurement import NotJudgedError
from elephan.papers.paper import RunSet
from elephan.report.charts import BarChart, BarPanel, Bars, LineChart, LinePanel, Points
from elephan.report.figures import Figure

STYLES = {"reno": 0, "loss": 0, "fast": 1, "delay": 1, "ctcp": 2, "areno": 3, "yeah": 4, "fusion": 5, "hybrid": 6}
SHORT_TITLES = {"reno": "Reno", "fusion": "Fusion"}
LINE = np.geomspace(1e-6, 1e-1, 161)


def figures(runs: RunSet, setup: Setup) -> Sequence[Figure]:
    """Every figure whose runs are there; those of the models alone need none."""
    return [*_throughputs(runs, setup), *_short_flows(runs, setup)]


def _throughputs(runs: RunSet, setup: Setup) -> Iterator[Figure]:
    panels = []
    for flows, title in ((1, "(a) one flow"), (2, "(b) beside a TCP-Reno flow")):
        simulated = [points for name in PROTOCOLS if (points := _simulated(runs, setup, name, flows)) is not None]
        if simulated:
            borders = tuple(float(p) for p in hybrid.borders(PIPE.bdp, flows))
            series = (*_models(setup, flows), *simulated)
            panels.append(
                LinePanel(title, "packet loss rate", "throughput (Mbit/s)", series, log_x=True, borders=borders)
            )
    if panels:
        yield LineChart(
            "figure7",
            "Figure 7: throughput over the loss rate",
            "Lines are the models (equation 4), markers simulations: the median over seeds and their range. Dashed "
            "lines are the borders between cases 1, 2 and 3. With a buffer of one BDP the simulated window cannot "
            "exceed two, so that a flow's own losses at the full queue keep it at the first border, left of which the "
            "models go on.",
            tuple(panels),
        )


def _models(setup: Setup, flows: int) -> Iterator[Points]:
    ideals = IDEALS if flows == 1 else ("loss", "hybrid")
    for control in ideals:
        rates = hybrid.ideal_mbps(control, LINE, PIPE, flows)  # type: ignore[arg-type]  # one of the three
        yield Points(f"{control} (ideal)", LINE.tolist(), rates.tolist(), style=STYLES[control], drawn="line")
    for name in HYBRIDS:
        rates = abstracted.hybrid_mbps(setup.model(name, flows), LINE, PIPE, flows)
        yield Points(f"{TITLES[name]} (model)", LINE.tolist(), rates.tolist(), style=STYLES[name], drawn="line")


def _simulated(runs: RunSet, setup: Setup, protocol: str, flows: int) -> Points | None:
    found = []
    for p in GRID:
        try:
            replicates = runs.of(setup.sweep(protocol, p, flows))
        except NotJudgedError:
            continue
        rates = [runs.metric(run, "throughput_mbps")[setup.name(protocol)] for run in replicates]
        found.append((p, median(rates), min(rates), max(rates)))
    if not found:
        return None
    x, middle, low, high = (list(column) for column in zip(*found, strict=True))
    return Points(f"{TITLES[protocol]} (run)", x, middle, low, high, STYLES[protocol], "markers")


def _short_flows(runs: RunSet, setup: Setup) -> Iterator[Figure]:
    metrics = (
        ("throughput of the short flows while active", "mean_size_over_mean_duration_mbps", None),
        ("throughput of the long flow", "throughput_mbps", "long"),
    )
    panels: list[BarPanel] = []
    for label, metric, flow in metrics:
        found = []
        for name in CANDIDATES:
            try:
                replicates = runs.of(setup.short(name))
            except NotJudgedError:
                continue
            values = [runs.metric(run, metric) for run in replicates]
            numbers = [float(value if flow is None else value[flow]) for value in values]
            found.append((SHORT_TITLES.get(name, TITLES[name]), median(numbers), min(numbers), max(numbers)))
        if found:
            names, middle, low, high = (tuple(column) for column in zip(*found, strict=True))
            color = len(panels)
            panels.append(BarPanel(label, "Mbit/s", names, (Bars(label, middle, low, high, color),)))
    if panels:
        yield BarChart(
            "figure8",
            "Figure 8: what a long flow leaves to 100 short TCP-Reno flows",
            "Medians over seeds with their ranges. The paper has the upper panel only.",
            tuple(panels),
        )
