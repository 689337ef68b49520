"""Observations of a comparison, and the numbers of each algorithm computed from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from elephan.comparison.measures import WHOLE, Observation
from elephan.comparison.preferences import Preference, log_ratio
from elephan.comparison.situations import ALONE, LATE
from elephan.metrics.friendliness import fraction_lost
from elephan.runs import Run

Key = tuple[str, str]


@dataclass
class Observations:
    """Observations on one path, by situation and seed.

    Attributes:
        rivals: labels of the algorithms of other hosts.
        duration_s: simulated time of each run; of a path with ``life`` the measured life of a flow.
        life: as of :class:`~elephan.comparison.paths.Path`.
    """

    rivals: Sequence[str]
    duration_s: float
    life: bool = False
    _found: dict[Key, dict[int, Observation]] = field(default_factory=dict)

    def add(self, observation: Observation) -> None:
        """Add one observation."""
        self._found.setdefault(observation.situation.key, {})[observation.seed] = observation

    def of(self, algorithm: str, against: str) -> dict[int, Observation]:
        """Observations of one situation by seed."""
        return self._found.get((algorithm, against), {})

    @property
    def runs(self) -> list[Run]:
        """All runs, the runs of the first seed first."""
        found = [o for seeds in self._found.values() for o in seeds.values()]
        return [o.run for o in sorted(found, key=lambda o: o.seed)]

    def seeds(self, algorithm: str) -> list[int]:
        """Seeds with which an algorithm has run alone."""
        return sorted(self.of(algorithm, ALONE))

    @property
    def range_s(self) -> tuple[float, float]:
        """Time of a run over which numbers are means, s."""
        return (0.0, self.duration_s) if self.life else (self.duration_s / 2, self.duration_s)

    def sample(self, key: Key, value: Callable[[Observation], float | None]) -> list[float]:
        """Values of a situation over its seeds; undefined values are left out."""
        found = (value(observation) for _, observation in sorted(self.of(*key).items()))
        return [number for number in found if number is not None and math.isfinite(number)]

    # ---- harm ----

    def harm(self, algorithm: str, rival: str, part: int = WHOLE) -> list[float]:
        """Harm by seed (Ware et al., 2019): the fraction of a rival's goodput without competition that the rival loses
        when it competes with the algorithm."""
        return self._lost(self.of(rival, ALONE), self.of(algorithm, rival), lambda o: o.rates[part][0], part)

    def excess_harm(self, algorithm: str, rival: str, part: int = WHOLE) -> list[float]:
        """Additional harm by seed: the fraction of goodput that a rival's flows lose, relative to a run in which they
        compete with equally many flows of their own algorithm."""
        return self._lost(self.of(rival, rival), self.of(algorithm, rival), lambda o: own_kind_mbps(o, part), part)

    @staticmethod
    def _lost(
        reference: dict[int, Observation], beside: dict[int, Observation],
        unharmed: Callable[[Observation], float | None], part: int,
    ) -> list[float]:  # fmt: skip
        found = []
        for seed in sorted(reference.keys() & beside.keys()):
            before, after = unharmed(reference[seed]), kept_mbps(beside[seed], part)
            if before and after is not None:
                found.append(fraction_lost(before, after))
        return found

    # ---- the objective ----

    def terms(self, algorithm: str, seed: int, part: int = WHOLE) -> dict[str, float | None]:
        """Terms of the objective in one seed; ``None`` for a term that is not measured."""
        alone, late = self.of(algorithm, ALONE).get(seed), self.of(algorithm, LATE).get(seed)
        found: dict[str, float | None] = {"goodput": None, "delay": None, "start": None, "short": None}
        if alone is not None:
            found["goodput"] = log_ratio(alone.rates[part][0], alone.capacity_mbps)
            inflation = alone.inflation[part]
            # A flow that delivers nothing has no queueing delay; its goodput already shows this.
            found["delay"] = -math.log(inflation) if inflation is not None else 0.0
            slowdown = alone.values.get("background_mean_slowdown")
            found["short"] = -math.log(slowdown) if slowdown else None
        if late is not None:
            first, second = late.rates[part]
            share = log_ratio(2 * (second or 0.0), first + (second or 0.0))
            found["start"] = None if share is None else min(0.0, share)
        found["harm"] = self._harm_term(algorithm, seed, part)
        return found

    def _harm_term(self, algorithm: str, seed: int, part: int) -> float | None:
        """Mean over the rivals of ln(goodput / goodput beside flows of their own algorithm)."""
        found = []
        for rival in self.rivals:
            own, beside = self.of(rival, rival).get(seed), self.of(algorithm, rival).get(seed)
            if own is None or beside is None:
                return None
            kept = log_ratio(kept_mbps(beside, part), own_kind_mbps(own, part))
            if kept is None:
                return None
            found.append(min(0.0, kept))
        return sum(found) / len(found) if found else 0.0

    def objective(self, algorithm: str, preference: Preference, part: int = WHOLE) -> dict[int, float]:
        """The objective by seed, for the seeds in which all terms of the objective are measured."""
        values = ((seed, preference.value(self.terms(algorithm, seed, part))) for seed in self.seeds(algorithm))
        return {seed: value for seed, value in values if value is not None}


def own_kind_mbps(observation: Observation, part: int = WHOLE) -> float | None:
    """Goodput of a rival's flows that compete with equally many flows of their own algorithm, Mbit/s: half of the
    goodput of both groups.

    The groups are equal and start together, so either group may be the judged group. The mean of both groups' goodputs
    has the same expected value as either group's goodput, and excludes the random difference between the groups.
    """
    mine, theirs = observation.rates[part]
    return None if theirs is None else (mine + theirs) / 2


def kept_mbps(observation: Observation, part: int = WHOLE) -> float | None:
    """Goodput of the other flows beside an algorithm, Mbit/s; beside flows of their own algorithm, the goodput is
    :func:`own_kind_mbps`."""
    if observation.situation.algorithm == observation.situation.against:
        return own_kind_mbps(observation, part)
    return observation.rates[part][1]
