"""Growth of a window while the path has free capacity: windows, round trips and packets in closed form.

A growth adds g(c) packets to a window of c in a round trip, but at least one, as Reno does. Below the *knee* the growth
is one packet; above the knee it is g(c). Arguments and results are arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from elephan.models.cycles import Floats, floats

_HALVINGS = 60
_NEWTON_STEPS = 12


class Growth(ABC):
    """A rule for the growth of a window, packets a round trip."""

    @property
    @abstractmethod
    def knee(self) -> float:
        """Window below which the rule adds less than one packet a round trip."""

    @abstractmethod
    def gain(self, c: Floats) -> Floats:
        """The rule without the minimum of one packet, packets a round trip."""

    @abstractmethod
    def _rounds(self, c: Floats) -> Floats:
        """Round trips along the curve up to a window, from any fixed origin."""

    @abstractmethod
    def _window(self, rounds: Floats) -> Floats:
        """The inverse of ``_rounds``."""

    @abstractmethod
    def _sent(self, c: Floats) -> Floats:
        """Packets sent along the curve up to a window, from the same origin as ``_rounds``."""

    @abstractmethod
    def _meet(self, start: Floats, total: Floats) -> Floats:
        """The window c on the curve at which c plus the round trips from ``start`` equals ``total``."""

    def among(self, chosen: NDArray[np.bool_]) -> Growth:
        """The growth rule restricted to the chosen paths; the rule itself if all paths have the same parameters."""
        del chosen
        return self

    def increase(self, c: Floats | float) -> Floats:
        """Growth in one round trip at window c, packets: g(c), at least one."""
        window = floats(c)
        return np.where(window < self.knee, 1.0, np.maximum(self.gain(window), 1.0))

    def rounds(self, start: Floats, end: Floats) -> Floats:
        """Round trips from one window to a larger one."""
        straight = np.minimum(end, self.knee) - np.minimum(start, self.knee)
        curved = self._rounds(np.maximum(end, self.knee)) - self._rounds(np.maximum(start, self.knee))
        return floats(straight + curved)

    def after(self, start: Floats, rounds: Floats) -> Floats:
        """The window after a number of round trips."""
        to_knee = np.maximum(self.knee - start, 0.0)
        curve = self._window(self._rounds(np.maximum(start, self.knee)) + np.maximum(rounds - to_knee, 0.0))
        return floats(np.where(rounds <= to_knee, start + rounds, curve))

    def sent(self, start: Floats, end: Floats) -> Floats:
        """Packets sent while the window grows from one value to a larger one."""
        straight = (np.minimum(end, self.knee) ** 2 - np.minimum(start, self.knee) ** 2) / 2
        curved = self._sent(np.maximum(end, self.knee)) - self._sent(np.maximum(start, self.knee))
        return floats(straight + curved)

    def meet(self, start: Floats, total: Floats) -> Floats:
        """The window c at which c plus the round trips since ``start`` is ``total``.

        At the window c a growing flow fills the share left by a rival whose window grows by a packet a round trip.
        """
        to_knee = np.maximum(self.knee - start, 0.0)
        straight = (total + start) / 2
        curve_total = np.maximum(total - to_knee, self.knee)
        curve = self._meet(np.maximum(start, self.knee), curve_total)
        return floats(np.where(straight <= self.knee, straight, np.maximum(curve, start)))

    def cycle(self, keep: float, rounds: Floats) -> Floats:
        """The window c for a cycle that takes the given number of round trips.

        A loss reduces the window from c to ``keep`` c, and the window grows to c again. Returns the smallest window
        whose cycle takes this number of round trips; infinite if the growth needs fewer round trips from any window.
        """
        wanted = floats(rounds)
        straight = wanted / (1 - keep) if keep < 1 else np.full_like(wanted, np.inf)
        above_knee = self._self_similar(keep, wanted)
        # If c is above the knee and keep c is below the knee, not every rule has a closed form.
        low, high = np.full_like(wanted, self.knee), np.full_like(wanted, self.knee / keep)
        between = (straight > self.knee) & (self.rounds(keep * high, high) > wanted)
        found = np.where(straight <= self.knee, straight, above_knee)
        if np.any(between):
            found = np.array(found)
            found[between] = self._bisect(keep, wanted[between], low[between], high[between])
        return floats(found)

    def _bisect(self, keep: float, wanted: Floats, low: Floats, high: Floats) -> Floats:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            short = self.rounds(keep * middle, middle) < wanted
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return (low + high) / 2

    @abstractmethod
    def _self_similar(self, keep: float, rounds: Floats) -> Floats:
        """Like ``cycle``, for a cycle that is entirely on the curve, above the knee."""


@dataclass(frozen=True)
class Steady(Growth):
    """A constant number of packets a round trip.

    Attributes:
        step: packets a round trip, a number or an array; values below one count as one.
    """

    step: float | Floats

    @property
    def knee(self) -> float:
        """The knee is 0, since one rule holds at all windows."""
        return 0.0

    def among(self, chosen: NDArray[np.bool_]) -> Growth:
        """The growth with the steps of the chosen paths."""
        return Steady(np.broadcast_to(self.step, chosen.shape)[chosen]) if np.ndim(self.step) else self

    @property
    def _a(self) -> Floats:
        return np.maximum(floats(self.step), 1.0)

    def gain(self, c: Floats) -> Floats:
        """``step`` at any window."""
        return floats(self.step + 0.0 * c)

    def _rounds(self, c: Floats) -> Floats:
        return c / self._a

    def _window(self, rounds: Floats) -> Floats:
        return rounds * self._a

    def _sent(self, c: Floats) -> Floats:
        return c**2 / (2 * self._a)

    def _meet(self, start: Floats, total: Floats) -> Floats:
        return start + (total - start) * self._a / (self._a + 1)

    def _self_similar(self, keep: float, rounds: Floats) -> Floats:
        return rounds * self._a / (1 - keep) if keep < 1 else np.full_like(rounds, np.inf)


@dataclass(frozen=True)
class Power(Growth):
    """Growth by alpha c^k a round trip, k below 1, as in Compound.

    Attributes:
        alpha: packets a round trip at a window of one.
        k: exponent.
        low_window: window below which growth is one packet a round trip for any curve; 38 packets in Compound's
            implementations.
    """

    alpha: float = 0.125
    k: float = 0.75
    low_window: float = 0.0

    @property
    def knee(self) -> float:
        """The window at which alpha c^k is one, 16 packets for Compound's constants; or ``low_window``."""
        return max(float(self.alpha ** (-1.0 / self.k)), self.low_window)

    @property
    def _slope(self) -> float:
        return self.alpha * (1 - self.k)

    def gain(self, c: Floats) -> Floats:
        """alpha c^k."""
        return floats(self.alpha * c**self.k)

    def _rounds(self, c: Floats) -> Floats:
        return floats(c ** (1 - self.k) / self._slope)

    def _window(self, rounds: Floats) -> Floats:
        return floats((rounds * self._slope) ** (1 / (1 - self.k)))

    def _sent(self, c: Floats) -> Floats:
        return floats(c ** (2 - self.k) / (self.alpha * (2 - self.k)))

    def _meet(self, start: Floats, total: Floats) -> Floats:
        """Solves c + v/slope = total + v(start)/slope, where v = c^(1-k), by Newton's method, which converges from
        above."""
        power = 1 / (1 - self.k)
        right = total + self._rounds(start)
        v = np.minimum(right ** (1 - self.k), right * self._slope)
        for _ in range(_NEWTON_STEPS):
            below = v ** (power - 1)
            step = (below * v + v / self._slope - right) / (power * below + 1 / self._slope)
            v = v - step
            if np.all(np.abs(step) <= 1e-13 * v):
                break
        return floats(v**power)

    def _self_similar(self, keep: float, rounds: Floats) -> Floats:
        return self._window(rounds / (1 - keep ** (1 - self.k)))


