"""Paths that a capture allows, drawn at random: for simulations whose numbers shall have an interval.

A number that the capture shows is drawn from its interval. What it does not show is drawn from all that it leaves open:
other disciplines, larger buffers, other traffic, random losses. Simulations of the captured flow then choose between
them (``refining.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from elephan.explanation.others import Others
from elephan.explanation.queueing import Queue
from elephan.explanation.results import OtherTraffic, PathDraw

if TYPE_CHECKING:
    from elephan.metrics.statistics import Interval

_MOST_OTHERS, _LEAST_OTHERS = 0.95, 0.01
_UNSEEN_OTHERS = (0.02, 0.6)
"""Shares of other traffic, and those of traffic that a capture would not show."""
_OPEN_QUEUES = ("droptail", "droptail", "droptail", "codel", "pie")
"""Disciplines of a bottleneck whose discipline is open, as often as they are drawn."""
_OPEN_TRAFFIC: tuple[Literal["steady", "bulk", "intermittent"] | None, ...] = (
    None, None, None, "steady", "bulk", "intermittent",
)  # fmt: skip
_OF_OTHERS = ("cubic", "cubic", "reno", "bbr")
"""Algorithms of another flow, as often as they are drawn."""
_UNSEEN_BYTES = (500, 1500)
_LONGER, _MOST_BDP = 4.0, 8.0
"""Largest buffer that was never full: as a multiple of the longest queue, and in BDP; the larger one counts."""
USUAL_PACKETS = 1000.0
"""Usual buffer behind CoDel and PIE, which the capture does not show."""
_SHORT = 6.0
"""Assumed buffer, in packets, below which the queue may be a policer."""
_LEAST_LOSS = 1e-5
_LATEST = 0.6
"""Latest beginning of an unseen flow, as a share of the time."""
_EXPONENTIAL = 3.7
"""Exponential quantile at 97.5 %."""
_FASTER, _MORE_TOKENS = 2.0, 0.3
"""Largest rate of a bottleneck that does not show it, as a multiple of the flow's, and share of unused tokens."""
_MOST_OF_TOKENS = 0.9
"""Largest share of others that take a policer's tokens."""


@dataclass(frozen=True)
class Measured:
    """Evidence of a capture on its path.

    Attributes:
        best: the path that is assumed.
        rate, base: rate of the bottleneck, bit/s, and base RTT, s.
        queue: the queue.
        others: the other traffic.
        wire_bits: size of a full packet, bits.
        longest_packets: longest queue that was seen, in full packets.
        mean_bps: mean rate of the flow, bit/s.
        lost: share of the packets that were lost.
        span_s: length of the capture, s.
        is_doubted: the queue and the other traffic are not known, and the queue may be a policer too.
    """

    best: PathDraw
    rate: Interval | None
    base: Interval | None
    queue: Queue
    others: Others
    wire_bits: float
    longest_packets: float
    mean_bps: float
    lost: float
    span_s: float
    is_doubted: bool = False

    @property
    def doubted(self) -> Measured:
        """The same without what the drops and the waits seem to show."""
        return replace(
            self, queue=Queue(None, ""), others=Others(None, ""), best=replace(self.best, queue="droptail"),
            is_doubted=True,
        )  # fmt: skip


