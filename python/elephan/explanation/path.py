"""The path of a capture, as a mechanism: base RTT, rate, buffer, discipline of the queue, random loss, cross traffic.

The bottleneck spaces what it serves, so the rate at which ACKs deliver while they follow each other is its rate, and
what an RTT has above the base RTT is the delay of its queue. Where packets were dropped says which queue it is:

- drop-tail: nearly all at one delay, above which no packet arrives;
- a policer: whenever a virtual queue that drains with the rate of its tokens is full;
- CoDel: at the times of its control law, which follow from the delays;
- PIE: as often as its probability says, which follows from the delays too;
- random loss: at any delay.

Each value has an interval at 95 %, from its spread over parts of the capture. A value that the capture does not show
says why.

No document has the thresholds below. They were chosen on captures of Linux in virtual time whose paths were known, and
``tests/capture_survey`` judges them on others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.explanation.disciplines import codel_share, full_share, pie_ratio, virtual_queue
from elephan.explanation.modes import BIN, highest_mode
from elephan.explanation.results import PathDraw, PathFit, Quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elephan.explanation.events import Events

DRAWS = 20
_HEADER_BYTES = 52
_SYN_BYTES = 60
_PARTS = 8
_T_95 = 2.365
"""Student's t at 97.5 % with 7 degrees of freedom."""
_LEAST_ACKS = 64
_LEAST_DROPS = 6
_NEIGHBORS = 15
_MOSTLY = 0.4
_RATE_FLOOR = 0.003
_BASE_FLOOR = 0.006
_BUFFER_FLOOR = 0.05
_CODEL = 0.6
_FULL = 0.6
_POLICED = 0.5
_POLICED_ELSEWHERE = 1.2
"""The same away from the sender, where times of transmissions are not exact."""
_PIE = (0.4, 2.5)
_LONG_PACKET_S = 0.005
_WIDEST_RATE = 0.06
_ABOVE = 0.012
"""Share of packets that may have met a longer queue than those that were dropped by a full one: their ACKs waited."""


@dataclass(frozen=True)
class _Interval:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class _Queue:
    """Queue, as far as the drops show it."""

    name: str | None
    reason: str
    buffer_packets: _Interval | None = None
    buffer_reason: str = ""
    rate: _Interval | None = None
    random: int = 0
    hides_rate: bool = False


def fit_path(events: Events) -> PathFit:
    """The path that a capture shows."""
    return _Fit(events).fit()


