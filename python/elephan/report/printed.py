"""Figures for print, drawn by Matplotlib from the same specification that ``web/src/figures.ts`` draws on the screen.

A specification has the form of Plotly's, ``data`` and ``layout``, of which both drawings know what the figures of this
package use: scatter, bar and heat map traces, axes with domains, shapes, titles of panels, and legends.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from elephan.notebooks import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

Spec = Mapping[str, Any]

COLUMN_IN, PAGE_IN = 3.5, 7.16
"""Widths of a column and of the whole text of a two-column page (IEEE), inches."""
_PX_PER_IN = 125.0
"""Pixels on the screen for an inch of a figure's height in print."""
_LINE_PT, _MARK_PT = 0.65, 0.62
"""Points in print for a pixel on the screen, of lines and of markers."""
_MARKERS = {
    "circle": "o", "square": "s", "triangle-up": "^", "triangle-down": "v", "diamond": "D", "x-thin-open": "x",
    "x": "x", "cross-thin-open": "+", "star": "*", "hexagon": "h",
}  # fmt: skip
_DASHES = {"dash": "--", "dot": ":", "dashdot": "-."}


def drawn(spec: Spec, size: tuple[float, float] | None = None, *, title: str = "", notebook: bool = False) -> MplFigure:
    """A specification as a figure for print; with ``notebook`` a figure that a notebook displays."""
    layout = spec["layout"]
    width, height = size or (PAGE_IN, layout["height"] / _PX_PER_IN)
    with style(width):
        figure = _figure(width, height, notebook=notebook)
        axes = _subplots(figure, layout)
        for suffix, ax in axes.items():
            _draw(ax, spec, suffix)
        _share(axes, layout)
        if title:
            figure.suptitle(title, fontsize="medium")
        _legend(figure, axes.values(), spec["data"], width)
    return figure


def vector(spec: Spec) -> bytes:
    """A specification as an SVG."""
    from io import BytesIO

    out = BytesIO()
    with saving():
        drawn(spec).savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def draw_on(ax: Axes, spec: Spec) -> None:
    """Draw a specification of one panel on axes of the caller."""
    _draw(ax, spec, "")
    named = _handles([ax], spec["data"])
    if len(named) > 1:
        ax.legend(list(named.values()), list(named), fontsize="small")


def style(width_in: float) -> AbstractContextManager[None]:
    """Font sizes that fit the text of a paper: 8 pt in a column and 9 pt across a page."""
    import matplotlib as mpl

    return mpl.rc_context({"font.size": 8 if width_in < 5 else 9, "legend.frameon": False})


def saving() -> AbstractContextManager[None]:
    """Matplotlib's settings for files: a PDF has TrueType fonts, an SVG keeps its text as text, and the same data give
    the same bytes."""
    import matplotlib as mpl

    return mpl.rc_context({"svg.hashsalt": "elephan", "svg.fonttype": "none", "pdf.fonttype": 42})


def _figure(width: float, height: float, *, notebook: bool) -> MplFigure:
    from matplotlib.figure import Figure as MplFigure

    if not notebook:
        return MplFigure(figsize=(width, height), layout="constrained")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(width, height), layout="constrained")
    plt.close(figure)  # a notebook displays the returned figure; an open figure would be displayed twice
    return figure


def _subplots(figure: MplFigure, layout: Spec) -> dict[str, Axes]:
    """Axes by the suffix of their names, at the places of their domains."""
    suffixes = [name.removeprefix("yaxis") for name in layout if name.startswith("yaxis")]
    places = {
        suffix: (-layout[f"yaxis{suffix}"].get("domain", (0, 1))[1], layout[f"xaxis{suffix}"].get("domain", (0, 1))[0])
        for suffix in suffixes
    }
    rows, columns = (sorted({place[i] for place in places.values()}) for i in range(2))
    shared = any("matches" in layout[f"xaxis{suffix}"] for suffix in suffixes)
    grid = figure.subplots(len(rows), len(columns), sharex=shared, squeeze=False)
    found = {suffix: grid[rows.index(y)][columns.index(x)] for suffix, (y, x) in places.items()}
    for ax in grid.flat:
        ax.set_visible(ax in found.values())
    for suffix, ax in found.items():
        if layout[f"xaxis{suffix}"].get("title", {}).get("text"):
            ax.tick_params(labelbottom=True)
    return found


