"""Front of a tuning beside that of random points: CUBIC's β and C on 20 paths, for goodput and queueing delay.

    python benches/tune_front.py [SETTINGS] [POINTS]

The tuning has 500 settings, and random search 5,000 points of the same ranges; both run 8 seeds of 12 s on each path,
random points only if 2 seeds have them among the tenth nearest to the front. The lines say how many points of one front
are surpassed by a point of the other, by more than a hundredth of a percent in both terms; how many are dominated, that
is, surpassed beyond the 95 % interval over the seeds of the paired difference in both terms; by how much at most; and
the hypervolumes above the worst point of all: with these seeds, and with 16 others. The best of many points has luck
with its seeds, and the best of ten times as many has more of it, so the others say which front is better. Thousands of
pairs of points are compared there, some of which are beyond their interval by chance, so the pairs that are get 32
seeds of their own.
"""

from __future__ import annotations

import math
import os
import random
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from elephan.design import objective, places, trials, tune
from elephan.design.places import Place
from elephan.metrics.batch import batch
from elephan.metrics.statistics import paired_difference

RANGES = {"beta": (0.5, 0.9), "c": (0.1, 2.0)}
GOALS = ("goodput", "delay")
COUNT, SEEDS, SCREENED, DURATION_S = 20, 8, 2, 12.0
OTHERS, AGAIN = range(101, 117), range(201, 233)
CLEARLY = 1e-4
AT_ONCE = 500

Point = tuple[float, ...]
Rows = list[Point]
"""The terms of a point for each seed."""
Front = tuple[list[Rows], list[dict[str, float]]]
"""Points that no other one surpasses, and their parameters."""


def paths() -> tuple[Place, ...]:
    """Paths of 1.8 to 5 Mbit/s, and otherwise as those of a score: the front is of β and C, not of the path's rate."""
    drawn = places.drawn(3, COUNT)
    return tuple(Place(round(p.rate_mbps / 5 + 1, 2), p.rtt_ms, p.buffer_bdp, p.loss, p.queue) for p in drawn)


def file_of(found: Sequence[Place], folder: str) -> Path:
    """A file of these paths; every third one of a file is held out, so the last one is there again in between."""
    rows: list[str] = []
    for i, place in enumerate(found):
        fields = f"rate_mbps = {place.rate_mbps}\nrtt_ms = {place.rtt_ms}\nbuffer_bdp = {place.buffer_bdp}"
        rows.append(f'[[path]]\n{fields}\nloss = {place.loss}\nqueue = "{place.queue}"\n')
        if i % 2:
            rows.append("[[path]]\nrate_mbps = 3\nrtt_ms = 50\nbuffer_bdp = 1\n")
    path = Path(folder) / "paths.toml"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def drawn(count: int) -> list[dict[str, float]]:
    draw = random.Random(1)
    return [{name: float(f"{draw.uniform(*ends):.6g}") for name, ends in RANGES.items()} for _ in range(count)]


def nearest(given: Sequence[dict[str, float]], points: Sequence[Point], count: int) -> list[dict[str, float]]:
    """The points of the first fronts, each of what the fronts before leave."""
    left = list(range(len(points)))
    kept: list[int] = []
    while left and len(kept) < count:
        best = set(front([points[i] for i in left]))
        kept += [i for i in left if points[i] in best]
        left = [i for i in left if points[i] not in best]
    return [given[i] for i in kept[:count]]


def goals_of(found: Sequence[Place], given: Sequence[dict[str, float]], seeds: Iterable[int]) -> list[Rows]:
    """The two terms of points for each seed, many of them in one batch."""
    plan = [
        trials.Trial(place, trials.ALONE, seed, *places.times_s(place, seed, DURATION_S))
        for place in found for seed in seeds
    ]  # fmt: skip
    baseline = trials.measure(trials.BASELINE, {}, plan)
    base = trials.base(("cubic", "cubic"), {}, trials.ALONE)
    points: list[Rows] = []
    for start in range(0, len(given), AT_ONCE):
        part = given[start : start + AT_ONCE]
        rows = [
            {**trial.place.changes, "seed": trial.seed, "duration": f"{trial.duration_s:g} s"}
            | {f"flow[0].parameters.{name}": value for name, value in each.items()}
            for each in part for trial in plan
        ]  # fmt: skip
        frame = batch(base, rows, ("goodput_mbps", "mean_queue_delay_ms"), progress=False)
        columns = frame["goodput_mbps[subject]"], frame["mean_queue_delay_ms"]
        numbers = [trials.Measured(own, math.nan, queue) for own, queue in zip(*columns, strict=True)]
        for i in range(len(part)):
            of_one = dict(zip(plan, numbers[i * len(plan) : (i + 1) * len(plan)], strict=True))
            points.append([_terms(of_one, baseline, seed) for seed in dict.fromkeys(trial.seed for trial in plan)])
    return points


def _terms(of_one: objective.Results, baseline: objective.Results, seed: int) -> Point:
    terms = objective.by_path({t: row for t, row in of_one.items() if t.seed == seed}, baseline).values()
    return tuple(fmean(row[goal] for row in terms) for goal in GOALS)


