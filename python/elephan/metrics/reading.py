"""Access to a run's tables for metrics: windows, flows in order of start, counters and series on the sample grid.

Counters are read at sample times only and not interpolated, so a window that begins or ends between two samples is
rejected. The ends of the scenario's ``[measure]`` are always sample times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from elephan.scenario import lookups
from elephan.scenario.form import FlowSpec, Impairments, LinkSpec
from elephan.scenario.units import OPPORTUNITY_BYTES
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.runs.result import Run

Array = npt.NDArray[np.float64]
Window = tuple[float, float]
"""Start and end, seconds of simulated time."""

PS_PER_S = 1e12
GRID_TOLERANCE_S = 1e-9
BOTTLENECK = "bottleneck"
SOURCE_COLUMNS = ("delivered_segments", "wire_bytes")
"""Sampled columns of sources of transfers."""


class MetricError(ValueError):
    """A metric is not defined for this run, window, flow or link; the message has the reason."""


def measure_window(run: Run) -> Window:
    """The scenario's ``[measure]``, seconds."""
    measure = run.form.measure
    return measure.from_ps / PS_PER_S, measure.to_ps / PS_PER_S


def duration_s(run: Run) -> float:
    """Simulated length of the run, seconds."""
    return run.form.duration_ps / PS_PER_S


def resolve_window(run: Run, window: Window | None) -> Window:
    """``window``, or the scenario's ``[measure]`` for ``None``; seconds.

    Raises:
        MetricError: the window is empty, or not within the run.
    """
    start_s, end_s = measure_window(run) if window is None else (float(window[0]), float(window[1]))
    if not start_s < end_s:
        raise MetricError(f"the window {start_s:g} s to {end_s:g} s is empty")
    if start_s < 0 or end_s > duration_s(run) + GRID_TOLERANCE_S:
        raise MetricError(f"the window {start_s:g} s to {end_s:g} s is not within the run of {duration_s(run):g} s")
    return start_s, end_s


def specs(run: Run, flows: Sequence[str] | None = None) -> list[FlowSpec]:
    """Canonical forms of the flows (all for ``None``) in order of start; flows with the same start are in the order of
    the list.

    The order is that of the scenario's start times, without the jitter of a seed: the first flow of a pair is the same
    in every replicate.

    Raises:
        MetricError: there is no flow with one of the given names, or no flow at all.
    """
    found, sources = chosen(run, flows)
    for source in sources:
        raise MetricError(f"'{source.name}' is a source of transfers; this is defined for flows")
    if not found:
        raise MetricError("no flow to measure")
    return found


def chosen(
    run: Run, flows: Sequence[str] | None = None, *, with_sources: bool = False
) -> tuple[list[FlowSpec], list[FlowSpec]]:
    """Canonical forms of the flows and of the sources of transfers with these names; flows are in order of start.

    ``None`` stands for all flows, and also for all sources if ``with_sources``.

    Raises:
        MetricError: a name is neither the name of a flow nor of a source.
    """
    everything = list(run.form.flows)
    sources = [source.flow for source in run.form.traffic]
    if flows is None:
        picked, come = everything, sources if with_sources else []
    else:
        names = [spec.name for spec in (*everything, *sources)]
        for name in sorted(set(flows).difference(names)):
            raise MetricError(f"'{name}' is not a flow of this run; {hint(name, names)}")
        picked, come = ([spec for spec in part if spec.name in flows] for part in (everything, sources))
    return sorted(picked, key=lambda flow: flow.start_ps), come


def flow_names(run: Run, flows: Sequence[str] | None = None) -> list[str]:
    """Names of the flows in order of start; see :func:`specs`."""
    return [flow.name for flow in specs(run, flows)]


def pair(run: Run, flows: Sequence[str] | None = None) -> tuple[str, str]:
    """The two flows of a run in order of start.

    Raises:
        MetricError: there are not exactly two flows.
    """
    names = flow_names(run, flows)
    if len(names) != 2:
        raise MetricError(f"defined for two flows, here are {len(names)}; choose two with flows=[...]")
    return names[0], names[1]


