"""Recording of a user's algorithm on a path: one line of text for each callback, with the algorithm's attributes after
the callback.

A line is the callback's name, its arguments (``now=0.04 acked=2.0``), ``->``, and the algorithm's attributes after the
callback. Numbers are written with full precision. True is 1, false is 0, and ``None`` is left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from elephan import _engine as told
from elephan.algorithm import Algorithm
from elephan.scenario import own
from elephan.scenario.scenario import Scenario

FIELDS = {
    "Start": ("now", "initial_window", "initial_ssthresh", "segment_bytes", "hz", "seed", "rtt"),
    "Ack": (
        "now", "acked", "rtt", "owd", "min_rtt", "srtt", "in_flight", "window_at_send", "round_start", "in_recovery",
        "window_limited", "marked",
    ),
    "Signal": ("now", "in_flight", "cause", "srtt", "min_rtt", "repeated", "kept"),
    "Restart": ("now", "next", "idle", "application_limited"),
    "Sent": ("now", "in_flight", "retransmission"),
    "Lost": ("now", "sent_at", "delivered", "prior_delivered", "app_limited", "tx_in_flight", "lost", "by_timer"),
}  # fmt: skip
"""The fields of each structure that a recording has."""
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

    def takes_reduction(self) -> bool:
        """Pass the callback on and record it."""
        answer = self.inner.takes_reduction()
        self._noted("takes_reduction", {"answer": answer})
        return answer

    def on_ack(self, ack: told.Ack) -> None:
        """Pass the callback on and record it."""
        self.inner.on_ack(ack)
        self._noted("on_ack", _fields(ack))

    def on_congestion(self, signal: told.Signal) -> None:
        """Pass the callback on and record it."""
        self.inner.on_congestion(signal)
        self._noted("on_congestion", _fields(signal))


def _passed(callback: str, names: tuple[str, ...]) -> Callable[..., None]:
    """The method that passes a callback with arguments of these names on, and records it."""

    def method(self: Recorder, *given: Any) -> None:
        getattr(self.inner, callback)(*given)
        is_structure = type(given[0]).__name__ in FIELDS
        self._noted(callback, _fields(given[0]) if is_structure else dict(zip(names, given, strict=True)))

    return method


for _callback, _, _details in told.events():
    if _callback not in vars(Recorder):
        setattr(Recorder, _callback, _passed(_callback, tuple(name for name, _ in _details)))


def _fields(event: Any) -> dict[str, Any]:
    """The fields of a structure, with those of the samples in it."""
    given = {name: getattr(event, name) for name in FIELDS[type(event).__name__]}
    if isinstance(event, told.Ack):
        if event.delivery is not None:
            given |= {f"delivery.{name}": getattr(event.delivery, name) for name in DELIVERY}
        if event.sample is not None:
            given |= {f"sample.{name}": getattr(event.sample, name) for name in SAMPLE}
            given["sample.echoed"], given["sample.stamp"] = event.sample.timestamps
    return given


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
