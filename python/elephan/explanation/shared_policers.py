"""Tokens of a policer that other traffic takes, too.

At each drop the bucket is empty, so between two drops as many packets pass as there are tokens, unless others take
some. What passed so is never more than the tokens, and two things show how many there are in all:

- while nobody else takes tokens, what passed grows along a straight line from drop to drop;
- others that do not yield take their share at any time, and behind the policer they delay packets on the next link,
  which shows how much they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.waits import Waits, usual_size
from elephan.metrics.statistics import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

_STEPS = 40
"""Fewest drops with packets in between that lie on a straight line. If others take tokens at random, about one time in
three a step leaves the line, which has the width of a packet."""
_LINE_WIDTH = 0.01
_MOST_ERROR = 0.5
"""Largest error of the times of drops, in packets, at which a line shows anything."""
_ALIKE = 1.5
"""Tokens that may be missing more at one drop than at another: a packet, and what comes while it is sent."""
_SLOWER = 0.97
"""Largest part of another rate that is less."""
_FEWEST_PASSED, _STRETCHES = 20, (1, 2, 4, 8, 16, 32, 64, 128)
"""Fewest packets of a stretch between drops, and drops of the stretches that are tried."""
_BEYOND = 2
"""Stretches whose rate may be above that of the tokens, since their first drop was another loss."""
_BUSY, _FEWEST_PAUSES, _JOINED = 0.02, 200, 0.02
"""Wait behind others that counts, in packets; fewest pauses that show them; and least time in which packets join."""
_UNEVEN = 2.0
"""Largest variance of others between windows, relative to that of independent arrivals."""
_WINDOW_S, _LENGTHS, _IN_WINDOW, _LEAST_WINDOWS = 0.25, (1, 2, 4), 20, 4
"""Least length of a window, multiples of it that are tried, fewest pauses in a window, and fewest windows."""
_SEEN = 0.05
"""Least rate of others, relative to this flow's, that is seen for certain."""
_COVERED = 0.2
"""Least share of the packets in the stretches that show the flow's own share of the tokens."""
_QUANTILES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1.0)
_NEARLY_ALONE = 0.8
"""Least share of all tokens that the flow has in its fastest stretches: others who arrive at random leave some."""
_SMALL = 10.0
"""Packets of a bucket that fills between two packets now and then: the tokens that it loses then do not show."""
_WALK = 2.24
"""Standard deviations that a random walk stays within in 95 % of all cases."""
_OWN_ERROR, _OTHERS_ERROR = 0.02, 0.15
"""Errors of the flow's and of the others' part, relative: a few of the others met the flow because of the bucket."""


@dataclass(frozen=True)
class SharedTokens:
    """Tokens of a policer that others take, too.

    Attributes:
        rate: their rate, bit/s.
        burst_packets: size of the bucket, in packets; ``None`` if others may have taken some before.
        others: share of the others, if they do not yield; ``None`` if it is not known.
        size: size of the others' packets, relative to a full one.
        reason: evidence.
    """

    rate: Interval
    burst_packets: Interval | None
    others: Interval | None
    size: float
    reason: str


def shared_tokens(waits: Waits, wire_bits: float, packet_s: float, error_s: float) -> SharedTokens | None:
    """The tokens of a policer, if a flow that shares them shows their rate.

    Args:
        waits: the waits on the link behind the policer.
        wire_bits: size of a full packet, bits.
        packet_s: its time on that link, s.
        error_s: error of the times of departure, s.
    """
    drops = _Drops.of(waits)
    if len(drops.at_s) <= _STEPS:
        return None
    line, most = _straight(drops, error_s), drops.fastest()
    if line is not None and (most is None or line.value >= _SLOWER * most):
        # At each of these drops the bucket had less than a packet.
        taken = missing_tokens(waits, line.value)[waits.lost]
        least = float(taken[line.start : line.end + 1].min())
        # If others took none before, as many are missing at the first drop.
        burst = _bucket(least, 0.0) if abs(float(taken[0]) - least) <= _ALIKE else None
        reason = f"from {line.steps} drops to the next ones as many packets passed as at this rate"
        return SharedTokens(_in_bits(line.rate, wire_bits), burst, None, 1.0, reason)
    return None if error_s > 0 else _beside_others(drops, waits, wire_bits, packet_s)


def missing_tokens(waits: Waits, rate: float) -> Floats:
    """Tokens of this rate that are missing in the bucket when each packet arrives, if this flow alone takes them."""
    free = np.cumsum(~waits.lost) - ~waits.lost - rate * waits.at_s
    found: Floats = free - np.minimum.accumulate(free)
    return found


def fastest(waits: Waits) -> float | None:
    """Rate of what passed in the fastest stretches between drops, in packets/s; ``None`` if none is long enough."""
    return _Drops.of(waits).fastest()


