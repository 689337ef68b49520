"""The path of a capture, as a mechanism: base RTT, rate, buffer, discipline of the queue, random loss, cross traffic.

The bottleneck spaces what it serves, so the rate at which ACKs deliver while they follow each other is its rate. What
an RTT has above that of an empty path is the wait for the bottleneck (``waits.py``), and where packets were dropped
says which queue it has (``queueing.py``).

Each value has an interval at 95 %. A value that the capture does not show says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.base_rtt import BaseRtt, base_rtt, base_rtt_of_fast_link
from elephan.explanation.estimates import PARTS, estimated, of_parts, scaled
from elephan.explanation.hypotheses import USUAL_PACKETS, Hypotheses, Measured
from elephan.explanation.jitter import Jitter, SteadyRate, jitter_of, steady_rate, without_jitter
from elephan.explanation.modes import BIN, highest_mode, valley
from elephan.explanation.others import Others, other_traffic
from elephan.explanation.queueing import Queue, find_queue
from elephan.explanation.rate_steps import Level, levels_of
from elephan.explanation.reordering import reordering_of
from elephan.explanation.results import Estimate, PathDraw, PathFit, RateLevel
from elephan.explanation.waits import Waits, other_packets, waits_of
from elephan.metrics.statistics import Interval

if TYPE_CHECKING:
    from elephan.explanation.events import Events

DRAWS = 60
"""Number of paths that are drawn."""
_LEAST_ACKS = 64
_LEAST_NEAR = 6
_RATE_FLOOR = 0.003
_WIDEST_RATE = 0.06
_LONGEST = 0.99
"""Quantile of the waits that is the longest queue: a receiver's timer delays some acknowledgments."""
_SHARED = 0.03
"""Least share of other traffic that may have delayed the handshake."""


def fit_path(events: Events) -> PathFit:
    """The path that a capture shows. If its rate has steps, the rest of it is that of the longest time at one rate."""
    captured, wire_bits = events, 8.0 * events.wire_bytes
    steady = steady_rate(events.seen, wire_bits, 0.0 if events.exact else events.clock_ns / 1e9)
    if steady is not None:
        seen, _ = without_jitter(events.seen, wire_bits / steady.rate_bps, steady.acks)
        least_s = float(np.nanmin(seen.rtt_s)) if events.exact else events.least_rtt_s
        events = replace(events, seen=seen, least_rtt_s=least_s)
    levels = levels_of(events.seen, wire_bits)
    if not levels:
        return _Fit(events, captured, steady).fit()
    start_s, end_s = float(events.seen.left_s[0]), float(events.seen.acked_s[-1])

    def length_s(level: Level) -> float:
        return min(level.to_s, end_s) - max(level.from_s, start_s)

    longest = max(levels, key=length_s)
    fit = _Fit(_during(events, longest), _during(captured, longest), steady).fit()
    if fit.best.queue == "policer":
        # Its tokens have a rate of their own.
        return fit
    # An acknowledgment shows the bottleneck half a round trip before.
    back_s = start_s + events.handshake_s / 2
    rates = tuple(RateLevel(max(0.0, level.from_s - back_s), level.rate_bps) for level in levels)
    reason = f"of {len(rates)} rates that which holds longest; {fit.by_name['rate'].reason}"
    quantities = tuple(replace(one, reason=reason) if one.name == "rate" else one for one in fit.quantities)

    def stepped(paths: Iterable[PathDraw]) -> tuple[PathDraw, ...]:
        return tuple(replace(path, levels=() if path.queue == "policer" else rates) for path in paths)

    (best,) = stepped([fit.best])
    return replace(
        fit, quantities=quantities, best=best, draws=stepped(fit.draws), doubtful=stepped(fit.doubtful),
        assumptions=(*fit.assumptions, "queue, losses and other traffic are those of the longest time at one rate"),
    )  # fmt: skip


def _during(events: Events, level: Level) -> Events:
    """The events of a time, as far as they show the path."""
    seen = events.seen
    left = (seen.left_s >= level.from_s) & (seen.left_s < level.to_s)
    first = np.full(len(seen.lost), -1, dtype=np.int64)
    some = np.flatnonzero(left)
    first[seen.left[some[::-1]]] = some[::-1]
    acked = (seen.acked_s < level.to_s) & (first[seen.trigger] >= 0)
    if acked.any():
        # Packets that left later met the queue at the next rate.
        left &= seen.left_s <= seen.left_s[first[seen.trigger[acked]]].max()
    part = replace(
        seen, acked_s=seen.acked_s[acked], delivered=seen.delivered[acked], trigger=seen.trigger[acked],
        rtt_s=seen.rtt_s[acked], in_order=seen.in_order[acked], left_s=seen.left_s[left], left=seen.left[left],
        left_lost=seen.left_lost[left],
    )  # fmt: skip
    least_s = float(np.nanmin(part.rtt_s)) if events.exact else events.least_rtt_s
    return replace(events, seen=part, least_rtt_s=least_s)


