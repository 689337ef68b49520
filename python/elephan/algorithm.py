"""`Algorithm`: a congestion control of your own, as a class.

The endpoint calls an object of the class at each event, and reads its attributes after each callback. Units are as in
the papers: windows in segments, time in seconds, rates in segments per second.
"""

# ruff: noqa: B027  (callbacks that need not be written do nothing)

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from elephan._engine import Ack, Lost, Restart, Sent, Signal, Start

NEEDS = {
    "window_at_send": "Ack.window_at_send",
    "one_way_delay": "Ack.owd",
    "delivery": "Ack.delivery",
    "losses": "on_lost; declared by defining the method",
    "sends": "on_sent; declared by defining the method",
    "restarts": "on_restart; declared by defining the method",
    "idle_timeouts": "on_idle_timeouts; declared by defining the method",
    "reductions": "takes_reduction; declared by defining the method",
    "pacing": "the endpoint sends at pacing_rate",
    "own_recovery": "the algorithm's window applies in recovery, instead of the endpoint's recovery rule",
    "accurate_ecn": "ECT(0), and Ack.marked with every ACK (RFC 8257)",
    "l4s": "ECT(1), and Ack.marked with every ACK (RFC 9331)",
}
"""Needs that an algorithm may declare besides ACKs, losses and timeouts, each with the signal that the algorithm then
receives."""

FLOOR = 2.0
"""Smallest slow-start threshold, segments (RFC 5681 §3.1)."""


class Algorithm(ABC):
    """A congestion control algorithm; one object is made for each flow of each run.

    A subclass must define only `on_ack` and `on_congestion`. The attributes must depend on the callbacks alone: the
    object reads no clock and no file, keeps its state in its own attributes, and draws random numbers from a generator
    seeded with ``Start.seed``.

    Attributes:
        window: congestion window, segments, at least 1; the endpoint sends whole segments, so it rounds the window
            down.
        ssthresh: slow start threshold, segments; infinite before the first loss.
        pacing_rate: segments per second, or ``None``; only with the need ``"pacing"``.
        recovery_floor: smallest window during a recovery by rate halving, segments.
        needs: words of `NEEDS`; the endpoint computes only the signals that these words select.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    window: float = 1.0
    ssthresh: float = math.inf
    pacing_rate: float | None = None

    @property
    def recovery_floor(self) -> float:
        """Smallest window during recovery: the slow start threshold, unless a class overrides this property. In Linux
        2.6, the window may fall to half of the threshold."""
        return self.ssthresh

    def on_start(self, start: Start) -> None:
        """Handles the start of the connection."""
        self.window = max(start.initial_window, 1.0)
        self.ssthresh = max(start.initial_ssthresh, FLOOR)

    @abstractmethod
    def on_ack(self, ack: Ack) -> None:
        """Handles an ACK that delivers new data."""

    @abstractmethod
    def on_congestion(self, signal: Signal) -> None:
        """Handles a congestion signal, once for each recovery: set ``ssthresh`` and the window at the recovery's
        end."""

    def on_timeout(self, signal: Signal) -> None:
        """Handles an expired retransmission timer: sets the threshold to half of the window, and the window to one
        segment."""
        if not signal.repeated:
            self.ssthresh = max(self.window / 2.0, FLOOR)
        self.window = 1.0

    def on_idle(self, now: float, idle: float) -> None:
        """Handles the first transmission after ``idle`` seconds without outstanding data; ``idle`` is longer than one
        RTO."""

    def on_idle_timeouts(self, timeouts: int) -> None:
        """Restarts the window of a Linux host after an idle time of ``timeouts`` whole retransmission timeouts, 0 for a
        shorter one (``tcp_cwnd_restart``). A class that defines this method gets it on Linux hosts in place of
        `on_idle`."""

    def on_restart(self, restart: Restart) -> None:
        """Handles the sending of a segment of a Linux host while no segment is in flight (``CA_EVENT_TX_START``)."""

    def on_loss_in_reduction(self, now: float, window: float) -> None:
        """Handles a loss that turns a reduction of a Linux host, after a mark, into a recovery. `on_congestion` has
        reduced the window at the start of the reduction and is not called again; ``window`` is the window of the
        endpoint's recovery rule, and the endpoint follows a threshold that falls here."""

    def on_sample(self, ack: Ack) -> None:
        """Handles a Linux host's sample of an ACK that begins a recovery, before `on_congestion` (``pkts_acked``);
        `on_ack` follows for the same ACK. Of the ACK's other fields, only its time and its RTTs are known here."""

    def takes_reduction(self) -> bool:
        """True once after the class has decided on an ACK to reduce its window although no segment was lost or marked.
        The endpoint then begins a recovery as after an ECN echo, and calls `on_congestion`."""
        return False

    def on_sent(self, sent: Sent) -> None:
        """Handles the sending of a segment."""

    def on_lost(self, lost: Lost) -> None:
        """Handles a lost segment; called before `on_congestion` and before `on_ack` for the same ACK."""

    def on_recovery_exit(self, now: float) -> None:
        """Handles the end of a recovery: all segments outstanding at the congestion signal or the timeout are
        acknowledged."""

    def moderate(self, window: float) -> None:
        """Lowers the window to ``window``, the value at which the endpoint's recovery ended."""
        if window < self.window:
            self.window = max(window, 1.0)

    def keep(self, window: float) -> None:
        """Continues with ``window``, the window of the endpoint's recovery rule, after a recovery that was spurious but
        in which a mark has shown congestion, so that nothing is restored; `moderate` by default."""
        self.moderate(window)

    def on_undo(self, now: float) -> None:
        """Restores the state before the last congestion signal or timeout; called if the signal or timeout was
        spurious."""

    def observe(self) -> Mapping[str, float]:
        """Internal variables by name, recorded with the samples if the scenario has ``internals = true``.

        A value may be NaN while it is unknown.
        """
        return {}

    def _needs(self) -> list[str]:
        """The needs that `needs` states, and the needs implied by the methods that the class defines."""
        own = type(self)
        methods = {
            "losses": "on_lost",
            "sends": "on_sent",
            "restarts": "on_restart",
            "idle_timeouts": "on_idle_timeouts",
            "reductions": "takes_reduction",
        }
        implied = {word: getattr(own, name) is not getattr(Algorithm, name) for word, name in methods.items()}
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
