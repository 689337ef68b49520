"""The replay of one algorithm against a capture: where its sender departs from the algorithm that it claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.explanation.algorithm import ALIKE, Followed, Replays, in_phase, tolerances_of
from elephan.explanation.drawing import MOST_POINTS, curve
from elephan.explanation.wording import time
from elephan.report.figures import COLORS, Figure, stacked, suffix_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elephan.explanation.events import Events

MOST_STRETCHES = 200
"""Most stretches in a document, the ones with the most segments."""
_MOST_PRINTED = 8
_DRAWN_MS = 1000.0
"""Largest difference in time that is drawn, ms: later ones are drawn there."""
HEADER = ("from s", "to s", "segments", "sent", "by (median)", "in flight", "window of the algorithm")


@dataclass(frozen=True)
class Stretch:
    """A time in which a sender departs from an algorithm: its segments leave earlier or later than this allows.

    Attributes:
        start_s, end_s: times at which the first and the last of these segments leave, s.
        segments: their number.
        late_s: median of the times by which they leave later than allowed, s: negative if they leave earlier, and
            negative infinity if the algorithm never allows them.
        in_flight: segments in flight when the first of them leaves.
        window: the algorithm's window then, segments.
    """

    start_s: float
    end_s: float
    segments: int
    late_s: float
    in_flight: int
    window: int


@dataclass(frozen=True)
class Replay:
    """A capture and an algorithm that follows it.

    Attributes:
        followed: segments and windows of the replay.
        tolerance_s: largest difference in time of a segment that is sent alike, s.
        gap_s: time without departing segments that ends a stretch, s.
    """

    followed: Followed
    tolerance_s: float
    gap_s: float

    @property
    def algorithm(self) -> str:
        """The algorithm."""
        return self.followed.algorithm

    @cached_property
    def late_s(self) -> NDArray[np.float64]:
        """Time by which each segment leaves later than the algorithm allows, s; negative infinity if it never does."""
        segments = self.followed.segments
        allowed = segments["allowed_s"].fill_null(np.nan).to_numpy()
        late: NDArray[np.float64] = segments["sent_s"].to_numpy() - np.where(np.isnan(allowed), np.inf, allowed)
        return late

    @cached_property
    def departs(self) -> NDArray[np.bool_]:
        """For each segment, true if it leaves earlier or later than the algorithm allows."""
        found: NDArray[np.bool_] = np.abs(self.late_s) > self.tolerance_s
        return found

    @property
    def share(self) -> float:
        """Share of the segments that leave when the algorithm allows."""
        return float(1 - self.departs.mean()) if len(self.departs) else 1.0

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """Times in which the sender departs from the algorithm, in order."""
        sent = self.followed.segments["sent_s"].to_numpy()
        places = np.flatnonzero(self.departs)
        if not len(places):
            return ()
        times = self.followed.windows["time_s"].to_numpy()
        window, in_flight = (self.followed.windows[name].to_numpy() for name in ("window", "in_flight"))
        edges = np.flatnonzero(np.diff(sent[places]) > self.gap_s) + 1
        found = []
        for group in np.split(places, edges):
            event = max(0, int(np.searchsorted(times, sent[group[0]], side="left")) - 1)
            late = float(np.median(self.late_s[group]))
            found.append(
                Stretch(
                    float(sent[group[0]]), float(sent[group[-1]]), len(group), late, int(in_flight[event]),
                    int(window[event]),
                )
            )  # fmt: skip
        return tuple(found)

    @property
    def largest(self) -> tuple[Stretch, ...]:
        """The stretches, those with the most segments first."""
        return tuple(sorted(self.stretches, key=lambda one: -one.segments))

    @property
    def text(self) -> str:
        """The replay, in sentences."""
        total = len(self.departs)
        early = int((self.departs & (self.late_s < 0)).sum())
        late = int(self.departs.sum()) - early
        lead = (
            f"Replay of {self.algorithm}: {100 * self.share:.1f} % of {total} segments left within "
            f"{time(self.tolerance_s)} of when it allows them"
        )
        if not self.stretches:
            return f"{lead}, so the sender does not depart from it."
        first = self.stretches[0]
        return (
            f"{lead}; {early} left earlier, and {late} later. The sender departs from it first at "
            f"{first.start_s:.3f} s, with {first.in_flight} segments in flight and a window of the algorithm of "
            f"{first.window}."
        )

    def rows(self) -> list[list[str]]:
        """Rows of a table: the largest stretches."""
        return [
            [
                f"{one.start_s:.3f}", f"{one.end_s:.3f}", str(one.segments), "later" if one.late_s > 0 else "earlier",
                time(abs(one.late_s)) if np.isfinite(one.late_s) else "never allowed", str(one.in_flight),
                str(one.window),
            ]
            for one in self.largest[:_MOST_PRINTED]
        ]  # fmt: skip

    def document(self) -> dict[str, Any]:
        """The replay as plain values."""
        return {
            "algorithm": self.algorithm,
            "segments": len(self.departs),
            "share": self.share,
            "tolerance_s": self.tolerance_s,
            "stretches": [
                vars(one) | {"late_s": one.late_s if np.isfinite(one.late_s) else None}
                for one in self.largest[:MOST_STRETCHES]
            ],
            "stretches_in_all": len(self.stretches),
        }


def replay(events: Events, algorithm: str) -> Replay:
    """Follow a capture with an algorithm, with or without a preset.

    Raises:
        ScenarioError: the algorithm is unknown, or is none of a TCP sender alone.
    """
    found = Replay(Replays(events).follow(algorithm), tolerances_of(events)[1], events.handshake_s)
    if found.share >= 1 - ALIKE:
        return found
    return replace(found, followed=Replays(in_phase(events, algorithm)).follow(algorithm))


@dataclass(frozen=True)
class ReplayFigure(Figure):
    """The sender and an algorithm that follows it: what left and what was allowed, the difference, and the windows."""

    replay: Replay

    def spec(self) -> dict[str, Any]:
        """Three panels with one x axis."""
        name, segments, windows = self.replay.algorithm, self.replay.followed.segments, self.replay.followed.windows
        panels = [
            ("Segments", "", "segment"), ("Left later than allowed", "", "ms"),
            ("Window and segments in flight", "time (s)", "segments"),
        ]  # fmt: skip
        layout = stacked(panels, 250, 120)
        for number in range(1, len(panels)):
            layout[f"xaxis{suffix_of(number)}"]["matches"] = "x"
        layout["legend"] = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.03, "yanchor": "bottom"}
        sent, numbers = segments["sent_s"].to_numpy(), np.arange(segments.height, dtype=np.float64)
        allowed = segments["allowed_s"].fill_null(np.nan).to_numpy()
        times = windows["time_s"].to_numpy()
        data = [
            curve("left", sent, numbers, 0, 0),
            curve(f"allowed by {name}", allowed, numbers, 0, 1),
            *self._differences(sent),
            curve("segments in flight", times, windows["in_flight"].to_numpy().astype(np.float64), 2, 0),
            curve(f"window of {name}", times, windows["window"].to_numpy().astype(np.float64), 2, 1),
        ]
        return {"data": data, "layout": layout}

    def _differences(self, sent: NDArray[np.float64]) -> Sequence[dict[str, Any]]:
        """Marks at the differences of time. Those of departing segments are kept before others."""
        late_ms = np.clip(1e3 * self.replay.late_s, -_DRAWN_MS, _DRAWN_MS)
        found = []
        for title, mask, color in (("as allowed", ~self.replay.departs, 0), ("departs", self.replay.departs, 1)):
            places = np.flatnonzero(mask)
            places = places[:: max(1, -(-len(places) // MOST_POINTS))]
            found.append({
                "type": "scatter", "mode": "markers", "name": title, "x": np.round(sent[places], 6).tolist(),
                "y": np.round(late_ms[places], 4).tolist(), "marker": {"color": COLORS[color], "size": 4},
                "xaxis": f"x{suffix_of(1)}", "yaxis": f"y{suffix_of(1)}",
                "hovertemplate": "%{x:.3f} s: %{y:.4~g} ms",
            })  # fmt: skip
        return found
