"""Tests of the rules of §II, one by one, with a flow on a path without queues and with a controlled delay.

The link is down for the first 100 ms, so the first RTT sample is the largest: the base RTT plus 100 ms. From 10 s on,
the delay is longer by a fraction of 100 ms, which the flow measures as a queueing delay. One packet is lost after the
growth has been measured. The rules are as in the algorithms' papers, in real numbers, and every packet is acknowledged.
The other experiments use the rules of kernels.
"""

from __future__ import annotations

from functools import lru_cache

from elephan.papers.loading import claims
from elephan.scenario import Scenario

RULES = {"illinois": "illinois", "ctcp": "compound"}
FRACTIONS: tuple[float, ...] = claims("leith2008").lists["fractions"]
WINDOWS: tuple[int, ...] = claims("leith2008").lists["windows"]
BASE_MS = LARGEST_MS = 100
GROWTH_S = (11.0, 15.0)
"""Time window in which growth at a queueing delay is measured, s; the delay is applied from 10 s on."""
EARLY_S = (2.0, 3.0)
"""Time window in which growth at a window is measured, just after slow start."""
_LOST = 77_000
RATE = "4 Gbit/s"


@lru_cache(maxsize=64)
def at_delay(algorithm: str, fraction: float) -> Scenario:
    """Growth and backoff at a queueing delay that is a fraction of the largest queueing delay."""
    return _alone(algorithm, 20, round(fraction * LARGEST_MS), f"{fraction:g} of the largest delay")


@lru_cache(maxsize=64)
def at_window(algorithm: str, window: int) -> Scenario:
    """Growth without a queue, from a given window on."""
    return _alone(algorithm, window, 0, f"from {window} segments")


def _alone(algorithm: str, ssthresh: int, longer_ms: int, what: str) -> Scenario:
    steps = [{"at": "10 s", "change": f"{longer_ms} ms"}] if longer_ms else []
    return Scenario.dumbbell(
        [{"name": algorithm, "algorithm": RULES[algorithm]}],
        title=f"the rule of {algorithm}, {what}",
        rate=RATE,
        rtt=f"{BASE_MS} ms",
        buffer="100000 packets",
        rate_steps=[{"at": "0 s", "rate": "0 bit/s"}, {"at": f"{LARGEST_MS} ms", "rate": RATE}],
        delay_steps=steps,
        loss={"packets": [_LOST]},
        duration="40 s",
        start_jitter="0 s",
        stack={"base": "linux-2.6", "ack_every": 1, "initial_ssthresh": f"{ssthresh} segments"},
    )
