"""Situations of a comparison: each algorithm alone, with late-starting flows of its own kind, and beside rivals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from elephan.comparison.paths import Path
from elephan.scenario import Scenario

ALONE = "alone"
LATE = "its own kind, starting late"
SUBJECT = "subject"
OTHER = "other"


LATE_START = 1 / 8
"""Start of late-starting flows, as a fraction of the run's duration. They are there for as long again before the part
of the run with which the measured part is compared."""


class Times(NamedTuple):
    """Duration of a run, start of its late-starting flows, and beginning of its measured part, s."""

    duration_s: float
    late_s: float
    from_s: float


@dataclass(frozen=True)
class Situation:
    """One situation of a comparison; its replicates differ in the seed.

    Attributes:
        algorithm: label of the judged algorithm.
        against: :data:`ALONE`, :data:`LATE`, or the label of a rival.
        path: the path.
        duration_s: simulated time; of a path with ``life`` the measured life of a flow.
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

    @property
    def times(self) -> Times:
        """Times of the run. Its later half is measured; of a path with ``life`` all of it is, or, with late-starting
        flows, the life of these."""
        span_s = self.duration_s
        if not self.path.life:
            return Times(span_s, span_s * LATE_START, span_s / 2)
        return Times(2 * span_s, span_s, span_s) if self.against == LATE else Times(span_s, 0.0, 0.0)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario with the first seed."""
        spec, other = self.specs
        times = self.times
        groups = [(SUBJECT, spec, 0.0)]
        if other is not None:
            groups.append((OTHER, other, times.late_s if self.against == LATE else 0.0))
        beside = {ALONE: "alone", LATE: f"and late-starting {self.algorithm}"}.get(
            self.against, f"beside {self.against}"
        )
        title = f"{self.algorithm} {beside}: {self.path.title}"
        return self.path.scenario(groups, times.duration_s, title, times.from_s)

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
