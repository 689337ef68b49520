"""Fluid model of flows: windows over time at one drop-tail bottleneck.

A flow sends one window each round trip, and ACKs arrive at the rate of the bottleneck's service. The windows therefore
determine the queueing delay d: d solves sum w_i/(T_i + d) = C (the link is full), or is 0. When the queue would exceed
the buffer, every flow that has grown by a segment or more within a round trip has a loss. The flow detects the loss a
round trip later, and then does not grow for one round trip. The model follows Misra, Gong & Towsley 2000, and Bohacek,
Hespanha, Lee & Obraczka 2003 for the time of a loss.

A flow detects random losses and drops by early detection (:mod:`elephan.models.prices`) a round trip later; further
losses until then belong to the same loss event. Losses at a full buffer are not random.

The model has no packets, bursts or timeouts.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from elephan.models.cycles import Floats, floats
from elephan.models.laws import Law, View
from elephan.models.prices import Bernoulli, Red, RedSettings, Stream

_STEPS_A_ROUND = 24
_NEWTON_STEPS = 8
_AVERAGED_ROUNDS = 3.0


@dataclass
class Sender:
    """One flow.

    Attributes:
        name: name of the flow.
        law: rules of the algorithm.
        rtt_s: base round trip.
        start_s: start of the flow.
        stop_s: end of the flow.
        segments: number of segments to send.
        initial_window: initial window, segments.
        threshold: window at which slow start ends.
        limit: the receive window, segments.
        loss: loss probability of a segment on the whole path.
    """

    name: str
    law: Law
    rtt_s: float
    start_s: float = 0.0
    stop_s: float = math.inf
    segments: float = math.inf
    initial_window: float = 10.0
    threshold: float = math.inf
    limit: float = math.inf
    loss: float = 0.0


@dataclass(frozen=True)
class Trajectory:
    """Values at the requested times, with flows along the second axis.

    Attributes:
        times_s: the requested times.
        windows: congestion windows, segments; NaN before a flow's start and after its end.
        rtts_s: RTTs at these times.
        rates: segments/s that leave the bottleneck.
        sent: segments delivered so far.
        losses: loss events so far.
        lost: segments dropped at the full buffer or lost at random so far, all flows together.
        waiting: segments in the queue.
        shortest: smallest value of ``waiting`` since the time before.
        longest: largest value of ``waiting`` since the time before.
        served: segments that left the bottleneck so far.
        waited: integral of ``waiting`` so far, segment seconds.
        ended_s: time at which each flow had sent all of its segments; NaN for a flow with segments left.
    """

    times_s: Floats
    windows: Floats
    rtts_s: Floats
    rates: Floats
    sent: Floats
    losses: Floats
    lost: Floats
    waiting: Floats
    shortest: Floats
    longest: Floats
    served: Floats
    waited: Floats
    ended_s: Floats


@dataclass
class _Running:
    """State of a running flow."""

    sender: Sender
    view: View
    threshold: float
    window: float
    sent: float = 0.0
    losses: int = 0
    rounds: float = 0.0
    next_round: float = 1.0
    spread: float = 0.0
    growth: float = 0.0
    react_s: float = math.inf
    quiet_until_s: float = -math.inf
    ended_s: float = math.nan
    doubling: bool = True
    price: Bernoulli | None = None
    kept: float = 1.0
    rates: list[float] = field(default_factory=list)

    def active(self, now_s: float) -> bool:
        return self.sender.start_s <= now_s < self.sender.stop_s and math.isnan(self.ended_s)


def run(
    senders: Sequence[Sender],
    rate: float,
    buffer: float,
    times_s: Sequence[float] | Floats,
    progress: Callable[[float], bool] | None = None,
    *,
    early: RedSettings | None = None,
    seed: int = 1,
) -> Trajectory | None:
    """Run flows over a link of ``rate`` segments/s with a buffer of ``buffer`` segments; returns their values at the
    times.

    With ``early`` the queue drops segments before it is full. ``seed`` determines the random losses. Returns ``None``
    if ``progress``, called with the fraction done, returned false.

    Raises:
        ValueError: there is no flow, or a number is out of range.
    """
    if not senders or rate <= 0 or buffer < 0 or any(sender.rtt_s <= 0 for sender in senders):
        raise ValueError("flows, rate, buffer, rtt_s: no flow, or out of range")
    if any(not 0.0 <= sender.loss < 1.0 for sender in senders):
        raise ValueError("loss: not a probability below 1")
    link = _Link(senders, rate, buffer)
    for flow in link.flows:
        if flow.sender.loss > 0.0:
            flow.price = Bernoulli(flow.sender.loss, Stream(seed, f"loss/{flow.sender.name}"))
            flow.kept = 1.0 - flow.sender.loss
    if early is not None:
        link.early, link.victims = Red(early, Stream(seed, "red")), Stream(seed, "red/flow")
    return link.go(floats(times_s), progress)


class _Link:
    """The bottleneck and its flows."""

    def __init__(self, senders: Sequence[Sender], rate: float, buffer: float) -> None:
        self.rate, self.buffer = rate, buffer
        self.step_s = min(sender.rtt_s for sender in senders) / _STEPS_A_ROUND
        self.flows = [_Running(s, View(window=s.initial_window), s.threshold, s.initial_window) for s in senders]
        self.delay_s = 0.0
        self.history: list[float] = []
        self.clock: list[float] = []
        self.served = self.waited = self.lost = 0.0
        self.shortest, self.longest = math.inf, 0.0
        self.full_until_s = -math.inf
        self.early: Red | None = None
        self.victims: Stream | None = None

    def go(self, times: Floats, progress: Callable[[float], bool] | None) -> Trajectory | None:
        rows: list[list[float]] = []
        end_s = float(times[-1])
        now_s, position = 0.0, 0
        told = 0
        while True:
            self._settle(now_s)
            self._note(self._queued())
            while position < len(times) and times[position] <= now_s + 1e-12:
                rows.append(self._row(now_s))
                position += 1
            if position >= len(times):
                return self._trajectory(times, rows)
            if progress is not None and len(self.history) >= told:
                told += 20_000
                if not progress(now_s / end_s if end_s else 1.0):
                    return None
            # A step ends at the next requested time, so that no value is interpolated.
            step_s = min(self.step_s, max(float(times[position]) - now_s, 1e-9))
            self._advance(now_s, step_s)
            now_s += step_s

    def _settle(self, now_s: float) -> None:
        """Set the queueing delay at which the flows just fill the link."""
        present = [flow for flow in self.flows if flow.active(now_s)]
        if sum(flow.window / flow.sender.rtt_s for flow in present) <= self.rate:
            self.delay_s = 0.0
            return
        delay = self.delay_s
        for _ in range(_NEWTON_STEPS):
            excess = slope = 0.0
            for flow in present:
                trip = flow.sender.rtt_s + delay
                excess += flow.window / trip
                slope += flow.window / (trip * trip)
            change = (excess - self.rate) / slope
            delay = max(0.0, delay + change)
            if abs(change) < 1e-9 * (delay + 1e-6):
                break
        self.delay_s = delay

    def _advance(self, now_s: float, step_s: float) -> None:
        self.history.append(self.delay_s)
        self.clock.append(now_s)
        room_s = self.buffer / self.rate
        over = self.delay_s > room_s
        delay_s = min(self.delay_s, room_s)
        for flow in self.flows:
            if flow.active(now_s):
                self._move(flow, now_s, step_s, delay_s)
        if over and now_s >= self.full_until_s:
            self._lose(now_s, delay_s)
        if over:
            # The sum of the windows' growth exceeds the capacity; a window that shrinks does not offset this growth.
            self.lost += max(0.0, sum(flow.growth for flow in self.flows if flow.active(now_s))) * step_s
        busy = self._rates(now_s, delay_s)
        if self.early is not None:
            self._drop_early(now_s, step_s, delay_s, busy)
        passed = 1.0 if self.early is None else 1.0 - self.early.p
        self.waited += self._waiting(delay_s) * step_s
        for flow, rate in zip(self.flows, busy, strict=True):
            if flow.price is not None and rate > 0.0:
                self._hit(flow, flow.price.losses(rate * step_s), now_s, delay_s)
            flow.rates.append(rate)
            got = rate * flow.kept * passed * step_s
            flow.sent += got
            self.served += got
            if flow.sent >= flow.sender.segments and math.isnan(flow.ended_s):
                # The flow ends one base RTT later, when the ACK of its last segment arrives.
                flow.ended_s = now_s + step_s + flow.sender.rtt_s

    def _drop_early(self, now_s: float, step_s: float, delay_s: float, busy: Sequence[float]) -> None:
        """Draw the flow of a dropped segment, in proportion to the rates."""
        assert self.early is not None
        assert self.victims is not None
        sent = sum(busy) * step_s
        for _ in range(self.early.losses(now_s, self._waiting(delay_s), sent, self.rate * step_s)):
            at = self.victims.uniform() * sum(busy)
            for flow, rate in zip(self.flows, busy, strict=True):
                at -= rate
                if rate > 0.0 and at < 0.0:
                    self._hit(flow, 1, now_s, delay_s)
                    break

    def _hit(self, flow: _Running, losses: int, now_s: float, delay_s: float) -> None:
        """Record a loss of a flow. The flow detects the loss a round trip later; losses until then belong to the same
        event."""
        self.lost += losses
        if losses and flow.react_s == math.inf:
            flow.react_s = now_s + flow.sender.rtt_s + delay_s

    def _queued(self) -> float:
        return self._waiting(min(self.delay_s, self.buffer / self.rate))

    def _note(self, queued: float) -> None:
        self.shortest, self.longest = min(self.shortest, queued), max(self.longest, queued)

    def _waiting(self, delay_s: float) -> float:
        """Segments in the queue; the product of a delay and the rate may round to more than the buffer."""
        return min(delay_s * self.rate, self.buffer)

    def _rates(self, now_s: float, delay_s: float) -> list[float]:
        found = [flow.window / (flow.sender.rtt_s + delay_s) if flow.active(now_s) else 0.0 for flow in self.flows]
        total = sum(found)
        return [rate * self.rate / total for rate in found] if total > self.rate else found

    def _move(self, flow: _Running, now_s: float, step_s: float, delay_s: float) -> None:
        view, sender = flow.view, flow.sender
        trip_s = sender.rtt_s + delay_s
        # The information in an ACK is one round trip old. Steps that end at a requested time are shorter than other
        # steps.
        back = bisect_right(self.clock, now_s - trip_s + self.step_s / 2.0) - 1
        seen = self.history[back] if back >= 0 else 0.0
        view.now_s, view.window = now_s, flow.window
        view.rtt_s = sender.rtt_s + min(seen, self.buffer / self.rate)
        if now_s - sender.start_s >= sender.rtt_s:
            view.base_s = min(view.base_s, view.rtt_s)
        view.since_s += step_s
        if now_s >= flow.react_s:
            self._react(flow, now_s, trip_s)
            return
        rounds = step_s / trip_s
        view.average_s += (view.delay_s - view.average_s) * -math.expm1(-_AVERAGED_ROUNDS * rounds)
        view.rounds += rounds
        view.rounds_in_all += rounds
        view.leaving = flow.rates[-1] if flow.rates else 0.0
        view.rate = flow.rates[back] if back >= 0 and len(flow.rates) > back else flow.window / trip_s
        flow.rounds += rounds
        flow.growth = 0.0
        if now_s < flow.quiet_until_s or now_s - sender.start_s < sender.rtt_s:
            flow.next_round = max(flow.next_round, flow.rounds)
            return
        view.burst_s = flow.window / (4.0 * self.rate) if flow.doubling else 0.0
        doubling = flow.window < flow.threshold if sender.law.slow_start else sender.law.starting(view)
        flow.doubling = doubling
        if not doubling:
            view.burst_s = 0.0
        if doubling:
            # The window grows by a segment for each acknowledged segment; below the BDP, the window thus doubles in a
            # round trip.
            grown = flow.window * math.expm1(math.log(2.0) * step_s / trip_s)
        elif sender.law.by_rounds:
            if flow.rounds >= flow.next_round:
                flow.next_round = flow.rounds + 1.0
                step = sender.law.step(view)
                flow.spread = max(step, 0.0)
                flow.window = max(2.0, flow.window + min(step, 0.0))
                # After a decrease by its law the window does not grow back by slow start.
                flow.threshold = min(flow.threshold, flow.window)
            grown = flow.spread * rounds
        else:
            grown = sender.law.gain(view) * rounds
        flow.growth = grown / step_s
        flow.window = min(max(flow.window + grown, 1.0), sender.limit)

    def _lose(self, now_s: float, delay_s: float) -> None:
        """Record a loss of every flow that grows by at least a segment a round trip."""
        growing = [
            flow
            for flow in self.flows
            if flow.active(now_s) and flow.react_s == math.inf and now_s >= flow.quiet_until_s
        ]
        if not growing:
            return
        most = max(flow.growth * (flow.sender.rtt_s + delay_s) for flow in growing)
        for flow in growing:
            trip_s = flow.sender.rtt_s + delay_s
            grown = flow.growth * trip_s
            if grown >= 1.0 - 1e-9 or grown >= most:
                flow.react_s = now_s + trip_s
        self.full_until_s = now_s + max(flow.sender.rtt_s for flow in self.flows) + delay_s

    def _react(self, flow: _Running, now_s: float, trip_s: float) -> None:
        view = flow.view
        flow.losses += 1
        flow.react_s = math.inf
        if not flow.sender.law.heeds_loss:
            return
        flow.window = max(2.0, flow.sender.law.on_loss(view))
        flow.threshold = flow.window
        flow.spread = flow.growth = 0.0
        flow.quiet_until_s = now_s + trip_s
        view.since_s = view.rounds = 0.0

    def _row(self, now_s: float) -> list[float]:
        delay_s = min(self.delay_s, self.buffer / self.rate)
        queued = self._queued()
        row = [queued, self.shortest, self.longest, self.served, self.waited, self.lost]
        self.shortest = self.longest = queued
        for flow, rate in zip(self.flows, self._rates(now_s, delay_s), strict=True):
            there = flow.active(now_s)
            row += [flow.window if there else math.nan, flow.sender.rtt_s + delay_s, rate, flow.sent, flow.losses]
        return row

    def _trajectory(self, times: Floats, rows: list[list[float]]) -> Trajectory:
        table = np.array(rows)
        own = table[:, 6:].reshape(len(times), len(self.flows), 5)
        return Trajectory(
            times_s=times,
            windows=floats(own[:, :, 0]),
            rtts_s=floats(own[:, :, 1]),
            rates=floats(own[:, :, 2]),
            sent=floats(own[:, :, 3]),
            losses=floats(own[:, :, 4]),
            lost=floats(table[:, 5]),
            waiting=floats(table[:, 0]),
            shortest=floats(table[:, 1]),
            longest=floats(table[:, 2]),
            served=floats(table[:, 3]),
            waited=floats(table[:, 4]),
            ended_s=floats([flow.ended_s for flow in self.flows]),
        )
