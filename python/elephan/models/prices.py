"""Losses of a fluid flow before a queue is full: random losses, and random early detection.

Both kinds of losses are described by *prices*: a price is the loss probability of a segment. A flow adds up the prices
of its segments, and has a loss when the sum reaches a random number. Losses thus have the same frequency and
variability as in a network of packets. Between two losses the model is deterministic (a piecewise deterministic Markov
process).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np


class Stream:
    """Uniform random numbers in [0, 1) for one purpose, determined by a seed and a name (Philox; Salmon et al., SC
    2011)."""

    def __init__(self, seed: int, name: str) -> None:
        key = hashlib.sha256(f"{seed}/{name}".encode()).digest()[:16]
        self._bits = np.random.Philox(key=int.from_bytes(key, "little"))

    def uniform(self) -> float:
        """The next uniform number, of 53 bits."""
        return float(int(self._bits.random_raw()) >> 11) * 2.0**-53

    def exponential(self) -> float:
        """The next exponentially distributed number, with mean 1."""
        return -math.log1p(-self.uniform())


class Bernoulli:
    """Random losses: each segment is lost with probability ``p``, independently of the others."""

    def __init__(self, p: float, stream: Stream) -> None:
        self.p = p
        self._each = -math.log1p(-p)
        self._stream = stream
        self._left = stream.exponential()

    def losses(self, segments: float) -> int:
        """Number of lost segments among the next ``segments`` segments."""
        self._left -= self._each * segments
        lost = 0
        while self._left <= 0.0:
            self._left += self._stream.exponential()
            lost += 1
        return lost


@dataclass(frozen=True)
class RedSettings:
    """Parameters of RED, named as in ``elephan list queues``; thresholds in packets."""

    low: float
    high: float
    max_p: float
    weight: float
    gentle: bool
    adaptive: bool


_ADAPT_EVERY_S = 0.5
_ADAPT_DOWN, _ADAPT_UP_MOST = 0.9, 0.01
_MAX_P_RANGE = (0.01, 0.5)


class Red:
    """Random early detection (Floyd & Jacobson 1993; gentle: Floyd 2000; adaptive: Floyd, Gummadi, Shenker 2001).

    The number of segments between two drops is uniformly distributed from 1 to 1/p, not geometrically. The sum of the
    drop probabilities p of these segments is therefore uniform in 0 to 1.
    """

    def __init__(self, settings: RedSettings, stream: Stream) -> None:
        self._settings = settings
        self._max_p = settings.max_p
        self._stream = stream
        self._due = stream.uniform()
        self._sum = 0.0
        self._adapt_at_s = _ADAPT_EVERY_S
        self.average = 0.0

    @property
    def p(self) -> float:
        """Drop probability at the average queue, before drops are spread evenly."""
        settings = self._settings
        if self.average < settings.low:
            return 0.0
        if self.average < settings.high:
            return self._max_p * (self.average - settings.low) / (settings.high - settings.low)
        if settings.gentle and self.average < 2.0 * settings.high:
            return self._max_p + (1.0 - self._max_p) * (self.average - settings.high) / settings.high
        return 1.0

    def losses(self, now_s: float, waiting: float, segments: float, transmissions: float) -> int:
        """Number of dropped segments among ``segments`` arrivals while ``waiting`` segments are queued.

        The average queue is updated at each arrival; after an idle time, the average decays as if small packets had
        arrived.
        """
        if self._settings.adaptive:
            self._adapt(now_s)
        self.average += (waiting - self.average) * -math.expm1(transmissions * math.log1p(-self._settings.weight))
        p = self.p
        if p <= 0.0:
            self._sum, self._due = 0.0, self._stream.uniform()
            return 0
        self._sum += p * segments
        lost = 0
        while self._sum >= self._due:
            self._sum -= self._due
            self._due = self._stream.uniform()
            lost += 1
        return lost

    def _adapt(self, now_s: float) -> None:
        settings = self._settings
        part = 0.1 * (settings.high - settings.low)
        while self._adapt_at_s <= now_s:
            self._adapt_at_s += _ADAPT_EVERY_S
            if self.average > settings.low + 6.0 * part and self._max_p < _MAX_P_RANGE[1]:
                self._max_p += min(_ADAPT_UP_MOST, self._max_p / 4.0)
            elif self.average < settings.low + 4.0 * part and self._max_p > _MAX_P_RANGE[0]:
                self._max_p *= _ADAPT_DOWN
