"""The figure of an explanation: sequence over time with the limits shaded, rate, bytes in flight, and round trips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.explanation.connection import Connection
from elephan.explanation.results import Limit, Limits
from elephan.explanation.timeline import Timeline, timeline_of
from elephan.report.figures import COLORS, Figure, stacked, suffix_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_POINTS = 4000
"""Most points of a curve: what a screen shows."""
_MOST_SHADES = 400
_ALPHA = 0.13
_COLORS = dict(zip(Limit, COLORS, strict=False))


@dataclass(frozen=True)
class Overlay:
    """A simulated flow beside the captured one.

    Attributes:
        name: its algorithm.
        time_s: times of its samples, in the time of the capture.
        acked_mb, rate_mbps, flight_kb, rtt_ms: acknowledged data, goodput, data in flight and round trip; NaN where
            they are not known.
    """

    name: str
    time_s: NDArray[np.float64]
    acked_mb: NDArray[np.float64]
    rate_mbps: NDArray[np.float64]
    flight_kb: NDArray[np.float64]
    rtt_ms: NDArray[np.float64]


@dataclass(frozen=True)
class FlowFigure(Figure):
    """The packets of a flow over time, with its limits."""

    connection: Connection
    limits: Limits
    overlay: Overlay | None = None

    def spec(self) -> dict[str, Any]:
        """Four panels with one x axis, on which the limits are shaded."""
        line = timeline_of(self.connection)
        panels = [
            ("Sequence", "", "MB"), ("Goodput", "", "Mbit/s"), ("Bytes in flight", "", "kB"),
            ("Round trip", "time (s)", "ms"),
        ]  # fmt: skip
        layout = stacked(panels, 250, 120)
        for number in range(len(panels)):
            if number:
                layout[f"xaxis{suffix_of(number)}"]["matches"] = "x"
            layout["shapes"] += self._shades(suffix_of(number))
        layout["legend"] = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.03, "yanchor": "bottom"}
        data = [*self._legend(), *_sequence(line), *self._series()]
        return {"data": data, "layout": layout}

    def _legend(self) -> list[dict[str, Any]]:
        """A mark for each limit's shade."""
        return [
            {
                "type": "scatter", "mode": "markers", "x": [None], "y": [None], "name": str(share.limit),
                "marker": {"symbol": "square", "size": 12, "color": _shade_color(share.limit, 0.5)},
            }
            for share in self.limits.shares
        ]  # fmt: skip

    def _shades(self, suffix: str) -> list[dict[str, Any]]:
        intervals = self.limits.intervals
        if len(intervals) > _MOST_SHADES:
            longest = sorted(intervals, key=lambda one: one.start_s - one.end_s)[:_MOST_SHADES]
            intervals = tuple(longest)
        return [
            {
                "type": "rect", "xref": f"x{suffix}", "yref": f"y{suffix} domain", "x0": round(one.start_s, 6),
                "x1": round(one.end_s, 6), "y0": 0, "y1": 1, "fillcolor": _shade_color(one.limit, _ALPHA),
                "line": {"width": 0}, "layer": "below",
            }
            for one in intervals
        ]  # fmt: skip

    def _series(self) -> list[dict[str, Any]]:
        values, found = self.limits.series, []
        times = values["time_s"]
        found.append(curve("captured", times, values["goodput_bps"] / 1e6, 1, 0, legend=False))
        found.append(curve("in flight", times, values["flight_max"] / 1e3, 2, 0, legend=False))
        found.append(curve("largest round trip", times, values["rtt_max_s"] * 1e3, 3, 0, legend=False))
        found.append(curve("least round trip", times, values["rtt_min_s"] * 1e3, 3, 2, legend=False))
        if self.overlay is not None:
            over = self.overlay
            panels = (over.acked_mb, over.rate_mbps, over.flight_kb, over.rtt_ms)
            for panel, values_of in enumerate(panels):
                name = f"{over.name}, simulated on the fitted path"
                found.append(curve(name, over.time_s, values_of, panel, 1, dashed=True, legend=panel == 0))
        return found


def _sequence(line: Timeline) -> list[dict[str, Any]]:
    sent = np.maximum.accumulate(line.past)
    found = [
        curve("sent", line.sent_ns / 1e9, sent / 1e6, 0, 0),
        curve("acknowledged", line.acked_ns / 1e9, line.ack / 1e6, 0, 2),
    ]
    known = line.edge >= 0
    if known.any():
        found.append(curve("edge of the receive window", line.acked_ns[known] / 1e9, line.edge[known] / 1e6, 0, 6))
    if line.again.any():
        times, places = line.sent_ns[line.again] / 1e9, line.first[line.again] / 1e6
        step = max(1, -(-len(times) // MOST_POINTS))
        found.append({
            "type": "scatter", "mode": "markers", "name": "sent again", "x": _rounded(times[::step]),
            "y": _rounded(places[::step]), "marker": {"color": COLORS[1], "size": 5, "symbol": "x"},
        })  # fmt: skip
    return found


def curve(
    name: str, x: NDArray[Any], y: NDArray[Any], panel: int, color: int, *, dashed: bool = False, legend: bool = True
) -> dict[str, Any]:
    """A line of at most ``MOST_POINTS`` points in one of stacked panels."""
    step = max(1, -(-len(x) // MOST_POINTS))
    suffix = suffix_of(panel)
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": _rounded(x[::step]), "y": _rounded(y[::step]),
        "line": {"width": 1.2, "color": COLORS[color]} | ({"dash": "dash"} if dashed else {}), "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}", "showlegend": legend, "hovertemplate": "%{x:.3f} s: %{y:,.4~g}",
    }  # fmt: skip


def _rounded(values: NDArray[Any]) -> list[float | None]:
    return [round(float(value), 6) if np.isfinite(value) else None for value in values]


def _shade_color(limit: Limit, alpha: float) -> str:
    color = _COLORS[limit].lstrip("#")
    red, green, blue = (int(color[i : i + 2], 16) for i in (0, 2, 4))
    return f"rgba({red},{green},{blue},{alpha})"
