"""The abstracted models of the real hybrids Compound (CTCP), Adaptive Reno, YeAH and Fusion in katto2008.

Table 3 and equation 5 of the paper give each algorithm's window growth while the path has free capacity, and the
fraction of the window kept at a loss; figures 5 and 6 draw the windows. The number of packets of a round, which the
paper "omitted", is derived here. Case 1 is that of the ideal hybrid. In cases 2 and 3 a window begins at its value
after the loss, grows to the BDP, and stays there until the line of Reno's window exceeds the BDP (case 2) or the next
loss happens (case 3-1); in case 3-2 the loss comes before the window reaches the BDP. Losses happen every w/2 round
trips, as in the ideal models.

Further interpretations:

* t1 and t2 are the times at which the *windows* reach the bandwidth-delay product; the paper writes "the total number
  of transmitted packets".
* The growth is never below Reno's one packet a round trip, because YeAH would have no steady state in case 3-2: at any
  window, growth by a factor of 1.01 needs at least 13.4 round trips to undo a reduction to 7/8.
* If a reduction leaves more than the BDP (Compound keeps 7/8), the round begins at the BDP, since the models "truncate
  surplus packets".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elephan.models.cycles import Floats, floats
from elephan.models.growth import Exponential, Growth, Power, Steady
from elephan.models.hybrid import (
    PenaltyForm,
    Pipe,
    Round,
    case_of,
    single_flow,
    throughput,
    two_flows,
    window_at_loss,
)

Keep = Callable[[Floats], Floats]
"""Function from RTT/RTTmin at a loss to the fraction of the window that is kept."""


@dataclass(frozen=True)
class Hybrid:
    """A row of table 3.

    Attributes:
        name: name in the paper's figures.
        growth: window increase while the path has free capacity.
        keep: function from RTT/RTTmin at the loss to the fraction of the window kept.
    """

    name: str
    growth: Growth
    keep: Keep

    @property
    def keep_empty(self) -> float:
        """Fraction of the window kept if no packet is queued."""
        return float(self.keep(floats(1.0)))


def ctcp(keep: float = 0.5, alpha: float = 0.125, k: float = 0.75, low_window: float = 0.0) -> Hybrid:
    """Compound: adds alpha cwnd^k each round trip; keeps one half, or ``keep`` of section III.B.

    Below ``low_window``, which is not in the table, Compound grows as Reno does.
    """
    return Hybrid("CTCP", Power(alpha, k, low_window), lambda ratio: np.full_like(ratio, keep))


def areno(pipe: Pipe) -> Hybrid:
    """Adaptive Reno: adds B / 10 Mbit/s segments each round trip; keeps the whole window without a queue and one half
    with a queue.

    With the fractions 1 and 1/2 the paper approximates a fraction that falls from 1 to 1/2 with the RTT.
    """
    return Hybrid("ARENO", Steady(floats(pipe.rate_bps) / 10e6), lambda ratio: np.where(ratio > 1.0, 0.5, 1.0))


def yeah_keep(rtt_over_min: ArrayLike) -> Floats:
    """Equation 5: 1 - min(max(1/8, 1 - RTTmin/RTT), 1/2), the fraction of the window that YeAH keeps at a loss."""
    return floats(1.0 - np.clip(1.0 - 1.0 / floats(rtt_over_min), 0.125, 0.5))


def yeah(factor: float = 1.01) -> Hybrid:
    """YeAH: grows by a factor each round trip, as Scalable TCP does; keeps the fraction of equation 5.

    The factor is 1.01, or the factor of section III.B.
    """
    return Hybrid("YeAH-TCP", Exponential(factor), yeah_keep)


def fusion(pipe: Pipe, d_min_s: float = 0.01, flows: int = 1) -> Hybrid:
    """Fusion: adds B Dmin / (N PS) each round trip; keeps RTTmin/RTT.

    Dmin is the granularity of the timer, N the number of flows. With Dmin = 10 ms, a path of 40 ms is full again after
    about one round trip, as in the paper; implementations have Dmin = 1 ms.
    """
    step = floats(pipe.rate_bps) * d_min_s / (flows * floats(pipe.packet_bits))
    return Hybrid("TCP-Fusion", Steady(step), lambda ratio: floats(1.0 / ratio))


class Cycle(NamedTuple):
    """A congestion avoidance round of an abstracted hybrid.

    Attributes:
        packets: transmitted (K).
        start: window after the loss.
        refilled: round trips until the window is the BDP, t1 or t2; infinite in case 3-2, 0 in case 1.
        peak: window at the next loss, packets; in case 3 the BDP, or less in case 3-2.
    """

    packets: Floats
    start: Floats
    refilled: Floats
    peak: Floats


def alone(hybrid: Hybrid, w: ArrayLike, bdp: ArrayLike) -> Cycle:
    """A round of one flow alone (figure 5), w/2 round trips between losses."""
    return _by_case(hybrid, w, bdp, 1, (_alone_2, _alone_3))


def beside_reno(hybrid: Hybrid, w: ArrayLike, bdp: ArrayLike) -> Cycle:
    """A round of a hybrid flow beside a Reno flow whose window goes from w/2 to w (figure 6)."""
    return _by_case(hybrid, w, bdp, 2, (_beside_2, _beside_3))


Part = Callable[[Hybrid, Floats, Floats], Cycle]


def _by_case(hybrid: Hybrid, w: ArrayLike, bdp: ArrayLike, flows: int, parts: tuple[Part, Part]) -> Cycle:
    """Cycles of all points: Reno's round in case 1, ``parts[0]`` in case 2, ``parts[1]`` in case 3; each is evaluated
    for the points of its case only."""
    shape = np.broadcast_shapes(np.shape(w), np.shape(bdp))
    window, pipe = (np.broadcast_to(np.atleast_1d(floats(values)), shape or (1,)) for values in (w, bdp))
    case = case_of(window, pipe, flows)
    found = Cycle(3 * window**2 / 8, window / 2, np.zeros_like(window), np.array(window))
    for number, part in zip((2, 3), parts, strict=True):
        chosen = case == number
        if np.any(chosen):
            some = replace(hybrid, growth=hybrid.growth.among(chosen))
            for whole, values in zip(found, part(some, window[chosen], pipe[chosen]), strict=True):
                whole[chosen] = values
    return Cycle(*(whole.reshape(shape) for whole in found))


def _alone_2(hybrid: Hybrid, w: Floats, pipe: Floats) -> Cycle:
    """Case 2, one flow: the window grows to the BDP, stays there until Reno's line reaches the BDP, and follows Reno's
    line."""
    growth = hybrid.growth
    start = np.minimum(hybrid.keep(w / pipe) * w, pipe)
    refilled = growth.rounds(start, pipe)
    packets = growth.sent(start, pipe) + pipe * (pipe - w / 2 - refilled) + (w**2 - pipe**2) / 2
    return Cycle(packets, start, refilled, w)


def _alone_3(hybrid: Hybrid, w: Floats, pipe: Floats) -> Cycle:
    """Case 3, one flow: the window grows to the BDP and stays there (case 3-1), or has its loss earlier (case 3-2)."""
    growth, rounds = hybrid.growth, w / 2
    start = hybrid.keep_empty * pipe
    refilled = growth.rounds(start, pipe)
    packets = growth.sent(start, pipe) + pipe * (rounds - refilled)
    return _with_short_cycles(hybrid, Cycle(packets, start, refilled, np.array(pipe)), refilled > rounds, rounds)


def _beside_2(hybrid: Hybrid, w: Floats, pipe: Floats) -> Cycle:
    """Case 2 beside Reno: the window grows to the share of the BDP that Reno leaves, shrinks with that share to half
    of the BDP, and then follows Reno's line."""
    growth, room, half = hybrid.growth, pipe - w / 2, (pipe - w) / 2
    start = np.minimum(hybrid.keep(2 * w / pipe) * w, room)
    met = growth.meet(start, room)
    refilled = growth.rounds(start, met)
    along_room = room * (half - refilled) - (half**2 - refilled**2) / 2
    packets = growth.sent(start, met) + along_room + (w**2 - pipe**2 / 4) / 2
    return Cycle(packets, start, refilled, w)


