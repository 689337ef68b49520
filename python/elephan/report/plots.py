"""Figures of one run, for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.metrics.reading import (
    bottleneck,
    duration_s,
    flow_names,
    flow_series,
    grid,
    link_series,
    measure_window,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from elephan.runs.result import Run


def plot_cwnd(run: Run, flows: Sequence[str] | None = None) -> Figure:
    """Congestion windows over time; the measured part is shaded."""
    figure, axes = _axes(run)
    for name in flow_names(run, flows):
        times, cwnd = flow_series(run, name, "cwnd", (0.0, duration_s(run)))
        axes.plot(times, cwnd, label=name, linewidth=1)
    axes.set_ylabel("congestion window (segments)")
    return _finished(figure, axes)


def plot_throughput(run: Run, flows: Sequence[str] | None = None, bin_s: float = 1.0) -> Figure:
    """Throughput on the wire of each flow, in bins."""
    figure, axes = _axes(run)
    for name in flow_names(run, flows):
        edges, octets = grid(run, name, "wire_bytes", (0.0, duration_s(run)), bin_s)
        axes.stairs(8 * np.diff(octets) / bin_s / 1e6, edges, label=name)
    axes.set_ylabel(f"throughput in {bin_s:g} s (Mbit/s)")
    return _finished(figure, axes)


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
