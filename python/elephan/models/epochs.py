"""Duration of the congestion epochs of a single flow, as a function of the BDP and the buffer, and number of epochs
until two flows share evenly.

The flow is alone on a drop-tail link of C segments/s with a base round trip of T and a buffer of b segments. The flow's
window grows from k W after a loss to W = C T + b at the next loss. A round trip lasts T while the window w is below the
BDP, and w/C above it. Losses are detected at once; slow start, recovery and the duration of the loss event itself are
not included. Arguments and results are arrays, in segments and seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from elephan.models.cycles import Floats, floats


@dataclass(frozen=True)
class Path:
    """A bottleneck.

    Attributes:
        rate: capacity, segments/s.
        rtt_s: base round-trip time.
        buffer: largest queue, segments.
    """

    rate: Floats
    rtt_s: Floats
    buffer: Floats

    @property
    def bdp(self) -> Floats:
        """The bandwidth-delay product, C T, segments."""
        return self.rate * self.rtt_s

    @property
    def peak(self) -> Floats:
        """The window at which the buffer is full."""
        return self.bdp + self.buffer

    def linear_s(self, start: Floats, end: Floats) -> Floats:
        """Time from one window to a larger one at a growth of one segment per round trip."""
        low = np.minimum(end, self.bdp) - np.minimum(start, self.bdp)
        top, bottom = np.maximum(end, self.bdp), np.maximum(start, self.bdp)
        return floats(self.rtt_s * low + (top**2 - bottom**2) / (2.0 * self.rate))


def path(rate: ArrayLike, rtt_s: ArrayLike, buffer: ArrayLike) -> Path:
    """A bottleneck of ``rate`` segments/s, ``rtt_s`` and ``buffer`` segments; the three arrays are broadcast.

    Raises:
        ValueError: the rate or the round trip is not positive, or the buffer is negative.
    """
    made = Path(*(floats(values) for values in np.broadcast_arrays(floats(rate), floats(rtt_s), floats(buffer))))
    if np.any(~(made.rate > 0)) or np.any(~(made.rtt_s > 0)):
        raise ValueError("rate, rtt_s: not above 0")
    if np.any(~(made.buffer >= 0)):
        raise ValueError("buffer: below 0")
    return made


def reno(on: Path, increase: float = 1.0, keep: float = 0.5) -> Floats:
    """An AIMD flow's epoch, s. The epoch is linear in BDP²/C, and therefore in the BDP for a given RTT.

    With a buffer of at least (1-k)/k BDP the link is never idle, and the epoch is (1-k^2) W^2/(2 a C).
    """
    return floats(on.linear_s(keep * on.peak, on.peak) / increase)


def stcp(on: Path, increase: float = 0.01, keep: float = 0.875) -> Floats:
    """Scalable TCP's epoch, s. The window grows by a factor of 1+a each round trip, so the epoch does not depend on the
    rate.

    The epoch is (T/a) ln(C T/(k W)) below the BDP plus b/(a C) above it.
    """
    start = keep * on.peak
    empty = np.log(np.maximum(on.bdp / start, 1.0)) * on.rtt_s
    return floats((empty + (on.peak - np.maximum(start, on.bdp)) / on.rate) / increase)


def cubic(on: Path, c: float = 0.4, keep: float = 0.7, beyond: float = 1.0, *, friendly: bool = True) -> Floats:
    """CUBIC's epoch, s. The window returns to its last maximum after K = cbrt(W (1-k)/C) (RFC 9438 §4.2). After another
    cbrt(beyond/C) the window exceeds that maximum by ``beyond`` segments, and the flow has a loss. The epoch is shorter
    if CUBIC's estimate of Reno's window reaches this window first (§4.3).

    Around its maximum the window is almost constant, so its growth by the last segment takes 1.36 s.
    """
    plateau = np.cbrt(on.peak * (1.0 - keep) / c) + np.cbrt(beyond / c)
    if not friendly:
        return floats(plateau)
    return floats(np.minimum(plateau, reno(on, 3.0 * (1.0 - keep) / (1.0 + keep), keep)))


def htcp_keep(on: Path) -> Floats:
    """Fraction of the window that H-TCP keeps on this path: the smallest RTT divided by the largest RTT, within 0.5 to
    0.8."""
    return floats(np.clip(on.bdp / on.peak, 0.5, 0.8))


def htcp(on: Path) -> Floats:
    """H-TCP's epoch with adaptive backoff and without RTT scaling, s (Leith & Shorten 2004; draft-leith-tcp-htcp-06).

    The gain per round trip is 2(1-k)(1 + 10(D-1) + ((D-1)/2)^2) at a time D > 1 s after the loss, and 2(1-k) before.
    """
    keep = htcp_keep(on)
    start = keep * on.peak
    scale = 2.0 * (1.0 - keep)
    # The integral of the gain over time equals the integral of the round trip over the window: dw/dt rtt(w) = gain(t).
    needed = on.linear_s(start, on.peak) / scale
    return _htcp_time(needed)


def _htcp_gained(time_s: Floats) -> Floats:
    late = np.maximum(time_s - 1.0, 0.0)
    return floats(time_s + 5.0 * late**2 + late**3 / 12.0)


def _htcp_time(gained: Floats) -> Floats:
    """The inverse of ``_htcp_gained``. The function is convex, so Newton's method converges from above."""
    # The function exceeds its quadratic term and its cubic term, so the smaller inverse of the two is above the root.
    late = np.maximum(gained - 1.0, 0.0)
    time_s = floats(np.where(late > 0, 1.0 + np.minimum(np.sqrt(late / 5.0), np.cbrt(12.0 * late)), gained))
    for _ in range(60):
        late = np.maximum(time_s - 1.0, 0.0)
        step = (_htcp_gained(time_s) - gained) / (1.0 + 10.0 * late + late**2 / 4.0)
        time_s = floats(time_s - step)
        if np.all(np.abs(step) <= 1e-13 * time_s):
            break
    return time_s


