"""The figures of katto2008: models as lines, simulations as markers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from elephan.evaluation.evidence import Evidence
from elephan.models import abstracted, hybrid
from elephan.models.response import mean_window
from elephan.papers.katto2008 import windows
from elephan.papers.katto2008.measure import IDEALS, RESPONSE_RTT_S
from elephan.papers.katto2008.setup import (
    CANDIDATES,
    GRID,
    HYBRIDS,
    PIPE,
    PROTOCOLS,
    STYLES,
    TITLES,
    Setup,
    response,
)
from elephan.papers.loading import claims
from elephan.report.charts import BarChart, BarPanel, Bars, LineChart, LinePanel, Points
from elephan.report.figures import Figure

SHORT_TITLES = {"reno": "Reno", "fusion": "Fusion"}
LINE = np.geomspace(1e-6, 1e-1, 161)


def figures(runs: Evidence, setup: Setup) -> Sequence[Figure]:
    """Every figure whose runs exist; figures of the models alone need no run."""
    return [
        *windows.figures(runs, setup),
        *_throughputs(runs, setup),
        *_short_flows(runs, setup),
        _responses(runs, setup),
    ]


def _throughputs(runs: Evidence, setup: Setup) -> Iterator[Figure]:
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
            "Lines are the models (equation 4). Markers are simulations: the median over the seeds, and the range. "
            "Dashed lines are the borders between cases 1, 2 and 3. With a buffer of one BDP, the simulated window "
            "cannot exceed two BDPs: a flow's own losses at the full queue keep its throughput at the value of the "
            "first border. The models continue to grow to the left of this border.",
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


def _simulated(runs: Evidence, setup: Setup, protocol: str, flows: int) -> Points | None:
    swept = {p: setup.sweep(protocol, p, flows) for p in GRID}
    found = runs.of_each(swept, "throughput_mbps", setup.name(protocol))
    line = {p: one.reach for p, one in found.items()}
    return Points.of(f"{TITLES[protocol]} (run)", line, STYLES[protocol], "markers") if line else None


def _short_flows(runs: Evidence, setup: Setup) -> Iterator[Figure]:
    metrics = (
        ("throughput of the short flows while active", "mean_size_over_mean_duration_mbps", None),
        ("throughput of the long flow", "throughput_mbps", "long"),
    )
    scenarios = {SHORT_TITLES.get(name, TITLES[name]): setup.short(name) for name in CANDIDATES}
    panels: list[BarPanel] = []
    for color, (label, metric, flow) in enumerate(metrics):
        if found := runs.of_each(scenarios, metric, flow):
            bars = Bars.of(label, [one.reach for one in found.values()], color)
            panels.append(BarPanel(label, "Mbit/s", tuple(found), (bars,)))
    if panels:
        yield BarChart(
            "figure8",
            "Figure 8: throughput that a long flow leaves to 100 short TCP-Reno flows",
            "Medians over seeds with their ranges. The paper has the upper panel only.",
            tuple(panels),
        )


RESPONSE_LINE = np.geomspace(1e-12, 1e-1, 221)
RESPONSE_NAMES = {"reno": "TCP-Reno", "hstcp": "HSTCP", "stcp": "STCP", "fusion": "TCP-Fusion"}


def _responses(runs: Evidence, setup: Setup) -> Figure:
    """Response functions of the models; they need no run."""
    series = [
        Points(RESPONSE_NAMES[name], RESPONSE_LINE.tolist(), _packets(name), style=style, drawn="line")
        for style, name in enumerate(("reno", "hstcp", "stcp"))
    ]
    stated = claims("katto2008")
    for style, part in enumerate(stated.experiments["katto2008.F9"].runs, start=5):
        rate_mbps = part.fixed["rate_mbps"]
        title = f"{rate_mbps // 1000} Gbit/s" if rate_mbps >= 1000 else f"{rate_mbps} Mbit/s"
        bdp = hybrid.Pipe(rate_mbps * 1e6, RESPONSE_RTT_S, PIPE.packet_bits).bdp
        values = hybrid.response_with_timeouts(RESPONSE_LINE, bdp, RESPONSE_RTT_S)
        series.append(Points(f"hybrid, {title}", RESPONSE_LINE.tolist(), values.tolist(), style=style, drawn="line"))
        found: dict[str, list[tuple[float, float]]] = {}
        for cell in part.cells(stated.lists):
            protocol, run = cell["protocol"], runs.first(response(setup, **cell))
            if run is not None:
                packets = float(runs.metric(run, "response_pkts_per_rtt")[setup.name(protocol)])
                found.setdefault(protocol, []).append((cell["p"], packets))
        for protocol, places in found.items():
            x, y = (list(column) for column in zip(*places, strict=True))
            color = style if protocol == "fusion" else ("reno", "hstcp", "stcp").index(protocol)
            series.append(Points(f"{RESPONSE_NAMES[protocol]} (run, {title})", x, y, style=color, drawn="markers"))
    panel = LinePanel("", "packet loss rate", "packets per RTT", tuple(series), log_x=True, log_y=True)
    return LineChart(
        "figure9",
        "Figure 9: response functions at 100 ms",
        "Lines are formulas; the hybrid's line is equation 6, with equation 4 in case 3. Markers are runs on the "
        "same path, at loss rates with acceptable run times.",
        (panel,),
    )


def _packets(protocol: str) -> list[float]:
    return [float(value) for value in mean_window(protocol, RESPONSE_LINE, RESPONSE_RTT_S)]
