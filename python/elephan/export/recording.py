"""Recording of a user's algorithm on a path: one line of text for each callback, with the algorithm's attributes after
the callback.

A line is the callback's name, its arguments (``now=0.04 acked=2.0``), ``->``, and the algorithm's attributes after the
callback. Numbers are written with full precision. True is 1, false is 0, and ``None`` is left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

from elephan import _engine as told
from elephan.algorithm import Algorithm
from elephan.scenario import own
from elephan.scenario.scenario import Scenario

ACK = (
    "now", "acked", "rtt", "owd", "min_rtt", "srtt", "in_flight", "window_at_send", "round_start", "in_recovery",
    "window_limited", "marked",
)  # fmt: skip
FIELDS = {
    "on_start": ("now", "initial_window", "initial_ssthresh", "segment_bytes", "hz", "seed", "rtt"),
    "on_ack": ACK,
    "on_sample": ACK,
    "on_congestion": ("now", "in_flight", "cause", "srtt", "min_rtt", "repeated", "kept"),
    "on_timeout": ("now", "in_flight", "cause", "srtt", "min_rtt", "repeated", "kept"),
    "on_restart": ("now", "next", "idle", "application_limited"),
    "on_sent": ("now", "in_flight", "retransmission"),
    "on_lost": (
        "now",
        "sent_at",
        "delivered",
        "prior_delivered",
        "app_limited",
        "tx_in_flight",
        "lost",
        "by_timer",
    ),
}
DELIVERY = (
    "rate", "interval", "delivered", "prior_delivered", "app_limited", "tx_in_flight", "lost", "departs_in",
)  # fmt: skip
SAMPLE = ("state", "then", "una", "next", "acked", "sacked", "is_slow", "largest_burst", "window")
PATH: dict[str, Any] = {"rate": "5 Mbit/s", "rtt": "40 ms", "buffer": "20 packets", "duration": "10 s", "loss": 0.0005}
"""The path of a recording, on which a few losses of each kind happen within some thousand lines."""


class Recorder(Algorithm):
    """Passes all callbacks on to an algorithm, and records each callback with the algorithm's attributes."""

    def __init__(self, inner: Algorithm, lines: list[str]) -> None:
        self.inner, self.lines, self.needs = inner, lines, tuple(inner.needs)  # type: ignore[misc]

    def _needs(self) -> list[str]:
        return self.inner._needs()

    @property
    def recovery_floor(self) -> float:
        """The algorithm's own recovery floor."""
        return self.inner.recovery_floor

    def _noted(self, callback: str, given: Mapping[str, Any]) -> None:
        inner = self.inner
        self.window, self.ssthresh, self.pacing_rate = inner.window, inner.ssthresh, inner.pacing_rate
        answers = {"window": inner.window, "ssthresh": inner.ssthresh, "pacing_rate": inner.pacing_rate}
        answers["recovery_floor"] = inner.recovery_floor
        answers |= {f"observe.{name}": value for name, value in inner.observe().items()}
        self.lines.append(" ".join([callback, *_words(given), "->", *_words(answers)]))

    def _pass_on(self, callback: str, event: Any) -> None:
        getattr(self.inner, callback)(event)
        given = {name: getattr(event, name) for name in FIELDS[callback]}
        delivery = getattr(event, "delivery", None)
        if delivery is not None and callback == "on_ack":
            given |= {f"delivery.{name}": getattr(delivery, name) for name in DELIVERY}
        sample = getattr(event, "sample", None)
        if sample is not None:
            given |= {f"sample.{name}": getattr(sample, name) for name in SAMPLE}
            given["sample.echoed"], given["sample.stamp"] = sample.timestamps
        self._noted(callback, given)

    def on_start(self, start: told.Start) -> None:
        """Pass the callback on and record it."""
        self._pass_on("on_start", start)

    def on_ack(self, ack: told.Ack) -> None:
        """Pass the callback on and record it."""
        self._pass_on("on_ack", ack)

    def on_congestion(self, signal: told.Signal) -> None:
        """Pass the callback on and record it."""
        self._pass_on("on_congestion", signal)

    def on_timeout(self, signal: told.Signal) -> None:
        """Pass the callback on and record it."""
        self._pass_on("on_timeout", signal)

    def on_sent(self, sent: told.Sent) -> None:
        """Pass the callback on and record it."""
        self._pass_on("on_sent", sent)

    def on_lost(self, lost: told.Lost) -> None:
        """Pass the callback on and record it."""
        self._pass_on("on_lost", lost)

    def on_idle(self, now: float, idle: float) -> None:
        """Pass the callback on and record it."""
        self.inner.on_idle(now, idle)
        self._noted("on_idle", {"now": now, "idle": idle})

    def on_idle_timeouts(self, timeouts: int) -> None:
        """Pass the callback on and record it."""
        self.inner.on_idle_timeouts(timeouts)
        self._noted("on_idle_timeouts", {"timeouts": timeouts})

    def on_restart(self, restart: told.Restart) -> None:
        """Pass the callback on and record it."""
        self._pass_on("on_restart", restart)

    def on_loss_in_reduction(self, now: float, window: float) -> None:
        """Pass the callback on and record it."""
        self.inner.on_loss_in_reduction(now, window)
        self._noted("on_loss_in_reduction", {"now": now, "window": window})

    def on_sample(self, ack: told.Ack) -> None:
        """Pass the callback on and record it."""
        self._pass_on("on_sample", ack)

    def takes_reduction(self) -> bool:
        """Pass the callback on and record it."""
        answer = self.inner.takes_reduction()
        self._noted("takes_reduction", {"answer": answer})
        return answer

    def on_recovery_exit(self, now: float) -> None:
        """Pass the callback on and record it."""
        self.inner.on_recovery_exit(now)
        self._noted("on_recovery_exit", {"now": now})

    def on_undo(self, now: float) -> None:
        """Pass the callback on and record it."""
        self.inner.on_undo(now)
        self._noted("on_undo", {"now": now})

    def moderate(self, window: float) -> None:
        """Pass the callback on and record it."""
        self.inner.moderate(window)
        self._noted("moderate", {"window": window})

    def keep(self, window: float) -> None:
        """Pass the callback on and record it."""
        self.inner.keep(window)
        self._noted("keep", {"window": window})


