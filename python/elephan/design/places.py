"""Paths of a design loop: those on which candidates are trained, and others of the same space that are held out.

The paths are drawn from a space of short and medium paths, by Latin hypercubes, so that few of them cover it. The
training paths are always the same. The held-out paths come from a seed of the user, who need not tell it to the author
of a candidate, and a result never names them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

PATHS = 24
"""Number of training paths, and of held-out paths."""
SEEDS = 4
"""Replicates on each path."""
RATES_MBPS = (4.0, 20.0)
"""Rates of the paths. A quick score is worth its second only if its runs are nearly as long as those of a full one:
some algorithms follow the clock, and Reno takes up to 12 s to regain half a BDP here. At these rates such runs cost a
second of two cores; up to 30 Mbit/s they had to be shorter, and ordered the candidates worse."""
RTTS_MS = (15.0, 150.0)
BUFFERS_BDP = (0.3, 4.0)
LOSSES = (0.0, 0.0, 0.0, 0.0, 1e-4, 1e-3)
"""Random losses, one for each path in turn: most paths have none."""
QUEUES = ("droptail", "droptail", "droptail", "codel")
FULL_S, QUICK_S = 40.0, 34.0
"""Mean simulated time of a run in a full and in a quick score, s."""
_VARIED = 0.2
"""Largest relative change of a run's duration, so that no candidate knows when a run ends."""
_LATE = (0.2, 0.5)
"""Start of a late-starting flow, as a fraction of the run: no candidate knows when to give way."""
_DRAWS = 4
"""Number of durations and starts that a trial can have. A candidate from a file draws its own, by its text, so that no
text can contain them; they are few, since the baseline has to run with each."""
_TRAINING = 1
HELD_OUT = 2
"""Seed of the held-out paths unless the user gives another."""


@dataclass(frozen=True)
class Place:
    """A path with one bottleneck.

    Attributes:
        rate_mbps: rate of the bottleneck.
        rtt_ms: two-way propagation delay.
        buffer_bdp: buffer, BDP.
        loss: random loss, as a fraction.
        queue: queue discipline.
        hidden: true if no message names the path.
    """

    rate_mbps: float
    rtt_ms: float
    buffer_bdp: float
    loss: float = 0.0
    queue: str = "droptail"
    hidden: bool = False

    @property
    def title(self) -> str:
        """The path in words."""
        if self.hidden:
            return "a held-out path"
        words = [f"{self.rate_mbps:g} Mbit/s", f"{self.rtt_ms:g} ms", f"buffer {self.buffer_bdp:g} BDP"]
        words += [f"loss {100 * self.loss:g} %"] if self.loss else []
        words += [f"queue {self.queue}"] if self.queue != "droptail" else []
        return ", ".join(words)

    @property
    def changes(self) -> Mapping[str, Any]:
        """Fields of a scenario."""
        return {
            "dumbbell.rate": f"{self.rate_mbps:g} Mbit/s",
            "dumbbell.rtt": f"{self.rtt_ms:g} ms",
            "dumbbell.buffer": f"{self.buffer_bdp:g} BDP",
            "dumbbell.loss": self.loss,
            "dumbbell.queue": self.queue,
        }


@cache
def training() -> tuple[Place, ...]:
    """The training paths."""
    return drawn(_TRAINING)


@cache
def drawn(seed: int, count: int = PATHS, *, hidden: bool = False) -> tuple[Place, ...]:
    """Paths of a Latin hypercube: each of ``count`` strata of rate, of RTT and of buffer has one path."""
    draw = random.Random(f"elephan paths {seed}")

    def strata(low: float, high: float) -> list[float]:
        ratio = high / low
        values = [low * ratio ** ((i + draw.random()) / count) for i in range(count)]
        draw.shuffle(values)
        return [float(f"{value:.2g}") for value in values]

    rates, rtts, buffers = strata(*RATES_MBPS), strata(*RTTS_MS), strata(*BUFFERS_BDP)
    kinds = [(LOSSES[i % len(LOSSES)], QUEUES[i // len(LOSSES) % len(QUEUES)]) for i in range(count)]
    return tuple(
        Place(*row, *kind, hidden) for row, kind in zip(zip(rates, rtts, buffers, strict=True), kinds, strict=True)
    )


def times_s(place: Place, seed: int, mean_s: float, author: str = "") -> tuple[float, float]:
    """Simulated time of a run, and the start of a late-starting flow in it.

    Args:
        place: the path.
        seed: seed of the run.
        mean_s: mean simulated time, s.
        author: digest of the candidate's text, by which one of a few pairs is drawn; without one, as for built-in
            algorithms, it is always the first.
    """
    path = tuple(place.changes.values())
    which = random.Random(f"elephan author {author} {path} {seed}").randrange(_DRAWS) if author else 0
    draw = random.Random(f"elephan times {path} {seed} {which}")
    duration_s = round(mean_s * (1 + _VARIED * (2 * draw.random() - 1)), 2)
    return duration_s, round(duration_s * draw.uniform(*_LATE), 3)