def start_s(run: Run, flow: str) -> float:
    """Actual start of a flow, seconds: the scenario's start plus the seed's jitter."""
    return float(run.flows.filter(pl.col("name") == flow)["start_s"].item())


def lifetime_s(run: Run, flow: str) -> Window:
    """Start and end of a flow's activity, seconds: the end is its stop, its completion or the end of the run."""
    begun_s = start_s(run, flow)
    ends = [duration_s(run)]
    completion_s = run.flows.filter(pl.col("name") == flow)["completion_s"].item()
    if completion_s is not None:
        ends.append(begun_s + float(completion_s))
    stop_ps = specs(run, [flow])[0].stop_ps
    if stop_ps is not None:
        ends.append(stop_ps / PS_PER_S)
    return begun_s, min(ends)


def check_recorded(run: Run, flows: Iterable[str]) -> None:
    """Reject flows whose samples were not recorded.

    Raises:
        MetricError: a flow was not recorded.
    """
    if run.records_all:
        return
    recorded = {name for group in run.groups for name in group.recorded}
    for name in flows:
        if name not in recorded:
            wanted = run.form.record_flows or '"quantiles"'
            raise MetricError(f"flow '{name}' was not recorded; the scenario has record = {wanted}")


def _from_totals(run: Run, column: str, window: Window, found: Sequence[FlowSpec]) -> dict[str, float] | None:
    """Increase of a counter over the measurement window from the table ``flows``, which also has the flows without
    samples."""
    measured = measure_window(run)
    if max(abs(a - b) for a, b in zip(window, measured, strict=True)) > GRID_TOLERANCE_S:
        return None
    totals = dict(run.flows.select("name", f"measured_{column}").iter_rows())
    return {flow.name: float(totals[flow.name]) for flow in found}


def counters(run: Run, column: str, window: Window, flows: Sequence[str] | None = None) -> dict[str, float]:
    """Increase of a cumulative column of ``samples`` over a window, by flow in order of start.

    Sources of transfers named by ``flows`` follow the flows, if the table ``sources`` also has the column.

    Raises:
        MetricError: the window's ends are not sample times, or a source has no such column.
    """
    found, sources = chosen(run, flows)
    if not found and not sources:
        raise MetricError("no flow to measure")
    if sources and column not in SOURCE_COLUMNS:
        raise MetricError(f"'{sources[0].name}' is a source of transfers; this is defined for flows")
    increase = {}
    if not run.records_all:
        totals = _from_totals(run, column, window, found)
        if totals is None:
            check_recorded(run, (flow.name for flow in found))
        else:
            increase, found = totals, []
    for specs_of, table, key in ((found, "samples", "flow"), (sources, "sources", "source")):
        if not specs_of:
            continue
        before, after = (_values_at(run, table, key, column, time_s) for time_s in window)
        for spec in specs_of:
            increase[spec.name] = _counted(after, spec.name) - _counted(before, spec.name)
    return increase


def _values_at(run: Run, table: str, key: str, column: str, time_s: float) -> dict[str, Any]:
    """A column of ``samples`` or ``sources`` at a sample time, by the name in the column ``key``."""

    def sorted_times() -> Array:
        return _times(getattr(run, table))

    def rows() -> pl.DataFrame:
        times = run.kept((table, "times"), sorted_times)
        return _rows_at(run, getattr(run, table), times, time_s, key).with_columns(pl.col(key).cast(pl.String))

    return dict(run.kept((table, time_s), rows).select(key, column).iter_rows())


def _counted(rows: Mapping[str, float | None], name: str) -> float:
    value = rows.get(name)
    if value is None:
        raise MetricError(f"no sample of flow '{name}' at an end of the window")
    return float(value)


def link_counter(run: Run, link: str, column: str, window: Window) -> float:
    """Increase of a cumulative column of ``links`` over a window.

    Raises:
        MetricError: the link was not recorded, or the window's ends are not sample times.
    """
    ends = (run.kept(("links", link, time_s), partial(_link_at, run, link, time_s)) for time_s in window)
    before, after = (float(row[column]) for row in ends)
    return after - before


