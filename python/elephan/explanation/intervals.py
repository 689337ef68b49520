"""Values of intervals of a connection, from which its limits follow.

Time is divided into intervals of about two round trips. Between packets the bytes in flight and the edge of B's window
stay as they are, so that a share of time is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.connection import Connection
from elephan.explanation.timeline import Timeline, round_trips

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]

MOST_INTERVALS = 4000
LEAST_INTERVAL_NS = 20_000_000
_ROUNDS = 2.0
"""Length of an interval, in round trips."""
_GAP_SHARE = 0.1
_GAP_NS = 200_000
"""Fraction of the time between acknowledgments, and time, within which the last one counts as a segment's release."""
_BY_CHANCE = 0.3
"""Largest share of the time near an acknowledgment in which this still shows that it releases segments."""
DELAYED_NS = 25_000_000
"""Least delay of an acknowledgment that is a timer's (Linux: 40 ms; RFC 1122: up to 500 ms)."""
_QUEUE_SHARE = 0.08
"""Least rise of the round trip, as a fraction of the base RTT, that is a queue."""
_QUEUE_NS = 300_000

SERIES: Mapping[str, str] = {
    "time_s": "middle of the interval, s",
    "window_share": "fraction of the time at the edge of the receive window",
    "idle_share": "fraction of the time with nothing in flight",
    "released_share": "fraction of the pauses that an acknowledgment ends",
    "partial_share": "fraction of the segments before pauses that are not full",
    "evenness": "median time between packets of data, as a fraction of the longest; NaN with less than four",
    "flight_max": "most bytes in flight",
    "flight_median": "median of bytes in flight",
    "rtt_min_s": "least round trip of its acknowledgments, s; NaN without any",
    "rtt_max_s": "largest round trip of its acknowledgments, s; NaN without any",
    "losses": "retransmissions",
    "segments": "segments",
    "late_share": "fraction of the time that waits for an acknowledgment of little data, which is late by a timer",
    "goodput_bps": "data that are acknowledged first, bit/s",
}


def edges_of(line: Timeline, rtt_ns: int) -> Longs:
    """Bounds of the intervals, ns."""
    span = max(1, line.end_ns - line.start_ns)
    usual_ns = max(_ROUNDS * rtt_ns, LEAST_INTERVAL_NS)
    count = int(np.clip(span / usual_ns, 1, MOST_INTERVALS))
    edges: Longs = np.linspace(line.start_ns, line.start_ns + span, count + 1).astype(np.int64)
    return edges