def _draw(ax: Axes, spec: Spec, suffix: str) -> None:
    layout = spec["layout"]
    traces = [trace for trace in spec["data"] if trace.get("yaxis", "y") == f"y{suffix}"]
    for shape in layout.get("shapes", []):
        if shape["yref"].split()[0] == f"y{suffix}":
            _shape(ax, shape)
    bars = [trace for trace in traces if trace["type"] == "bar"]
    for i, trace in enumerate(traces):
        if trace["type"] == "heatmap":
            _heat(ax, trace)
        elif trace["type"] == "bar":
            _bar(ax, trace, bars.index(trace), len(bars))
        elif trace.get("fill") == "tonexty":
            _band(ax, traces[i - 1], trace)
        elif trace.get("fill") != "none":
            _scatter(ax, trace)
    if any("text" in trace for trace in traces):
        ax.margins(0.12)  # room for the texts beside the points
    x, y = layout[f"xaxis{suffix}"], layout[f"yaxis{suffix}"]
    _axis(ax, "x", x)
    _axis(ax, "y", y)
    if any(trace.get("mode") == "lines" and "fill" not in trace for trace in traces) and "type" not in x:
        ax.margins(x=0)
    for note in layout.get("annotations", []):
        if (note["x"], note["y"]) == (x.get("domain", (0, 1))[0], y.get("domain", (0, 1))[1]):
            ax.set_title(_plain(note["text"]), fontsize="small", loc="left")
    if f"legend{suffix}" in layout and any("legend" in trace for trace in traces):
        ax.legend(fontsize="x-small", loc="upper right")


def _axis(ax: Axes, way: str, axis: Spec) -> None:
    named = getattr(ax, f"{way}axis")
    getattr(ax, f"set_{way}label")(axis.get("title", {}).get("text", ""))
    if axis.get("type") == "log":
        getattr(ax, f"set_{way}scale")("log")
    if "tickvals" in axis:
        texts = axis.get("ticktext") or [f"{value:g}" for value in axis["tickvals"]]
        named.set_ticks(axis["tickvals"], texts)
        named.set_ticks([], minor=True)
    if "tickangle" in axis:
        many = len(named.get_ticklabels()) > 20
        ax.tick_params(
            "x" if way == "x" else "y", rotation=-axis["tickangle"], labelsize="xx-small" if many else "x-small"
        )
    limits = getattr(ax, f"set_{way}lim")
    if "range" in axis:
        limits(*axis["range"])
    elif axis.get("rangemode") == "tozero" and axis.get("type") != "log":
        low, high = getattr(ax, f"get_{way}lim")()
        # A margin of Matplotlib below data from 0 on is not a negative value.
        if getattr(ax.dataLim, f"{way}0") >= 0:
            high = max(high, 1.04 * getattr(ax.dataLim, f"{way}1"))
            limits(0.0, high if high > 0 else low + 1.0)
    if axis.get("autorange") == "reversed" and axis.get("type") != "category":
        named.set_inverted(True)


def _color(text: str | None) -> str | tuple[float, ...] | None:
    """A color for Matplotlib, which does not read the colors of a page with their opacity."""
    if text is None or not text.startswith("rgba"):
        return text
    red, green, blue, alpha = map(float, re.findall(r"[\d.]+", text))
    return red / 255, green / 255, blue / 255, alpha


def _scatter(ax: Axes, trace: Spec) -> None:
    y = _known(trace["y"])
    x = trace["x"] if "x" in trace else [trace["x0"] + trace["dx"] * i for i in range(len(y))]
    line, marker = trace.get("line", {}), trace.get("marker", {})
    color = _color(line.get("color") or marker.get("color"))
    if trace.get("fill") == "toself":
        ax.fill(_known(x), y, facecolor=color, edgecolor=color, alpha=trace["opacity"] / 2, linewidth=1.0)
        return
    drawing: dict[str, Any] = {
        "color": color, "label": trace["name"] if trace.get("showlegend", True) else None,
        "linewidth": _LINE_PT * line.get("width", 1.4) if "lines" in trace["mode"] else 0.0,
        "linestyle": _DASHES.get(line.get("dash", ""), "-"),
        "drawstyle": "steps-pre" if line.get("shape") == "vh" else "default",
        "marker": _MARKERS[marker.get("symbol", "circle")] if "markers" in trace["mode"] else "",
        "markersize": _MARK_PT * marker.get("size", 6), "fillstyle": "none",
    }  # fmt: skip
    if marker.get("line", {}).get("color", color) != color:
        drawing |= {"fillstyle": "full", "markeredgecolor": "black", "markeredgewidth": 0.7, "zorder": 5}
    ends: dict[str, Any] = {f"{way}err": _whiskers(trace.get(f"error_{way}")) for way in ("x", "y")}
    if any(ends.values()):
        ax.errorbar(_known(x), y, elinewidth=0.6, **ends, **drawing)
    else:
        ax.plot(_known(x), y, **drawing)
    for at, text in zip(zip(x, y, strict=True), trace.get("text", ()), strict=False):
        ax.annotate(text, at, xytext=(5, 4), textcoords="offset points", fontsize="x-small")


