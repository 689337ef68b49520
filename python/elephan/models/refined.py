"""Variants of katto2008's abstracted hybrids for one flow, without one or both of two simplifications of the paper.

The paper leaves open why its models differ from the simulations if losses are frequent (case 3). Two of its assumptions
do not hold for a real flow:

1. *A round is as long as Reno's.* At the same p, a round has the w/2 round trips of a Reno flow, but a hybrid sends
   more than 1/p packets in this time and should have more losses. :func:`in_packets_mbps` ends a round after 1/p
   packets of the hybrid itself, so w solves K(w) = 1/p. This changes nothing for a control that keeps its whole window,
   but it does for one that gives up a constant fraction of it (Compound, YeAH).
2. *Each loss is a timeout* of T0 f(p) (1 - p). :func:`with_rare_timeouts_mbps` charges one only for the fraction Q of
   the losses that end in a timeout (Padhye et al., 1998, equation 24), with its mean duration T0 f(p)/(1 - p) and the
   sender's T0.

An algorithm's own rule for small windows is part of its growth (:class:`elephan.models.growth.Power` has such a rule).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from elephan.models import abstracted
from elephan.models.abstracted import Hybrid
from elephan.models.cycles import Floats, floats
from elephan.models.hybrid import Pipe, timeout_penalty_s, window_at_loss
from elephan.models.throughput import timeout_probability

_HALVINGS = 60


def window_in_packets(hybrid: Hybrid, p: ArrayLike, pipe: Pipe) -> Floats:
    """The w that solves K(w) = 1/p: the hybrid itself sends 1/p packets in a round of w/2 round trips."""
    loss = np.atleast_1d(floats(p))
    low, high = np.log(np.full_like(loss, 1e-9)), np.log(window_at_loss(loss))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        few = abstracted.alone(hybrid, np.exp(middle), pipe.bdp).packets < 1 / loss
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    return floats(np.exp((low + high) / 2))


def in_packets_mbps(hybrid: Hybrid, p: ArrayLike, pipe: Pipe) -> Floats:
    """Throughput, Mbit/s, with a loss after every 1/p packets, and the paper's mean timeout after each loss."""
    loss = np.atleast_1d(floats(p))
    window = window_in_packets(hybrid, loss, pipe)
    return _mbps(loss, window, hybrid, pipe, timeout_penalty_s(loss, pipe.t0_s))


def with_rare_timeouts_mbps(hybrid: Hybrid, p: ArrayLike, pipe: Pipe, t0_s: float) -> Floats:
    """Throughput, Mbit/s, with a loss after every 1/p packets, and with timeouts of ``t0_s`` for the losses that end in
    a timeout."""
    loss = np.atleast_1d(floats(p))
    window = window_in_packets(hybrid, loss, pipe)
    peak = np.maximum(abstracted.alone(hybrid, window, pipe.bdp).peak, 1.0)
    return _mbps(loss, window, hybrid, pipe, timeout_probability(loss, peak) * timeout_penalty_s(loss, t0_s, "padhye"))


def _mbps(loss: Floats, window: Floats, hybrid: Hybrid, pipe: Pipe, penalty_s: Floats) -> Floats:
    """Throughput of rounds of 1/p packets, each with the given mean timeout."""
    seconds = abstracted.round_of(hybrid, window, pipe).seconds + penalty_s
    return floats(pipe.packet_bits / (loss * seconds) / 1e6)
