"""Search for a path on which an algorithm fails, the simplest form of what was found, and its confirmation.

A search says which space it covered with how many runs. It never says that an algorithm is safe.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from elephan.design import goals
from elephan.design import space as spaces
from elephan.design.goals import Goal, Row, goal
from elephan.design.proposals import optimizer
from elephan.design.shrinking import shrunk
from elephan.design.space import Point, Space
from elephan.design.trials import BASELINE
from elephan.metrics.batch import batch
from elephan.scenario import Scenario, ScenarioError, own

CONFIRMED_BY = 8
"""Number of further seeds with which a failure is confirmed."""
_AGREE = 4
"""Number of seeds that have to fail; a point at which fewer fail is a coincidence, and the search goes on."""
_CLEARLY = 0.1
"""Mean severity of these seeds: 10 % beyond the limit, so that further seeds fail too."""
_MOST = 0.75
_NEVER = -1e3

Watch = Callable[[int, float, float], object]


@dataclass(frozen=True)
class Found:
    """A failure.

    Attributes:
        point: the simplest point that still fails.
        value: the number of the goal with the first seed.
        seeds: the same with further seeds.
        baseline: the same number for CUBIC in place of the algorithm.
        scenario: the scenario with its seed.
        first: the point at which the failure was found.
        runs: number of runs until then.
        after_s: wall time until then.
    """

    point: Point
    value: float
    seeds: tuple[float, ...]
    baseline: float | None
    scenario: Scenario
    first: Point
    runs: int
    after_s: float

    def is_confirmed(self, goal: Goal) -> bool:
        """True if most of the further seeds fail too; if not, the search goes on."""
        return sum(goal.severity(value) >= 0 for value in self.seeds) >= _MOST * len(self.seeds)


@dataclass
class Search:
    """The result of a search.

    Attributes:
        algorithm: the algorithm.
        goal: what was searched.
        space: where it was searched.
        by: the optimizer.
        seed: its seed.
        found: the failure, if there is one.
        runs: number of runs.
        wall_seconds: time for all of it.
        worst: the most severe point and its number, a failure or not.
        refused: number of points that are no scenario, such as a buffer of less than a packet.
        on_linux: the number of the goal on a Linux kernel, or the reason why there is none.
    """

    algorithm: str
    goal: Goal
    space: Space
    by: str
    seed: int
    found: Found | None = None
    runs: int = 0
    wall_seconds: float = 0.0
    worst: tuple[Point, float] | None = None
    refused: int = 0
    on_linux: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The result as a JSON document."""
        found = self.found
        return {
            "algorithm": self.algorithm,
            "for": self.goal.name,
            "number": self.goal.text,
            "limit": self.goal.limit,
            "reason": self.goal.reason,
            "space": self.space.words(),
            "by": self.by,
            "seed": self.seed,
            "runs": self.runs,
            "refused": self.refused,
            "wall_seconds": round(self.wall_seconds, 2),
            "worst": None if self.worst is None else {"point": dict(self.worst[0]), "value": self.worst[1]},
            "found": None if found is None else {
                "point": dict(found.point),
                "value": found.value,
                "seeds": list(found.seeds),
                "baseline": found.baseline,
                "first": dict(found.first),
                "runs": found.runs,
                "after_s": round(found.after_s, 2),
                "scenario": found.scenario.hash,
            },
            "on_linux": self.on_linux,
        }  # fmt: skip


