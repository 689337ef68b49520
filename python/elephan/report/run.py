"""The report of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.report import pages
from elephan.report.figures import Curve, Panel, Traces
from elephan.report.provenance import facts, title_of
from elephan.report.series import flow_curve, link_curve, quantile_curve, throughput_curve
from elephan.report.tables import table
from elephan.runs.crowds import QUANTILES
from elephan.runs.result import defined, flow_columns, flow_rows, measured_range, whole_run

if TYPE_CHECKING:
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


def run_report(run: Run, out: str | Path) -> Path:
    """Write ``report.html`` about one run into a folder. Returns its path."""
    summary = run.summary()
    sources = summary.get("traffic", [])
    datagrams = any(flow.get("owd_mean_ms") is not None for flow in summary.get("crowd") or summary["flows"])
    columns, rows = flow_rows(summary, flow_columns(FLOW_COLUMNS, summary) | (DATAGRAM_COLUMNS if datagrams else {}))
    tables = [_table("Flows", columns, rows)] if rows else []
    tables += [_table("Sources of transfers", SOURCE_COLUMNS, sources)] if sources else []
    tables.append(_table("Links", LINK_COLUMNS, summary["links"]))
    numbers = _table(
        "Metrics", {"metric": "name", "value": "value", "unit": "unit", "what it is": "title"},
        _metric_rows(defined(summary)),
    )  # fmt: skip
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
    return pages.report("run.html.j2", Path(out) / "report.html", page, [_over_time(run)], runs=[run])


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
        panels.append(Panel("Congestion window", "cwnd (segments)", windows))
        panels.append(Panel(of_rates, "Mbit/s", rates))
    if any(value is not None for curve in trips for value in curve.values):
        panels.append(Panel("Smoothed round-trip time", "ms", trips))
    if queues:
        panels.append(Panel("Queue, mean of each interval", "packets", queues))
    return Traces(
        "time",
        "Windows, rates, round trips and queues" if trips else "Windows, rates and queues",
        "The gray part is measured. Drag to zoom, double-click to go back.",
        tuple(panels),
        shaded=(*measure_window(run), "measured"),
    )


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


def _metric_rows(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    from elephan.metrics import get

    rows = []
    for name, value in metrics.items():
        known = get(name)
        shown = "never" if value is None else value
        rows.append(
            {"name": name, "value": shown, "unit": "" if known.unit == "1" else known.unit, "title": known.title}
        )
    return rows