class _Fit:
    """The fit of a path with one rate: events without jitter as far as it shows, and as they were captured."""

    def __init__(self, events: Events, captured: Events, steady: SteadyRate | None) -> None:
        self.events, self.seen, self.captured = events, events.seen, captured.seen
        self.wire_bits = 8.0 * events.wire_bytes
        self.steady = steady
        self.waits: Waits | None = None

    def fit(self) -> PathFit:
        """The fit, with the reasons of what is missing."""
        rate, why_rate = self._rate()
        jitter = self._jitter(rate)
        base = self._base(rate, jitter)
        missing = "needs the rate of the bottleneck and the base RTT"
        queue, others = Queue(None, missing, loss_reason=missing), Others(None, missing)
        if rate is not None and base.interval is not None:
            self.waits = self._waits(rate.value, base)
            others = self._others(rate.value, base, self.waits)
            if others.share is not None and others.share.value > _SHARED:
                base = base_rtt(self.events, rate.value, shared=True)
                self.waits = self._waits(rate.value, base)
            base_s = base.interval.value if base.interval else 0.0
            queue = find_queue(
                self.events, self.waits, rate_bps=rate.value, base_s=base_s, mean_bps=self._mean_rate(),
                jitter_s=jitter.late.value if jitter.late else 0.0,
            )  # fmt: skip
            if queue.rate is not None:
                if rate.value < 1.5 * queue.rate.value:
                    base = base_rtt_of_fast_link(self.events, rate.value)
                rate, why_rate = queue.rate, "rate of the policer's tokens"
                others = queue.others or Others(None, "others share the tokens of a policer, and not a queue")
                if rate.high - rate.low > 2 * _WIDEST_RATE * rate.value:
                    low, high = max(0.0, rate.low) / 1e6, rate.high / 1e6
                    why_rate = f"tokens of {low:.3g} to {high:.3g} Mbit/s explain the drops alike"
                    rate = None
        if queue.hides_rate:
            rate, why_rate = None, queue.reason
            others = Others(None, queue.reason)
        reordering = reordering_of(self.events, self.wire_bits / (rate.value if rate else self._mean_rate()))
        buffer = None if queue.buffer_packets is None else scaled(queue.buffer_packets, self.wire_bits / 8)
        quantities: tuple[Estimate, ...] = (
            estimated("rate", "bottleneck rate", "bit/s", rate, why_rate),
            estimated("rtt", "base RTT", "s", base.interval, base.reason),
            estimated("buffer", "buffer", "bytes", buffer, queue.buffer_reason or queue.reason),
            estimated("loss", "random loss", "1", queue.loss, queue.loss_reason),
            estimated("cross", "share of other traffic", "1", others.share, others.reason),
            estimated("reordering", "reordered packets", "1", reordering.share, reordering.reason),
            estimated("jitter", "jitter (95th percentile)", "s", jitter.late, jitter.reason),
        )
        if reordering.delay is not None:
            reason = "how late they came behind the first packet that overtook them"
            quantities += (estimated("reordering_delay", "delay of reordered packets", "s", reordering.delay, reason),)
        best, assumptions = self._best(rate, base.interval, queue, others)
        if reordering.share is not None and reordering.delay is not None:
            best = replace(best, reordered=(reordering.share.value, reordering.delay.value))
        if jitter.uniform_s > 0:
            best = replace(best, jitter_s=jitter.uniform_s)
            assumptions.append("jitter is uniform and on the way to B")
        measured = Measured(
            best, rate, base.interval, queue, others, self.wire_bits,
            self._longest_s() * best.rate_bps / self.wire_bits, self._mean_rate(),
            float(self.seen.left_lost.mean()), float(self.seen.acked_s[-1] - self.seen.acked_s[0]),
        )  # fmt: skip
        seed = self.events.segments
        return PathFit(
            quantities, queue.name, queue.reason, best, Hypotheses(measured, seed).draws(DRAWS), tuple(assumptions),
            others.traffic, others.of_kind or others.reason, Hypotheses(measured.doubted, seed).draws(DRAWS),
            self.events.wire_bytes,
        )  # fmt: skip

    # Rate and base RTT

    def _rate(self) -> tuple[Interval | None, str]:
        gaps = np.diff(self.seen.acked_s)
        delivered = self.seen.delivered[1:]
        usable = gaps > 1e-6
        if usable.sum() < _LEAST_ACKS:
            return None, f"fewer than {_LEAST_ACKS} ACKs have a time between them"
        rates = delivered[usable] * self.wire_bits / gaps[usable]
        mode = highest_mode(rates, delivered[usable].astype(float))
        near = np.abs(np.log(rates / mode)) < 2 * BIN
        near &= rates > valley(rates, delivered[usable].astype(float), mode)
        parts = [
            float(np.median(rates[part][near[part]]))
            for part in np.array_split(np.arange(len(rates)), PARTS)
            if near[part].sum() >= _LEAST_NEAR
        ]
        share = float(delivered[usable][near].sum() / max(1, delivered.sum()))
        if self.steady is not None:
            reason = f"jitter hides it from fewer than {self.steady.acks} ACKs in a row"
            return of_parts(parts, mode, max(_RATE_FLOOR, self.steady.spread)), reason
        return of_parts(parts, mode, _RATE_FLOOR), f"{share:.0%} of the segments were delivered at this rate"

    def _jitter(self, rate: Interval | None) -> Jitter:
        if rate is None:
            return Jitter(None, "needs the rate of the bottleneck")
        acks = () if self.steady is None else (self.steady.acks,)
        return jitter_of(self.captured, self.wire_bits / rate.value, *acks)

    def _base(self, rate: Interval | None, jitter: Jitter) -> BaseRtt:
        if rate is None:
            return BaseRtt(None, "needs the rate of the bottleneck")
        base = base_rtt(self.events, rate.value, shared=False)
        if base.interval is None or self.steady is None or jitter.late is None:
            return base
        # Each packet was late, maybe, so the least round trip has some of it.
        found, late_s = base.interval, jitter.late.value
        return replace(base, interval=Interval(found.value, max(0.0, found.low - late_s), found.high))

    # Queue and other traffic

    def _waits(self, rate_bps: float, base: BaseRtt) -> Waits:
        return waits_of(self.seen, base.empty_s, self.wire_bits / rate_bps, base.before_s)

    def _others(self, rate_bps: float, base: BaseRtt, waits: Waits) -> Others:
        packet_s = self.wire_bits / rate_bps
        longest = float(waits.accepted_s.max()) if len(waits.accepted_s) else 0.0
        size = other_packets(waits, packet_s, longest / 2).size
        base_s = base.interval.value if base.interval else 0.0
        return other_traffic(
            waits, packet_s, base_s, packet_bytes=self.events.wire_bytes, size=size, error_s=self._error_s
        )  # fmt: skip

    @property
    def _error_s(self) -> float:
        """Error of times of departure: nothing at the sender, and elsewhere a tick of its clock."""
        return 0.0 if self.events.exact else self.events.clock_ns / 1e9

    # The path for simulations

    def _best(
        self, rate: Interval | None, base: Interval | None, queue: Queue, others: Others
    ) -> tuple[PathDraw, list[str]]:
        assumptions = []
        rate_bps = rate.value if rate else self._mean_rate()
        policer = queue.assumed_policer
        if policer is not None:
            rate_bps = policer.rate_bps
            assumptions.append("the queue is a policer that leaves this flow what it had, whatever its algorithm is")
        elif rate is None:
            assumptions.append("the bottleneck has the mean rate of the flow")
        rtt_s = base.value if base else max(self.events.handshake_s, 1e-4)
        if base is None:
            assumptions.append("the base RTT is that of the handshake")
        if queue.buffer_packets is not None:
            buffer = queue.buffer_packets.value * self.wire_bits / 8
        elif policer is not None:
            buffer = max(policer.burst_packets, 1.0) * self.wire_bits / 8
        elif queue.assumed is not None:
            buffer = queue.assumed.value * self.wire_bits / 8
            assumptions.append(f"the buffer has {queue.assumed.value:.0f} packets")
        elif queue.name in ("codel", "pie"):
            packets = max(USUAL_PACKETS, self._longest_s() * rate_bps / self.wire_bits)
            buffer = packets * self.wire_bits / 8
            assumptions.append(f"the buffer has {packets:.0f} packets")
        else:
            buffer = max(rate_bps * max(rtt_s, self._longest_s() if rate and base else 0.0), 10 * self.wire_bits) / 8
            assumptions.append("the buffer holds the longest queue that was seen, and a BDP at least")
        if queue.name is None and policer is None:
            assumptions.append("the queue is drop-tail")
        if others.traffic is not None:
            assumptions.append(others.traffic.stands_for)
        discipline = queue.name or ("droptail" if policer is None else "policer")
        loss = queue.loss.value if queue.loss else 0.0
        return PathDraw(rate_bps, rtt_s, buffer, loss, discipline, others.traffic), assumptions

    def _longest_s(self) -> float:
        known = self.waits.accepted_s if self.waits is not None else np.empty(0)
        return float(np.quantile(known, _LONGEST)) if len(known) else 0.0

    def _mean_rate(self) -> float:
        span = float(self.seen.acked_s[-1] - self.seen.acked_s[0])
        return max(float(self.seen.delivered.sum()) * self.wire_bits / max(span, 1e-3), 1e3)
