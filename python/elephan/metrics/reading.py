"""Access to a run's tables for metrics: windows, flows in order of start, counters and series on the sample grid.

Counters are read at sample times only and not interpolated, so a window that begins or ends between two samples is
rejected. The ends of the scenario's ``[measure]`` are always sample times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from elephan.metrics.compiled import PS_PER_S, defined
from elephan.metrics.compiled import link_counter as link_counter
from elephan.metrics.compiled import measure_window as measure_window
from elephan.metrics.compiled import recorded_links as recorded_links
from elephan.metrics.errors import MetricError as MetricError
from elephan.metrics.errors import Window as Window
from elephan.scenario import lookups
from elephan.scenario.form import FlowSpec
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.runs.result import Run

Array = npt.NDArray[np.float64]

GRID_TOLERANCE_S = 1e-9


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


def flow_series(run: Run, flow: str, column: str, window: Window) -> tuple[Array, Array]:
    """Sample times in s, from one end of the window to the other, and the values at these times; absent values are NaN.

    Raises:
        MetricError: the window's ends are not sample times.
    """
    check_recorded(run, [flow])
    rows = run.samples.filter(pl.col("flow").cast(pl.String) == flow).sort("time_s")
    return _series(run, rows, column, window)


def reduction_series(run: Run, flow: str, window: Window) -> tuple[Array, Array]:
    """Like :func:`flow_series`, for the number of the flow's window reductions so far, by losses or by ECN marks.

    Raises:
        MetricError: the window's ends are not sample times, or the reductions are not counted.
    """
    times, losses = flow_series(run, flow, "loss_events", window)
    if np.isnan(losses).all():
        raise MetricError(f"the loss events of flow '{flow}' are not counted")
    if "ecn_events" not in run.samples.columns:  # a backend without ECN, or a run of an earlier version
        return times, np.nan_to_num(losses)
    return times, np.nan_to_num(losses) + np.nan_to_num(flow_series(run, flow, "ecn_events", window)[1])


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


def link_capacity_bits(run: Run, name: str, window: Window) -> float:
    """Bits that a link could have sent in a window: the integral of its rate, or the opportunities of its trace.

    Raises:
        MetricError: the scenario has no link of this name.
    """
    return defined(run, lambda numbers: numbers.capacity_bits(name, window))


def bottleneck(run: Run) -> str:
    """The link named ``bottleneck``, or else the recorded link with the highest utilization in the measurement window.

    Raises:
        MetricError: no link was recorded.
    """
    return defined(run, lambda numbers: numbers.bottleneck())


def link_rows(run: Run, link: str) -> pl.DataFrame:
    """The recorded samples of a link.

    Raises:
        MetricError: the link was not recorded.
    """
    rows = run.kept(("links", link), lambda: run.links.filter(pl.col("link").cast(pl.String) == link))
    if rows.is_empty():
        raise MetricError(f"the link '{link}' was not recorded; {hint(link, recorded_links(run))}")
    return rows


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
