"""Schedule of a comparison's runs: an early first answer is refined until it is settled or the budget is spent.

1. First runs: one seed of each situation, as short as possible, and at a fraction of the rate if necessary. The first
   runs also measure the processor time of a segment on this host. If the first runs were at a fraction of the rate,
   short runs at the full rate follow (the *pilot*).
2. Eight seeds of each situation, each as long as an epoch of CUBIC on this path, or as long as the time allows.
3. Sixteen and thirty-two seeds of undecided cases, or runs of twice the length if the two halves of the runs disagree.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from elephan.backends import Cancelled, RunMemoryError
from elephan.comparison.answer import Answer, answer
from elephan.comparison.decision import LEAST_SEEDS, Decision, decide
from elephan.comparison.evidence import Evidence
from elephan.comparison.measures import observe
from elephan.comparison.paths import Path
from elephan.comparison.preferences import Preference
from elephan.comparison.situations import Cast, Situation
from elephan.metrics.statistics import CONFIDENCE, LOOK_CONFIDENCE, LOOKS
from elephan.runs import Run, Store, SweepError, sweep
from elephan.runs.provenance import cores
from elephan.runs.work import work
from elephan.scenario import own

FIRST_S = 1.5
"""Planned wall time of the first runs; the first answer may take ten seconds in all."""
_FIRST_ENDS_S = 7.5
"""Wall time at which the first runs end, finished or not."""
_PILOT_SHARE = 0.15
"""Largest estimated duration of the pilot, as a fraction of the remaining time."""
_PILOT_ENDS = 0.25
"""Fraction of the remaining time after which the pilot ends, finished or not."""
_GUARD_S = 2.5
"""Wall time reserved for stopping, measuring and printing."""
_STEP_S = 4
"""Step of durations, s: durations are multiples of this step, so that a quarter of a run is a whole number of
seconds."""
_LEAST_S = 4
"""Shortest run, s. Runs below 14 s have no convergence time: this metric needs running means over 10 s after the first
quarter."""
_USUAL_S = 24
"""Shortest run if the budget allows it, s."""
_LEAST_RTTS = 60
_MOST_S = 240
_SEGMENT_S = 2e-7
"""Initial estimate of the processor time of a segment, seconds; the estimate is rather too long than too short."""
_OWN_SEGMENT_S = 6e-6
"""Initial estimate of the processor time of a segment with an algorithm written in Python, seconds."""
_SHARE = 0.8
"""Largest estimated duration of a plan, as a fraction of the remaining time."""

Watch = Callable[[Answer], object]


@dataclass
class Search:
    """The search for an answer.

    Attributes:
        cast: the algorithms.
        path: the path of the comparison.
        preference: the objective.
        budget_s: wall time from ``started_s`` on.
        started_s: ``time.monotonic()`` of the question.
        on: the backend.
        seeds: number of replicates, if the user states it.
        varies: True if results on this backend depend on the seed.
        store, jobs: as in :func:`elephan.sweep`.
        watch: called with each new answer.
    """

    cast: Cast
    path: Path
    preference: Preference
    budget_s: float
    started_s: float
    on: str
    seeds: int | None
    varies: bool
    store: Store | None
    jobs: int | None
    watch: Watch | None
    notes: list[str] = field(default_factory=list)
    _seconds_per_work: dict[tuple[str, str], float] = field(default_factory=dict)
    _settled: tuple[Decision, ...] = ()
    _refused: str = ""

    # ---- time ----

    @property
    def _deadline_s(self) -> float:
        return self.started_s + self.budget_s - _GUARD_S

    def _left(self, until_s: float | None = None) -> float:
        """Processor time of all cores until the deadline, seconds."""
        until_s = self._deadline_s if until_s is None else until_s
        return max(0.0, until_s - time.monotonic()) * self._jobs

    @property
    def _jobs(self) -> int:
        return 1 if self.on == "kernel" else self.jobs or cores()

    def _cost(self, path: Path, duration_s: float, among: Sequence[str] | None = None) -> float:
        """Estimated processor time of one seed of each situation, seconds."""
        if self.on == "kernel":
            return float(duration_s) * len(self.cast.situations(path, duration_s, among))
        shortest = self.cast.situations(path, _LEAST_S, among)
        return sum(self._seconds(situation) for situation in shortest) * duration_s / _LEAST_S

    def _seconds(self, situation: Situation) -> float:
        own_code = any(own.pinned(spec) for spec in situation.specs if spec)
        known = self._seconds_per_work.get(situation.key, _OWN_SEGMENT_S if own_code else _SEGMENT_S)
        return known * work(situation.scenario)

    # ---- the search ----

    def run(self) -> tuple[Answer, Evidence, Decision] | None:
        """Search until the answer is settled or the time is spent; ``None`` if no situation could be observed."""
        wanted = self._wanted_duration()
        first = self._first_look(wanted)
        found = self._judge(first)
        if found is not None and not self.varies:
            return found
        evidence = self._main(self._pilot(first, wanted), wanted)
        while evidence is not None:
            later = self._judge(evidence)
            if later is not None and (found is None or later[2].seeds > 1 or found[1].scale != 1):
                found = later
            if later is None or later[2].settled or self.seeds is not None:
                break
            evidence = self._further(evidence, later[2])
        return found

    def _wanted_duration(self) -> float:
        """Simulated time of a run for a settled answer, s, within bounds.

        The time is the longest of 1.5 epochs of CUBIC at the path's BDP (RFC 9438, equation 2), 150 round trips, and
        the time to send 20,000 segments.
        """
        if self.path.duration_s is not None:
            return self.path.duration_s
        window = self.path.bdp_segments
        epoch_s = (0.3 * window / 0.4) ** (1 / 3)
        segments_s = 20_000 * self.path.rtt_s / window if window else 0.0
        return _stepped(min(_MOST_S, max(_USUAL_S, 1.5 * epoch_s, 150 * self.path.rtt_s, segments_s)))

    def _floor(self) -> float:
        if self.path.duration_s is not None:
            return self.path.duration_s
        return _stepped(min(_MOST_S, max(_LEAST_S, _LEAST_RTTS * self.path.rtt_s)))

    def _first_look(self, wanted: float) -> Evidence:
        room = self._left(min(self.started_s + FIRST_S, self._deadline_s))
        duration, path, scale = self._fitting(wanted, room, 1)
        evidence = Evidence(self.cast.rivals, scale, duration)
        ends_s = self._deadline_s if self.on == "kernel" else min(self.started_s + _FIRST_ENDS_S, self._deadline_s)
        self._make(evidence, path, [1], duration, ends_s)
        return evidence

    def _pilot(self, first: Evidence, wanted: float) -> Evidence:
        """One seed at the full rate, if the first runs were at a fraction of the rate.

        The cost of a segment depends on the rate, and each finished run shows this cost. The runs end after a quarter
        of the remaining time, finished or not.
        """
        if first.scale == 1:
            return first
        duration = min(self._floor(), wanted)
        affordable = _PILOT_SHARE * self._left() / max(1e-9, self._cost(self.path, 1))
        duration = max(duration, min(wanted, _whole(affordable)))
        evidence = Evidence(self.cast.rivals, 1.0, duration)
        now_s = time.monotonic()
        self._make(evidence, self.path, [1], duration, now_s + _PILOT_ENDS * (self._deadline_s - now_s))
        return evidence

    def _fitting(self, wanted: float, room: float, seeds: int) -> tuple[float, Path, float]:
        """Duration, path and scale with which ``seeds`` seeds of all situations fit into the processor time
        ``room``."""
        floor = min(self._floor(), wanted)
        affordable = room / max(1e-9, seeds * self._cost(self.path, 1))
        if affordable >= floor or not self.path.can_be_scaled or self.on != "sim":
            return max(floor, min(wanted, _whole(affordable))), self.path, 1.0
        scale = max(affordable / floor, 1e6 / self.path.rate_bps)
        return (floor, self.path, 1.0) if scale >= 1 else (floor, self.path.scaled(scale), scale)

    def _main(self, first: Evidence, wanted: float) -> Evidence | None:
        """Eight seeds, or as many as the user states; the plan changes if the costs of runs differ from the
        estimates."""
        if self._refused:
            return None
        seeds = self.seeds or LEAST_SEEDS
        duration, path, scale = self._fitting(wanted, _SHARE * self._left(), seeds)
        count = seeds
        if scale != 1 and self.seeds is None:
            fewer = int(_SHARE * self._left() / max(1e-9, self._cost(self.path, self._floor())))
            if fewer >= 2:
                duration, path, scale, count = min(self._floor(), wanted), self.path, 1.0, min(seeds, fewer)
        same = (duration, scale) == (first.duration_s, first.scale)
        evidence = first if same else Evidence(self.cast.rivals, scale, duration)
        situations = self.cast.situations(path, duration)
        while True:
            self._make(evidence, path, range(1, count + 1), duration)
            whole = min(len(evidence.of(*situation.key)) for situation in situations)
            if whole < count or count == seeds or self._refused:
                return evidence
            more = int(_SHARE * self._left() / max(1e-9, self._cost(path, duration)))
            if more < 1:
                return evidence
            count = min(seeds, count + more)

    def _further(self, evidence: Evidence, found: Decision) -> Evidence | None:
        """Next runs: more seeds of undecided situations, or longer runs; ``None`` if there is no time for more seeds or
        longer runs."""
        if evidence.scale != 1 or not found.enough:
            return None
        if not found.steady:
            longer = _stepped(2 * evidence.duration_s)
            fits = LEAST_SEEDS * self._cost(self.path, longer) < _SHARE * self._left() and longer <= 2 * _MOST_S
            if fits and self.path.duration_s is None:
                later = Evidence(self.cast.rivals, 1.0, longer)
                self._make(later, self.path, range(1, LEAST_SEEDS + 1), longer)
                return later
        looks = [look for look in LOOKS if look > found.seeds]
        if not looks or not found.undecided:
            return None
        among = (found.best, *found.undecided)
        seeds = range(found.seeds + 1, looks[0] + 1)
        if len(seeds) * self._cost(self.path, evidence.duration_s, among) > self._left():
            return None
        self._settled = (*self._settled, found)
        self._make(evidence, self.path, seeds, evidence.duration_s, among=among)
        return evidence

    # ---- one batch of runs ----

    def _make(
        self, evidence: Evidence, path: Path, seeds: Sequence[int], duration: float, until_s: float | None = None,
        among: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Run situations seed by seed, and keep the runs that finish in time."""
        situations = self.cast.situations(path, duration, among)
        wanted = [(s, seed) for seed in seeds for s in situations if seed not in evidence.of(*s.key)]
        places: dict[tuple[str, int], list[tuple[Situation, int]]] = {}
        for situation, seed in wanted:
            scenario = situation.replicate(seed)
            places.setdefault((scenario.hash, scenario.seed), []).append((situation, seed))
        limit_s = self._deadline_s if until_s is None else until_s
        told = 0

        def each(run: Run) -> None:
            nonlocal told
            for situation, seed in places[run.manifest["scenario_hash"], run.seed]:
                evidence.add(observe(situation, seed, run))
                if not run.cached:
                    spent = float(run.manifest.get("wall_seconds") or 0.0)
                    self._seconds_per_work[situation.key] = spent / max(1.0, work(situation.scenario))
            whole = min(len(evidence.of(*situation.key)) for situation in situations)
            if whole > told and self.watch is not None:
                told = whole
                self._judge(evidence)

        try:
            sweep(
                [situation.replicate(seed) for situation, seed in wanted], on=self.on, store=self.store,
                jobs=self.jobs, in_order=True, each=each,
                progress=lambda *_: time.monotonic() < limit_s,
            )  # fmt: skip
        except Cancelled:
            return
        except SweepError as failed:
            if not all(isinstance(failure.error, RunMemoryError) for failure in failed.failures):
                raise
            self._refused = str(failed.failures[0].error)
            self.notes.append(f"not all runs were completed: {self._refused}")

    def _judge(self, evidence: Evidence) -> tuple[Answer, Evidence, Decision] | None:
        """Decide by the runs so far, and report the answer."""
        seeds = self.seeds or LEAST_SEEDS
        earlier = self._settled[-1] if self._settled else None
        among = (earlier.best, *earlier.undecided) if earlier else self.cast.wanted
        confidence = CONFIDENCE if self.seeds is not None else LOOK_CONFIDENCE
        found = decide(evidence, among, self.preference, confidence, seeds)
        if found is None:
            return None
        for before in reversed(self._settled):
            found = _with_decided(found, before)
        words = answer(
            found, evidence, self.preference, self.path.rate_bps / 1e6, time.monotonic() - self.started_s, self.notes
        )
        if self.watch is not None:
            self.watch(words)
        return words, evidence, found


def _with_decided(found: Decision, before: Decision) -> Decision:
    """The later decision, with the earlier comparisons of the algorithms that already differed from the best
    algorithm."""
    known = {other.algorithm for other in found.versus} | {found.best}
    decided = [other for other in before.versus if other.algorithm not in known]
    order = (*found.order, *(name for name in before.order if name not in found.order))
    values = {**before.values, **found.values}
    return replace(found, order=order, versus=(*found.versus, *decided), values=values)


def _whole(seconds: float) -> float:
    """A duration rounded down to whole steps, s."""
    return float(int(seconds) // _STEP_S * _STEP_S)


def _stepped(seconds: float) -> float:
    return float(max(_LEAST_S, math.ceil(seconds / _STEP_S) * _STEP_S))
