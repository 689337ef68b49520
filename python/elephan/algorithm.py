"""`Algorithm`: a congestion control of your own, as a class.

The endpoint calls an object of it at each event, and reads its attributes after each callback. Units are the papers':
windows in segments, time in seconds, rates in segments per second.
"""

# ruff: noqa: B027  (callbacks that need not be written do nothing)

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from elephan._engine import Ack, Lost, Sent, Signal, Start

NEEDS = {
    "window_at_send": "Ack.window_at_send",
    "one_way_delay": "Ack.owd",
    "delivery": "Ack.delivery",
    "losses": "on_lost; asked for by defining it",
    "sends": "on_sent; asked for by defining it",
    "pacing": "pacing_rate is obeyed",
    "own_recovery": "the window holds in recovery too, and not the endpoint's recovery rule",
    "accurate_ecn": "ECT(0), and Ack.marked with every ACK (RFC 8257)",
    "l4s": "ECT(1), and Ack.marked with every ACK (RFC 9331)",
}
"""Needs of an algorithm besides ACKs, losses and timeouts, each with the signal that it gets."""

FLOOR = 2.0
"""Smallest slow start threshold, segments (RFC 5681 §3.1)."""


class Algorithm(ABC):
    """A congestion control algorithm; one object is made for each flow of each run.

    Only `on_ack` and `on_congestion` must be written. An answer must depend on the callbacks alone: the object reads no
    clock and no file, keeps its state in itself, and draws random numbers from a generator seeded with ``Start.seed``.

    Attributes:
        window: congestion window, segments, at least 1; the endpoint sends whole segments, so up to its floor.
        ssthresh: slow start threshold, segments; infinite before the first loss.
        pacing_rate: segments per second, or ``None``; only with the need ``"pacing"``.
        recovery_floor: smallest window of a recovery that halves the rate step by step, segments.
        needs: words out of `NEEDS`; what is not asked for is not computed, and costs nothing.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    window: float = 1.0
    ssthresh: float = math.inf
    pacing_rate: float | None = None

    @property
    def recovery_floor(self) -> float:
        """The threshold, unless the method is overridden; Linux 2.6 lets the window sink to half of it."""
        return self.ssthresh

    def on_start(self, start: Start) -> None:
        """The connection begins."""
        self.window = max(start.initial_window, 1.0)
        self.ssthresh = max(start.initial_ssthresh, FLOOR)

    @abstractmethod
    def on_ack(self, ack: Ack) -> None:
        """Every ACK that delivers something."""

    @abstractmethod
    def on_congestion(self, signal: Signal) -> None:
        """Once a recovery episode: set ``ssthresh`` and the window that the episode ends with."""

    def on_timeout(self, signal: Signal) -> None:
        """The retransmission timer fired: half of the window becomes the threshold, and the window one segment."""
        if not signal.repeated:
            self.ssthresh = max(self.window / 2.0, FLOOR)
        self.window = 1.0

    def on_idle(self, now: float, idle: float) -> None:
        """Sending resumes after nothing was outstanding for ``idle`` seconds, longer than one RTO."""

    def on_sent(self, sent: Sent) -> None:
        """A segment went out."""

    def on_lost(self, lost: Lost) -> None:
        """A segment was found lost; before `on_congestion` and the ACK's own `on_ack`."""

    def on_recovery_exit(self, now: float) -> None:
        """Everything outstanding at the congestion signal or the timeout is acknowledged."""

    def moderate(self, window: float) -> None:
        """The endpoint's recovery rule ended below the window that was asked for: go on from there."""
        if window < self.window:
            self.window = max(window, 1.0)

    def on_undo(self, now: float) -> None:
        """The last congestion signal or timeout turned out to be spurious: restore what it changed."""

    def observe(self) -> Mapping[str, float]:
        """Internal variables by name, recorded with the samples where the scenario has ``internals = true``.

        A value may be NaN while it is not known.
        """
        return {}

    def _needs(self) -> list[str]:
        """The words of `needs`, and those that follow from the methods of the class."""
        own = type(self)
        implied = {"losses": own.on_lost is not Algorithm.on_lost, "sends": own.on_sent is not Algorithm.on_sent}
        return [*self.needs, *(word for word, wanted in implied.items() if wanted and word not in self.needs)]


class AlgorithmError(Exception):
    """An exception of a user's own algorithm; ``__cause__`` is the original exception, if it was raised in this
    process.

    Attributes:
        flow: the flow's name.
        callback: the method, or the attribute, that raised.
        time_s: simulated time.
        trace: the traceback, as text.
    """

    def __init__(self, flow: str, callback: str, time_s: float, what: str, trace: str) -> None:
        self.flow, self.callback, self.time_s, self.trace = flow, callback, time_s, trace
        self._what = what
        super().__init__(f"{flow}: {callback} raised {what} at {time_s:.6f} s")

    def __reduce__(self) -> tuple[object, ...]:
        return (AlgorithmError, (self.flow, self.callback, self.time_s, self._what, self.trace))