def mean(rows: Rows) -> Point:
    return tuple(map(fmean, zip(*rows, strict=True)))


def front(points: Sequence[Point]) -> list[Point]:
    """Points that no other one surpasses."""
    found: list[Point] = []
    for point in sorted(set(points), reverse=True):
        if not found or point[1] > found[-1][1]:
            found.append(point)
    return found


def surpassed(own: Sequence[Point], others: Sequence[Point]) -> int:
    return sum(any(all(b > a + CLEARLY for a, b in zip(p, o, strict=True)) for o in others) for p in own)


def most(own: Sequence[Point], others: Sequence[Point]) -> float:
    """Largest difference in both terms by which a point is surpassed; 0 if none is."""
    return max(0.0, *(min(b - a for a, b in zip(p, o, strict=True)) for p in own for o in others))


def dominated(own: Sequence[Rows], others: Sequence[Rows]) -> dict[int, list[int]]:
    """The points that others dominate, and which."""
    by = {i: [k for k, other in enumerate(others) if _is_below(rows, other)] for i, rows in enumerate(own)}
    return {i: found for i, found in by.items() if found}


def _is_below(rows: Rows, others: Rows) -> bool:
    """True if the interval of the paired difference to other rows lies below 0 in both terms."""
    if not all(a < b for a, b in zip(mean(rows), mean(others), strict=True)):
        return False
    pairs = zip(zip(*rows, strict=True), zip(*others, strict=True), strict=True)
    found = [paired_difference(own, other) for own, other in pairs]
    return all(each.known and each.high < 0 for each in found)


def volume(points: Sequence[Point], worst: Point) -> float:
    total, before = 0.0, worst[1]
    for goodput, delay in points:
        total += (goodput - worst[0]) * (delay - before)
        before = delay
    return total


def processor_s() -> float:
    times = os.times()
    return times.user + times.system


def main() -> None:
    settings = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    found = paths()
    with tempfile.TemporaryDirectory() as folder:
        begun = processor_s()
        tuned = tune(
            "cubic", [f"{name}={low}..{high}" for name, (low, high) in RANGES.items()], on_paths=file_of(found, folder),
            front=GOALS, settings=settings, seeds=SEEDS, duration_s=DURATION_S, budget_s=1e6,
        )  # fmt: skip
        print(f"tune: {len(tuned.settings)} settings, {processor_s() - begun:.0f} s of processor time", flush=True)
    begun = processor_s()
    given = drawn(count)
    screened = goals_of(found, given, range(1, SCREENED + 1))
    given = nearest(given, list(map(mean, screened)), count // 10)
    points = goals_of(found, given, range(1, SEEDS + 1))
    print(f"random: {count} points, {processor_s() - begun:.0f} s of processor time")
    kept = [s for s in tuned.settings if s.terms and not s.given_up and s.parameters]
    settings_rows = [[tuple(row[goal] for goal in GOALS) for row in s.terms] for s in kept]
    fronts = of_front(settings_rows, [s.parameters for s in kept]), of_front(points, given)
    compare("the same seeds", *fronts)
    own, others = (of_front(goals_of(found, parameters, OTHERS), parameters) for _, parameters in fronts)
    for name, one, pairs in compare("other seeds", own, others):
        other = others if one is own else own
        for i, by in pairs.items():
            rows, *surpassing = goals_of(found, [one[1][i], *(other[1][k] for k in by)], AGAIN)
            count = sum(_is_below(rows, each) for each in surpassing)
            print(f"  {len(AGAIN)} further seeds: {one[1][i]} of the {name} is dominated by {count} of these {len(by)}")


def of_front(rows: Sequence[Rows], given: Sequence[dict[str, float]]) -> Front:
    """The points that no other one surpasses, with their parameters."""
    by_mean = {mean(each): (each, parameters) for each, parameters in zip(rows, given, strict=True)}
    kept = [by_mean[point] for point in front(list(by_mean))]
    return [each for each, _ in kept], [parameters for _, parameters in kept]


def compare(seeds: str, own: Front, others: Front) -> list[tuple[str, Front, dict[int, list[int]]]]:
    """Print the comparison of two fronts. Returns, for each of them, what dominates which of its points."""
    found = []
    for name, one, other in (("settings", own, others), ("random points", others, own)):
        ours, theirs = ([mean(rows) for rows in each[0]] for each in (one, other))
        by = dominated(one[0], other[0])
        found.append((name, one, by))
        print(f"{seeds}: front of {len(ours)} {name}; by a point of the other front {surpassed(ours, theirs)} are")
        print(f"  surpassed, by {most(ours, theirs):.5f} at most, and {len(by)} are dominated", flush=True)
    points = [[mean(rows) for rows in each[0]] for each in (own, others)]
    worst = tuple(min(point[i] for point in [*points[0], *points[1]]) for i in range(2))
    print(f"  hypervolume: {volume(points[0], worst):.6f} and {volume(points[1], worst):.6f}", flush=True)
    return found


if __name__ == "__main__":
    main()