def _link_at(run: Run, link: str, time_s: float) -> dict[str, Any]:
    """The last row of a link's samples at a sample time."""
    rows = link_rows(run, link)
    times = rows["time_s"].to_numpy().astype(np.float64)
    (found,) = np.nonzero(times == _snapped(np.unique(times), np.array([time_s]))[0])
    if not len(found):
        raise _off_grid(run, time_s)
    return rows.row(int(found[-1]), named=True)


def flow_series(run: Run, flow: str, column: str, window: Window) -> tuple[Array, Array]:
    """Sample times in s, from one end of the window to the other, and the values at these times; absent values are NaN.

    Raises:
        MetricError: the window's ends are not sample times.
    """
    check_recorded(run, [flow])
    rows = run.samples.filter(pl.col("flow").cast(pl.String) == flow).sort("time_s")
    return _series(run, rows, column, window)


def quantile_series(run: Run, group: str, column: str) -> tuple[Array, dict[float, Array]]:
    """Sample times in s, and a column of ``crowd`` at these times by quantile, for a group of flows; absent values are
    NaN."""
    rows = run.crowd.filter(pl.col("group").cast(pl.String) == group)
    values = {
        float(quantile): table[column].fill_null(float("nan")).to_numpy().astype(np.float64)
        for (quantile,), table in rows.partition_by("quantile", as_dict=True, maintain_order=True).items()
    }
    times: Array = rows["time_s"].unique().sort().to_numpy().astype(np.float64)
    return times, values


def link_series(run: Run, link: str, column: str, window: Window) -> tuple[Array, Array]:
    """Like :func:`flow_series`, for a recorded link."""
    rows = run.kept(("links", link, "sorted"), lambda: link_rows(run, link).sort("time_s"))
    return run.kept(("links", link, column, window), lambda: _series(run, rows, column, window))


def _series(run: Run, rows: pl.DataFrame, column: str, window: Window) -> tuple[Array, Array]:
    every = rows["time_s"].to_numpy().astype(np.float64)
    start_s, end_s = _snapped(every, np.array(window))
    inside = slice(np.searchsorted(every, start_s), np.searchsorted(every, end_s, side="right"))
    times = every[inside]
    first, last = times[[0, -1]] if len(times) else (np.nan, np.nan)
    if not abs(first - window[0]) <= GRID_TOLERANCE_S:
        raise _off_grid(run, window[0])
    # A run may end between two samples; a series until the end of the run then ends at the last sample.
    to_the_end = window[1] > duration_s(run) - GRID_TOLERANCE_S
    if not abs(last - window[1]) <= GRID_TOLERANCE_S and not to_the_end:
        raise _off_grid(run, window[1])
    values = rows[column][inside].cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)
    return times, values


def _times(table: pl.DataFrame) -> Array:
    times: Array = table["time_s"].unique().sort().to_numpy().astype(np.float64)
    return times


def _rows_at(run: Run, table: pl.DataFrame, times: Array, time_s: float, key: str) -> pl.DataFrame:
    rows = table.filter(pl.col("time_s") == _snapped(times, np.array([time_s]))[0])
    if rows.is_empty():
        raise _off_grid(run, time_s)
    return rows.unique(subset=[key], keep="last", maintain_order=True)


def _snapped(times: Array, wanted: Array) -> Array:
    """For each given time, the nearest of ``times`` (ascending, s) within the tolerance; if there is none, the given
    time.

    The function takes the nearest sample time because samples may be closer to each other than the tolerance.
    """
    if not len(times):
        return wanted
    above = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
    below = np.maximum(above - 1, 0)
    nearest = times[np.where(wanted - times[below] < np.abs(times[above] - wanted), below, above)]
    snapped: Array = np.where(np.abs(nearest - wanted) <= GRID_TOLERANCE_S, nearest, wanted)
    return snapped


def _off_grid(run: Run, time_s: float) -> MetricError:
    period_s = run.form.sample_period_ps / PS_PER_S
    measured = measure_window(run)
    return MetricError(
        f"{time_s:g} s is not a sample time; samples are taken every {period_s:g} s, and at {measured[0]:g} s and "
        f"{measured[1]:g} s, the ends of the measured part"
    )


