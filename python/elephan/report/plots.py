"""Figures of one run, for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.metrics.reading import (
    MetricError,
    bottleneck,
    duration_s,
    flow_names,
    flow_series,
    grid,
    link_series,
    measure_window,
    quantile_series,
)
from elephan.rates import rate_mbps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from elephan.runs.result import Run


def plot_cwnd(run: Run, flows: Sequence[str] | None = None) -> Figure:
    """Congestion windows over time; the measured part is shaded.

    Those of a crowd, unless ``flows`` names some of it, are bands of quantiles over the flows of each group.
    """
    figure, axes = _axes(run)
    if flows is None and run.is_crowd:
        _bands(run, axes, "cwnd_segments")
        axes.set_ylabel("congestion window (segments)")
        return _finished(figure, axes)
    for name in flow_names(run, flows):
        times, cwnd = flow_series(run, name, "cwnd", (0.0, duration_s(run)))
        axes.plot(times, cwnd, label=name, linewidth=1)
    axes.set_ylabel("congestion window (segments)")
    return _finished(figure, axes)


def plot_throughput(run: Run, flows: Sequence[str] | None = None, bin_s: float | None = None) -> Figure:
    """Throughput on the wire of each flow, in bins of 1 s or ``bin_s``.

    A crowd has bands of quantiles of the goodput between two samples, unless ``flows`` names some of it.

    Raises:
        MetricError: bins are asked for where bands are drawn, or their edges are not sample times.
    """
    figure, axes = _axes(run)
    if flows is None and run.is_crowd:
        if bin_s is not None:
            raise MetricError("the bands of a crowd are between samples; leave bin_s out, or name flows")
        _bands(run, axes, "goodput_mbps")
        axes.set_ylabel("goodput between samples (Mbit/s)")
        return _finished(figure, axes)
    bin_s = 1.0 if bin_s is None else bin_s
    for name in flow_names(run, flows):
        edges, octets = grid(run, name, "wire_bytes", (0.0, duration_s(run)), bin_s)
        axes.stairs(rate_mbps(np.diff(octets), bin_s), edges, label=name)
    axes.set_ylabel(f"throughput in {bin_s:g} s (Mbit/s)")
    return _finished(figure, axes)


def _bands(run: Run, axes: Axes, column: str) -> None:
    """The median of each group, and bands of the middle half and of the middle 90 % of its flows."""
    for i, group in enumerate(run.groups):
        times, values = quantile_series(run, group.name, column)
        color, label = f"C{i % 10}", group.name if len(group.members) == 1 else f"{group.name}: median of flows"
        for low, high, alpha in ((0.05, 0.95, 0.15), (0.25, 0.75, 0.3)):
            axes.fill_between(times, values[low], values[high], color=color, alpha=alpha, linewidth=0)
        axes.plot(times, values[0.5], color=color, label=label, linewidth=1)


def plot_queue(run: Run, link: str | None = None) -> Figure:
    """Packets waiting at a link: the range between samples as a band, its mean as a line."""
    figure, axes = _axes(run)
    name = link or bottleneck(run)
    whole = (0.0, duration_s(run))
    times, mean = link_series(run, name, "queue_mean", whole)
    axes.fill_between(
        times, link_series(run, name, "queue_min", whole)[1], link_series(run, name, "queue_max", whole)[1],
        step="pre", alpha=0.3, linewidth=0,
    )  # fmt: skip
    axes.plot(times, mean, label=name, linewidth=1, drawstyle="steps-pre")
    axes.set_ylabel("queue (packets)")
    return _finished(figure, axes)


def _axes(run: Run) -> tuple[Figure, Axes]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
    plt.close(figure)  # a notebook shows what a call returns; an open figure would be shown twice
    axes.axvspan(*measure_window(run), color="0.5", alpha=0.1, linewidth=0)
    axes.set_xlabel("time (s)")
    axes.set_title(str(run.manifest.get("title") or run.id), fontsize="medium")
    return figure, axes


def _finished(figure: Figure, axes: Axes) -> Figure:
    limits: dict[str, Any] = {"bottom": 0}
    axes.set_ylim(**limits)
    axes.margins(x=0)
    axes.legend(loc="upper right")
    return figure