@dataclass(frozen=True)
class Exponential(Growth):
    """Growth by a factor each round trip, as in Scalable TCP.

    Attributes:
        factor: factor of one round trip; 1.01 for one packet per 100 acknowledged.
    """

    factor: float = 1.01

    @property
    def _lam(self) -> float:
        return float(np.log(self.factor))

    @property
    def knee(self) -> float:
        """The window c at which ln(factor) c is one; 100.5 packets for a factor of 1.01."""
        return 1.0 / self._lam

    def gain(self, c: Floats) -> Floats:
        """Growth in a round trip without the minimum, (factor - 1) c."""
        return (self.factor - 1.0) * c

    def _rounds(self, c: Floats) -> Floats:
        return floats(np.log(c) / self._lam)

    def _window(self, rounds: Floats) -> Floats:
        return floats(np.exp(rounds * self._lam))

    def _sent(self, c: Floats) -> Floats:
        return c / self._lam

    def _meet(self, start: Floats, total: Floats) -> Floats:
        """Solves lam c + ln(lam c) = lam total + ln(lam start) by Wright's omega function."""
        lam = self._lam
        return floats(special.wrightomega(lam * total + np.log(lam * start))) / lam

    def _self_similar(self, keep: float, rounds: Floats) -> Floats:
        """Infinite, since growth by a factor undoes a reduction in the same number of round trips at any window."""
        del keep
        return np.full_like(rounds, np.inf)
