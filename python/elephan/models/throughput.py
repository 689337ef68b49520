"""Throughput and latency of ordinary TCP as a function of loss, by the models of Mathis, Padhye (with timeouts) and
Cardwell.

All functions take and return arrays, in segments and seconds; multiply rates by a segment's bits for bit/s. In the
models of Padhye and Cardwell, a lost segment is followed by losses of all later segments of the round trip, as at a
drop-tail queue, and the sender has no SACK. The rate of a sender with SACK and independent losses lies between Padhye's
and Mathis's rates: near Mathis's at 1 % loss, about halfway at 10 %.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from elephan.models.cycles import Floats, floats


def mathis(p: ArrayLike, rtt_s: ArrayLike, ack_every: ArrayLike = 1) -> Floats:
    """Reno's throughput when every 1/p-th segment is lost and no timeout happens, segments/s.

    (1/RTT) sqrt(3/(2 b p)) with an ACK for every b-th segment (Mathis, Semke, Mahdavi, Ott: "The macroscopic behavior
    of the TCP congestion avoidance algorithm", CCR 27(3), 1997, equation 3).

    Raises:
        ValueError: p is not a probability above 0, or a time or b is not positive.
    """
    p, rtt_s, b = _losses(p), _positive(rtt_s, "rtt_s"), _positive(ack_every, "ack_every")
    return floats(np.sqrt(3.0 / (2.0 * b * p)) / rtt_s)


def window_at_loss(p: ArrayLike, ack_every: ArrayLike = 1) -> Floats:
    """E[W], the window at a loss, segments (Padhye, Firoiu, Towsley, Kurose: "Modeling TCP throughput: a simple model
    and its empirical validation", SIGCOMM 1998, equation 13).

    Raises:
        ValueError: p is not a probability above 0, or b is not positive.
    """
    p, b = _losses(p), _positive(ack_every, "ack_every")
    first = (2.0 + b) / (3.0 * b)
    return floats(first + np.sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + first**2))


def timeout_probability(p: ArrayLike, window: ArrayLike) -> Floats:
    """Q(p, w): the probability that a loss in a window of w segments leads to a timeout and not to three duplicate ACKs
    (Padhye 1998, equation 24).

    Raises:
        ValueError: p is not a probability above 0, or a window is not positive.
    """
    p, w = _losses(p), _positive(window, "window")
    kept = 1.0 - p
    # Below three segments there are never three duplicate ACKs, and the form below exceeds 1.
    found = (1.0 - kept**3) * (1.0 + kept**3 * (1.0 - kept ** (np.maximum(w, 3.0) - 3.0))) / (1.0 - kept**w)
    return floats(np.where(w <= 3.0, 1.0, np.minimum(1.0, found)))


def backoff(p: ArrayLike) -> Floats:
    """f(p): the mean length of a sequence of timeouts is T0 f(p)/(1-p), since each timeout is twice as long as the
    previous timeout, up to 64 T0 (Padhye 1998, equation 29).

    Raises:
        ValueError: p is not a probability above 0.
    """
    return floats(np.polyval([32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 1.0], _losses(p)))


def padhye(
    p: ArrayLike,
    rtt_s: ArrayLike,
    t0_s: ArrayLike,
    max_window: ArrayLike = np.inf,
    ack_every: ArrayLike = 1,
    *,
    delivered: bool = False,
) -> Floats:
    """Reno's rate with timeouts and a largest window, segments/s (Padhye 1998, equation 32).

    Args:
        p: fraction of the segments whose loss begins a loss event.
        rtt_s: round-trip time.
        t0_s: length of the first timeout.
        max_window: receive window, segments.
        ack_every: segments for each ACK, b.
        delivered: if true, the rate of arrivals instead of transmissions: half of the segments in the last round before
            a loss are lost (Padhye 1998, section IV; Cardwell 2000, equation 22).

    Raises:
        ValueError: p is not a probability above 0, or another argument is not positive.
    """
    p, rtt, t0 = _losses(p), _positive(rtt_s, "rtt_s"), _positive(t0_s, "t0_s")
    b, limit = _positive(ack_every, "ack_every"), _positive(max_window, "max_window")
    free = window_at_loss(p, b)
    limited = free >= limit
    w = np.where(limited, limit, free)
    q = timeout_probability(p, w)
    segments = (1.0 - p) / p + w / (2.0 if delivered else 1.0) + q / (1.0 if delivered else 1.0 - p)
    # A window that reaches its limit stays there for most of the time between two losses.
    rounds = np.where(limited, b * w / 8.0 + (1.0 - p) / (p * w) + 2.0, b * w / 2.0 + 1.0)
    return floats(segments / (rtt * rounds + q * t0 * backoff(p) / (1.0 - p)))


def padhye_simple(
    p: ArrayLike, rtt_s: ArrayLike, t0_s: ArrayLike, max_window: ArrayLike = np.inf, ack_every: ArrayLike = 1
) -> Floats:
    """The approximation that TFRC and many others use, segments/s (Padhye 1998, equation 33; RFC 5348 §3.1).

    Raises:
        ValueError: the errors of :func:`padhye`.
    """
    p, rtt, t0 = _losses(p), _positive(rtt_s, "rtt_s"), _positive(t0_s, "t0_s")
    b, limit = _positive(ack_every, "ack_every"), _positive(max_window, "max_window")
    timeouts = t0 * np.minimum(1.0, 3.0 * np.sqrt(3.0 * b * p / 8.0)) * p * (1.0 + 32.0 * p**2)
    return floats(np.minimum(limit / rtt, 1.0 / (rtt * np.sqrt(2.0 * b * p / 3.0) + timeouts)))


def slow_start_segments(segments: ArrayLike, p: ArrayLike) -> Floats:
    """E[d_ss]: mean number of segments that a transfer sends up to its first loss, the lost segment included.

    If p is 0, the result is the number of all segments. (Cardwell, Savage, Anderson: "Modeling TCP latency", INFOCOM
    2000, equation 5.)

    Raises:
        ValueError: a size is below 1 segment, or p is not a probability.
    """
    d, p = _positive(segments, "segments"), _probability(p)
    some = np.where(p > 0, p, 1.0)
    return floats(np.where(p > 0, (1.0 - (1.0 - p) ** d) * (1.0 - p) / some + 1.0, d))


def slow_start_s(
    segments: ArrayLike,
    rtt_s: ArrayLike,
    initial_window: ArrayLike = 10,
    max_window: ArrayLike = np.inf,
    ack_every: ArrayLike = 1,
) -> Floats:
    """Time to send a number of segments in slow start without a loss (Cardwell 2000, equation 15).

    The window grows by a factor of 1 + 1/b a round trip up to ``max_window``, and stays there.

    Raises:
        ValueError: an argument is not positive, or ``max_window`` is below ``initial_window``.
    """
    d, rtt = _positive(segments, "segments"), _positive(rtt_s, "rtt_s")
    first, limit = _positive(initial_window, "initial_window"), _positive(max_window, "max_window")
    if np.any(limit < first):
        raise ValueError("max_window: smaller than initial_window")
    growth = 1.0 + 1.0 / _positive(ack_every, "ack_every")
    reached = d * (growth - 1.0) / growth + first / growth
    free = np.log(d * (growth - 1.0) / first + 1.0) / np.log(growth)
    # With an infinite limit, use the form without a limit, which avoids infinity times zero.
    bound = np.where(np.isfinite(limit), limit, reached)
    to_limit = np.log(bound / first) / np.log(growth) + 1.0
    after = (d - (growth * bound - first) / (growth - 1.0)) / bound
    return floats(rtt * np.where(reached > limit, to_limit + after, free))


def transfer_s(
    segments: ArrayLike,
    p: ArrayLike,
    rtt_s: ArrayLike,
    t0_s: ArrayLike,
    initial_window: ArrayLike = 10,
    max_window: ArrayLike = np.inf,
    ack_every: ArrayLike = 1,
    delayed_ack_s: ArrayLike = 0.0,
) -> Floats:
    """Mean time of a transfer from its first segment to its last ACK (Cardwell 2000, equation 25): slow start, the
    first loss, congestion avoidance for the rest, and the wait of a delayed ACK at the start.

    Args:
        segments: size of the transfer.
        p: fraction of the segments that begin a loss event; may be 0.
        rtt_s: round-trip time.
        t0_s: length of the first timeout.
        initial_window: initial window, segments.
        max_window: receive window, segments.
        ack_every: segments for each ACK, b.
        delayed_ack_s: mean wait for a delayed ACK of the first window.

    Raises:
        ValueError: an argument is out of its range.
    """
    d, p, rtt, t0 = _positive(segments, "segments"), _probability(p), _positive(rtt_s, "rtt_s"), _positive(t0_s, "t0_s")
    b, limit = _positive(ack_every, "ack_every"), _positive(max_window, "max_window")
    growth = 1.0 + 1.0 / b
    in_slow_start = np.minimum(d, slow_start_segments(d, p))
    duration = slow_start_s(in_slow_start, rtt, initial_window, limit, b)
    some = np.where(p > 0, p, 0.5)
    window = np.minimum(limit, in_slow_start * (growth - 1.0) / growth + floats(initial_window) / growth)
    q = timeout_probability(some, window)
    a_loss = (1.0 - (1.0 - p) ** d) * (q * t0 * backoff(some) / (1.0 - some) + (1.0 - q) * rtt)
    rest = (d - in_slow_start) / padhye(some, rtt, t0, limit, b, delivered=True)
    return floats(duration + np.where(p > 0, a_loss + rest, 0.0) + floats(delayed_ack_s))


def _positive(values: ArrayLike, what: str) -> Floats:
    found = floats(values)
    if np.any(~(found > 0)):
        raise ValueError(f"{what}: not above 0")
    return found


def _probability(p: ArrayLike) -> Floats:
    found = floats(p)
    if np.any(~((found >= 0) & (found < 1))):
        raise ValueError("p: not a probability below 1")
    return found


def _losses(p: ArrayLike) -> Floats:
    return _positive(_probability(p), "p")
