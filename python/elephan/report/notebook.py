"""A run in a notebook: goodputs, a small figure, links, warnings, and its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from elephan.metrics.reading import MetricError
from elephan.notebooks import COLORS, details, escape, heading, lines, notes, shown, table
from elephan.report.provenance import title_of
from elephan.report.run import FLOW_COLUMNS, LINK_COLUMNS, metric_rows
from elephan.report.series import flow_curve
from elephan.runs.errors import RunError
from elephan.runs.result import flow_columns, flow_rows, measured_range, whole_run

if TYPE_CHECKING:
    from elephan.runs.result import Run

_FLOW_COLUMNS = {name: key for name, key in FLOW_COLUMNS.items() if key not in ("rtt_min_ms", "rtt_p99_ms", "cwnd_max")}
_LINK_COLUMNS = {name: key for name, key in LINK_COLUMNS.items() if key != "throughput_mbps"}
_POINTS = 300
_MOST_SAMPLES = 500_000
"""Largest number of samples of a run with a figure; reading more takes too long."""


def run_html(run: Run) -> str:
    """A run as HTML."""
    summary = run.summary()
    where = "in memory only" if summary["dir"] is None else str(summary["dir"])
    took = "saved before" if summary["cached"] else _took(summary["wall_seconds"])
    columns = flow_columns(_FLOW_COLUMNS, summary)
    parts = [
        heading(
            title_of(run), run.id, f"on {run.backend}",
            f"measured from {measured_range(summary)}",
        ),
        _rows(*flow_rows(summary, columns)) if summary["flows"] or summary.get("crowd") else "",
        _figure(run),
        _rows(_LINK_COLUMNS, summary["links"]),
        f"<small>{escape(totals)}</small>" if (totals := whole_run(summary)) else "",
        details("metrics of the run", _metrics(summary)),
        notes(summary["warnings"]),
        f"<small>{escape(where)}{escape(took)}</small>",
    ]  # fmt: skip
    return "\n".join(part for part in parts if part)


def _took(seconds: float | None) -> str:
    return "" if seconds is None else f", made in {seconds:.2f} s"


def _rows(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> str:
    return table(list(columns), [[row.get(key) for key in columns.values()] for row in rows])


def _metrics(summary: Mapping[str, Any]) -> str:
    undefined = [(name, shown(None), f"not defined: {why}") for name, why in summary.get("undefined", {}).items()]
    return table(["metric", "value", "unit"], [*(row[:3] for row in metric_rows(summary)), *undefined])


def _figure(run: Run) -> str:
    """Congestion windows over time; empty for a large group of flows, since its lines cannot be distinguished."""
    names = [spec.name for spec in run.form.flows if not spec.datagrams]
    if run.is_crowd or not 0 < len(names) <= len(COLORS):
        return ""
    try:
        if len(run.samples) > _MOST_SAMPLES:
            return ""
        curves = [flow_curve(run, name, "cwnd", name, i, _POINTS) for i, name in enumerate(names)]
    except (MetricError, RunError):
        return ""
    series = [
        (
            curve.name,
            [(curve.start + i * curve.step, value) for i, value in enumerate(curve.values) if value is not None],
        )
        for curve in curves
    ]
    return lines(series, "cwnd (segments)", "time (s)")
