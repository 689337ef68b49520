"""The numbers of a sweep as data frames: one row for each run, and means over seeds with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from elephan.metrics.ranges import Range
from elephan.metrics.reading import MetricError, Window, flow_names
from elephan.metrics.registry import Metric, get
from elephan.metrics.statistics import interval
from elephan.metrics.summary import RUN_METRICS
from elephan.runs.errors import RunError
from elephan.runs.grids import SEED

if TYPE_CHECKING:
    from elephan.runs.result import Run
    from elephan.runs.swept import Per, Sweep

RUN_DEFAULTS = ("sum_goodput_mbps", "utilization", "loss_rate", "mean_queue_delay_ms", "jain")
FLOW_DEFAULTS = ("goodput_mbps", "throughput_share", "retransmit_rate", "rtt_mean_ms")
"""Default metrics."""

Names = str | Sequence[str] | None


@dataclass(frozen=True)
class Row:
    """The values of a run, or of one of its flows.

    Attributes:
        at: position of the run in the sweep.
        flow: name and algorithm of the flow; ``None`` for the run as a whole.
        values: values by metric; ``None`` for a missing value.
        whys: reasons for missing values.
    """

    at: int
    flow: tuple[str, str] | None
    values: dict[str, float | None]
    whys: dict[str, str]


def chosen(names: Names, per: Per) -> dict[str, Metric]:
    """The metrics with the given names or aliases; keys are the given names.

    Raises:
        MetricError: there is no such metric, or the metric is defined for each flow and the rows are whole runs.
    """
    if per not in ("run", "flow"):
        raise MetricError(f"{per!r} is not a kind of row; write per='run' or per='flow'")
    if names is None:
        names = RUN_DEFAULTS if per == "run" else FLOW_DEFAULTS
    found = {name: get(name) for name in ([names] if isinstance(names, str) else names)}
    for name, metric in found.items():
        if per == "run" and metric.scope == "flow":
            raise MetricError(f"'{name}' is a metric of each flow; write per='flow'")
    return found


def _check_names(sweep: Sweep[Any], per: Per) -> None:
    """Reject an axis whose column would have the same name as another column.

    Raises:
        MetricError: the sweep has an axis ``flow``, and the rows are for flows.
    """
    if per == "flow" and "flow" in sweep.keys:
        raise MetricError("the axis 'flow' has the name of the column of flows; write the axis as flow[*].algorithm")


def frame(sweep: Sweep[Any], names: Names = None, *, per: Per = "run", window: Window | None = None) -> pl.DataFrame:
    """One row for each run or flow; see :meth:`elephan.runs.swept.Sweep.frame`.

    Raises:
        MetricError: there is no such metric, or the metric is defined for each flow and the rows are whole runs.
    """
    metrics = chosen(names, per)
    _check_names(sweep, per)
    rows = list(_rows(sweep, metrics, per, window))
    columns = _axes(sweep, [row.at for row in rows])
    columns[SEED] = pl.Series([sweep.scenarios[row.at][1] for row in rows], dtype=pl.Int64)
    if per == "flow":
        columns |= {
            name: pl.Series([None if row.flow is None else row.flow[i] for row in rows], dtype=pl.String)
            for i, name in enumerate(("flow", "algorithm"))
        }
    columns |= {name: pl.Series([row.values[name] for row in rows], dtype=pl.Float64) for name in metrics}
    ids = [None if sweep[row.at] is None else sweep[row.at].id for row in rows]
    columns["run"] = pl.Series(ids, dtype=pl.String)
    columns["why"] = pl.Series([reasons(row) for row in rows], dtype=pl.String)
    return pl.DataFrame(columns)


def aggregate(
    sweep: Sweep[Any], names: Names = None, *, per: Per = "run", window: Window | None = None
) -> pl.DataFrame:
    """One row for each point and metric; see :meth:`elephan.runs.swept.Sweep.aggregate`.

    Raises:
        MetricError: the errors of :func:`frame`.
    """
    metrics = chosen(names, per)
    _check_names(sweep, per)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    texts = [tuple(axis.texts[i] for axis in sweep.axes if axis.key != SEED) for i in range(len(sweep))]
    for row in _rows(sweep, metrics, per, window):
        groups.setdefault((texts[row.at], None if row.flow is None else row.flow[0]), []).append(row)
    pairs = [(rows, name) for rows in groups.values() for name in metrics]
    columns = _axes(sweep, [rows[0].at for rows, _ in pairs], without=SEED)
    if per == "flow":
        flows = [None if rows[0].flow is None else rows[0].flow[0] for rows, _ in pairs]
        columns["flow"] = pl.Series(flows, dtype=pl.String)
    found = [_mean(rows, name, metrics[name].within) for rows, name in pairs]
    columns["metric"] = pl.Series([name for _, name in pairs], dtype=pl.String)
    columns["unit"] = pl.Series([metrics[name].unit for _, name in pairs], dtype=pl.String)
    for i, end in enumerate(("mean", "low", "high")):
        columns[end] = pl.Series([line[i] for line in found], dtype=pl.Float64)
    columns["seeds"] = pl.Series([line[3] for line in found], dtype=pl.Int64)
    columns["why"] = pl.Series([line[4] for line in found], dtype=pl.String)
    return pl.DataFrame(columns)


def _mean(
    rows: Sequence[Row], name: str, within: Range
) -> tuple[float | None, float | None, float | None, int, str | None]:
    """Mean, ends of the interval, number of values, and the reason for a missing mean or interval."""
    values = [value for row in rows if (value := row.values[name]) is not None]
    missing = list(dict.fromkeys(row.whys[name] for row in rows if name in row.whys))
    whys = [f"{len(rows) - len(values)} of {len(rows)} runs have no value: {'; '.join(missing)}"] if missing else []
    if not values:
        return None, None, None, 0, "; ".join(missing) or None
    found = interval(values).cut(within)
    if math.isnan(found.low):
        whys.append(found.reason)
    return found.value, _known(found.low), _known(found.high), len(values), "; ".join(whys) or None


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _axes(sweep: Sweep[Any], at: Sequence[int], without: str = "") -> dict[str, pl.Series]:
    """The columns of the axes in these runs."""
    columns: dict[str, pl.Series] = {}
    for axis in sweep.axes:
        if axis.key in (SEED, without):
            continue
        if axis.numbers is None or axis.base:
            columns[axis.key] = pl.Series([axis.texts[i] for i in at], dtype=pl.String)
        if axis.numbers is not None:
            whole = not axis.base and all(number.is_integer() for number in axis.numbers)
            numbers = [axis.numbers[i] for i in at]
            columns[axis.column] = (
                pl.Series([int(number) for number in numbers], dtype=pl.Int64)
                if whole
                else pl.Series(numbers, dtype=pl.Float64)
            )
    return columns


def reasons(row: Row) -> str | None:
    """The reasons for the missing values of a row, without duplicates. Each reason names the metrics that it applies
    to; a reason that applies to all metrics of the row names no metric."""
    about: dict[str, list[str]] = {}
    for name, why in row.whys.items():
        about.setdefault(why, []).append(name)
    lines = (why if len(names) == len(row.values) > 1 else f"{', '.join(names)}: {why}" for why, names in about.items())
    return "; ".join(lines) or None


def _rows(sweep: Sweep[Any], metrics: Mapping[str, Metric], per: Per, window: Window | None) -> Iterator[Row]:
    for at, run in enumerate(sweep):
        if run is None:
            yield _empty(at, metrics, f"the run failed: {sweep.whys[at]}")
            continue
        view = run.reread()
        found = {name: _value(run, view, name, metric, window) for name, metric in metrics.items()}
        if per == "run":
            yield _row(at, None, found)
            continue
        algorithms = {spec.name: spec.algorithm for spec in view.form.flows}
        try:
            names = flow_names(view)
        except MetricError as error:
            yield _empty(at, metrics, str(error))
            continue
        for name in names:
            yield _row(at, (name, algorithms[name]), found)


def _empty(at: int, metrics: Mapping[str, Metric], why: str) -> Row:
    return Row(at, None, dict.fromkeys(metrics), dict.fromkeys(metrics, why))


def _row(at: int, flow: tuple[str, str] | None, found: Mapping[str, Any]) -> Row:
    """A row of values: numbers, numbers by flow, or the reason as a text."""
    values: dict[str, float | None] = {}
    whys: dict[str, str] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            value = value.get(flow[0] if flow is not None else "", "it is not defined for this flow")
        if isinstance(value, str):
            whys[name] = value
        elif math.isnan(value):
            whys[name] = "it has no sample"
        values[name] = None if name in whys else float(value)
    return Row(at, flow, values, whys)


def _value(run: Run, view: Run, name: str, metric: Metric, window: Window | None) -> float | dict[str, float] | str:
    """A metric of a run, or the reason for its absence; ``view`` is the run whose tables may be read."""
    if window is None and name in RUN_METRICS:
        summary = run.summary()
        value = summary["metrics"].get(name)
        if value is not None:
            return float(value)
        if name in summary.get("undefined", {}):
            return str(summary["undefined"][name])
    try:
        found: float | dict[str, float] = metric(view, window=window)
    except (MetricError, RunError) as error:
        return str(error)
    return found