def illinois(
    on: Path, alpha_max: float = 10.0, alpha_min: float = 0.3, beta_max: float = 0.5, edge: float = 0.01
) -> Floats:
    """Illinois's epoch, s: the integral of RTT(w)/alpha(w), if its largest delay is that of the full buffer (Liu,
    Basar, Srikant, VALUETOOLS 2006; the integral for leith2008's Figure 3).

    At a loss the queue is full, so the algorithm backs off by ``beta_max``. The gain is ``alpha_max`` up to ``edge`` of
    the
    largest delay d_m, then k1/(k2 + d).
    """
    start = (1.0 - beta_max) * on.peak
    longest = on.buffer / on.rate
    near = edge * longest
    spread = alpha_max - alpha_min
    k1 = (longest - near) * alpha_min * alpha_max / spread
    k2 = (longest - near) * alpha_min / spread - near
    empty = on.rtt_s * np.maximum(on.bdp - start, 0.0) / alpha_max
    delay = np.maximum(start - on.bdp, 0.0) / on.rate
    quick = np.maximum(near - delay, 0.0)
    fast = on.rate / alpha_max * (on.rtt_s * quick + quick * (quick + 2.0 * np.minimum(delay, near)) / 2.0)

    def slow_to(d: Floats) -> Floats:
        """Integral of (T + x)(k2 + x) from 0 to d."""
        return floats(on.rtt_s * k2 * d + (on.rtt_s + k2) * d**2 / 2.0 + d**3 / 3.0)

    with np.errstate(divide="ignore", invalid="ignore"):
        slow = on.rate / k1 * (slow_to(longest) - slow_to(np.maximum(near, delay)))
    return floats(empty + fast + np.where(longest > 0, slow, 0.0))


