"""Rewards of a step, each with its definition and source.

A reward is a function of :class:`Outcomes`; pass your own where a name is expected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of a step, as arrays of runs × agents.

    Attributes:
        throughput: segments delivered per second.
        loss: lost / (lost + delivered).
        rtt_s: mean RTT; the base RTT in a step without a sample.
        gradient: change of the mean RTT per second.
        base_rtt_s: RTT of the empty path.
        fair: the agent's share of the bottleneck if all its TCP flows had the same, segments/s.
        segment_bits: bits of a segment on the wire.
    """

    throughput: Numbers
    loss: Numbers
    rtt_s: Numbers
    gradient: Numbers
    base_rtt_s: Numbers
    fair: Numbers
    segment_bits: Numbers


Reward: TypeAlias = Callable[[Outcomes], Numbers]


def power(step: Outcomes) -> Numbers:
    """Kleinrock's power over that of the optimum: (throughput / fair share) · (base RTT / RTT).

    A flow that keeps to its fair share with an empty queue gets 1 (Kleinrock, ICC 1979). The environment knows the
    path, and the observation does not tell it.
    """
    return step.throughput / step.fair * step.base_rtt_s / step.rtt_s


def aurora(step: Outcomes) -> Numbers:
    """Aurora's reward: 10 · throughput − 1000 · latency − 2000 · loss, in packets/s and s (Jay et al., ICML 2019)."""
    return 10 * step.throughput - 1000 * step.rtt_s - 2000 * step.loss


def vivace(step: Outcomes) -> Numbers:
    """Vivace's utility: x^0.9 − 900 · x · max(0, dRTT/dt) − 11.35 · x · loss, with x in Mbit/s.

    See Dong et al., NSDI 2018. The rate is the one delivered; PCC takes the one sent.
    """
    rate = step.throughput * step.segment_bits / 1e6
    return rate**0.9 - 900 * rate * np.maximum(0, step.gradient) - 11.35 * rate * step.loss


REWARDS: dict[str, Reward] = {"power": power, "aurora": aurora, "vivace": vivace}
"""Rewards by name."""


def find(reward: str | Reward) -> Reward:
    """The reward with a name, or the caller's own.

    Raises:
        ScenarioError: there is no such reward.
    """
    if not isinstance(reward, str):
        return reward
    if reward not in REWARDS:
        raise ScenarioError(f"'{reward}' is not a reward; {hint(reward, list(REWARDS))}", path="reward")
    return REWARDS[reward]
