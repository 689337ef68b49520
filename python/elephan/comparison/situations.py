"""Situations of a comparison: each algorithm alone, with late-starting flows of its own kind, and beside rivals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from elephan.comparison.paths import Path
from elephan.scenario import Scenario

ALONE = "alone"
LATE = "its own kind, starting late"
SUBJECT = "subject"
OTHER = "other"


@dataclass(frozen=True)
class Situation:
    """One situation of a comparison; its replicates differ in the seed.

    Attributes:
        algorithm: label of the judged algorithm.
        against: :data:`ALONE`, :data:`LATE`, or the label of a rival.
        path: the path.
        duration_s: simulated time.
        specs: names of the algorithm and of its rival in the scenario.
    """

    algorithm: str
    against: str
    path: Path
    duration_s: float
    specs: tuple[str, str | None]

    @property
    def key(self) -> tuple[str, str]:
        """Algorithm and rival: the situation without its path and its duration."""
        return self.algorithm, self.against

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario with the first seed. The measurement window is the second half of the run; late-starting flows
        begin after a quarter of the run."""
        spec, other = self.specs
        groups = [(SUBJECT, spec, 0.0)]
        if other is not None:
            groups.append((OTHER, other, self.duration_s / 4 if self.against == LATE else 0.0))
        beside = {ALONE: "alone", LATE: f"and late-starting {self.algorithm}"}.get(
            self.against, f"beside {self.against}"
        )
        return self.path.scenario(groups, self.duration_s, f"{self.algorithm} {beside}: {self.path.title}")

    def replicate(self, seed: int) -> Scenario:
        """The scenario of one replicate. The first replicate has the seed of the path, and the other replicates have
        the following seeds."""
        return self.scenario.with_seed(self.path.seed + seed - 1)


@dataclass(frozen=True)
class Cast:
    """Algorithms of a comparison by their labels.

    Attributes:
        specs: name of each algorithm in a scenario, by its label.
        wanted: judged algorithms, in the user's order.
        rivals: algorithms of the other hosts.
    """

    specs: dict[str, str]
    wanted: tuple[str, ...]
    rivals: tuple[str, ...]

    def situations(self, path: Path, duration_s: float, among: Sequence[str] | None = None) -> list[Situation]:
        """All situations on a path, the most important first: an algorithm alone, beside each rival, with its own kind.

        ``among`` restricts the algorithms to those that need more replicates; the situations of rivals alone are always
        included.
        """
        return [self._situation(a, b, path, duration_s) for a, b in self._pairs(among or self.wanted)]

    def _pairs(self, among: Sequence[str]) -> Iterator[tuple[str, str]]:
        found = [(a, ALONE) for a in among]
        for rival in self.rivals:
            found += [(rival, rival), *((a, rival) for a in among)]
        found += [(a, LATE) for a in among]
        found += [(rival, ALONE) for rival in self.rivals]
        yield from dict.fromkeys(found)

    def _situation(self, algorithm: str, against: str, path: Path, duration_s: float) -> Situation:
        other = {ALONE: None, LATE: self.specs[algorithm]}.get(against, self.specs.get(against))
        return Situation(algorithm, against, path, duration_s, (self.specs[algorithm], other))
