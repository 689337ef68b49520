"""The path of a capture, as a mechanism: base RTT, rate, buffer, discipline of the queue, random loss, cross traffic.

The bottleneck spaces what it serves, so the rate at which ACKs deliver while they follow each other is its rate. What
an RTT has above that of an empty path is the wait for the bottleneck (``waits.py``), and where packets were dropped
says which queue it has (``queueing.py``).

Each value has an interval at 95 %. A value that the capture does not show says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.base_rtt import BaseRtt, base_rtt, base_rtt_of_fast_link
from elephan.explanation.estimates import PARTS, Interval, of_parts, quantity
from elephan.explanation.modes import BIN, highest_mode
from elephan.explanation.queueing import Queue, find_queue
from elephan.explanation.results import PathDraw, PathFit, Quantity
from elephan.explanation.waits import Waits, waits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elephan.explanation.events import Events

DRAWS = 20
_LEAST_ACKS = 64
_LEAST_NEAR = 6
_RATE_FLOOR = 0.003
_WIDEST_RATE = 0.06
_SHARED = 0.03
"""Least share of other traffic that may have delayed the handshake."""


def fit_path(events: Events) -> PathFit:
    """The path that a capture shows."""
    return _Fit(events).fit()


class _Fit:
    def __init__(self, events: Events) -> None:
        self.events, self.seen = events, events.seen
        self.wire_bits = 8.0 * events.wire_bytes
        self.waits: Waits | None = None

    def fit(self) -> PathFit:
        """The fit, with the reasons of what is missing."""
        rate, why_rate = self._rate()
        base = self._base(rate)
        cross, why_cross = None, "needs the rate of the bottleneck and the base RTT"
        queue = Queue(None, why_cross, loss_reason=why_cross)
        if rate is not None and base.interval is not None:
            self.waits = self._waits(rate.value, base)
            cross, why_cross = self._cross(rate.value, self.waits)
            if cross is not None and cross.value > _SHARED:
                base = base_rtt(self.events, rate.value, shared=True)
                self.waits = self._waits(rate.value, base)
            base_s = base.interval.value if base.interval else 0.0
            queue = find_queue(
                self.events, self.waits, rate_bps=rate.value, base_s=base_s, mean_bps=self._mean_rate()
            )  # fmt: skip
            if queue.rate is not None:
                if rate.value < 1.5 * queue.rate.value:
                    base = base_rtt_of_fast_link(self.events, rate.value)
                rate, why_rate = queue.rate, "rate of the policer's tokens"
                if rate.high - rate.low > 2 * _WIDEST_RATE * rate.value:
                    why_rate = f"tokens of {rate.low / 1e6:.3g} to {rate.high / 1e6:.3g} Mbit/s explain the drops alike"
                    rate = None
        if queue.hides_rate:
            rate, why_rate = None, queue.reason
        buffer = None if queue.buffer_packets is None else queue.buffer_packets.times(self.wire_bits / 8)
        quantities = (
            quantity("rate", "bottleneck rate", "bit/s", rate, why_rate),
            quantity("rtt", "base RTT", "s", base.interval, base.reason),
            quantity("buffer", "buffer", "bytes", buffer, queue.buffer_reason or queue.reason),
            quantity("loss", "random loss", "1", queue.loss, queue.loss_reason),
            quantity("cross", "share of other traffic", "1", cross, why_cross),
        )
        best, assumptions = self._best(rate, base.interval, queue)
        return PathFit(quantities, queue.name, queue.reason, best, self._draws(best, quantities), tuple(assumptions))

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
        parts = [
            float(np.median(rates[part][near[part]]))
            for part in np.array_split(np.arange(len(rates)), PARTS)
            if near[part].sum() >= _LEAST_NEAR
        ]
        share = float(delivered[usable][near].sum() / max(1, delivered.sum()))
        return of_parts(parts, mode, _RATE_FLOOR), f"{share:.0%} of the segments were delivered at this rate"

    def _base(self, rate: Interval | None) -> BaseRtt:
        if rate is None:
            return BaseRtt(None, "needs the rate of the bottleneck")
        return base_rtt(self.events, rate.value, shared=False)

    # Queue and other traffic

    def _waits(self, rate_bps: float, base: BaseRtt) -> Waits:
        return waits_of(self.seen, base.empty_s, self.wire_bits / rate_bps, base.before_s)

    def _cross(self, rate_bps: float, waits: Waits) -> tuple[Interval | None, str]:
        """Share of the rate that this flow did not get while its queue was not empty."""
        seen = self.seen
        first = np.full(self.events.segments, -1, dtype=np.int64)
        first[seen.left[::-1]] = np.arange(len(seen.left))[::-1]
        busy = waits.likely_s[first[seen.trigger]] > 2 * self.wire_bits / rate_bps
        both = np.flatnonzero(busy[1:] & busy[:-1])
        if len(both) < _LEAST_ACKS:
            return None, "the queue was hardly ever filled"
        gaps = np.diff(seen.acked_s)
        parts = []
        for part in np.array_split(both, PARTS):
            got = seen.delivered[1:][part].sum() * self.wire_bits / max(float(gaps[part].sum()), 1e-9)
            parts.append(max(0.0, 1.0 - got / rate_bps))
        return of_parts(parts, float(np.mean(parts)), 0.0, least=0.02), "what the bottleneck served besides"

    # The path for simulations

    def _best(self, rate: Interval | None, base: Interval | None, queue: Queue) -> tuple[PathDraw, list[str]]:
        assumptions = []
        rate_bps = rate.value if rate else self._mean_rate()
        if rate is None:
            assumptions.append("the bottleneck has the mean rate of the flow")
        rtt_s = base.value if base else max(self.events.handshake_s, 1e-4)
        if base is None:
            assumptions.append("the base RTT is that of the handshake")
        if queue.buffer_packets is not None:
            buffer = queue.buffer_packets.value * self.wire_bits / 8
        elif queue.name in ("codel", "pie"):
            buffer = 1000 * self.wire_bits / 8
            assumptions.append("the buffer has 1000 packets")
        else:
            known = self.waits.accepted_s if self.waits is not None and rate and base else np.empty(0)
            longest = float(known.max()) if len(known) else 0.0
            buffer = max(rate_bps * max(rtt_s, longest) / 8, 10 * self.wire_bits / 8)
            assumptions.append("the buffer holds the longest queue that was seen, and a BDP at least")
        if queue.name is None:
            assumptions.append("the queue is drop-tail")
        return PathDraw(rate_bps, rtt_s, buffer, queue.loss.value if queue.loss else 0.0), assumptions

    def _mean_rate(self) -> float:
        span = float(self.seen.acked_s[-1] - self.seen.acked_s[0])
        return max(float(self.seen.delivered.sum()) * self.wire_bits / max(span, 1e-3), 1e3)

    def _draws(self, best: PathDraw, quantities: tuple[Quantity, ...]) -> tuple[PathDraw, ...]:
        """Paths from the intervals. The numbers are drawn by themselves: each is measured in another way."""
        stream = np.random.default_rng(self.events.segments)
        by_name = {quantity.name: quantity for quantity in quantities}

        def drawn(name: str, otherwise: float, least: float) -> NDArray[np.float64]:
            quantity = by_name[name]
            if quantity.value is None or quantity.low is None or quantity.high is None:
                return np.full(DRAWS, otherwise)
            spread = (quantity.high - quantity.low) / 2 / 1.96
            found: NDArray[np.float64] = np.maximum(quantity.value + spread * stream.standard_normal(DRAWS), least)
            return found

        rates, rtts = drawn("rate", best.rate_bps, 1e3), drawn("rtt", best.rtt_s, 1e-6)
        buffers, losses = drawn("buffer", best.buffer_bytes, self.wire_bits / 8), drawn("loss", best.loss, 0.0)
        if best.loss == 0:
            losses = np.zeros(DRAWS)
        return tuple(PathDraw(*map(float, row)) for row in zip(rates, rtts, buffers, losses, strict=True))