def compound(on: Path, alpha: float = 0.125, k: float = 0.75, gamma: float = 30.0, low: float = 38.0) -> Floats:
    """Compound's epoch, s, if its delay-based component is 0 before the loss (Tan et al., INFOCOM 2006).

    Compound's Reno component grows from W/2 to W by one segment a round trip. The sum of both components grows by alpha
    w^k, at least one, until ``gamma`` segments are queued. The sum then stays constant until the Reno component reaches
    it, and grows as Reno from then on. If the buffer is smaller than ``gamma`` segments, or the window is below
    ``low``, the closed form does not apply, and the result is NaN.
    """
    start = on.peak / 2.0
    knee = on.bdp + gamma
    curve_from = np.maximum(start, alpha ** (-1.0 / k))
    curved = np.maximum(knee - curve_from, 0.0) > 0
    top = np.where(curved, knee, curve_from)
    climb_rounds = (top ** (1.0 - k) - curve_from ** (1.0 - k)) / (alpha * (1.0 - k))
    below = np.minimum(top, on.bdp)
    climb_s = on.rtt_s * (below ** (1.0 - k) - np.minimum(curve_from, on.bdp) ** (1.0 - k)) / (alpha * (1.0 - k))
    # Above the BDP a round trip lasts w/C: the integral of w^(1-k)/(alpha C).
    climb_s += (
        (top ** (2.0 - k) - np.maximum(curve_from, on.bdp).clip(max=top) ** (2.0 - k))
        / (alpha * (2.0 - k) * on.rate)
        * (top > on.bdp)
    )
    reno_part = start + climb_rounds
    held_s = np.maximum(top - reno_part, 0.0) * np.maximum(top, on.bdp) / on.rate
    found = climb_s + held_s + on.linear_s(np.maximum(top, reno_part), on.peak)
    applies = (on.buffer > gamma) & (start >= low)
    return floats(np.where(applies, np.where(start >= knee, reno(on), found), np.nan))


def fluid_fill_s(start: ArrayLike, end: ArrayLike, rtt_s: ArrayLike, alpha: float = 0.125, k: float = 0.75) -> Floats:
    """Time that Compound needs from one window to a larger one on an empty path, s. The growth from near 0 to W takes
    32 W^(1/4) round trips.

    Raises:
        ValueError: a window is negative.
    """
    begin, finish = floats(start), floats(end)
    if np.any(~(begin >= 0)) or np.any(~(finish >= 0)):
        raise ValueError("start, end: below 0")
    return floats(floats(rtt_s) * (finish ** (1.0 - k) - begin ** (1.0 - k)) / (alpha * (1.0 - k)))


def epochs_to_fairness(keep: ArrayLike, ratio: ArrayLike = 0.95) -> Floats:
    """Number of synchronized losses after which the windows of two AIMD flows have the ratio ``ratio``; the second
    window starts at 0.

    Each loss multiplies the difference of the windows by k, ``keep``. The sum of the windows is the same at each loss.
    After n losses the ratio is therefore (1-k^n)/(1+k^n) (Chiu & Jain 1989; leith2008 §IV for n of about 4 and k =
    1/2).

    Raises:
        ValueError: a fraction or a ratio is not between 0 and 1.
    """
    k, r = floats(keep), floats(ratio)
    if np.any(~((k > 0) & (k < 1))) or np.any(~((r > 0) & (r < 1))):
        raise ValueError("keep, ratio: not between 0 and 1")
    return floats(np.log((1.0 - r) / (1.0 + r)) / np.log(k))


def epochs_to_share(keep: ArrayLike, share: ArrayLike = 0.95) -> Floats:
    """Number of synchronized losses after which the second of two AIMD flows has ``share`` of its fair share, 1-k^n.

    Raises:
        ValueError: a fraction or a share is not between 0 and 1.
    """
    k, s = floats(keep), floats(share)
    if np.any(~((k > 0) & (k < 1))) or np.any(~((s > 0) & (s < 1))):
        raise ValueError("keep, share: not between 0 and 1")
    return floats(special.log1p(-s) / np.log(k))
