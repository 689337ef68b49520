"""Other traffic at the bottleneck, from what the waits of neighboring packets show between them.

While a packet still waits when the next one arrives, the bottleneck serves without a pause, so the wait of the next one
says how much others sent in between. Arrivals that are independent of each other vary by chance only, and traffic that
yields takes what a sender leaves, which varies for seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.estimates import of_parts
from elephan.explanation.results import OtherTraffic
from elephan.explanation.waits import Waits
from elephan.metrics.statistics import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LEAST_PAIRS, _LEAST_WINDOWS = 64, 4
_ROUNDS, _PACKETS, _LEAST_S = 8.0, 60.0, 0.25
"""Length of a window: in base RTTs, in packets of the bottleneck, and at least, s."""
_LEAST_BUSY = 0.2
"""Least share of a window in which the queue is known."""
_NOTHING = 0.02
_MOSTLY = 0.4
"""Share of others that is none, and least share of the time in which the queue must be known to say so."""
_STEADY = 3.0
"""Largest ratio of the variance of packets in a window to that of independent arrivals that is steady."""
_PRESENT, _PERSISTS, _ALIKE = 0.03, 0.9, 0.6
"""Share of a window's traffic that counts, least share of windows that have it, and their largest relative spread."""
_LATEST = 0.6
"""Latest beginning of traffic that is always there, as a share of the time."""
_BY_CHANCE = 3.0
"""Standard deviations by which the variance of independent arrivals may differ from its mean by chance."""
_FIRST_WINDOW = 10
"""Packets that a new flow sends at first."""
_LARGE, _FILLED = 0.2, 0.6
"""Least share of a flow that takes what is left, and least part of it in which the link is seen to be busy."""


@dataclass(frozen=True)
class Others:
    """Other traffic, as far as the waits show it.

    Attributes:
        share: its share of the bottleneck's rate; ``None`` if it is not known.
        reason: evidence for it, or the reason why there is none.
        traffic: what it is; ``None`` if there is none, or if it is not known.
        of_kind: evidence for its kind.
        or_else: what it may be as well.
        starts_s: earliest and latest beginning of a flow that is seen from some time on, from the first segment, s.
    """

    share: Interval | None
    reason: str
    traffic: OtherTraffic | None = None
    of_kind: str = ""
    or_else: OtherTraffic | None = None
    starts_s: tuple[float, float] = (0.0, 0.0)


def other_traffic(
    waits: Waits, packet_s: float, base_s: float, *, packet_bytes: float, size: float, error_s: float
) -> Others:
    """Other traffic in a capture.

    Args:
        waits: the waits at the bottleneck.
        packet_s: time of a full packet there, s.
        base_s: base RTT, s.
        packet_bytes: size of a full packet, bytes.
        size: size of the others' packets, relative to a full one.
        error_s: error of times of departure, s.
    """
    gaps = _Gaps(waits, packet_s, error_s)
    if gaps.joined.sum() < _LEAST_PAIRS:
        return Others(None, "the queue was hardly ever filled")
    length_s = max(_ROUNDS * base_s, _PACKETS * packet_s, _LEAST_S)
    windows = gaps.windows(length_s)
    shares = windows.shares
    if len(shares) < _LEAST_WINDOWS:
        return Others(None, "the queue was filled for too short a time")
    joined = max(0.0, gaps.joined_share)
    if joined < _NOTHING and gaps.joined_time < _MOSTLY:
        return Others(None, f"the queue is known only in {gaps.joined_time:.0%} of the time, without others in it")
    if joined < _NOTHING:
        return Others(Interval(joined, 0.0, _NOTHING), "what the bottleneck served besides while the queue was filled")
    variance = windows.dispersion(packet_s * size)
    if variance <= _STEADY:
        share = of_parts([float(one) for one in shares], joined, 0.03, least=0.01)
        share = Interval(joined, share.low + joined - share.value, share.high + joined - share.value)
        by_chance = variance <= 1 + _BY_CHANCE * (2 / len(shares)) ** 0.5
        return Others(
            share, "what the bottleneck served besides while the queue was filled",
            OtherTraffic("steady", joined, round(size * packet_bytes)),
            f"its amount varies {variance:.2g} times as much as that of independent arrivals, so it does not yield",
            None if by_chance else OtherTraffic("intermittent", gaps.mean_share, round(packet_bytes)),
        )  # fmt: skip
    # Its window doubles in each round trip until it is seen.
    longest_s = base_s + float(waits.accepted_s.max(initial=0.0))
    rounds = 1.0 + max(0.0, float(np.log2(_PRESENT * longest_s / packet_s / _FIRST_WINDOW)))
    return _varying(gaps, windows, variance, packet_bytes, rounds * longest_s)


def _varying(gaps: _Gaps, windows: _Windows, variance: float, packet_bytes: float, unseen_s: float) -> Others:
    """Traffic whose rate changes: it is there all the time from some time on, or comes and goes.

    Which of both it is remains open, since many short flows may be there all the time, too.
    """
    changes = f"its amount varies {variance:.2g} times as much as that of independent arrivals"
    low, value, high = (
        float(share) for share in np.sort(np.maximum([gaps.joined_share, gaps.mean_share, gaps.rest_share], 0.0))
    )
    short = OtherTraffic("intermittent", value, round(packet_bytes))
    begin, bulk, starts_s = windows.begin, None, (0.0, 0.0)
    if begin is not None:
        start_s = float(windows.starts_s[begin] - windows.starts_s[0])
        latest_s = float(windows.starts_s[windows.latest] + windows.length_s[begin] - windows.starts_s[0])
        starts_s = (max(0.0, start_s - unseen_s), max(start_s, latest_s))
        bulk = OtherTraffic("bulk", gaps.rest_share, round(packet_bytes), start_s)
        later = windows.all_shares[begin:]
        since = gaps.since(float(windows.starts_s[begin]))
        rest, filled = since.rest_share, since.mean_share
        if rest >= _LARGE and filled >= _FILLED * rest and float(np.std(later) / np.mean(later)) <= _ALIKE:
            reason = f"{changes}, and it is always there and fills the link: it takes what is left"
            share = Interval(gaps.rest_share, low, high)
            return Others(share, "what this flow left of the rate", bulk, reason, short, starts_s)
    reason = f"{changes}: it comes and goes"
    of_share = "what the bottleneck served besides"
    return Others(Interval(value, low, high), of_share, short, reason, bulk, starts_s)