def _beside_3(hybrid: Hybrid, w: Floats, pipe: Floats) -> Cycle:
    """Case 3 beside Reno: the window grows to the share that Reno leaves and shrinks with this share to W - w (case
    3-1), or has its loss earlier (case 3-2)."""
    growth, rounds, room = hybrid.growth, w / 2, pipe - w / 2
    left = pipe - w
    start = hybrid.keep_empty * left
    met = growth.meet(start, room)
    refilled = growth.rounds(start, met)
    packets = growth.sent(start, met) + room * (rounds - refilled) - (rounds**2 - refilled**2) / 2
    never = growth.rounds(start, left) > rounds
    return _with_short_cycles(hybrid, Cycle(packets, start, refilled, left), never, rounds)


def _with_short_cycles(hybrid: Hybrid, full: Cycle, never_full: NDArray[np.bool_], rounds: Floats) -> Cycle:
    """The cycles with case 3-2 applied where ``never_full``: the window grows from its value after a loss to the same
    value at the next loss."""
    if np.any(never_full):
        keep, growth = hybrid.keep_empty, hybrid.growth.among(never_full)
        peak = np.minimum(growth.cycle(keep, rounds[never_full]), full.peak[never_full])
        values = Cycle(growth.sent(keep * peak, peak), keep * peak, np.full_like(peak, np.inf), peak)
        for whole, some in zip(full, values, strict=True):
            whole[never_full] = some
    return full


def round_of(hybrid: Hybrid, w: ArrayLike, pipe: Pipe, flows: int = 1) -> Round:
    """Packets and seconds of a round; the duration is the same as for the ideal hybrid (tables 1 and 2)."""
    ideal, cycle = (single_flow, alone) if flows == 1 else (two_flows, beside_reno)
    seconds = ideal("hybrid", w, pipe.bdp, pipe.rtt_s, pipe.packet_s).seconds
    return Round(cycle(hybrid, w, pipe.bdp).packets, seconds)


def hybrid_mbps(hybrid: Hybrid, p: ArrayLike, pipe: Pipe, flows: int = 1, form: PenaltyForm = "printed") -> Floats:
    """Throughput of an abstracted hybrid under a loss rate, alone or beside a Reno flow, Mbit/s (figure 7)."""
    w = window_at_loss(p)
    return floats(throughput(round_of(hybrid, w, pipe, flows), w, p, pipe.t0_s, form) * pipe.packet_bits / 1e6)