@dataclass(frozen=True)
class _Line:
    """A straight line: its rates in packets/s, its first and last drop, and the drops with packets in between."""

    rate: Interval
    start: int
    end: int
    steps: int

    @property
    def value(self) -> float:
        return self.rate.value


@dataclass(frozen=True)
class _Drops:
    """Drops: their times, and the packets that passed before each."""

    at_s: Floats
    passed: Longs

    @classmethod
    def of(cls, waits: Waits) -> _Drops:
        """The drops of a flow."""
        passed: Longs = np.cumsum(~waits.lost, dtype=np.int64)
        return cls(waits.at_s[waits.lost], passed[waits.lost])

    def fastest(self) -> float | None:
        """Rate of the fastest stretch but for a few, which may begin with another loss."""
        found: list[tuple[float, int, int]] = []
        for drops in _STRETCHES:
            if drops >= len(self.at_s):
                break
            time, packets = self.at_s[drops:] - self.at_s[:-drops], self.passed[drops:] - self.passed[:-drops]
            some = np.flatnonzero((time > 0) & (packets >= _FEWEST_PASSED))
            rates = (packets[some] - 1) / time[some]
            order = np.argsort(-rates)[: 64 * drops]
            found += [(float(rates[place]), int(some[place]), int(some[place]) + drops) for place in order]
        apart: list[tuple[int, int]] = []
        for rate, first, last in sorted(found, reverse=True):
            if all(last <= begin or first >= end for begin, end in apart):
                apart.append((first, last))
                if len(apart) > _BEYOND:
                    return rate
        return None

    def is_senders(self, first: int, last: int) -> bool:
        """Returns true if what was sent follows a line as closely as what passed: the line is the sender's own."""
        time, passed = self.at_s[first : last + 1], self.passed[first : last + 1]
        return _width(time, passed + np.arange(len(passed))) <= _width(time, passed)

    def own_rate(self) -> float:
        """Rate of what passed while the bucket did not fill: a pause fills it, so long gaps do not count."""
        gaps, packets = np.diff(self.at_s), np.diff(self.passed)
        rates = [
            float(packets[short].sum() / gaps[short].sum())
            for short in (gaps <= longest for longest in np.quantile(gaps, _QUANTILES))
            if packets[short].sum() >= _COVERED * packets.sum() and gaps[short].sum() > 0
        ]
        return max(rates, default=0.0)


def _width(time_s: Floats, packets: Longs) -> float:
    """Width of the straight line that has these packets, in packets."""
    line = np.polynomial.Polynomial.fit(time_s, packets, 1)
    return float(np.ptp(packets - line(time_s)))


def _straight(drops: _Drops, error_s: float) -> _Line | None:
    """The fastest straight line along which packets pass, with a width of one packet to each side."""
    at, passed = drops.at_s.tolist(), drops.passed.tolist()
    lines, start = [], 0
    while start < len(at) - 1:
        low, high, last, place = 0.0, np.inf, start, start + 1
        while place < len(at):
            time, packets = at[place] - at[start], passed[place] - passed[start]
            if time > error_s:
                lowest = max(low, (packets - 1) / (time + error_s))
                highest = min(high, (packets + 1) / (time - error_s))
                if lowest > highest:
                    break
                low, high, last = lowest, highest, place
            place += 1
        steps = int((np.diff(drops.passed[start : last + 1]) > 0).sum())
        middle = (low + high) / 2
        wide = _LINE_WIDTH * middle
        shows_rate = steps >= _STEPS and high - low <= wide and middle * error_s <= _MOST_ERROR
        if shows_rate and not drops.is_senders(start, last):
            lines.append(_Line(Interval(middle, low - wide, high + wide), start, last, steps))
        start = max(last, start + 1)
    return max(lines, key=lambda line: line.value, default=None)


def _beside_others(drops: _Drops, waits: Waits, wire_bits: float, packet_s: float) -> SharedTokens | None:
    """Tokens that others take at any time, who do not yield and are met on the link behind the policer."""
    own, most = drops.own_rate(), drops.fastest()
    met = steady_others(waits, packet_s)
    if met is None or most is None or own <= 0:
        return None
    others = met.share / packet_s
    rate = own + others
    if not _NEARLY_ALONE * rate <= most <= rate:
        return None

    # Others who arrive at random shift what this flow takes by chance only.
    def chance(end_s: float) -> float:
        return _WALK * float(np.sqrt(others * met.size * (end_s - float(waits.at_s[0]))))

    taken = missing_tokens(waits, own)
    burst = _bucket(float(taken[waits.lost][0]), chance(float(drops.at_s[0])))
    if burst.value < _SMALL:
        return None
    if float(taken[~waits.lost].max()) > burst.value + chance(float(waits.at_s[-1])):
        return None
    return _in_all(own, most, met, burst, wire_bits, packet_s)