def grid(run: Run, flow: str, column: str, window: Window, step_s: float) -> tuple[Array, Array]:
    """A column of ``samples`` every ``step_s`` seconds from the window's start, in whole steps.

    Raises:
        MetricError: a time of the grid is not a sample time.
    """
    # A run may end between two samples; whole steps need no sample at the end of the window.
    end_s = window[0] + step_s * int((window[1] - window[0]) / step_s + 1e-9)
    times, values = flow_series(run, flow, column, (window[0], end_s))
    return on_grid(run, times, values, window, step_s)


def on_grid(run: Run, times: Array, values: Array, window: Window, step_s: float) -> tuple[Array, Array]:
    """The values of a series every ``step_s`` seconds; see :func:`grid`."""
    count = int((window[1] - window[0]) / step_s + 1e-9) + 1
    wanted = window[0] + step_s * np.arange(count, dtype=np.float64)
    snapped = _snapped(times, wanted)
    position = np.minimum(np.searchsorted(times, snapped), len(times) - 1)
    missed = times[position] != snapped
    if missed.any():
        raise _off_grid(run, float(wanted[missed][0]))
    return wanted, values[position]


def binned(run: Run, flows: Sequence[str], column: str, window: Window, bin_s: float) -> tuple[Array, Array]:
    """Edges of bins of ``bin_s`` from the window's start, and the increase of a cumulative column of ``samples`` in
    each bin. The increases have one row per flow and one column per bin. An incomplete bin at the end is left out.

    Raises:
        MetricError: the edges are not all sample times.
    """
    edges, rows = np.empty(0), []
    for name in flows:
        edges, values = grid(run, name, column, window, bin_s)
        rows.append(np.diff(values))
    return edges, np.array(rows)


def alive(run: Run, flow: str, column: str, window: Window) -> tuple[Array, Array]:
    """A series as from :func:`flow_series`, with NaN before the flow's start and after its end."""
    times, values = flow_series(run, flow, column, window)
    begun_s, ended_s = lifetime_s(run, flow)
    return times, np.where((times >= begun_s) & (times <= ended_s), values, np.nan)


def sample_times(run: Run, window: Window | None = None) -> Array:
    """All sample times of a window; by default the whole run."""
    table = run.samples if run.records_all else run.crowd
    times: Array = table["time_s"].unique().sort().to_numpy().astype(np.float64)
    first, last = _snapped(times, np.array(window or (0.0, duration_s(run))))
    inside: Array = times[(times >= first) & (times <= last)]
    return inside


def column(run: Run, name: str, flows: Sequence[str] | None = None) -> dict[str, float]:
    """A column of ``flows``, by flow in order of start.

    Raises:
        MetricError: a flow has no value in this column.
    """
    values = dict(run.flows.select("name", pl.col(name).cast(pl.Float64)).iter_rows())
    names = flow_names(run, flows)
    for flow in names:
        if values.get(flow) is None:
            raise MetricError(f"flow '{flow}' has no {name.replace('_', ' ')}")
    return {flow: values[flow] for flow in names}


def check_measured(run: Run, window: Window | None, what: str) -> None:
    """Reject a window other than the measurement window, for statistics over every packet.

    Raises:
        MetricError: the window is not the measurement window.
    """
    measured = measure_window(run)
    if window is not None and max(abs(a - b) for a, b in zip(window, measured, strict=True)) > GRID_TOLERANCE_S:
        raise MetricError(
            f"{what} of every packet are kept for the measured part, {measured[0]:g} s to {measured[1]:g} s, "
            "and not for other windows"
        )


def source_transfers(run: Run, source: str) -> pl.DataFrame:
    """The rows of ``transfers`` of one source, in order of start."""
    return run.transfers.filter(pl.col("source").cast(pl.String) == source)


def time_mean(times: Array, values: Array) -> float:
    """Time average of a sampled series by the trapezoidal rule; samples without a value are left out.

    Raises:
        MetricError: fewer than two samples have a value.
    """
    known = ~np.isnan(values)
    if known.sum() < 2:
        raise MetricError("fewer than two samples in the window")
    times, values = times[known], values[known]
    return float(np.trapezoid(values, times) / (times[-1] - times[0]))


