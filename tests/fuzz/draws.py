"""Random values of the quantities that a scenario is made of, written as a user writes them.

Most values are plausible, so that most scenarios are accepted and run; a few are at the edges of the schema.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, TypeVar

from elephan.scenario import units

T = TypeVar("T")

US, MS, S = 10**6, 10**9, 10**12
"""Picoseconds."""
TIME_EDGES_PS = (1, 2, 3, 999, 10**3, US, MS, S, 60 * S, 3600 * S, 86_400 * S, 10 * 86_400 * S, units.MAX_TIME_PS)
RATE_EDGES_BPS = (1, 2, 7, 8, 1000, 10**6, 10**9, 10**12, units.MAX_RATE_BPS - 1, units.MAX_RATE_BPS)
COUNT_EDGES = (1, 2, 3, 10, 1000, 10**6, 2**31 - 1, 2**32, 10**12, 2**40, 2**48)
SHARE_EDGES = (0.0, 1e-12, 1e-6, 0.5, 0.999999, 1.0)
GARBAGE: tuple[Any, ...] = (
    None, True, "", " ", "x", "-1", -1, 0, 1e400, float("nan"), 10**30, "1 parsec", "-3 ms", "1e400 ms", "0 s",
    "0 bit/s", [], [[]], {}, {"x": 1}, "1\n2", "\u0000", "unlimited", "100%", 3.5, "ä",
)  # fmt: skip


class Draws(random.Random):
    """A generator of random numbers with the quantities of a scenario.

    Attributes:
        wildness: probability that a quantity is an extreme one.
    """

    wildness: float = 0.0

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self.random() < probability

    @property
    def extreme(self) -> bool:
        """True if the next quantity is an extreme one."""
        return self.random() < self.wildness

    def spread(self, low: float, high: float) -> float:
        """Log-uniform from ``low`` to ``high``, both above zero."""
        return math.exp(self.uniform(math.log(low), math.log(high)))

    def count(self, low: int, high: int) -> int:
        """A whole number, log-uniform."""
        return min(high, max(low, round(self.spread(low, high))))

    def subset(self, items: Sequence[T], least: int = 0) -> list[T]:
        """Some of the items, in their order."""
        number = self.randint(least, len(items))
        picked = set(self.sample(range(len(items)), number))
        return [item for i, item in enumerate(items) if i in picked]

    def time_ps(self, low_ps: float, high_ps: float) -> int:
        """A time, log-uniform, or an extreme one."""
        if self.extreme:
            return self.choice(TIME_EDGES_PS) if self.chance(0.5) else self.count(1, units.MAX_TIME_PS)
        return max(1, round(self.spread(max(1.0, low_ps), max(1.0, high_ps))))

    def time(self, low_ps: float, high_ps: float, zero: float = 0.0) -> str:
        """Like :meth:`time_ps` with its unit; zero with the probability ``zero``."""
        return "0 s" if self.chance(zero) else units.format_time(self.time_ps(low_ps, high_ps))

    def offset(self, low_ps: float, high_ps: float) -> str:
        """A time of either sign."""
        return units.format_offset(self.choice((-1, 1)) * self.time_ps(low_ps, high_ps))

    def rate_bps(self, low_bps: float, high_bps: float) -> int:
        """A rate, log-uniform, or an extreme one."""
        if self.extreme:
            return self.choice(RATE_EDGES_BPS) if self.chance(0.5) else self.count(1, units.MAX_RATE_BPS)
        return max(1, min(units.MAX_RATE_BPS, round(self.spread(max(1.0, low_bps), max(1.0, high_bps)))))

    def rate(self, low_bps: float, high_bps: float) -> str:
        """Like :meth:`rate_bps`, with its unit."""
        return units.format_rate(self.rate_bps(low_bps, high_bps))

    def size(self, low: int, high: int) -> str:
        """A size in bytes, log-uniform, or an extreme one."""
        octets = self.choice((0, 1, 65535, 65536, 10**9, 10**15, 2**62)) if self.extreme else self.count(low, high)
        return units.format_size(octets)

    def amount(self, low: int, high: int, octets: int = 1) -> str:
        """An amount of data in segments, or in multiples of ``octets``."""
        if self.extreme:
            return f"{self.choice(COUNT_EDGES)} {self.choice(('segments', 'B', 'MB'))}"
        count = self.count(low, high)
        return f"{count} segments" if self.chance(0.7) else f"{count * octets} B"

    def limit(self, low: int, high: int, octets: int) -> str:
        """An amount, or none."""
        return "unlimited" if self.chance(0.2) else self.amount(low, high, octets)

    def share(self, low: float = 1e-4, high: float = 0.2) -> float | str:
        """A fraction, as a number or in percent."""
        value = self.choice(SHARE_EDGES) if self.extreme else self.spread(low, high)
        return value if self.chance(0.5) else f"{100 * value:.9f}%"

    def buffer(self, least_share: float = 0.01, shares: bool = True) -> str:
        """A queue's limit; in fractions of the BDP from ``least_share`` on."""
        if self.extreme:
            return self.choice(
                (
                    "1 packets",
                    "1 B",
                    "2 packets",
                    "1e-9% BDP",
                    "100000% BDP",
                    "0.5 BDP",
                    f"{2**40} packets",
                    f"{2**62} B",
                )
            )
        kind = self.random()
        if kind < 0.4 or (not shares and kind < 0.8):
            return f"{self.count(1, 2000)} packets"
        if kind < 0.8:
            return f"{100 * self.spread(least_share, 5.0 * max(1.0, least_share)):.6f}% BDP"
        return f"{self.count(1500, 3_000_000)} B" if kind < 0.9 else "unlimited"

    def parameter(self, declared: dict[str, Any]) -> Any:
        """A value of a declared parameter: near its default, anywhere in its range, or at an edge of it."""
        default, low, high = declared.get("default"), declared.get("min"), declared.get("max")
        if declared.get("choices"):
            return self.choice(declared["choices"])
        if isinstance(default, bool):
            return self.chance(0.5)
        if isinstance(default, str):
            return default
        low = -1e9 if low is None else float(low)
        high = 1e12 if high is None else float(high)
        kind = self.random()
        if kind < 0.15:
            return self.choice((low, high))
        if kind < 0.6 and default is not None:
            return min(high, max(low, default * self.spread(0.25, 4)))
        if kind < 0.8 and high > 0:
            return min(high, max(low, self.spread(max(low, 1e-9, high * 1e-12), high)))
        return self.uniform(low, high)