def _words(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_number(value)}" for name, value in values.items() if value is not None]


def _number(value: Any) -> str:
    if isinstance(value, str):
        return value
    return repr(int(value)) if isinstance(value, bool | int) else repr(float(value))


def record(spec: str, parameters: Mapping[str, Any]) -> list[str]:
    """Record one flow of an algorithm on :data:`PATH`, followed by a timeout, an undo, an idle period and a moderation.
    Returns the lines.

    Raises:
        ScenarioError: the parameters are wrong.
        AlgorithmError: the algorithm raised.
    """
    from elephan.runs.execute import run
    from elephan.runs.store import Store

    pinned, lines = own.pin(spec), list[str]()

    def recorded() -> Algorithm:
        return Recorder(own.make(pinned, parameters), lines)

    scenario = Scenario.dumbbell([recorded], **PATH)
    with tempfile.TemporaryDirectory() as folder:
        run(scenario, store=Store(folder), force=True)
    by_hand = Recorder(own.make(pinned, parameters), lines)
    by_hand.on_start(told.Start(initial_window=10.0))
    _afterwards(by_hand)
    return lines


def _afterwards(recorder: Recorder) -> None:
    """On a second connection, call the callbacks that may not occur on the path."""
    for i in range(200):
        recorder.on_ack(told.Ack(now=0.04 * (i + 1), acked=2.0, rtt=0.04, min_rtt=0.04, srtt=0.04, in_flight=20.0))
    recorder.moderate(recorder.window - 1.5)
    for repeated in (False, True):
        recorder.on_timeout(told.Signal(now=9.0, in_flight=20.0, srtt=0.04, min_rtt=0.04, repeated=repeated))
    recorder.on_undo(9.1)
    needs = recorder._needs()
    if "idle_timeouts" in needs:
        recorder.on_idle_timeouts(3)
    else:
        recorder.on_idle(12.0, 2.5)
    if "restarts" in needs:
        recorder.on_restart(told.Restart(now=12.0, next=500, idle=2.5))
    recorder.on_ack(told.Ack(now=12.1, acked=1.0, rtt=0.05, min_rtt=0.04, srtt=0.041, in_flight=2.0))
    if "reductions" in needs:
        recorder.takes_reduction()
    recorder.on_congestion(told.Signal(now=12.2, in_flight=9.0, srtt=0.04, min_rtt=0.04, cause="ecn"))
    recorder.on_loss_in_reduction(12.25, recorder.window)
    recorder.on_recovery_exit(12.3)
    recorder.keep(5.0)
