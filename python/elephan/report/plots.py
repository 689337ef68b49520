"""Figures of runs over time: of one run for a notebook, and of several, overlaid or as small multiples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from elephan.metrics.reading import (
    MetricError,
    Window,
    alive,
    bottleneck,
    chosen,
    duration_s,
    flow_names,
    grid,
    lifetime_s,
    link_series,
    measure_window,
    quantile_series,
)
from elephan.rates import rate_mbps
from elephan.report import overlays, pages
from elephan.report.overlays import Array, Band, Line, Overlay, Panel
from elephan.report.printed import draw_on
from elephan.report.provenance import facts, title_of
from elephan.scenario.lookups import base_rtt_ps
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from elephan.runs.result import Run

Size = str | tuple[float, float]
By = Literal["run", "flow"]

TITLES = {"cwnd": "Congestion window", "rate": "Throughput", "rtt": "Smoothed RTT", "queue": "Queue"}
"""Quantities that can be plotted, with their titles."""

UNITS = {"cwnd": "cwnd (segments)", "rate": "rate (Mbit/s)", "rtt": "RTT (ms)", "queue": "queue (packets)"}
_CROWD = {"cwnd": "cwnd_segments", "rate": "goodput_mbps", "rtt": "srtt_s"}
_SAMPLES = {"cwnd": "cwnd", "rtt": "srtt_s"}
_SCALE = {"rtt": 1e3}

MOST_LINES = 12
"""Largest number of lines in a panel; more lines are reduced to a median and bands for each algorithm."""

MOST_COLUMNS = 6
"""Largest number of columns of small multiples if the rows show several quantities."""

_BANDS = ((0.05, 0.95, 0.15), (0.25, 0.75, 0.3))
_STEPS = 200
"""Largest number of bins of a rate over the shown time."""


@dataclass(frozen=True)
class _Series:
    """Attributes of a line before its color is chosen: the panel's column, the algorithm, and the line's number
    among the lines of that algorithm."""

    line: Line
    run: int
    algorithm: str
    flow: str


def plot(
    runs: Sequence[Run],
    what: Sequence[str] = ("cwnd", "rate", "rtt", "queue"),
    *,
    by: By | None = None,
    flows: Sequence[str] | None = None,
    span: Window | None = None,
    title: str | None = None,
    labels: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
) -> Overlay:
    """Plot quantities of runs over time, one row for each quantity: all runs in one panel, or a panel for each run or
    flow.

    More than 12 lines in a panel are shown as a median with quantile bands for each algorithm.

    Args:
        runs: runs, in the order of the legend.
        what: quantities, of :data:`TITLES`.
        by: ``run`` or ``flow`` for small multiples.
        flows: names; all for ``None``.
        span: shown times in s; the whole runs for ``None``.
        title: title over the figure; the runs' common title for ``None``.
        labels: names of the runs; by default the differences between them.
        titles: titles of the runs; by default the titles with which the runs were saved.

    Raises:
        MetricError: there is no such quantity or flow, there is nothing to draw, or too many small multiples.
    """
    for name in what:
        if name not in TITLES:
            raise MetricError(f"'{name}' is not a quantity; {hint(name, TITLES)}")
    if not runs:
        raise MetricError("no run to plot")
    titles = [str(run.manifest.get("title") or "") for run in runs] if titles is None else titles
    names = list(labels) if labels is not None else run_labels(runs, titles)
    series = {name: list(_series(runs, names, name, flows, span)) for name in dict.fromkeys(what)}
    series = {name: found for name, found in series.items() if found}
    if not series:
        raise MetricError(f"the runs have no {' and no '.join(what)} to plot")
    places = _places(series)
    columns = _columns(series, names, by)
    panels = [
        _panel(name, _heading(name, label, row, series), [one for one in each if belongs(one)], places)
        for row, (name, each) in enumerate(series.items())
        for label, belongs in columns
    ]
    width = len(columns) if len(series) > 1 else min(len(columns), math.ceil(math.sqrt(len(columns))))
    return Overlay(
        title=_title(runs, titles) if title is None else title,
        caption=_caption(runs, series),
        panels=tuple(panels),
        columns=width,
        shaded=_shaded(runs),
        span=span or (0.0, max(map(duration_s, runs))),
        provenance={"Runs": " ".join(run.id for run in runs)},
    )


def write_html(overlay: Overlay, runs: Sequence[Run], path: Path) -> Path:
    """Write an overlay as an interactive page, which needs no network. Returns its path.

    Raises:
        OSError: the page cannot be written.
    """
    page = {
        "title": overlay.title or "Runs over time",
        "figures": [{"id": overlay.id, "title": "", "caption": overlay.caption, "files": []}],
        "runs": [{"id": run.id, "title": title_of(run)} for run in runs],
        "provenance": facts(runs),
    }
    return pages.write(path, pages.render("plot.html.j2", {}, figures={overlay.id: overlay.spec()}, page=page))


# ---- series ----


def _series(
    runs: Sequence[Run], names: Sequence[str], what: str, flows: Sequence[str] | None, span: Window | None
) -> Iterator[_Series]:
    """The lines of a quantity of all runs; a run without the quantity is left out."""
    for i, (run, name) in enumerate(zip(runs, names, strict=True)):
        if what == "queue":
            found = list(_queue(run, name, i, alone=len(runs) == 1))
        elif flows is None and run.is_crowd:
            found = list(_groups(run, name, i, what, several=len(runs) > 1)) if run.form.flows else []
        else:
            found = list(_flows(run, name, i, what, flows, span, several=len(runs) > 1))
        for one in found:
            cut = _cut(one.line, span)
            if len(cut.times) and not np.isnan(cut.values).all():
                yield replace(one, line=cut)


def _flows(
    run: Run, name: str, i: int, what: str, flows: Sequence[str] | None, span: Window | None, *, several: bool
) -> Iterator[_Series]:
    specs, sources = chosen(run, flows, with_sources=what == "rate" and flows is None)
    single = len(specs) + len(sources) == 1
    for spec in [*specs, *sources]:
        label = spec.name if not several else name if single else f"{name}: {spec.name}"
        if spec in sources:
            times, values = _source_rate(run, spec.name, _bin_s(run, span))
        elif what == "rate":
            times, values = flow_rate(run, spec.name, _bin_s(run, span))
        else:
            times, values = alive(run, spec.name, _SAMPLES[what], (0.0, duration_s(run)))
        yield _Series(Line(label, times, values * _SCALE.get(what, 1.0)), i, spec.algorithm, spec.name)


def _groups(run: Run, name: str, i: int, what: str, *, several: bool) -> Iterator[_Series]:
    """The median of each group of flows, with bands of the middle half and of the middle 90 % of its flows."""
    for group in run.groups:
        times, quantiles = quantile_series(run, group.name, _CROWD[what])
        quantiles = {q: values * _SCALE.get(what, 1.0) for q, values in quantiles.items()}
        label = group.name if len(group.members) == 1 else f"{group.name}: median of flows"
        bands = tuple(Band(quantiles[low], quantiles[high], alpha) for low, high, alpha in _BANDS)
        line = Line(f"{name}: {label}" if several else label, times, quantiles[0.5], bands=bands)
        yield _Series(line, i, group.algorithm, group.name)


def _queue(run: Run, name: str, i: int, *, alone: bool, link: str | None = None) -> Iterator[_Series]:
    """The queue of the bottleneck, and for a single run also the queue's range between samples. Yields nothing if no
    link was recorded."""
    try:
        link = bottleneck(run) if link is None else link
    except MetricError:
        return
    whole = (0.0, duration_s(run))
    times, mean = link_series(run, link, "queue_mean", whole)
    bands: tuple[Band, ...] = ()
    if alone:
        low, high = (link_series(run, link, column, whole)[1] for column in ("queue_min", "queue_max"))
        bands = (Band(low, high, 0.3),)
    algorithms = {spec.algorithm for spec in (*run.form.flows, *(source.flow for source in run.form.traffic))}
    algorithm = next(iter(algorithms)) if len(algorithms) == 1 and not alone else ""
    label = f"queue at {link}" if alone else name
    yield _Series(Line(label, times, mean, bands=bands, steps=True), i, algorithm, "")


def flow_rate(run: Run, flow: str, bin_s: float) -> tuple[Array, Array]:
    """Throughput of a flow on the wire in bins, Mbit/s, at the middle of each bin; NaN while the flow is not active.

    Raises:
        MetricError: the edges of the bins are not sample times.
    """
    edges, octets = grid(run, flow, "wire_bytes", (0.0, duration_s(run)), bin_s)
    begun_s, ended_s = lifetime_s(run, flow)
    there = (edges[1:] > begun_s) & (edges[:-1] < ended_s)
    return (edges[1:] + edges[:-1]) / 2, np.where(there, rate_mbps(np.diff(octets), bin_s), np.nan)


def _source_rate(run: Run, source: str, bin_s: float) -> tuple[Array, Array]:
    """Throughput of all transfers of a source on the wire; otherwise like :func:`flow_rate`."""
    rows = run.sources.filter(pl.col("source").cast(pl.String) == source).sort("time_s")
    times = rows["time_s"].to_numpy().astype(np.float64)
    edges = bin_s * np.arange(int(duration_s(run) / bin_s + 1e-9) + 1)
    octets = (
        rows["wire_bytes"]
        .to_numpy()
        .astype(np.float64)[np.clip(np.searchsorted(times, edges + 1e-9, side="right") - 1, 0, None)]
    )
    return (edges[1:] + edges[:-1]) / 2, rate_mbps(np.diff(octets), bin_s)


def _bin_s(run: Run, span: Window | None) -> float:
    """Length of a rate's bins: whole sampling intervals, at least a base RTT, and at most 200 bins in the shown
    time."""
    period_s = run.form.sample_period_ps / 1e12
    rtts_s = [base_rtt_ps(run.form, spec) / 1e12 for spec in run.form.flows[:1]]
    shown_s = duration_s(run) if span is None else span[1] - span[0]
    return period_s * max(1, math.ceil(max([shown_s / _STEPS, *rtts_s]) / period_s - 1e-9))


def _cut(line: Line, span: Window | None) -> Line:
    """The section of a line within the shown time, plus one sample on either side, so that axes are scaled to the
    section."""
    if span is None:
        return line
    first = max(0, int(np.searchsorted(line.times, span[0])) - 1)
    last = int(np.searchsorted(line.times, span[1], side="right")) + 1
    bands = tuple(Band(band.low[first:last], band.high[first:last], band.alpha) for band in line.bands)
    return replace(line, times=line.times[first:last], values=line.values[first:last], bands=bands)


# ---- panels ----


def _columns(
    series: dict[str, list[_Series]], names: Sequence[str], by: By | None
) -> list[tuple[str, Callable[[_Series], bool]]]:
    """The small multiples: a label, and a test for the series that belong to the panel.

    Raises:
        MetricError: there are too many small multiples.
    """
    if by is None:
        return [("", lambda one: True)]
    found = [one for each in series.values() for one in each]
    columns: list[tuple[str, Callable[[_Series], bool]]]
    if by == "run":
        runs = sorted({one.run for one in found})
        columns = [(names[run], partial(_of_run, run=run)) for run in runs]
    else:
        flows = dict.fromkeys(one.flow for one in found if one.flow)
        runs_of = {flow: {one.run for one in found if one.flow == flow} for flow in flows}
        columns = [(flow, partial(_of_flow, flow=flow, runs=runs_of[flow])) for flow in flows]
    most = MOST_COLUMNS if len(series) > 1 else MOST_COLUMNS**2
    if len(columns) > most:
        rows = f" below {len(series)} quantities each" if len(series) > 1 else ""
        raise MetricError(f"{len(columns)} small multiples{rows} do not fit, {most} do; choose fewer runs or flows")
    return columns


def _of_run(one: _Series, run: int) -> bool:
    return one.run == run


def _of_flow(one: _Series, flow: str, runs: set[int]) -> bool:
    return one.flow == flow if one.flow else one.run in runs


def _heading(what: str, label: str, row: int, series: dict[str, list[_Series]]) -> str:
    """Title of a panel. With small multiples, the title is the run or flow, once above each column; otherwise the title
    is the quantity if there are several quantities."""
    if label:
        return label if row == 0 else ""
    return TITLES[what] if len(series) > 1 else ""


def _panel(what: str, title: str, found: Sequence[_Series], places: dict[str, int]) -> Panel:
    return Panel(title, UNITS[what], _lines(found, places))


def _lines(found: Sequence[_Series], places: dict[str, int]) -> tuple[Line, ...]:
    return tuple(_reduced(found, places) if len(found) > MOST_LINES else _colored(found, places))


def _places(series: dict[str, list[_Series]]) -> dict[str, int]:
    """Position of each algorithm in the order of appearance over all panels; the position determines the color."""
    names = dict.fromkeys(one.algorithm for each in series.values() for one in each if one.algorithm)
    return {name: i for i, name in enumerate(names)}


def _colored(found: Sequence[_Series], places: dict[str, int]) -> Iterator[Line]:
    """The lines in their colors; several lines of one algorithm differ in shade and dashes."""
    count: dict[str, int] = {}
    for one in found:
        number = count.get(one.algorithm, 0)
        count[one.algorithm] = number + 1
        base = overlays.color_of(places[one.algorithm]) if one.algorithm else overlays.GRAY
        color, dash = overlays.variant(base, number)
        yield replace(one.line, color=color, dash=dash)


def _reduced(found: Sequence[_Series], places: dict[str, int]) -> Iterator[Line]:
    """For each algorithm the median of its lines, with bands of the middle half and of the middle 90 %."""
    for algorithm in dict.fromkeys(one.algorithm for one in found):
        lines = [one.line for one in found if one.algorithm == algorithm]
        times = max((line.times for line in lines), key=len)
        rows = np.array([np.interp(times, line.times, line.values, left=np.nan, right=np.nan) for line in lines])
        known = ~np.isnan(rows).all(axis=0)
        spread = dict.fromkeys((0.05, 0.25, 0.5, 0.75, 0.95))
        values = np.full((len(spread), len(times)), np.nan)
        if known.any():
            values[:, known] = np.nanquantile(rows[:, known], list(spread), axis=0)
        of = dict(zip(spread, values, strict=True))
        bands = tuple(Band(of[low], of[high], alpha) for low, high, alpha in _BANDS)
        color = overlays.color_of(places[algorithm]) if algorithm else overlays.GRAY
        name = f"{algorithm or 'queue'}: median of {len(lines)}"
        yield Line(name, times, of[0.5], color, bands=bands, steps=lines[0].steps)


# ---- words ----


def run_labels(runs: Sequence[Run], titles: Sequence[str]) -> list[str]:
    """Names that distinguish runs: their algorithm, title or seed, or else the beginning of their id."""
    algorithms = [", ".join(dict.fromkeys(spec.algorithm for spec in run.form.flows)) for run in runs]
    names = [title or algorithm for title, algorithm in zip(titles, algorithms, strict=True)]

    def beside(facts: Sequence[str]) -> list[str]:
        return [f"{name}, {fact}" for name, fact in zip(names, facts, strict=True)]

    seeds = [f"seed {run.seed}" for run in runs]
    backends = [run.backend for run in runs]
    single = [algorithm if len(run.form.flows) == 1 else "" for run, algorithm in zip(runs, algorithms, strict=True)]
    for found in (
        single,
        list(titles),
        algorithms,
        seeds,
        beside(seeds),
        beside(backends),
        beside([run.id[:6] for run in runs]),
    ):
        if all(found) and len(set(found)) == len(runs):
            return found
    return [run.id for run in runs]


def _title(runs: Sequence[Run], titles: Sequence[str]) -> str:
    """The common title of the runs; for one scenario without a title, its flows."""
    if len(set(titles)) > 1:
        return ""
    return titles[0] or (title_of(runs[0]) if len({run.manifest["scenario_hash"] for run in runs}) == 1 else "")


def _shaded(runs: Sequence[Run]) -> Window | None:
    """The measurement window, if it is the same in all runs and shorter than the run."""
    windows = {measure_window(run) for run in runs}
    if len(windows) != 1 or windows == {(0.0, duration_s(runs[0]))}:
        return None
    return next(iter(windows))


def _caption(runs: Sequence[Run], series: dict[str, list[_Series]]) -> str:
    parts = ["The measured part is shaded."] if _shaded(runs) else []
    if "rate" in series and not any(run.is_crowd for run in runs):
        bins = sorted({_bin_s(run, None) for run in runs})
        parts.append(f"Rates are on the wire, in bins of {' or '.join(f'{each:g}' for each in bins)} s.")
    elif "rate" in series:
        parts.append("Rates of a crowd are goodputs between samples.")
    if any(one.line.bands for name in series if name != "queue" for one in series[name]) or any(
        len(each) > MOST_LINES for each in series.values()
    ):
        parts.append("Bands: the middle half and the middle 90 %.")
    if "queue" in series:
        parts.append("The queue is that of the bottleneck, the mean of each sampling interval.")
    return " ".join(parts)


# ---- one run, for a notebook ----


def plot_run(run: Run, what: Sequence[str], flows: Sequence[str] | None, size: Size | None) -> Figure:
    """Quantities of a run over time, one below the other."""
    shown = plot([run], what or ("cwnd", "rate", "rtt", "queue"), flows=flows)
    return shown.draw((8.0, 2.5 * len(shown.panels)) if size is None else size, notebook=True)


_ALONE = {
    "cwnd": "congestion window (segments)", "rtt": "smoothed RTT (ms)", "queue": "queue (packets)",
    "rate": "throughput in {:g} s (Mbit/s)",
}  # fmt: skip
"""Labels of the y axis of a figure of one quantity."""


def plot_one(
    run: Run, what: str, flows: Sequence[str] | None = None, *, link: str | None = None, bin_s: float | None = None,
    ax: Axes | None = None, size: Size | None = None, title: str | None = None,
) -> Figure:  # fmt: skip
    """A quantity of a run over time, as :meth:`elephan.Run.plot_cwnd` and the methods beside it describe it.

    A large group of flows is drawn as bands of quantiles over its flows, unless ``flows`` names some of them. A queue
    has the range between samples as a band, and the mean as a line.

    Raises:
        MetricError: ``bin_s`` is given although bands are drawn, or the edges of the bins are not sample times.
    """
    found: Iterable[_Series]
    label, heading = _ALONE[what], title_of(run)
    if what == "queue":
        name = bottleneck(run) if link is None else link
        heading, found = f"{heading}: {name}", _queue(run, name, 0, alone=True, link=name)
    elif what != "rate":
        found = _series([run], [""], what, flows, None)
    elif flows is None and run.is_crowd:
        if bin_s is not None:
            raise MetricError("the bands of a crowd are between samples; leave bin_s out, or name flows")
        label, found = "goodput between samples (Mbit/s)", _groups(run, "", 0, what, several=False)
    else:
        width = 1.0 if bin_s is None else bin_s
        algorithms = {spec.name: spec.algorithm for spec in run.form.flows}
        label = label.format(width)
        found = [
            _Series(Line(name, *flow_rate(run, name, width)), 0, algorithms[name], name)
            for name in flow_names(run, flows)
        ]
    return _single(run, list(found), label, heading if title is None else title, ax, size)


def _single(
    run: Run, found: Sequence[_Series], y_label: str, heading: str, ax: Axes | None, size: Size | None
) -> Figure:
    """One panel of one run, on the caller's axes or in a new figure."""
    panel = Panel("", y_label, _lines(found, _places({"": list(found)})))
    own = Overlay(heading, "", (panel,), shaded=_shaded([run]), span=(0.0, duration_s(run)))
    if ax is None:
        return own.draw((8.0, 3.5) if size is None else size, notebook=True)
    if size is not None:
        raise MetricError("axes have the size of their figure; leave size out, or ax")
    draw_on(ax, own.spec())
    ax.set_title(heading)
    figure = ax.get_figure()
    assert figure is not None
    return figure  # type: ignore[return-value]
