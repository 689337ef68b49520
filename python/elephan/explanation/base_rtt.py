"""Base RTT: the round trip without queues, and without the time that links take to send its packets.

The handshake and the least RTT of data are two round trips of packets of different sizes. Each packet takes its time at
the bottleneck, and shorter ones at faster links before and behind it: ``factor`` times that of the bottleneck in all.
If neither waited, both together give the factor and the base RTT. If one did, the other gives it alone, with a factor
that is usual.
"""

from __future__ import annotations

from dataclasses import dataclass

from elephan.explanation.events import Events
from elephan.metrics.statistics import Interval

HEADER_BYTES = 52
SYN_BYTES = 60
_USUAL, _LEAST, _MOST = 1.2, 1.0, 1.4
"""Factor where it is not known, and its bounds: links of ten times the rate at both ends make it 1.2."""
_ALIKE = 0.05
_FLOOR = 0.003
_FLOOR_ELSEWHERE = 0.006
_AT_LEAST_S = 5e-6


@dataclass(frozen=True)
class BaseRtt:
    """The base RTT.

    Attributes:
        interval: its value, s; ``None`` if the capture does not show it.
        reason: evidence for it, or the reason why there is none.
        empty_s: round trip of a full segment that does not wait, s.
        before_s: time of a full segment on the link of the sender, s.
    """

    interval: Interval | None
    reason: str
    empty_s: float = 0.0
    before_s: float = 0.0


def base_rtt(events: Events, rate_bps: float, *, shared: bool) -> BaseRtt:
    """The base RTT of a capture.

    Args:
        events: the events.
        rate_bps: rate of the bottleneck.
        shared: other traffic is on the path, for which the handshake may have waited.
    """
    data = 8.0 * (events.payload_bytes + 2 * HEADER_BYTES) / rate_bps
    syns = 16.0 * SYN_BYTES / rate_bps
    of_data, shaken = events.least_rtt_s, events.handshake_s
    if of_data <= 0 or shaken <= 0:
        return BaseRtt(None, "no segment has an RTT")
    factor = (of_data - shaken) / (data - syns)
    highest = min(of_data - _LEAST * data, shaken - _LEAST * syns)
    reason = "least RTT, without the transmission of its packets"
    agree = _LEAST - _ALIKE <= factor <= _MOST + _ALIKE
    if agree and (not shared or abs(factor - _USUAL) < _ALIKE):
        value = shaken - factor * syns
        low = high = value
        empty_s, known = of_data, min(max(factor, _LEAST), _MOST)
    else:
        value = min(of_data - _USUAL * data, shaken - _USUAL * syns)
        low, high = min(of_data - _MOST * data, shaken - _MOST * syns), highest
        # The queue was never empty if the data took much longer than the handshake.
        empty_s = of_data if factor <= _MOST + _ALIKE else value + _USUAL * data
        known = _USUAL
        if value > 0 and high - low > 0.02 * value:
            reason += ", which other links send too, at rates that it does not show"
    if value <= 0:
        return BaseRtt(None, "the least RTT is no longer than the transmission of a packet")
    wide = max((_FLOOR if events.exact else _FLOOR_ELSEWHERE) * value, _AT_LEAST_S) + _ALIKE * syns
    packet_s = 8.0 * (events.payload_bytes + HEADER_BYTES) / rate_bps
    return BaseRtt(
        Interval(value, max(0.0, low - wide), high + wide), reason, empty_s, (known - 1) / 2 * packet_s,
    )  # fmt: skip


def base_rtt_of_fast_link(events: Events, rate_bps: float) -> BaseRtt:
    """Base RTT of a path whose link is faster than all rates that were seen, of which this is one."""
    value = min(events.least_rtt_s, events.handshake_s)
    least = value - 16 * SYN_BYTES * _USUAL / rate_bps
    interval = Interval(value, max(0.0, min(least, value * (1 - _FLOOR_ELSEWHERE))), value)
    return BaseRtt(interval, "least RTT, on a link of unknown rate")