def with_others(
    own_bps: float, burst: Interval, waits: Waits, wire_bits: float, packet_s: float
) -> SharedTokens | None:
    """All tokens, if this flow has those of a rate; ``None`` if it meets no others on the link behind the policer.

    Args:
        own_bps: tokens that this flow has, bit/s.
        burst: size of the bucket, in packets.
        waits: the waits on that link.
        wire_bits: size of a full packet, bits.
        packet_s: its time on that link, s.
    """
    met, own = steady_others(waits, packet_s), own_bps / wire_bits
    if met is None or met.share / packet_s < _SEEN * own:
        return None
    return _in_all(own, own, met, burst, wire_bits, packet_s)


def _in_all(
    own: float, least: float, met: OthersMet, burst: Interval, wire_bits: float, packet_s: float
) -> SharedTokens:
    others = met.share / packet_s
    rate, wide = own + others, _OWN_ERROR * own + _OTHERS_ERROR * others
    share = Interval(others / rate, (1 - _OTHERS_ERROR) * others / rate, (1 + _OTHERS_ERROR) * others / rate)
    reason = f"this flow has {own / rate:.0%} of the tokens, and others, whom it meets on the next link, have the rest"
    found = _in_bits(Interval(rate, max(least, rate - wide), rate + wide), wire_bits)
    return SharedTokens(found, burst, share, met.size, reason)


def _bucket(taken: float, chance: float) -> Interval:
    """Size of a bucket in which so many tokens are missing at a drop."""
    return Interval(taken + 1, max(1.0, 0.9 * taken - chance), 1.1 * (taken + 1) + 1 + chance)


def _in_bits(rate: Interval, wire_bits: float) -> Interval:
    return Interval(rate.value * wire_bits, rate.low * wire_bits, rate.high * wire_bits)


@dataclass(frozen=True)
class OthersMet:
    """Others on a link: their share of its time, and the size of their packets, relative to a full one."""

    share: float
    size: float


def steady_others(waits: Waits, packet_s: float) -> OthersMet | None:
    """Others whom packets meet on a link that is idle most of the time; ``None`` if they are not steady, or not seen.

    Packets of others that arrive while own packets are served are met behind these, so the time without own packets has
    all of them.
    """
    exact = np.flatnonzero(waits.exact)
    at, wait = waits.at_s[exact], waits.wait_s[exact]
    own_s = np.diff(np.cumsum(~waits.lost)[exact]) * packet_s
    length = np.diff(at)
    pause = length - wait[:-1] - own_s
    joined = pause <= -_JOINED * packet_s
    alone, since_s = _alone(waits, packet_s)
    behind = (wait - alone[exact])[1:][~joined] / packet_s
    busy = behind > _BUSY
    if len(behind) < _FEWEST_PAUSES or not busy.any() or _unevenness(at[1:][~joined], busy) > _UNEVEN:
        return None
    added = (np.diff(wait) + length - own_s)[joined]
    # A packet meets the rest of another one, which is half of it as a mean.
    size = usual_size(added / packet_s) or min(1.0, 2 * float(np.median(behind[busy])))
    later_s = np.minimum(since_s[exact][1:][~joined], size * packet_s)
    share = float(busy.mean()) / (1 + float(later_s.mean()) / (size * packet_s))
    return OthersMet((max(0.0, float(added.sum())) + share * float(pause[~joined].sum())) / float(length.sum()), size)


def _alone(waits: Waits, packet_s: float) -> tuple[Floats, Floats]:
    """Waits that packets would have behind those of their own flow, and times since the first one of each burst, s."""
    free = (np.cumsum(~waits.lost) - ~waits.lost) * packet_s - waits.at_s
    least = np.minimum.accumulate(free)
    first = np.maximum.accumulate(np.where(free <= least, np.arange(len(free)), 0))
    return free - least, waits.at_s - waits.at_s[first]


def _unevenness(at_s: Floats, busy: NDArray[np.bool_]) -> float:
    """Variance of the number of packets that meet others in windows, relative to that of independent ones: the largest
    of several lengths of windows, since traffic that comes and goes varies more in longer ones."""
    shortest_s = max(_WINDOW_S, 2 * _IN_WINDOW * float(at_s[-1] - at_s[0]) / len(at_s))
    share, found = float(busy.mean()), []
    for length in _LENGTHS:
        window = ((at_s - at_s[0]) / (length * shortest_s)).astype(np.int64)
        counts, met = np.bincount(window), np.bincount(window, busy)
        some = counts >= _IN_WINDOW
        if some.sum() >= _LEAST_WINDOWS:
            expected = counts[some] * share * (1 - share)
            found.append(float(np.mean((met - share * counts)[some] ** 2 / expected)))
    return max(found, default=np.inf)