class Judge:
    """Runs points of a space, and gives the number of the goal at each."""

    def __init__(
        self, algorithm: str, goal: Goal, space: Space, parameters: Mapping[str, Any] | None = None,
        jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.algorithm, self.goal, self.space = own.pin(algorithm), goal, space
        self.parameters = dict(parameters or {})
        self._jobs = jobs
        self.runs = 0
        self.refused = 0
        for pulses in (False, True):
            self.base(self.algorithm, pulses=pulses)  # rejects a wrong algorithm or parameter here

    @classmethod
    def of(
        cls, result: Search, algorithm: str, parameters: Mapping[str, Any] | None = None, jobs: int | None = None
    ) -> Judge:
        """The judge of a search that has ended, for further runs."""
        return cls(algorithm, result.goal, result.space, parameters, jobs)

    def base(self, algorithm: str, *, pulses: bool) -> Scenario:
        """The scenario of an algorithm before a point changes its fields."""
        others = () if self.goal.alone else (BASELINE if self.goal.beside else algorithm,)
        parameters = self.parameters if algorithm == self.algorithm else {}
        return spaces.base((algorithm, *others), parameters, self.space.duration_s, pulses=pulses)

    def scenario(self, point: Point, seed: int = 1) -> Scenario:
        """The scenario of a point."""
        base = self.base(self.algorithm, pulses=spaces.has_pulses(point))
        title = f"{own.label(self.algorithm)}, {self.goal.name}: {spaces.words(point)}"
        return base.replace({**spaces.row(point), "title": title, "seed": seed})

    def values(self, points: Sequence[Point], seeds: Sequence[int] = (1,), algorithm: str | None = None) -> list[float]:
        """The number of the goal at each point with each seed, points first; not a number where there is no run."""
        judged = algorithm or self.algorithm
        rows = self._rows(judged, points, seeds)
        references = self._rows(BASELINE, points, seeds) if self.goal.beside else [None] * len(rows)
        asked = [point for point in points for _ in seeds]
        return [
            math.nan if row is None else self.goal.value(row, point, reference)
            for row, reference, point in zip(rows, references, asked, strict=True)
        ]

    def _rows(self, algorithm: str, points: Sequence[Point], seeds: Sequence[int]) -> list[Row | None]:
        found: dict[tuple[int, int], Row | None] = {}
        for pulses in (False, True):
            places = [i for i, point in enumerate(points) if (spaces.has_pulses(point)) == pulses]
            table = [{**spaces.row(points[i]), "seed": seed} for i in places for seed in seeds]
            if not table:
                continue
            base = self.base(algorithm, pulses=pulses)
            frame = batch(base, table, goals.METRICS, jobs=self._jobs, progress=False)
            for (i, seed), row in zip(
                ((i, s) for i in places for s in seeds), frame.iter_rows(named=True), strict=True
            ):
                # Without a goodput the run was refused: a buffer below one packet, for example.
                ran = any(row.get(name) is not None for name in row if name.startswith("goodput_mbps["))
                found[i, seed] = row if ran else None
                self.runs += ran
                self.refused += not ran
        return [found[i, seed] for i in range(len(points)) for seed in seeds]


def search(
    algorithm: str,
    purpose: str,
    *,
    over: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    against: str | None = None,
    limit: float | None = None,
    budget_s: float = 600.0,
    most_runs: int | None = None,
    duration_s: float = 30.0,
    by: str = "cma",
    seed: int = 1,
    jobs: int | None = None,
    watch: Watch | None = None,
) -> Search:
    """Search a path on which an algorithm fails.

    Args:
        algorithm: name of a built-in algorithm, or a file and a class.
        purpose: harm, starvation, late-start, underuse, stall, delay or collapse.
        over: ranges of the space, ``"rate=10..50"``, or ``"loss=none"``.
        parameters: parameters of the algorithm.
        against: an algorithm that must not fail in the same way at the same point.
        limit: number from which a run is a failure, in place of the goal's own.
        budget_s: wall time until the search ends without a failure.
        most_runs: number of runs after which it ends.
        duration_s: simulated time of a run, whose second half is measured.
        by: the optimizer: cma, tpe or random.
        seed: seed of the optimizer.
        jobs: number of simultaneous runs.
        watch: called with the number of runs, the time, and the largest number so far.

    Raises:
        ScenarioError: an argument is wrong.
    """
    wanted = goal(purpose, limit)
    space = spaces.space((*wanted.over, *over), duration_s, wanted.events_until).without(wanted.without)
    judge = Judge(algorithm, wanted, space, parameters, jobs)
    result = Search(own.label(judge.algorithm), wanted, space, by, seed)
    if against is not None:
        try:
            judge.base(own.pin(against), pulses=False)
        except ScenarioError as error:
            raise ScenarioError(error.message, source="against") from None
    proposals = optimizer(by, space.size, seed)
    begun = time.monotonic()
    while result.found is None and time.monotonic() - begun < budget_s and judge.runs < (most_runs or math.inf):
        asked = proposals.ask()
        points = [space.point(coordinates) for coordinates in asked]
        values = judge.values(points)
        severities = [_NEVER if math.isnan(value) else wanted.severity(value) for value in values]
        for severity, value, point in sorted(zip(severities, values, points, strict=True), key=lambda r: -r[0]):
            if result.worst is None or value > result.worst[1]:
                result.worst = (point, value)
            if severity < 0:
                break
            first = judge.runs, time.monotonic() - begun
            if _is_failure(judge, point, against):
                found = _simplest(judge, point, against, *first)
                if found.is_confirmed(wanted):
                    result.found = found
                    break
        proposals.tell(asked, severities)
        result.runs, result.refused = judge.runs, judge.refused
        result.wall_seconds = time.monotonic() - begun
        if watch is not None:
            watch(result.runs, result.wall_seconds, result.worst[1] if result.worst else math.nan)
    return result


def _is_failure(judge: Judge, point: Point, against: str | None) -> bool:
    """True if the algorithm fails with most seeds, and the other algorithm does not."""
    if not _fails(judge, [point])[0]:
        return False
    if against is None:
        return True
    others = judge.values([point], range(1, 4), own.pin(against))
    return all(judge.goal.severity(value) < 0 for value in others if not math.isnan(value))


def _fails(judge: Judge, points: Sequence[Point]) -> list[bool]:
    """For each point, true if all of some seeds fail, on average clearly."""
    values = judge.values(points, range(1, _AGREE + 1))
    severities = [_NEVER if math.isnan(value) else judge.goal.severity(value) for value in values]
    groups = [severities[i * _AGREE : (i + 1) * _AGREE] for i in range(len(points))]
    return [min(group) >= 0 and fmean(group) >= _CLEARLY for group in groups]


def _simplest(judge: Judge, point: Point, against: str | None, runs: int, after_s: float) -> Found:
    def still(points: Sequence[Point]) -> list[bool]:
        fails = _fails(judge, points)
        if against is None:
            return fails
        return [failed and _is_failure(judge, p, against) for failed, p in zip(fails, points, strict=True)]

    simple = shrunk(point, judge.space, still)
    values = judge.values([simple], range(1, CONFIRMED_BY + 2))
    baseline = judge.values([simple], (1,), BASELINE)[0] if own.pin(judge.algorithm) != BASELINE else None
    return Found(simple, values[0], tuple(values[1:]), baseline, judge.scenario(simple), point, runs, after_s)
