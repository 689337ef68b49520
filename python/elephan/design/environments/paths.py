"""Paths for training and for the test of what was learned. They are fixed, so that results can be compared.

The unseen paths lie between the training paths and beyond them: no rate, RTT or buffer is one of a training path,
and some are faster, longer or have a shallower buffer than any of these.
"""

from __future__ import annotations

from elephan.scenario import Scenario

DURATION = "20 s"
"""Duration of an episode."""

PLACEHOLDER = "fixed"
"""Algorithm that a scenario states for a flow that is controlled from outside; it is not used."""

_TRAIN = (
    [("5 Mbit/s", "10 Mbit/s", "20 Mbit/s", "50 Mbit/s", "100 Mbit/s"), ("10 ms", "20 ms", "40 ms", "80 ms")],
    ("50% BDP", "100% BDP", "200% BDP", "400% BDP"),
    ("none", "none", "none", "0.1%"),
)
_UNSEEN = (
    [("7 Mbit/s", "30 Mbit/s", "75 Mbit/s", "200 Mbit/s"), ("15 ms", "60 ms", "150 ms")],
    ("30% BDP", "150% BDP", "300% BDP"),
    ("none", "none", "0.05%"),
)


def train_paths(flows: int = 1, duration: str = DURATION) -> tuple[Scenario, ...]:
    """Twenty paths for training: 5 to 100 Mbit/s, 10 to 80 ms, buffers of 0.5 to 4 BDP, random losses on every fourth.

    Args:
        flows: number of flows that share a path, one second apart.
        duration: simulated time of an episode.
    """
    return _paths(*_TRAIN, flows, duration)


def unseen_paths(flows: int = 1, duration: str = DURATION) -> tuple[Scenario, ...]:
    """Twelve paths for tests: 7 to 200 Mbit/s, 15 to 150 ms, buffers of 0.3 to 3 BDP, random losses on every third.

    Args:
        flows: number of flows that share a path, one second apart.
        duration: simulated time of an episode.
    """
    return _paths(*_UNSEEN, flows, duration)


def shared_paths(flows: int = 2, duration: str = DURATION) -> tuple[Scenario, ...]:
    """The training paths with several flows."""
    return train_paths(flows, duration)


def _paths(
    axes: list[tuple[str, ...]], buffers: tuple[str, ...], losses: tuple[str, ...], flows: int, duration: str
) -> tuple[Scenario, ...]:
    """A path for each rate and RTT; buffers and losses change along the diagonals, so that each occurs with each."""
    made = []
    for i, rate in enumerate(axes[0]):
        for j, rtt in enumerate(axes[1]):
            loss = losses[(i + 2 * j) % len(losses)]
            made.append(
                Scenario.dumbbell(
                    flows=[{"algorithm": PLACEHOLDER, "name": f"flow-{k + 1}"} for k in range(flows)],
                    rate=rate,
                    rtt=rtt,
                    buffer=buffers[(i + j) % len(buffers)],
                    starts=[f"{k} s" for k in range(flows)],
                    duration=duration,
                    title=f"{rate}, {rtt}, {buffers[(i + j) % len(buffers)]}, loss {loss}",
                    **({} if loss == "none" else {"loss": loss}),
                )
            )
    return tuple(made)