# ---- the path ----


def link_rows(run: Run, link: str) -> pl.DataFrame:
    """The recorded samples of a link.

    Raises:
        MetricError: the link was not recorded.
    """
    rows = run.kept(("links", link), lambda: run.links.filter(pl.col("link").cast(pl.String) == link))
    if rows.is_empty():
        raise MetricError(f"the link '{link}' was not recorded; {hint(link, recorded_links(run))}")
    return rows


def recorded_links(run: Run) -> list[str]:
    """Names of the links that have samples, as listed in the scenario."""
    present = run.kept("recorded", lambda: set(run.links["link"].cast(pl.String).unique().to_list()))
    return [link.name for link in run.form.links if link.name in present]


def link_spec(run: Run, name: str) -> LinkSpec:
    """Canonical form of a link.

    Raises:
        MetricError: the scenario has no link of this name.
    """
    for link in run.form.links:
        if link.name == name:
            return link
    raise MetricError(f"'{name}' is not a link; {hint(name, [link.name for link in run.form.links])}")


def link_capacity_bits(run: Run, name: str, window: Window) -> float:
    """Bits that a link could have sent in a window: the integral of its rate, or the opportunities of its trace."""
    spec = link_spec(run, name)
    changes = spec.impairments or Impairments()
    start_s, end_s = window
    if changes.rate_trace_ms:
        times_s = np.array(changes.rate_trace_ms) / 1e3
        period_s = float(times_s[-1])

        def opportunities(until_s: float) -> int:
            """Number of transmission opportunities from the start of the run up to and including ``until_s``."""
            rounds = int(until_s / period_s + GRID_TOLERANCE_S)
            within = np.count_nonzero(times_s <= until_s - rounds * period_s + GRID_TOLERANCE_S)
            return rounds * len(times_s) + int(within)

        return 8.0 * OPPORTUNITY_BYTES * (opportunities(end_s) - opportunities(start_s))
    steps = [(0.0, float(spec.rate_bps))]
    steps += [(step.at_ps / PS_PER_S, float(step.rate_bps)) for step in changes.rate_steps]
    ends = [at for at, _ in steps[1:]] + [float("inf")]
    return sum(rate * max(0.0, min(end, end_s) - max(at, start_s)) for (at, rate), end in zip(steps, ends, strict=True))


def bottleneck(run: Run) -> str:
    """The link named ``bottleneck``, or else the recorded link with the highest utilization in the measurement window.

    Raises:
        MetricError: no link was recorded.
    """
    names = recorded_links(run)
    if not names:
        raise MetricError("no link of this run was recorded")
    if BOTTLENECK in names:
        return BOTTLENECK
    return run.kept("bottleneck", lambda: _most_used(run, names))


def _most_used(run: Run, names: Sequence[str]) -> str:
    window = measure_window(run)

    def used(name: str) -> float:
        return link_counter(run, name, "delivered_bytes", window) / max(1.0, link_capacity_bits(run, name, window))

    return max(names, key=used)


def base_rtts_s(run: Run, flows: Sequence[str] | None = None) -> dict[str, float]:
    """Two-way propagation delays of the flows' paths, seconds; without transmission times and queues.

    If the delay of a path varies, the delay at the beginning of the run is used.
    """
    return {spec.name: lookups.base_rtt_ps(run.form, spec) / PS_PER_S for spec in specs(run, flows)}


def base_rtt_s(run: Run, flow: str) -> float:
    """Two-way propagation delay of one flow's path; see :func:`base_rtts_s`."""
    return base_rtts_s(run, [flow])[flow]


def wire_bytes(run: Run, flow: str) -> int:
    """Size of a flow's full data packet on the wire, bytes."""
    return lookups.wire_bytes(specs(run, [flow])[0].stack)


def wire_factor(spec: FlowSpec) -> float:
    """Size on the wire of a segment of a flow or a source, divided by the segment's payload."""
    return lookups.wire_bytes(spec.stack) / spec.stack.payload_bytes
