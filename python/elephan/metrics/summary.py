"""The summary of a run: the output of ``elephan run --json``. The summary is saved with the run, so that it can be
shown without reading the tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from elephan.metrics.compiled import PS_PER_S, by_flow, link_counter, measure_window, number, recorded_links
from elephan.metrics.errors import MetricError, Window
from elephan.runs import tables
from elephan.runs.crowds import over_flows
from elephan.runs.result import SUMMARY_FORMAT, Run

FLOW_COLUMNS = (
    "name", "algorithm", "start_s", "goodput_mbps", "throughput_mbps", "segments_delivered", "segments_sent",
    "retransmits", "loss_events", "ecn_events", "timeouts", "spurious_retransmits", "rtt_min_ms", "rtt_mean_ms",
    "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms", "cwnd_mean", "cwnd_max", "receive_window_limited_fraction",
    "completion_s",
)  # fmt: skip

COUNTS = ("retransmits", "loss_events", "ecn_events", "timeouts")
"""Counts that a summary has over the measured part, and with ``total_`` before the name over the whole run."""

DATAGRAM_COLUMNS = ("owd_min_ms", "owd_mean_ms", "owd_p50_ms", "owd_p95_ms", "owd_p99_ms")
"""Additional fields of flows of datagrams, if the backend provides them."""

RUN_METRICS = (
    "jain", "min_max_ratio", "asymmetry", "abs_asymmetry", "late_flow_share", "rtt_fairness_ratio",
    "rtt_fairness_exponent", "convergence_time_s", "convergence_accumulated_time_s", "convergence_cwnd_time_s",
    "convergence_epochs", "delta_fair_convergence_time_s", "convergence_abs_time_s", "sum_throughput_mbps",
    "sum_goodput_mbps", "utilization", "loss_rate", "stability", "mean_queue_pkts", "min_queue_pkts", "max_queue_pkts",
    "p50_queue_pkts", "p95_queue_pkts", "p99_queue_pkts", "queue_cov", "mean_queue_delay_ms", "completed_fraction",
    "mean_flow_rate_mbps", "mean_size_over_mean_duration_mbps", "mean_flow_duration_ms", "flow_duration_p99_ms",
    "mean_slowdown", "offered_mbps",
)  # fmt: skip
"""Metrics of a run as a whole, in the order in which they are printed."""

ALIASES = {"jain": "jain_fi", "stability": "cov_total_throughput"}
"""Metrics with a short name. A summary does not ask the registry for them, since its import loads NumPy and Polars."""


def summarize(run: Run) -> dict[str, Any]:
    """The summary of a run. A metric without a value is ``None``. An undefined metric has its reason in ``undefined``;
    a time that was not reached has no reason there.

    ``flows`` has the recorded flows; if some flows are not recorded, ``crowd`` has quantiles over all flows of each
    group.

    All values of ``flows``, ``links`` and ``metrics`` are over the measurement window, except times of convergence,
    numbers of segments, and the counts whose names begin with ``total_``: these are over the whole run.
    """
    from_s, to_s = window = measure_window(run)
    rows = _flows(run)
    names = {flow.name for flow in run.form.flows}
    flows = [row for row in rows if row["name"] in names]
    recorded = {name for group in run.groups for name in group.recorded}
    sources = run.manifest.get("engine_summary", {}).get("traffic", [])
    metrics, undefined = run_metrics(run)
    return (
        {
            "format": SUMMARY_FORMAT,
            "id": run.id,
            "dir": None,
            "backend": run.backend,
            "scenario_hash": run.manifest["scenario_hash"],
            "seed": run.seed,
            "title": run.manifest.get("title"),
            "cached": False,
            "wall_seconds": run.manifest.get("wall_seconds"),
            # The row of a program has the sums of its connections.
            "segments_delivered": sum(row["segments_delivered"] for row in flows)
            + sum(source["segments_delivered"] for source in sources),
            "warnings": run.warnings,
            "measure": {"from_s": from_s, "to_s": to_s},
            "whole_run": _whole_run(run, flows),
            "flows": rows if run.records_all else [row for row in rows if row["name"] in recorded],
            "links": [_link(run, name, window) for name in recorded_links(run)],
            "metrics": metrics,
            "undefined": undefined,
        }
        | ({"traffic": sources} if sources else {})
        | ({} if run.form.resolution == "segment" else {"resolution": run.manifest["engine_summary"].get("resolution")})
        | ({} if run.records_all else {"crowd": _crowd(run, rows)})
    )


def _flows(run: Run) -> list[dict[str, Any]]:
    """A row for each flow; the counts of the table ``flows`` are over the whole run."""
    measured, smoothed = {name: _counted(run, name) for name in COUNTS}, _smoothed(run)
    found = []
    for row in run.rows("flows", (*FLOW_COLUMNS, *DATAGRAM_COLUMNS)):
        totals = {f"total_{name}": row[name] for name in COUNTS if name in row}
        counts = {name: measured[name].get(row["name"]) for name in COUNTS if name in row}
        more = {"srtt_mean_ms": smoothed.get(row["name"])}
        found.append({key: _number(value) for key, value in (row | counts | totals | more).items()})
    return found


def _smoothed(run: Run) -> dict[str, float]:
    """Time average of the smoothed RTT of each flow that has one, ms: the RTT that every backend knows."""
    try:
        return by_flow(run, "mean_srtt_ms")
    except MetricError:
        found: dict[str, float] = {}
        for name in (name for group in run.groups for name in group.recorded):
            with suppress(MetricError):  # no sample: a flow of datagrams, or one that starts later
                found |= by_flow(run, "mean_srtt_ms", flows=[name])
        return found


def _counted(run: Run, name: str) -> dict[str, int]:
    """A count of each flow in the measured part; flows that the run does not count are missing."""
    if not any(flow.program is not None for flow in run.form.flows):
        try:
            return {flow: int(count) for flow, count in by_flow(run, name).items()}
        except MetricError:
            return {}
    found = _of_connections(run, name)
    for flow in run.form.flows:
        with suppress(MetricError):  # what only a program knows
            found |= {flow.name: int(by_flow(run, name, flows=[flow.name])[flow.name])}
    return found


def _of_connections(run: Run, name: str) -> dict[str, int]:
    """A count of each connection of a program in the measured part."""
    table, (from_s, to_s) = run.samples, measure_window(run)
    ends = table.filter((table["time_s"] == from_s) | (table["time_s"] == to_s)).sort("time_s")
    found = {}
    for (flow,), rows in ends.partition_by("flow", as_dict=True).items():
        counts = rows[name].drop_nulls().to_list()
        if len(counts) == 2:
            found[str(flow)] = counts[1] - counts[0]
    return found


def _whole_run(run: Run, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Length of the run, and its counts from the beginning to the end, of all flows and recorded links together."""
    end_s = run.form.duration_ps / PS_PER_S
    sums = {name: _sum([row.get(f"total_{name}") for row in rows]) for name in COUNTS}
    try:
        drops = sum(int(number(run, "drops", (0.0, end_s), link=link)) for link in recorded_links(run))
    except MetricError:  # the run was not sampled at its ends
        return {"duration_s": end_s, **sums, "drops": None}
    return {"duration_s": end_s, **sums, "drops": drops}


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _crowd(run: Run, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Quantiles over all flows of each group, recorded or not."""
    group_of = {name: group.name for group in run.groups for name in group.members}
    # Smoothed RTTs are known of the recorded flows alone.
    fields = [field for field in rows[0] if field not in ("name", "algorithm", "srtt_mean_ms")]
    return over_flows([row | {"group": group_of[row["name"]]} for row in rows], fields, by="group")


def run_metrics(run: Run) -> tuple[dict[str, float | None], dict[str, str]]:
    """The metrics of a run as a whole over the measurement window, and the reasons for undefined metrics."""
    undefined: dict[str, str] = {}
    found = {name: _value(name, partial(number, run, ALIASES.get(name, name)), undefined) for name in RUN_METRICS}
    return found, undefined


def _link(run: Run, name: str, window: Window) -> dict[str, Any]:
    undefined: dict[str, str] = {}
    values = {
        "utilization": lambda: number(run, "utilization", link=name),
        "throughput_mbps": lambda: number(run, "link_throughput_mbps", link=name),
        "loss_rate": lambda: 0.0 if _is_idle(run, name, window) else number(run, "loss_rate", link=name),
        "drops": lambda: int(number(run, "drops", link=name)),
        "marks": lambda: _marks(run, name, window),
        "queue_mean_packets": lambda: number(run, "mean_queue_pkts", link=name),
        "queue_min_packets": lambda: int(number(run, "min_queue_pkts", link=name)),
        "queue_max_packets": lambda: int(number(run, "max_queue_pkts", link=name)),
    }
    row = {"name": name} | {key: _value(key, value, undefined) for key, value in values.items()}
    return row | ({"undefined": undefined} if undefined else {})


def _value(name: str, compute: Callable[[], Any], undefined: dict[str, str]) -> Any:
    """A value, or ``None`` with its reason in ``undefined``."""
    try:
        return _number(compute())
    except MetricError as error:
        undefined[name] = str(error)
    except Exception as error:  # noqa: BLE001  (a defect in one metric must not discard a completed run)
        undefined[name] = f"a defect of this metric: {type(error).__name__}: {error}"
    return None


def _is_idle(run: Run, name: str, window: Window) -> bool:
    """True if no packet was dropped or sent at a link."""
    return link_counter(run, name, "arrived_packets", window) == link_counter(run, name, "queue_packets", window)


def _marks(run: Run, name: str, window: Window) -> int:
    """ECN marks; a backend without a queue that marks packets has no column for marks."""
    if "marked_packets" not in (tables.columns_of(run.arrow("links")) or ()):
        return 0
    return int(link_counter(run, name, "marked_packets", window))


def _number(value: Any) -> Any:
    """A number for JSON. ``None`` replaces infinity (a time that was not reached) and NaN (a missing sample), which
    JSON lacks."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