class Measured:
    """Values of each interval, from which its limit follows."""

    def __init__(self, line: Timeline, connection: Connection, edges: Longs) -> None:
        self.line = line
        self.edges = edges
        self.mss = connection.mss
        self.base_ns = max(connection.position.rtt_ns, 1)
        self.count = len(edges) - 1
        self._events()
        rtts = round_trips(line)
        if len(rtts[0]):
            self.base_ns = max(1, int(rtts[1].min()))
        gaps = self._gaps()
        low, high = self._extremes(*rtts)
        place = self._place(line.sent_ns)
        flight_max, flight_median = self._flights()
        self.series: dict[str, Floats] = {
            "time_s": (edges[:-1] + edges[1:]) / 2e9,
            "window_share": self._time_share(self._at_window()),
            "idle_share": self._time_share(self.flight <= 0),
            "released_share": gaps[0],
            "partial_share": gaps[1],
            "evenness": self._evenness(connection),
            "flight_max": flight_max,
            "flight_median": flight_median,
            "rtt_min_s": low / 1e9,
            "rtt_max_s": high / 1e9,
            "losses": np.bincount(place[line.again], minlength=self.count).astype(float),
            "segments": self._full_segments(place),
            "late_share": self._late(rtts),
            "goodput_bps": self._goodput(),
        }

    # ---- states between packets ----

    def _events(self) -> None:
        """Bytes in flight, and the window's edge, after each packet of both directions."""
        line = self.line
        times = np.concatenate([line.acked_ns, line.sent_ns])
        # An acknowledgment comes before the segments that it releases in the same instant.
        order = np.argsort(times, kind="stable")
        acks, segments = len(line.acked_ns), len(line.sent_ns)
        lowest = line.first.min() if segments else 0

        def forward(of_acks: Longs, of_segments: Longs, initial: int) -> Longs:
            values = np.concatenate([of_acks, of_segments])[order]
            result: Longs = np.maximum(np.maximum.accumulate(values), initial)
            return result

        nothing = np.iinfo(np.int64).min
        self.times = times[order]
        self.sent_to = forward(np.full(acks, nothing), line.past, int(lowest))
        self.acked_to = forward(line.ack, np.full(segments, nothing), int(lowest))
        self.window_to = forward(line.edge, np.full(segments, nothing), -1)
        sacked = np.zeros(len(times), dtype=np.int64)
        last = np.searchsorted(line.acked_ns, self.times, side="right") - 1
        if acks:
            sacked = np.where(last >= 0, line.sacked[np.maximum(last, 0)], 0)
        self.flight = np.maximum(self.sent_to - self.acked_to - sacked, 0)

    def _at_window(self) -> Flags:
        """States in which a full segment would pass the edge of the window."""
        state: Flags = (self.window_to >= 0) & (self.window_to - self.sent_to < self.mss) & (self.flight > 0)
        return state

    def _time_share(self, state: Flags) -> Floats:
        """Fraction of each interval in which a state holds that begins with each event."""
        lengths = np.diff(self.times, append=self.edges[-1]).clip(0)
        begins = np.concatenate([[0], np.cumsum(np.where(state, lengths, 0))])
        # Time in the state up to each bound, interpolated within the state that is cut by it.
        place = np.searchsorted(self.times, self.edges, side="right") - 1
        inside = np.maximum(place, 0)
        partly = np.where(state[inside], (self.edges - self.times[inside]).clip(0), 0)
        until = np.where(place >= 0, begins[inside] + partly, 0)
        result: Floats = np.diff(until) / np.maximum(np.diff(self.edges), 1)
        return result.clip(0, 1)

    def _place(self, times: Longs) -> Longs:
        """Interval of each time."""
        place: Longs = np.clip(np.searchsorted(self.edges, times, side="right") - 1, 0, self.count - 1)
        return place

    def _full_segments(self, place: Longs) -> Floats:
        """Segments of the largest size, of which a super-segment has many."""
        sizes = (self.line.past - self.line.first) / self.mss
        return np.bincount(place, weights=np.maximum(sizes, 1), minlength=self.count).astype(np.float64)

    def _flights(self) -> tuple[Floats, Floats]:
        """Largest and median bytes in flight after the segments of each interval; those before where none is sent."""
        place = self._place(self.times)
        most = np.zeros(self.count)
        np.maximum.at(most, place, self.flight.astype(float))
        bounds = np.searchsorted(place, np.arange(self.count + 1))
        medians = np.zeros(self.count)
        for i in range(self.count):
            some = self.flight[bounds[i] : bounds[i + 1]]
            medians[i] = np.median(some) if len(some) else (medians[i - 1] if i else 0.0)
        return most, medians

    def _extremes(self, at_ns: Longs, rtt: Longs) -> tuple[Floats, Floats]:
        low, high = np.full(self.count, np.inf), np.full(self.count, -np.inf)
        place = self._place(at_ns)
        np.minimum.at(low, place, rtt.astype(float))
        np.maximum.at(high, place, rtt.astype(float))
        return np.where(np.isfinite(low), low, np.nan), np.where(np.isfinite(high), high, np.nan)

    def _gaps(self) -> tuple[Floats, Floats]:
        """Fractions of the pauses between segments that an acknowledgment ends, and that follow a partial segment.

        A pause counts by its length. Pauses shorter than a burst's are left out.
        """
        line = self.line
        if len(line.sent_ns) < 2 or not len(line.acked_ns):
            return np.ones(self.count), np.zeros(self.count)
        pause = np.diff(line.sent_ns)
        # A time from a timestamp is up to a tick early.
        last = np.searchsorted(line.acked_ns, line.sent_ns[1:] + line.resolution_ns, side="right") - 1
        since = line.sent_ns[1:] - line.acked_ns[np.maximum(last, 0)]
        usual = max(1.0, (line.end_ns - line.start_ns) / len(line.acked_ns))
        near = min(_GAP_SHARE * usual, _GAP_SHARE * self.base_ns, _GAP_NS) + line.resolution_ns
        released = (last >= 0) & (since <= near)
        partial = (line.past - line.first)[:-1] % self.mss != 0
        counts = pause > max(self.base_ns / 500, 2 * line.resolution_ns)
        place = self._place(line.sent_ns[1:])
        weights = np.where(counts, np.minimum(pause, self.base_ns), 0).astype(float)
        whole = np.bincount(place, weights=weights, minlength=self.count)

        def share(which: Flags) -> Floats:
            some = np.bincount(place, weights=np.where(which, weights, 0), minlength=self.count)
            with np.errstate(invalid="ignore", divide="ignore"):
                result: Floats = np.where(whole > 0, some / whole, np.nan)
            return result

        # Acknowledgments that are hardly further apart than that are near any segment.
        acks = np.bincount(self._place(line.acked_ns), minlength=self.count)
        by_chance = acks * (near + line.resolution_ns) / np.maximum(np.diff(self.edges), 1)
        hidden = (line.resolution_ns > 0) & (by_chance > _BY_CHANCE)
        return np.where(hidden, np.nan, share(released)), share(partial)

    def _evenness(self, connection: Connection) -> Floats:
        """How evenly data are captured in each interval: bursts of a window are followed by a pause."""
        seen_ns = connection.segments.filter(connection.segments["bytes"] > 0)["time_ns"].to_numpy()
        bounds = np.searchsorted(seen_ns, self.edges)
        result = np.full(self.count, np.nan)
        for i in range(self.count):
            steps = np.diff(seen_ns[bounds[i] : bounds[i + 1]])
            if len(steps) >= 3 and steps.max() > 0:
                result[i] = np.median(steps) / steps.max()
        return result

    def _late(self, rtts: tuple[Longs, Longs]) -> Floats:
        """Fraction of each interval that waits for an acknowledgment that a timer delays."""
        at_ns, rtt = rtts
        late = (rtt - self.base_ns > DELAYED_NS) if len(rtt) else np.zeros(0, dtype=bool)
        if not late.any():
            return np.zeros(self.count)
        place = np.searchsorted(self.times, at_ns[late], side="left") - 1
        little = self.flight[np.maximum(place, 0)] <= 2 * self.mss
        waited = np.bincount(
            self._place(at_ns[late]), weights=np.where(little, rtt[late] - self.base_ns, 0).astype(float),
            minlength=self.count,
        )  # fmt: skip
        result: Floats = np.minimum(1, waited / np.maximum(np.diff(self.edges), 1))
        return result

    def _goodput(self) -> Floats:
        reached = np.interp(self.edges, self.times, self.acked_to)
        result: Floats = np.diff(reached) * 8e9 / np.maximum(np.diff(self.edges), 1)
        return result

    @cached_property
    def queue_ns(self) -> float:
        """Least rise of the round trip that is a queue."""
        return max(_QUEUE_SHARE * self.base_ns, _QUEUE_NS, 1.5 * self.line.resolution_ns)