def _band(ax: Axes, below: Spec, above: Spec) -> None:
    red, green, blue, alpha = map(float, re.findall(r"[\d.]+", above["fillcolor"]))
    ax.fill_between(
        _known(above["x"]), _known(below["y"]), _known(above["y"]), color=(red / 255, green / 255, blue / 255),
        alpha=alpha, linewidth=0, step="pre" if above["line"].get("shape") == "vh" else None,
    )  # fmt: skip


def _bar(ax: Axes, trace: Spec, position: int, count: int) -> None:
    width = 0.8 / count
    middles = [i - 0.4 + width * (position + 0.5) for i in range(len(trace["x"]))]
    ax.bar(
        middles, _known(trace["y"]), width=width, color=trace["marker"]["color"], edgecolor="white", linewidth=0.3,
        yerr=_whiskers(trace.get("error_y")), error_kw={"elinewidth": 0.6, "capsize": 0}, label=trace["name"],
    )  # fmt: skip
    ax.set_xticks(range(len(trace["x"])), trace["x"])


def _heat(ax: Axes, trace: Spec) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("scale", [tuple(step) for step in trace["colorscale"]])
    values = [_known(row) for row in trace["z"]]
    image = ax.imshow(values, cmap=shades, vmin=trace["zmin"], vmax=trace["zmax"], aspect="auto")
    for way, names in (("x", trace["x"]), ("y", trace["y"])):
        getattr(ax, f"set_{way}ticks")(range(len(names)), names)
    if "texttemplate" in trace:
        span = trace["zmax"] - trace["zmin"] or 1.0
        for i, row in enumerate(values):
            for k, value in enumerate(row):
                text = "–" if math.isnan(value) else figures(value, 3)
                dark = sum(shades((value - trace["zmin"]) / span)[:3]) < 1.5
                ax.text(k, i, text, ha="center", va="center", fontsize="x-small", color="white" if dark else "black")
    figure: Any = ax.get_figure()
    # Axes of a subfigure belong to the figure that contains it.
    bar = figure.figure.colorbar(image, ax=ax, label=trace["colorbar"]["title"]["text"])
    bar.formatter.set_useOffset(False)


def _shape(ax: Axes, shape: Spec) -> None:
    whole = shape["yref"].endswith("domain")
    if shape["type"] == "line":
        dashes = _DASHES.get(shape["line"].get("dash", ""), "-")
        draw, at = (ax.axvline, shape["x0"]) if whole else (ax.axhline, shape["y0"])
        draw(at, color="0.5", linewidth=_LINE_PT * shape["line"]["width"], linestyle=dashes, zorder=0)
    elif whole:
        ax.axvspan(shape["x0"], shape["x1"], color="0.5", alpha=0.1, linewidth=0)
    else:
        ax.fill_between([shape["x0"], shape["x1"]], shape["y0"], shape["y1"], color="0.5", alpha=0.18, linewidth=0)


def _share(axes: Mapping[str, Axes], layout: Spec) -> None:
    """Give axes of one quantity one scale, and name it once in a row."""
    for suffix, ax in axes.items():
        first = layout[f"yaxis{suffix}"].get("matches")
        if first is None:
            continue
        other = axes[first.removeprefix("y")]
        top = max(ax.get_ylim()[1], other.get_ylim()[1])
        for one in (name for name in axes if name == first[1:] or layout[f"yaxis{name}"].get("matches") == first):
            axes[one].set_ylim(0.0, top)
        if layout[f"xaxis{suffix}"]["domain"][0] > 0:
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)


def _handles(axes: Iterable[Axes], data: Sequence[Spec]) -> dict[str, Any]:
    """The entries of a legend by their names, in the order of the traces."""
    found = {name: handle for ax in axes for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    return {name: found[name] for name in dict.fromkeys(str(trace.get("name")) for trace in data) if name in found}


def _legend(figure: MplFigure, axes: Iterable[Axes], data: Sequence[Spec], width_in: float) -> None:
    """One legend above all panels, if there is more than one name and no panel has its own."""
    free = [ax for ax in axes if ax.get_legend() is None]
    named = _handles(free, data)
    if len(named) > 1 and not set(named) <= {ax.get_title(loc="left") for ax in free}:
        # An inch has room for about 15 small letters, and the line sample of each name takes 6.
        columns = max(1, min(len(named), int(15 * width_in / (max(map(len, named)) + 6))))
        figure.legend(list(named.values()), list(named), loc="outside upper center", ncols=columns, fontsize="small")


def _whiskers(error: Spec | None) -> list[list[float]] | None:
    if error is None or not error.get("visible", True):
        return None
    return [_known(error["arrayminus"]), _known(error["array"])]


def _known(values: Sequence[Any]) -> list[float]:
    return [math.nan if value is None else float(value) for value in values]


def _plain(text: str) -> str:
    return html.unescape(re.sub("</?b>", "", text))