class _Gaps:
    """Times between packets whose waits are known exactly."""

    def __init__(self, waits: Waits, packet_s: float, error_s: float, start_s: float = -np.inf) -> None:
        self._made_of = (waits, packet_s, error_s)
        exact = np.flatnonzero(waits.exact & (waits.at_s >= start_s))
        entered = np.cumsum(~waits.lost)[exact]
        self.at_s = waits.at_s[exact]
        wait = waits.wait_s[exact]
        self.own_s: Floats = np.diff(entered) * packet_s
        self.length_s: Floats = np.diff(self.at_s)
        self.pause_s: Floats = self.length_s - wait[:-1] - self.own_s
        self.joined = self.pause_s <= -max(0.02 * packet_s, error_s)
        self.added_s: Floats = np.where(self.joined, np.diff(wait) + self.length_s - self.own_s, 0.0)
        # A packet that waits behind a pause of its own flow met other traffic.
        self.met = (wait[1:] > 0.05 * packet_s) & ~self.joined

    def since(self, start_s: float) -> _Gaps:
        """The gaps from a time on."""
        return _Gaps(*self._made_of, start_s)

    @property
    def span_s(self) -> float:
        """Time of all gaps, s."""
        return max(float(self.length_s.sum()), 1e-9)

    @property
    def joined_time(self) -> float:
        """Share of the time in which the queue was filled without a pause."""
        return float(self.length_s[self.joined].sum()) / self.span_s

    @property
    def joined_share(self) -> float:
        """Share of others while the queue was filled."""
        return float(self.added_s.sum()) / max(float(self.length_s[self.joined].sum()), 1e-9)

    @property
    def mean_share(self) -> float:
        """Share of others over all times: behind a pause the link is taken to be busy if the next packet waits."""
        apart = ~self.joined
        between = float(self.pause_s[self.met].sum())
        drained = self.joined_share * float((self.length_s - np.maximum(self.pause_s, 0.0))[apart].sum())
        return (float(self.added_s.sum()) + between + drained) / self.span_s

    @property
    def rest_share(self) -> float:
        """Share of the rate that the flow did not use."""
        return max(0.0, 1.0 - float(self.own_s.sum()) / self.span_s)

    def windows(self, length_s: float) -> _Windows:
        """The gaps of windows of time."""
        count = max(1, int(self.span_s / length_s))
        edges = np.linspace(self.at_s[0], self.at_s[-1], count + 1)
        place = np.clip(np.searchsorted(edges, self.at_s[1:], side="right") - 1, 0, count - 1)

        def total(values: Floats) -> Floats:
            return np.bincount(place, values, count).astype(np.float64)

        known = total(np.where(self.joined, self.length_s, 0.0))
        unknown = total(np.where(self.joined, 0.0, self.pause_s))
        return _Windows(edges[:-1], np.diff(edges), known, total(self.added_s), unknown, total(self.pause_s * self.met))


@dataclass(frozen=True)
class _Windows:
    starts_s: Floats
    length_s: Floats
    known_s: Floats
    added_s: Floats
    unknown_s: Floats
    met_s: Floats

    @property
    def _busy(self) -> NDArray[np.bool_]:
        busy: NDArray[np.bool_] = self.known_s > _LEAST_BUSY * self.length_s
        return busy

    @property
    def shares(self) -> Floats:
        """Shares of others in the windows whose queue is known most of the time."""
        found: Floats = self.added_s[self._busy] / self.known_s[self._busy]
        return found

    @property
    def all_shares(self) -> Floats:
        """Shares of others in all windows."""
        found: Floats = (self.added_s + self.met_s) / np.maximum(self.known_s + np.maximum(self.unknown_s, 0.0), 1e-9)
        return np.clip(found, 0.0, 1.0)

    @property
    def begin(self) -> int | None:
        """First window from which on others are there nearly always; ``None`` if there is none."""
        present = self.all_shares > _PRESENT
        count = len(present)
        lasting = np.cumsum(present[::-1])[::-1] / np.arange(count, 0, -1)
        found = np.flatnonzero((lasting >= _PERSISTS) & present)
        return int(found[0]) if len(found) and found[0] <= _LATEST * count else None

    @property
    def latest(self) -> int:
        """First window behind the last early one that hardly has others, which may not have begun before."""
        early = self.all_shares[: int(_LATEST * len(self.all_shares)) + 1]
        absent = np.flatnonzero(early <= _PRESENT)
        return min(int(absent[-1]) + 1, len(self.all_shares) - 1) if len(absent) else 0

    def dispersion(self, packet_s: float) -> float:
        """Variance of packets in windows, relative to that of independent arrivals of packets of this time."""
        known, added = self.known_s[self._busy], self.added_s[self._busy]
        mean = float(added.sum() / known.sum())
        expected = mean * known * packet_s
        return float(((added - mean * known) ** 2).sum() / max(float(expected.sum()), 1e-12))
