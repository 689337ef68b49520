"""Limits of a flow, and their times.

Time is divided into intervals of about two round trips, and each gets the limit that most of it shows:

- *receive window*: the next segment would pass the edge of B's window.
- *application*: nothing is in flight; or segments leave neither when an acknowledgment arrives nor faster than they are
  wanted, while no queue, no loss and no probing shows that the sender fills the path; or many segments are not full.
- *send buffer*: acknowledgments release segments, but as many bytes are in flight for a long time, without a queue or a
  loss that would explain it: the sender may not have more, by its buffer or by a window of its own.
- *delayed ACKs*: little is in flight, and its acknowledgment is late by a timer of the receiver.
- the path otherwise: *slow start* while bytes in flight grow as it does; *congestion* if a queue stands, or came before
  the losses; *policer* or *random loss* if losses come without a queue.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.connection import Connection
from elephan.explanation.evidence import shares_of
from elephan.explanation.intervals import Measured, edges_of
from elephan.explanation.results import Interval, Limit, Limits
from elephan.explanation.timeline import timeline_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_CONTEXT = 6
"""Intervals on each side that show queues, losses and probes of an interval."""
_EXCURSION = 1.12
"""Least ratio of the largest to the median of bytes in flight that is a probe for more."""
_PLATEAU = 0.03
_OFTEN = 0.25
"""Largest difference of two flights of a sender that may not send more, and least share of intervals with one."""
_AS_BEFORE = 0.9
"""Least fraction of an earlier flight that is still the same window."""
_STANDING_SHARE, _STANDING_NS = 0.005, 300_000
_STEADILY, _RELEASED = 0.8, 0.9
"""Least share of the steps of a flight that moves in their direction, and of the pauses that ACKs end at a window."""
_EVEN = 0.3
"""Least ratio of the median to the longest time between segments that are even."""
_SOME_IDLE = 0.02
_AFTER_START = 2
"""Intervals after slow start in which its last bursts are still on the way."""
_GROWTH = 1.3
"""Least growth of bytes in flight in an interval of slow start."""
_SHORT_NS = 1_000_000
_TOP = 0.98
_POLICED_LOSS = 0.01
"""Least fraction of segments that a policer drops while it limits."""


def find_limits(connection: Connection) -> Limits:
    """Find what limited a flow, and when."""
    line = timeline_of(connection)
    rtt_ns = max(connection.position.rtt_ns, 1000)
    measured = Measured(line, connection, edges_of(line, rtt_ns))
    labels = _Judge(measured).labels()
    return Limits(_merged(measured.edges / 1e9, labels), shares_of(measured, labels), measured.series)


class _Judge:
    """The limit of each interval, from its values and those near it."""

    def __init__(self, measured: Measured) -> None:
        self.of = measured

    def labels(self) -> list[Limit]:
        """The limit of each interval."""
        values = self.of.series
        # Queues and losses of slow start say nothing of what comes after it.
        after = np.arange(self.of.count) >= int(self._slow_start.sum()) + _AFTER_START
        high = np.nan_to_num(values["rtt_max_s"], nan=0.0) * 1e9 > self.of.base_ns + self.of.queue_ns
        # A short queue counts if it never drains.
        high |= np.nan_to_num(values["rtt_min_s"], nan=0.0) * 1e9 > self.of.base_ns + self._standing_ns
        queued, lossy = high | self._around(high & after), self._around((values["losses"] > 0) & after)
        probes = self._probes()
        # Without a clock that is fine enough, even segments are those of an application, and bursts those of a window.
        even = self._mean_around(values["evenness"], unknown=0.0) > _EVEN
        released = self._mean_around(values["released_share"], unknown=np.nan)
        released = np.where(np.isfinite(released), released, np.where(even, 0.0, 1.0))
        partial = self._mean_around(values["partial_share"], unknown=0.0)
        start = self._slow_start
        of_losses = self._losses()
        most = self._most_before()
        found: list[Limit] = []
        for i in range(self.of.count):
            busy = 1 - values["idle_share"][i]
            if values["idle_share"][i] > 0.5:
                limit = Limit.APPLICATION
            elif values["window_share"][i] > 0.5 * busy:
                limit = Limit.RECEIVE_WINDOW
            elif values["late_share"][i] > 0.5:
                limit = Limit.DELAYED_ACKS
            elif start[i]:
                limit = Limit.SLOW_START
            elif partial[i] > 0.5 or (
                released[i] < 0.35 and not (queued[i] or lossy[i] or probes[i] or self._moves[i])
            ):
                limit = Limit.APPLICATION
            elif not (queued[i] or lossy[i] or self._moves[i]) and self._flat[i]:
                limit = Limit.SEND_BUFFER
                if values["flight_max"][i] < _AS_BEFORE * most[i]:
                    # More was in flight before: the window is smaller now if ACKs release what leaves, and otherwise it
                    # lets more be sent, and there is no more.
                    limit = of_losses if released[i] > _RELEASED else Limit.APPLICATION
            else:
                limit = of_losses
            found.append(limit)
        return found

    @property
    def _standing_ns(self) -> float:
        """Least rise of all round trips of an interval that is a queue."""
        return max(_STANDING_SHARE * self.of.base_ns, _STANDING_NS, 1.5 * self.of.line.resolution_ns)

    def _around(self, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Intervals in which, or near which, something is so."""
        near = np.convolve(which.astype(float), np.ones(2 * _CONTEXT + 1), mode="same")[: self.of.count]
        result: NDArray[np.bool_] = near > 0.5
        return result if len(which) > 2 * _CONTEXT else np.full(self.of.count, bool(which.any()))

    def _mean_around(self, values: Floats, unknown: float) -> Floats:
        known = np.isfinite(values)
        size = min(5, self.of.count)
        some = np.convolve(np.where(known, values, 0), np.ones(size), mode="same")
        number = np.convolve(known.astype(float), np.ones(size), mode="same")
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Floats = np.where(number > 0, some / number, unknown)
        return result

    def _probes(self) -> NDArray[np.bool_]:
        """Intervals near one in which more is in flight than usual: a sender that looks for the path's rate."""
        most, busy = self.of.series["flight_max"], self._settled
        result = np.zeros(self.of.count, dtype=bool)
        for i in range(self.of.count):
            near = most[max(0, i - _CONTEXT) : i + _CONTEXT + 1]
            near = near[busy[max(0, i - _CONTEXT) : i + _CONTEXT + 1]]
            median = np.median(near) if len(near) else 0.0
            result[i] = median > 0 and near.max() >= max(_EXCURSION * median, median + 2 * self.of.mss)
        return result

    @cached_property
    def _settled(self) -> NDArray[np.bool_]:
        """Intervals with data in flight all the time, after the first bursts of a start."""
        settled: NDArray[np.bool_] = self.of.series["idle_share"] < _SOME_IDLE
        settled[: int(self._slow_start.sum()) + _AFTER_START] = False
        return settled

    def _most_before(self) -> Floats:
        """The most bytes in flight since the last loss."""
        flight, losses = self.of.series["flight_max"], self.of.series["losses"]
        result = np.zeros(self.of.count)
        for i in range(self.of.count):
            result[i] = flight[i] if losses[i] > 0 or i == 0 else max(result[i - 1], flight[i])
        return result

    @cached_property
    def _flat(self) -> NDArray[np.bool_]:
        """Intervals with a flight that is that of many others, in a flow without losses: it may not grow.

        CUBIC's window hardly grows for seconds either, but it comes from a loss and leads to one.
        """
        flight, settled = self.of.series["flight_max"], self._settled
        if not settled.any() or self.of.series["losses"][settled].any():
            return np.zeros(self.of.count, dtype=bool)
        others = np.sort(flight[settled])
        width = np.maximum(_PLATEAU * flight, 2 * self.of.mss)
        alike = np.searchsorted(others, flight + width, "right") - np.searchsorted(others, flight - width, "left")
        result: NDArray[np.bool_] = settled & (alike >= max(_CONTEXT, _OFTEN * len(others)))
        return result

    @cached_property
    def _moves(self) -> NDArray[np.bool_]:
        """Intervals near which the flight rises, or falls, step by step, as only a congestion window does."""
        flight, count = self.of.series["flight_median"], self.of.count
        result, begin = np.zeros(count, dtype=bool), int(self._slow_start.sum()) + _AFTER_START
        for i in range(count):
            steps = np.diff(flight[max(begin, i - _CONTEXT) : i + _CONTEXT + 1])
            total = steps.sum()
            same = np.sign(steps) == np.sign(total)
            result[i] = len(steps) >= _CONTEXT and abs(total) >= 4 * self.of.mss and same.mean() >= _STEADILY
        return result

    @cached_property
    def _slow_start(self) -> NDArray[np.bool_]:
        """The first intervals, while the flight grows as in slow start."""
        most, losses = self.of.series["flight_max"], self.of.series["losses"]
        result = np.zeros(self.of.count, dtype=bool)
        for i in range(self.of.count):
            grows = i + 1 < self.of.count and most[i + 1] > _GROWTH * most[i]
            result[i] = losses[i] == 0 and (grows or i == 0)
            if not result[i]:
                break
        return result

    def _losses(self) -> Limit:
        """The kind of the losses: one for the whole connection, since a path has one cause most of the time."""
        line, values = self.of.line, self.of.series
        lost = int(line.again.sum())
        if lost == 0:
            return Limit.CONGESTION
        high = values["rtt_max_s"] * 1e9
        known = np.isfinite(high)
        if not known.any():
            return Limit.CONGESTION
        # The queue that stood before the losses.
        queues = np.where(known, high - self.of.base_ns, 0)
        losing = np.flatnonzero(values["losses"] > 0)
        seen = np.array([max(queues[max(0, i - 1) : i + 1]) for i in losing])
        if np.median(seen) > max(self.of.queue_ns, 0.3 * queues.max()):
            return Limit.CONGESTION
        # A short queue counts if losses come at its top.
        top = float(np.quantile(queues[known], _TOP))
        if top > _SHORT_NS + self.of.line.resolution_ns and np.median(seen) > top / 2:
            return Limit.CONGESTION
        fraction = lost / max(1.0, values["segments"].sum())
        if fraction >= _POLICED_LOSS and self._clipped():
            return Limit.POLICER
        return (
            Limit.RANDOM_LOSS
            if queues.max() < max(3 * self.of.queue_ns, 0.3 * self.of.base_ns) or np.median(seen) <= self.of.queue_ns
            else Limit.CONGESTION
        )

    def _clipped(self) -> bool:
        """The rate behind the capture is the same in all intervals with losses."""
        rates = self.of.series["goodput_bps"][self.of.series["losses"] > 0]
        return len(rates) >= 5 and bool(np.quantile(rates, 0.9) < 1.5 * np.median(rates))


def _merged(bounds_s: Floats, labels: list[Limit]) -> tuple[Interval, ...]:
    """Neighboring intervals with one limit as one."""
    found: list[Interval] = []
    for start_s, end_s, limit in zip(bounds_s[:-1], bounds_s[1:], labels, strict=True):
        if found and found[-1].limit == limit:
            found[-1] = Interval(found[-1].start_s, float(end_s), limit)
        else:
            found.append(Interval(float(start_s), float(end_s), limit))
    return tuple(found)