class _Fit:
    def __init__(self, events: Events) -> None:
        self.events, self.seen = events, events.seen
        self.wire_bits = 8.0 * (events.payload_bytes + _HEADER_BYTES)
        self.drops = int(self.seen.lost.sum())

    def fit(self) -> PathFit:
        """The fit, with the reasons of what is missing."""
        rate, why_rate = self._rate()
        base, why_base = self._base(rate)
        if rate is None or base is None:
            queue = _Queue(None, "needs the rate of the bottleneck and the base RTT")
            cross, why_cross = None, queue.reason
        else:
            self._place(rate.value, base.value)
            queue = self._queue(rate, base.value)
            cross, why_cross = self._cross(rate)
            if queue.rate is not None:
                if rate.value < 1.5 * queue.rate.value:
                    base, why_base = self._base_of_fast_link(rate)
                rate, why_rate = queue.rate, "rate of the policer's tokens"
                if rate.high - rate.low > 2 * _WIDEST_RATE * rate.value:
                    why_rate = f"tokens of {rate.low / 1e6:.3g} to {rate.high / 1e6:.3g} Mbit/s explain the drops alike"
                    rate = None
        if queue.hides_rate:
            rate, why_rate = None, queue.reason
        loss = self._loss(queue.random) if base is not None else None
        quantities = (
            _quantity("rate", "bottleneck rate", "bit/s", rate, why_rate),
            _quantity("rtt", "base RTT", "s", base, why_base),
            _quantity(
                "buffer", "buffer", "bytes", _times(queue.buffer_packets, self.wire_bits / 8),
                queue.buffer_reason or queue.reason,
            ),
            _quantity("loss", "random loss", "1", loss, "losses that the queue does not explain"),
            _quantity("cross", "share of other traffic", "1", cross, why_cross),
        )  # fmt: skip
        best, assumptions = self._best(rate, base, queue, loss)
        return PathFit(quantities, queue.name, queue.reason, best, self._draws(best, quantities), tuple(assumptions))

    # Rate and base RTT

    def _rate(self) -> tuple[_Interval | None, str]:
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
            for part in np.array_split(np.arange(len(rates)), _PARTS)
            if near[part].sum() >= _LEAST_DROPS
        ]
        share = float(delivered[usable][near].sum() / max(1, delivered.sum()))
        return _interval(parts, mode, _RATE_FLOOR), f"{share:.0%} of the segments were delivered at this rate"

    def _base(self, rate: _Interval | None) -> tuple[_Interval | None, str]:
        if rate is None:
            return None, "needs the rate of the bottleneck"
        rtts = self.seen.rtt_s[np.isfinite(self.seen.rtt_s)]
        if not len(rtts):
            return None, "no segment has an RTT"
        of_data = float(rtts.min()) - (self.wire_bits + 8 * _HEADER_BYTES) / rate.value
        of_handshake = self.events.handshake_s - 16 * _SYN_BYTES / rate.value
        value = min(of_data, of_handshake)
        if value <= 0:
            return None, "the least RTT is no longer than the transmission of a packet"
        # Both are the base RTT if no queue waited, and one of them may be too long.
        wide = _BASE_FLOOR * value
        return _Interval(value, value - wide - 0.25 * min(abs(of_data - of_handshake), value), value + wide), (
            "least RTT, without the transmission of its packets"
        )

    def _base_of_fast_link(self, rate: _Interval) -> tuple[_Interval, str]:
        """Base RTT of a path whose link is faster than all rates that were seen."""
        rtts = self.seen.rtt_s[np.isfinite(self.seen.rtt_s)]
        value = min(float(rtts.min()), self.events.handshake_s)
        least = value - 16 * _SYN_BYTES / rate.value
        return _Interval(value, min(least, value * (1 - _BASE_FLOOR)), value), "least RTT, on a link of unknown rate"

    # Queue

    def _place(self, rate: float, base: float) -> None:
        """Delay of the queue that segments met, and that lost ones would have met."""
        seen = self.seen
        empty = base + (self.wire_bits + 8 * _HEADER_BYTES) / rate
        delays = seen.rtt_s - empty
        valid = np.isfinite(delays)
        # The ACK of a single segment may have waited for the receiver's timer, where most are of several.
        single = seen.delivered == 1
        share = np.convolve(single.astype(float), np.ones(_NEIGHBORS) / _NEIGHBORS, mode="same")
        valid &= ~single | (share > _MOSTLY) | (delays <= 0)
        self.delay = np.full(self.events.segments, np.nan)
        self.delay[seen.trigger[valid]] = np.maximum(delays[valid], 0.0)
        known = np.flatnonzero(np.isfinite(self.delay))
        self.lost = np.flatnonzero(seen.lost)
        self.accepted = self.delay[known]
        # The delay before each segment, for those that have none of their own.
        self.filled = np.interp(np.arange(self.events.segments), known, self.accepted) if len(known) else self.delay
        before = known[np.maximum(np.searchsorted(known, self.lost) - 1, 0)] if len(known) else self.lost
        self.at_drop = self.delay[before]

    def _queue(self, rate: _Interval, base: float) -> _Queue:
        if self.drops < _LEAST_DROPS or not len(self.accepted):
            return _Queue(None, f"{self.drops} packets were lost, and a queue shows its limit only where it drops")
        packet_s = self.wire_bits / rate.value
        sent, lost = self.seen.left_s, self.seen.left_lost
        met = self.filled[self.seen.left]
        middle = float(np.median(self.at_drop))
        above = float(np.mean(self.accepted > 1.1 * middle + 2 * packet_s))
        codel = codel_share(sent, met, lost, packet_s)
        if codel >= _CODEL and packet_s < _LONG_PACKET_S and above >= _ABOVE / 4:
            return _Queue(
                "codel", f"{codel:.0%} of the drops are at the times of CoDel's control law",
                buffer_reason="CoDel drops before the buffer is full",
            )  # fmt: skip
        full = full_share(self.at_drop, packet_s)
        policed = virtual_queue(sent, lost, self.wire_bits)
        if full >= _FULL and above < _ABOVE and middle > 1.2 * packet_s:
            return self._droptail(packet_s, middle, full)
        is_faster = policed.rate_bps < 0.9 * rate.value or middle <= 1.2 * packet_s
        if policed.cost <= (_POLICED if self.events.exact else _POLICED_ELSEWHERE) and is_faster:
            wide = max(0.02 * policed.rate_bps, policed.high_bps - policed.rate_bps, policed.rate_bps - policed.low_bps)
            burst = max(policed.burst_packets, 1.0)
            return _Queue(
                "policer", f"a token bucket explains all but {policed.cost:.0%} of the drops",
                _Interval(burst, 0.9 * burst - 1, 1.1 * burst + 1), "burst of the policer",
                _Interval(policed.rate_bps, policed.rate_bps - wide, policed.rate_bps + wide),
            )  # fmt: skip
        if middle <= max(1.2 * packet_s, 0.15 * base) and self._mean_rate() < 0.5 * rate.value:
            return _Queue(
                None, "packets are lost while the queue is empty, as by a policer whose tokens do not show",
                hides_rate=True,
            )  # fmt: skip
        if packet_s >= _LONG_PACKET_S:
            return _Queue(None, f"a packet takes {packet_s * 1e3:.1f} ms, as long as the targets of CoDel and PIE")
        ratio = pie_ratio(self.events.sent_s, self.filled, self.drops)
        if _PIE[0] <= ratio <= _PIE[1]:
            return _Queue(
                "pie", f"{ratio:.2g} times as many drops as PIE's probability says",
                buffer_reason="PIE drops before the buffer is full",
            )  # fmt: skip
        return _Queue(
            None, "the drops are neither those of a full queue or a policer nor those of CoDel or PIE",
            random=self.drops if middle < float(np.quantile(self.accepted, 0.75)) else 0,
        )  # fmt: skip

    def _droptail(self, packet_s: float, middle: float, full: float) -> _Queue:
        """A drop-tail queue, whose buffer is the longest queue near its drops."""
        early = int((self.at_drop < 0.7 * middle - packet_s).sum())
        longest = []
        for segment in self.lost:
            near = self.delay[max(0, segment - 40) : segment + 20]
            if np.isfinite(near).any():
                longest.append(float(np.nanmax(near)) / packet_s)
        kept = np.array(longest)
        kept = kept[kept >= 0.7 * np.median(kept)]
        parts = [float(np.median(part)) for part in np.array_split(kept, _PARTS) if len(part)]
        buffer = _interval(parts, float(np.median(kept)), _BUFFER_FLOOR, least=0.6)
        reason = f"{full:.0%} of the drops are at one delay, which no other packet exceeds"
        return _Queue("droptail", reason, buffer, "queue of the packets before the drops", random=early)

    # Losses and other traffic

    def _loss(self, random: int) -> _Interval:
        sent = self.events.segments + self.drops
        share = random / max(1, sent)
        wide = 1.96 * np.sqrt(max(random, 1)) / max(1, sent)
        return _Interval(share, max(0.0, share - wide), share + wide)

    def _cross(self, rate: _Interval) -> tuple[_Interval | None, str]:
        """Share of the rate that this flow did not get while its queue was not empty."""
        seen = self.seen
        busy = self.filled[seen.trigger] > 2 * self.wire_bits / rate.value
        both = np.flatnonzero(busy[1:] & busy[:-1])
        if len(both) < _LEAST_ACKS:
            return None, "the queue was hardly ever filled"
        gaps = np.diff(seen.acked_s)
        parts = []
        for part in np.array_split(both, _PARTS):
            got = seen.delivered[1:][part].sum() * self.wire_bits / max(float(gaps[part].sum()), 1e-9)
            parts.append(max(0.0, 1.0 - got / rate.value))
        return _interval(parts, float(np.mean(parts)), 0.0, least=0.02), "what the bottleneck served besides"

    # The path for simulations

    def _best(
        self, rate: _Interval | None, base: _Interval | None, queue: _Queue, loss: _Interval | None
    ) -> tuple[PathDraw, list[str]]:
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
            longest = float(np.nanmax(self.filled)) if rate and base and len(self.accepted) else 0.0
            buffer = max(rate_bps * max(rtt_s, longest) / 8, 10 * self.wire_bits / 8)
            assumptions.append("the buffer holds the longest queue that was seen, and a BDP at least")
        if queue.name is None:
            assumptions.append("the queue is drop-tail")
        return PathDraw(rate_bps, rtt_s, buffer, loss.value if loss else 0.0), assumptions

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


def _quantity(name: str, title: str, unit: str, interval: _Interval | None, reason: str) -> Quantity:
    if interval is None:
        return Quantity(name, title, unit, None, reason=reason)
    return Quantity(name, title, unit, interval.value, interval.low, interval.high, reason)


def _times(interval: _Interval | None, factor: float) -> _Interval | None:
    if interval is None:
        return None
    return _Interval(interval.value * factor, max(0.0, interval.low) * factor, interval.high * factor)


def _interval(parts: list[Any], value: float, floor: float, *, least: float = 0.0) -> _Interval:
    """A value with the interval of its parts, no narrower than the share ``floor`` of it and than ``least``."""
    wide = max(floor * abs(value), least)
    if len(parts) > 1:
        value = float(np.median(parts))
        wide = max(wide, _T_95 * float(np.std(parts, ddof=1)) / len(parts) ** 0.5)
    return _Interval(value, value - wide, value + wide)
