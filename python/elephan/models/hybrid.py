"""The ideal models of katto2008: loss-based, delay-based and hybrid control, one flow alone or beside a Reno flow.

Katto et al., "Simple Model Analysis and Performance Tuning of Hybrid TCP Congestion Control" (2008), section II.A. The
models divide time into rounds of Reno's congestion avoidance: its window grows from w/2 to w in w/2 round trips, and a
loss ends the round. How many packets a control sends in a round, and how long the round lasts, depends on w and on the
bandwidth-delay product W:

* one flow: case 1 if W < w/2, case 2 if w/2 <= W < w, case 3 if w <= W;
* two flows, each with its loss at w: case 1 if W < w, case 2 if w <= W < 2w, case 3 if 2w <= W.

Windows and W are in packets, R is the round trip of the empty path and q the time of one packet at the bottleneck, both
in seconds, so that W = R/q. Arguments are arrays or numbers and follow NumPy's broadcasting.

Errors and omissions of the paper:

* Equation 2 multiplies the expected duration of the timeouts by 1 - p, while the underlying sum divides by it (Padhye
  et al. 1998). ``form="printed"`` is the paper's equation, which its figures use; ``form="padhye"`` is the sum.
* The paper charges one timeout for each loss and calls its model "completely equal" to that of Padhye et al., who
  charge one only for the fraction Q(w) of the losses that end in a timeout. :mod:`elephan.models.refined` uses Q(w).
* A delay-based or hybrid flow sends more than 1/p packets in a round of Reno, because the interval between its losses
  equals Reno's in round trips and not in packets. :mod:`elephan.models.refined` counts packets.
* With a buffer of W packets no window exceeds 2W, since the queue is then full. Case 1 of the paper's own setup (p <
  6.0e-6 for one flow, p < 2.4e-5 for two) is therefore out of reach of such a buffer.
* Equation 6 is in packets a round trip, but equation 4, which replaces it in case 3, is in packets a second and must be
  multiplied by R.
* Only case 3 has timeouts, so the response function has a step at w = W.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elephan.models.cycles import Floats, floats
from elephan.models.throughput import backoff

Control = Literal["loss", "delay", "hybrid"]
PenaltyForm = Literal["printed", "padhye"]


class Round(NamedTuple):
    """One congestion avoidance round of w/2 round trips.

    Attributes:
        packets: packets that the flow transmits.
        seconds: duration of the round.
    """

    packets: Floats
    seconds: Floats


@dataclass(frozen=True)
class Pipe:
    """A path with one bottleneck; each of its numbers may be an array.

    Attributes:
        rate_bps: rate of the bottleneck (B), bit/s.
        rtt_s: round trip of the empty path (RTTmin), s.
        packet_bits: size of a packet on the wire (PS), bits.
    """

    rate_bps: float | Floats
    rtt_s: float | Floats
    packet_bits: float | Floats

    @property
    def packet_s(self) -> Floats:
        """Time of one packet at the bottleneck, PS/B, s."""
        return floats(self.packet_bits) / self.rate_bps

    @property
    def bdp(self) -> Floats:
        """Bandwidth-delay product (W), packets."""
        return floats(self.rate_bps) * self.rtt_s / self.packet_bits

    @property
    def t0_s(self) -> Floats:
        """Retransmission timeout of section III.A: twice the round trip of the empty path, s."""
        return 2 * floats(self.rtt_s)


def loss_rate(w: ArrayLike) -> Floats:
    """Equation 1: p = 8 / (3 w^2), one loss for each 3/8 w^2 packets of a Reno flow whose losses are at w."""
    return floats(8.0 / (3.0 * _positive(w, "a window") ** 2))


def window_at_loss(p: ArrayLike) -> Floats:
    """Inverse of equation 1: w = sqrt(8 / (3 p))."""
    return floats(np.sqrt(8.0 / (3.0 * _probability(p))))


def case_of(w: ArrayLike, bdp: ArrayLike, flows: int = 1) -> NDArray[np.int64]:
    """The case (1, 2 or 3) by the window at a loss relative to the bandwidth-delay product, for one flow or two."""
    total = floats(w) * _count(flows)
    pipe = floats(bdp)
    return np.where(pipe < total / 2, 1, np.where(pipe < total, 2, 3)).astype(np.int64)


def borders(bdp: ArrayLike, flows: int = 1) -> tuple[Floats, Floats]:
    """Loss rates at the border of cases 1 and 2, and at the border of cases 2 and 3.

    With one flow, the borders are at w = 2W and w = W, and the loss rates are 2/(3 W^2) and 8/(3 W^2). With two flows,
    the borders are at w = W and w = W/2, and the loss rates are 8/(3 W^2) and 32/(3 W^2).
    """
    share = floats(bdp) / _count(flows)
    return loss_rate(2 * share), loss_rate(share)


def single_flow(control: Control, w: ArrayLike, bdp: ArrayLike, rtt_s: ArrayLike, packet_s: ArrayLike) -> Round:
    """Table 1: packets and seconds of a round of one flow alone.

    In round trip n the loss-based window is x = w/2 + n, the delay-based window W, and the hybrid window max(x, W) in
    cases 2 and 3 and x in case 1. A round trip takes R + max(0, x - W) q, or R for delay-based control.
    """
    w, pipe, rtt, packet = _checked(w, bdp, rtt_s, packet_s)
    case = case_of(w, pipe)
    propagation = w * rtt / 2
    if control == "delay":
        return Round(w * pipe / 2, propagation)
    queueing = np.where(
        case == 1, (3 * w**2 - 4 * w * pipe) / 8, np.where(case == 2, (w - pipe) ** 2 / 2, 0.0)
    )  # packets in the queue, summed over the round trips
    packets = 3 * w**2 / 8
    if control == "hybrid":
        filled = w * pipe / 2
        packets = np.where(case == 1, packets, np.where(case == 2, filled + (w - pipe) ** 2 / 2, filled))
    elif control != "loss":
        raise ValueError(f"{control!r} is none of 'loss', 'delay', 'hybrid'")
    return Round(packets, propagation + queueing * packet)


def two_flows(control: Control, w: ArrayLike, bdp: ArrayLike, rtt_s: ArrayLike, packet_s: ArrayLike) -> Round:
    """Table 2: packets of a flow beside a Reno flow, and the duration of the round.

    Reno's window is x = w/2 + n. The hybrid window is W - x, the rest of the pipe, while W - x exceeds x, and x
    afterwards. Delay-based control is left out, as in the paper: its window would be max(W - x, 0).
    """
    w, pipe, rtt, packet = _checked(w, bdp, rtt_s, packet_s)
    case = case_of(w, pipe, 2)
    queueing = np.where(
        case == 1, w * (3 * w - 2 * pipe) / 4, np.where(case == 2, (2 * w - pipe) ** 2 / 4, 0.0)
    )  # packets of both flows in the queue, summed over the round trips
    packets = 3 * w**2 / 8
    if control == "hybrid":
        left_over = w * pipe / 2 - packets
        packets = np.where(case == 1, packets, np.where(case == 2, packets + (pipe - w) ** 2 / 4, left_over))
    elif control != "loss":
        raise ValueError(f"{control!r} is neither 'loss' nor 'hybrid'")
    return Round(packets, w * rtt / 2 + queueing * packet)


def timeout_penalty_s(p: ArrayLike, t0_s: ArrayLike, form: PenaltyForm = "printed") -> Floats:
    """Equation 2: expected duration of the timeouts after a loss, T0 f(p) (1 - p), s.

    f(p) = 1 + p + 2 p^2 + 4 p^3 + 8 p^4 + 16 p^5 + 32 p^6: the timeout T0 doubles with each successive timeout, at most
    six times. ``form="padhye"`` is T0 f(p) / (1 - p), the sum over all numbers of timeouts. At p = 0.1 the form
    "padhye" gives 1.250 T0, and the paper's form 1.012 T0.
    """
    loss = _probability(p)
    factor = backoff(loss)
    if form == "padhye":
        if np.any(loss >= 1):
            raise ValueError("a loss rate is below 1 in this form")
        return floats(floats(t0_s) * factor / (1 - loss))
    if form != "printed":
        raise ValueError(f"{form!r} is neither 'printed' nor 'padhye'")
    return floats(floats(t0_s) * factor * (1 - loss))


def scaled_penalty_s(penalty_s: ArrayLike, packets: ArrayLike, loss_packets: ArrayLike) -> Floats:
    """Equation 3: the penalty of a control that sends K packets in a round in which the loss-based control sends K_loss
    packets."""
    return floats(floats(penalty_s) * floats(packets) / floats(loss_packets))


def throughput(found: Round, w: ArrayLike, p: ArrayLike, t0_s: ArrayLike, form: PenaltyForm = "printed") -> Floats:
    """Equation 4: packets / (elapsed time + timeout penalty), packets/s; K_loss of equation 3 is 3/8 w^2."""
    penalty = scaled_penalty_s(timeout_penalty_s(p, t0_s, form), found.packets, 3 * floats(w) ** 2 / 8)
    return floats(found.packets / (found.seconds + penalty))


def ideal_mbps(control: Control, p: ArrayLike, pipe: Pipe, flows: int = 1, form: PenaltyForm = "printed") -> Floats:
    """Throughput of an ideal control under a loss rate, alone or beside a Reno flow, Mbit/s (figure 7)."""
    w = window_at_loss(p)
    table = single_flow if _count(flows) == 1 else two_flows
    found = table(control, w, pipe.bdp, pipe.rtt_s, pipe.packet_s)
    return floats(throughput(found, w, p, pipe.t0_s, form) * pipe.packet_bits / 1e6)


def mean_rtt_s(control: Control, w: ArrayLike, pipe: Pipe, flows: int = 1) -> Floats:
    """Mean RTT over the w/2 round trips of a round, s."""
    table = single_flow if _count(flows) == 1 else two_flows
    return floats(table(control, w, pipe.bdp, pipe.rtt_s, pipe.packet_s).seconds / (floats(w) / 2))


def response(p: ArrayLike, bdp: ArrayLike) -> Floats:
    """Equation 6: packets a round trip of an ideal hybrid flow alone, without timeouts.

    sqrt(3/(2p)) in case 1, sqrt(8/(3p)) + sqrt(3p/8) W^2 - W in case 2, W in case 3; continuous at both borders.
    """
    loss, pipe = _probability(p), _positive(bdp, "a bandwidth-delay product")
    w = window_at_loss(loss)
    case = case_of(w, pipe)
    both = np.sqrt(8 / (3 * loss)) + np.sqrt(3 * loss / 8) * pipe**2 - pipe
    return floats(np.where(case == 1, np.sqrt(3 / (2 * loss)), np.where(case == 2, both, pipe)))


def response_with_timeouts(p: ArrayLike, bdp: ArrayLike, rtt_s: ArrayLike, form: PenaltyForm = "printed") -> Floats:
    """Response function of equation 6 with the timeouts of equation 4, as in figure 9; packets in a round trip.

    Case 3 has w = R / (R/W + p t): R is the RTT, W the bandwidth-delay product in packets, and t the penalty of
    equation 2 with T0 = 2 R. Cases 1 and 2 have no timeouts, so the function has a step at w = W.
    """
    loss, pipe, rtt = _probability(p), _positive(bdp, "a bandwidth-delay product"), _positive(rtt_s, "a round trip")
    plain = response(loss, pipe)
    slowed = rtt / (rtt / pipe + loss * timeout_penalty_s(loss, 2 * rtt, form))
    return floats(np.where(case_of(window_at_loss(loss), pipe) == 3, slowed, plain))


def _checked(w: ArrayLike, bdp: ArrayLike, rtt_s: ArrayLike, packet_s: ArrayLike) -> tuple[Floats, ...]:
    return (
        _positive(w, "a window"),
        _positive(bdp, "a bandwidth-delay product"),
        _positive(rtt_s, "a round trip"),
        _positive(packet_s, "the time of a packet"),
    )


def _positive(values: ArrayLike, what: str) -> Floats:
    found = floats(values)
    if not np.all(found > 0):
        raise ValueError(f"{what} is above 0")
    return found


def _probability(p: ArrayLike) -> Floats:
    loss = floats(p)
    if not (np.all(loss > 0) and np.all(loss <= 1)):
        raise ValueError("a loss rate is above 0 and at most 1")
    return loss


def _count(flows: int) -> int:
    if flows not in (1, 2):
        raise ValueError(f"{flows} is not a number of flows of these models; they have 1 or 2")
    return flows