class Hypotheses:
    """Draws of paths. The same seed gives the same paths."""

    def __init__(self, measured: Measured, seed: int) -> None:
        self.of = measured
        self.stream = np.random.default_rng(seed)

    def draws(self, count: int) -> tuple[PathDraw, ...]:
        """A number of paths."""
        return tuple(self._draw(number) for number in range(count))

    def _draw(self, number: int) -> PathDraw:
        of = self.of
        rtt_s = max(1e-6, self._normal(of.base) if of.base is not None else of.best.rtt_s)
        queue = self._discipline(number)
        traffic = self._traffic(number, queue)
        rate_bps = self._rate(queue, traffic)
        packets = max(1.0, self._packets(queue, rate_bps, rtt_s))
        return replace(
            of.best, rate_bps=rate_bps, rtt_s=rtt_s, buffer_bytes=packets * of.wire_bits / 8, loss=self._loss(queue),
            queue=queue, traffic=traffic,
        )  # fmt: skip

    def _rate(self, discipline: str, traffic: OtherTraffic | None) -> float:
        of, policed = self.of, discipline == "policer"
        if policed and of.best.queue != "policer":
            rate_bps = of.mean_bps * (1.0 + _MORE_TOKENS * self.stream.random())
        elif of.rate is not None:
            rate_bps = max(1e3, self._normal(of.rate))
        elif policed and of.queue.assumed_policer is not None:
            # So much passed, and others may have taken the rest of more.
            share = traffic.share if traffic is not None else 0.0
            rate_bps = max(of.queue.assumed_policer.rate_bps, of.mean_bps / (1.0 - share))
            return float(rate_bps * (1.0 + _MORE_TOKENS * self.stream.random()))
        elif policed:
            rate_bps = of.best.rate_bps
        else:
            rate_bps = of.best.rate_bps * _FASTER ** self.stream.random()
        # Others share the tokens of a policer, and this flow had the rest.
        had_rest = policed and traffic is not None and not of.queue.is_shared
        return float(rate_bps / (1.0 - traffic.share) if had_rest and traffic is not None else rate_bps)

    def _discipline(self, number: int) -> str:
        of = self.of
        assumed = of.queue.assumed
        if assumed is not None and of.queue.buffer_packets is None and assumed.value < _SHORT and number % 2:
            # A paced flow meets a bucket without tokens as it meets a buffer that holds hardly a packet.
            return "policer"
        if of.queue.name is not None or of.queue.assumed_policer is not None:
            return of.best.queue
        open_ = (*_OPEN_QUEUES, "policer", "policer") if of.is_doubted else _OPEN_QUEUES
        return open_[number % len(open_)]

    def _packets(self, discipline: str, rate_bps: float, rtt_s: float) -> float:
        of, queue = self.of, self.of.queue
        if queue.buffer_packets is not None:
            packets = self._normal(queue.buffer_packets)
            if discipline == "policer":
                return packets
            # The buffer is what the longest round trip has above the base RTT, at the rate: both shift it.
            seconds = packets * of.wire_bits / of.best.rate_bps - (rtt_s - of.best.rtt_s)
            return seconds * rate_bps / of.wire_bits
        if discipline in ("codel", "pie") and self.stream.random() < 1 / 2:
            # They drop before a buffer is full, unless slow start fills it.
            return max(USUAL_PACKETS, of.longest_packets)
        if queue.assumed_policer is not None:
            return float(queue.assumed_policer.burst_packets * np.exp(self.stream.uniform(-0.5, 0.5)))
        if queue.assumed is not None and discipline != "policer":
            return self._between(max(1.0, queue.assumed.low), max(1.0, queue.assumed.high))
        if discipline == "policer":
            return self._between(2.0, max(4.0, _MOST_BDP * rate_bps * rtt_s / of.wire_bits))
        least = max(of.longest_packets, 2.0)
        most = max(_LONGER * least, _MOST_BDP * rate_bps * rtt_s / of.wire_bits)
        return self._between(least, most)

    def _loss(self, discipline: str) -> float:
        loss, most = self.of.queue.loss, self.of.lost
        if loss is None:
            if discipline == self.of.queue.name and self.of.queue.most_random is not None:
                most = self.of.queue.most_random
            if self.stream.random() < 1 / 2 or most <= _LEAST_LOSS:
                return 0.0
            return self._between(_LEAST_LOSS, most)
        if loss.value > 0 and loss.low > 0:
            return min(0.5, max(0.0, self._normal(loss)))
        return 0.0 if self.stream.random() < 1 / 2 else float(self.stream.exponential(loss.high / _EXPONENTIAL))

    def _traffic(self, number: int, discipline: str) -> OtherTraffic | None:
        others = self.of.others
        if others.traffic is not None and others.share is not None:
            return self._seen(number)
        if others.share is not None:
            return None
        # Disciplines come in fives or sevens, so that sixes meet each of them.
        kind = _OPEN_TRAFFIC[number % len(_OPEN_TRAFFIC)]
        if kind is None:
            return None
        least, most = _UNSEEN_OTHERS
        share = float(self.stream.uniform(least, _MOST_OF_TOKENS if discipline == "policer" else most))
        size = round(self.stream.uniform(*_UNSEEN_BYTES))
        start_s = float(self.stream.uniform(0.0, _LATEST * self.of.span_s))
        return OtherTraffic(kind, share, size, start_s, self._algorithm(kind))

    def _seen(self, number: int) -> OtherTraffic:
        """Traffic that was seen, in one of the kinds that it may be of."""
        others = self.of.others
        traffic, interval = others.traffic, others.share
        assert traffic is not None
        assert interval is not None
        share = self._normal(interval)
        if others.or_else is not None and number % 2:
            share += others.or_else.share - traffic.share
            traffic = others.or_else
        if traffic.kind == "steady":
            # Its dropped packets were not seen.
            share /= 1.0 - self.stream.uniform(0.0, self.of.queue.full)
        start_s = traffic.start_s
        if traffic.kind == "bulk":
            start_s = float(self.stream.uniform(*others.starts_s))
        return replace(
            traffic, share=float(np.clip(share, _LEAST_OTHERS, _MOST_OTHERS)), start_s=start_s,
            algorithm=self._algorithm(traffic.kind),
        )  # fmt: skip

    def _algorithm(self, kind: str) -> str:
        """Congestion control of another flow, which no capture names."""
        return str(self.stream.choice(_OF_OTHERS)) if kind == "bulk" else "cubic"

    def _normal(self, interval: Interval) -> float:
        """A number from a normal distribution whose sides have the widths of an interval at 95 %."""
        normal = float(self.stream.standard_normal())
        side = interval.high - interval.value if normal > 0 else interval.value - interval.low
        return interval.value + side / 1.96 * normal

    def _between(self, low: float, high: float) -> float:
        """A number whose logarithm is as likely at any place."""
        return float(np.exp(self.stream.uniform(np.log(low), np.log(max(low, high)))))
