"""The report of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.report import pages
from elephan.report.charts import LineChart, LinePanel, Points
from elephan.report.figures import Curve, Marks, Panel, Traces
from elephan.report.provenance import facts, title_of
from elephan.report.sequence import time_sequence
from elephan.report.series import flow_curve, link_curve, quantile_curve, throughput_curve
from elephan.report.tables import table
from elephan.runs.crowds import QUANTILES
from elephan.runs.result import defined, flow_columns, flow_rows, measured_range, whole_run

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from elephan.runs import Run

FLOW_COLUMNS = {
    "flow": "name", "algorithm": "algorithm", "start (s)": "start_s", "goodput (Mbit/s)": "goodput_mbps",
    "on the wire (Mbit/s)": "throughput_mbps", "retransmits": "retransmits", "loss events": "loss_events",
    "ECN events": "ecn_events", "timeouts": "timeouts",
    "min RTT (ms)": "rtt_min_ms", "mean RTT (ms)": "rtt_mean_ms", "p99 RTT (ms)": "rtt_p99_ms",
    "mean smoothed RTT (ms)": "srtt_mean_ms",
    "mean cwnd (segments)": "cwnd_mean", "max cwnd (segments)": "cwnd_max",
}  # fmt: skip
DATAGRAM_COLUMNS = {"mean one-way delay (ms)": "owd_mean_ms", "p99 one-way delay (ms)": "owd_p99_ms"}
LINK_COLUMNS = {
    "link": "name", "utilization": "utilization", "throughput (Mbit/s)": "throughput_mbps", "loss rate": "loss_rate",
    "drops (packets)": "drops", "mean queue (packets)": "queue_mean_packets",
    "max queue (packets)": "queue_max_packets",
}  # fmt: skip
SOURCE_COLUMNS = {
    "source": "name", "algorithm": "algorithm", "target (Mbit/s)": "target_mbps", "offered (Mbit/s)": "offered_mbps",
    "on the wire (Mbit/s)": "throughput_mbps", "transfers": "transfers", "completed": "transfers_completed",
    "retransmits of all": "retransmits",
}  # fmt: skip
BINS = 2000
MOST_MARKS = 2000
"""Largest number of crosses of a flow."""
MOST_DOTS = 1000
"""Largest number of points of a flow in a scatter plot."""
MOST_STEPS = 201
"""Points of a distribution."""


def run_report(run: Run, out: str | Path) -> Path:
    """Write ``report.html`` about one run into a folder. Returns its path."""
    summary = run.summary()
    sources = summary.get("traffic", [])
    datagrams = any(flow.get("owd_mean_ms") is not None for flow in summary.get("crowd") or summary["flows"])
    columns, rows = flow_rows(summary, flow_columns(FLOW_COLUMNS, summary) | (DATAGRAM_COLUMNS if datagrams else {}))
    tables = [_table("Flows", columns, rows)] if rows else []
    tables += [_table("Sources of transfers", SOURCE_COLUMNS, sources)] if sources else []
    tables.append(_table("Links", LINK_COLUMNS, summary["links"]))
    numbers = table("Metrics", ["metric", "value", "unit", "what it is"], metric_rows(summary))
    page = {
        "id": run.id,
        "title": title_of(run),
        "measure": measured_range(summary),
        "whole_run": whole_run(summary),
        "warnings": run.warnings,
        "tables": tables,
        "metrics": numbers,
        "toml": run.scenario.to_toml(),
        "provenance": facts([run]),
    }
    return pages.report(
        "run.html.j2",
        Path(out) / "report.html",
        page,
        [_over_time(run), *_distribution(run), *time_sequence(run)],
        runs=[run],
    )


def _over_time(run: Run) -> Traces:
    from elephan.metrics.reading import chosen, measure_window, recorded_links

    names = [group.name for group in run.groups] if run.is_crowd else [spec.name for spec in chosen(run)[0]]
    if run.is_crowd:
        windows, rates = (_quantile_curves(run, column) for column in ("cwnd_segments", "goodput_mbps"))
        of_rates = "Goodput between samples"
    else:
        windows = tuple(flow_curve(run, name, "cwnd", name, i % 8, BINS) for i, name in enumerate(names))
        rates = tuple(throughput_curve(run, name, name, i % 8) for i, name in enumerate(names))
        of_rates = "Throughput on the wire, in bins of 1 s"
    trips = () if run.is_crowd else tuple(
        flow_curve(run, name, "srtt_s", name, i % 8, BINS, 1e3) for i, name in enumerate(names)
    )  # fmt: skip
    queues = tuple(
        link_curve(run, name, "queue_mean", name, (len(names) + i) % 8, BINS)
        for i, name in enumerate(recorded_links(run))
    )
    panels = []
    if names:
        marks = () if run.is_crowd else tuple(_losses(run, name, i % 8) for i, name in enumerate(names))
        panels.append(Panel("Congestion window", "cwnd (segments)", windows, tuple(one for one in marks if len(one.x))))
        panels.append(Panel(of_rates, "Mbit/s", rates))
    if any(value is not None for curve in trips for value in curve.values):
        panels.append(Panel("Smoothed round-trip time", "ms", trips))
    if queues:
        panels.append(Panel("Queue, mean of each interval", "packets", queues))
    return Traces(
        "time",
        "Windows, rates, round trips and queues" if trips else "Windows, rates and queues",
        "The gray part is measured; a cross is the beginning of a recovery. Drag to zoom, double-click to go back.",
        tuple(panels),
        shaded=(*measure_window(run), "measured"),
    )


def _losses(run: Run, flow: str, color: int) -> Marks:
    """Crosses where a flow begins a recovery, on its window; the first ones of a run that has very many."""
    import numpy as np

    from elephan.metrics.reading import duration_s, flow_series

    window = (0.0, duration_s(run))
    times, counts = flow_series(run, flow, "loss_events", window)
    _, windows = flow_series(run, flow, "cwnd", window)
    (places,) = np.nonzero(np.diff(counts, prepend=0.0) > 0)
    places = places[:MOST_MARKS]
    known = [None if value != value else float(f"{value:.4g}") for value in windows[places].tolist()]
    return Marks("loss events", [round(time, 3) for time in times[places].tolist()], known, color)


def _distribution(run: Run) -> list[LineChart]:
    """The round trips of the measured part against the windows, and their distribution; empty without samples."""
    import numpy as np

    from elephan.metrics.reading import alive, chosen, measure_window

    if run.is_crowd:
        return []
    dots, shares = [], []
    for i, spec in enumerate(chosen(run)[0]):
        (_, windows), (_, trips) = (alive(run, spec.name, column, measure_window(run)) for column in ("cwnd", "rtt_s"))
        known = ~(np.isnan(windows) | np.isnan(trips))
        if not known.any():
            continue
        x, y = windows[known], trips[known] * 1e3
        step = max(1, -(-len(x) // MOST_DOTS))
        dots.append(Points(spec.name, _short(x[::step]), _short(y[::step]), style=i % 8, drawn="dots"))
        parts = np.linspace(0.0, 1.0, MOST_STEPS)
        values = _short(np.quantile(y, parts))
        shares.append(Points(spec.name, values, _short(parts), style=i % 8, drawn="line"))
    if not dots:
        return []
    return [LineChart(
        "distribution", "Round trips against windows, and their distribution",
        "Samples of the measured part, taken once in a sampling interval. A queue that a flow fills is a line that "
        "rises to the right; a tail is where the second curve flattens.",
        (
            LinePanel("Round trip against window", "cwnd (segments)", "RTT (ms)", tuple(dots)),
            LinePanel("Distribution of the round trip", "RTT (ms)", "fraction of the samples below", tuple(shares)),
        ),
    )]  # fmt: skip


def _short(values: npt.NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.4g}") for value in values.tolist()]


def _quantile_curves(run: Run, column: str) -> tuple[Curve, ...]:
    """Curves of the quantiles of a column of ``crowd`` for each group, without the extremes; one color for each
    group."""
    return tuple(
        quantile_curve(run, group.name, column, quantile, f"{group.name}: {name}", i % 8, BINS)
        for i, group in enumerate(run.groups)
        for quantile, name in QUANTILES.items()
        if (0 < quantile < 1 if len(group.members) > 1 else quantile == 0.5)
    )


def _table(title: str, columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return table(title, list(columns), ([row.get(key) for key in columns.values()] for row in rows))


def metric_rows(summary: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Name, value, unit and title of each metric that is defined for a run."""
    from elephan.metrics import get

    known = ((get(name), value) for name, value in defined(summary).items())
    return [(one.name, "never" if value is None else value, one.shown_unit, one.title) for one, value in known]
