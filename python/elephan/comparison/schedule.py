"""Schedule of a comparison's runs: an early first look, then the answer for the stated time or for the long run.

1. First look: one seed of each situation, as long as the time allows. It also measures the processor time of a segment
   on this host.
2. Of the long run: two seeds of each situation, in runs of twice the duration as long as numbers depend on it.
3. Eight seeds of that duration; again twice as long if the eight still show that a number depends on the duration.
4. Sixteen and thirty-two seeds of undecided algorithms.

A step that does not fit the rest of the budget is not begun; the answer says how long it would take.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from elephan.comparison.answer import Answer, answer
from elephan.comparison.decision import LEAST_SEEDS, Decision, decide
from elephan.comparison.horizon import LIFE, LONG_RUN, STATED, Horizon
from elephan.comparison.measures import observe
from elephan.comparison.numbers import LEAST_FOR_INTERVAL
from elephan.comparison.observations import Observations
from elephan.comparison.paths import Path
from elephan.comparison.preferences import Preference
from elephan.comparison.situations import Cast, Situation
from elephan.evaluation.bench import Bench, confidence, looks
from elephan.runs import Run
from elephan.runs.work import takes_s

FIRST_S = 1.5
"""Planned wall time of the first look; the first answer may take ten seconds in all."""
_FIRST_ENDS_S = 7.5
"""Wall time at which the first look ends, finished or not."""
_LATER_LOOK = 0.25
"""Fraction of the remaining time that a first look may take if nothing has ended by then."""
_GUARD_S = 2.5
"""Wall time reserved for stopping, measuring and printing."""
_STEP_S = 12
"""Step of durations, s: durations are multiples of this step, so that each section of a run is a whole number of
samples."""
_LEAST_S = 4
"""Shortest run, s. Runs below 14 s have no convergence time."""
_USUAL_S = 24
"""Shortest run of which a number is called that of the long run, s."""
_LEAST_RTTS = 60
_LONG_EPOCHS, _LONG_RTTS, _LONG_SEGMENTS = 6, 300, 20_000
"""First duration of the search for the long run, in epochs of CUBIC, round trips and segments: the time whose numbers
are compared with the measured part begins after a quarter of it, which is an epoch and a half."""
_PROBES = 2
"""Seeds that search for a duration before all seeds are run."""
_SHARE = 0.8
"""Largest estimated duration of a plan, as a fraction of the remaining time."""

Watch = Callable[[Answer], object]
Found = tuple[Answer, Observations, Decision]


@dataclass
class Search:
    """The search for an answer.

    Attributes:
        cast: the algorithms.
        path: the path of the comparison.
        preference: the objective.
        bench: where the runs are made.
        seeds: number of replicates, if the user states it.
        varies: True if results on this backend depend on the seed.
        watch: called with each new answer.
    """

    cast: Cast
    path: Path
    preference: Preference
    bench: Bench
    seeds: int | None
    varies: bool
    watch: Watch | None
    _pace: dict[tuple[str, str], float] = field(default_factory=dict)
    _kept: dict[float, Observations] = field(default_factory=dict)
    _needed: tuple[float, float] | None = None
    _settled: tuple[Decision, ...] = ()

    # ---- time ----

    @property
    def _deadline_s(self) -> float:
        return self.bench.started_s + (self.bench.budget_s or math.inf) - _GUARD_S

    def _cost(self, duration_s: float, among: Sequence[str] | None = None) -> float:
        """Estimated time of one seed of each situation on one core, s; the times of runs correct the estimate."""
        longer = duration_s / _LEAST_S
        shortest = self.cast.situations(self.path, _LEAST_S, among)
        return sum(self._pace.get(one.key, 1.0) * takes_s(one.scenario, self.bench.on, longer) for one in shortest)

    # ---- the search ----

    def run(self) -> Found | None:
        """Search until the answer is settled or the time is spent; ``None`` if no situation could be observed."""
        found = self._first_look()
        later = self._long_run() if self.path.duration_s is None else self._stated(self.path.duration_s)
        return later or found

    def _first_look(self) -> Found | None:
        """One seed, as long as the first seconds allow, but no longer than the answer needs. If nothing ends in this
        time, as at the highest rates, the look may take a quarter of the rest."""
        wanted = self.path.duration_s or self._wanted_duration()
        room = self.bench.room_s(min(self.bench.started_s + FIRST_S, self._deadline_s))
        evidence = self._evidence(max(self._shortest(wanted), min(wanted, math.floor(room / self._cost(1)))))
        ends_s = self._deadline_s
        if self.bench.on != "kernel":
            ends_s = min(self.bench.started_s + _FIRST_ENDS_S, ends_s)
        for until_s in (ends_s, ends_s + _LATER_LOOK * (self._deadline_s - ends_s)):
            self._make(evidence, [1], until_s)
            self._needed = None if self._fits(wanted, 1) else (self._wall(wanted, self._seeds), wanted)
            found = self._judge(evidence)
            if found is not None:
                return found
        return None

    def _shortest(self, wanted: float) -> float:
        return wanted if self.path.timed else min(wanted, max(_LEAST_S, math.ceil(_LEAST_RTTS * self.path.rtt_s)))

    def _wanted_duration(self) -> float:
        """First duration of the search for the long run, s: the longest of six epochs of CUBIC at the path's BDP
        (RFC 9438, equation 2), 300 round trips, and the time to send 20,000 segments."""
        window = self.path.bdp_segments
        epoch_s = (0.3 * window / 0.4) ** (1 / 3)
        segments_s = _LONG_SEGMENTS * self.path.rtt_s / window if window else 0.0
        wanted = _stepped(max(_USUAL_S, _LONG_EPOCHS * epoch_s, _LONG_RTTS * self.path.rtt_s, segments_s))
        return min(wanted, self._longest_s)

    @property
    def _longest_s(self) -> float:
        """Longest run that there is, s; at 300 ms and more than 70 Gbit/s it has fewer than six epochs of CUBIC."""
        return max(_LEAST_S, _STEP_S * math.ceil(self.path.longest_s / _STEP_S - 1))

    def _stated(self, duration: float) -> Found | None:
        """The answer for the duration that the user states."""
        evidence = self._evidence(duration)
        self._make(evidence, [1])
        return self._refined(evidence, self._all(evidence))

    def _long_run(self) -> Found | None:
        """The answer for the long run: durations are doubled until numbers no longer depend on them."""
        duration, found = self._wanted_duration(), None
        while self._fits(duration, 1) and not self.bench.refused:
            evidence = self._evidence(duration)
            self._make(evidence, range(1, min(_PROBES, self._seeds) + 1))
            probe = self._judge(evidence)
            if probe is None:
                break
            found, longer = probe, _stepped(2 * duration)
            if probe[2].steady or not self._fits(longer, self._seeds):
                found = self._all(evidence) or found
                if found[2].steady or not self._fits(longer, self._seeds):
                    break
            duration = longer
        if found is None:
            return None
        evidence, longer = found[1], _stepped(2 * found[1].duration_s)
        if not found[2].steady:
            if longer <= self._longest_s:
                self._needed = (self._wall(longer, self._seeds), longer)
            return self._judge(evidence)
        return self._refined(evidence, found)

    def _all(self, evidence: Observations) -> Found | None:
        """All seeds of a duration, or as many as fit."""
        count = self._seeds
        while count > 1 and not self._fits(evidence.duration_s, count - len(self._whole(evidence))):
            count -= 1
        self._make(evidence, range(1, count + 1))
        if count < self._seeds:
            self._needed = (self._wall(evidence.duration_s, self._seeds), evidence.duration_s)
        return self._judge(evidence)

    def _refined(self, evidence: Observations, found: Found | None) -> Found | None:
        """The answer with more seeds of the algorithms that are undecided."""
        while found is not None and self.varies and self.seeds is None and found[2].enough and found[2].undecided:
            later_looks = [look for look in looks(self.seeds) if look > found[2].seeds]
            among = (found[2].best, *found[2].undecided)
            if not later_looks or self.bench.refused:
                break
            seeds = range(found[2].seeds + 1, later_looks[0] + 1)
            if len(seeds) * self._cost(evidence.duration_s, among) > self.bench.room_s(self._deadline_s):
                break
            self._settled = (*self._settled, found[2])
            self._make(evidence, seeds, among=among)
            later = self._judge(evidence)
            if later is None or later[2].seeds == found[2].seeds:
                break
            found = later
        return found

    # ---- plans ----

    @property
    def _seeds(self) -> int:
        return (self.seeds or LEAST_SEEDS) if self.varies else 1

    def _fits(self, duration: float, seeds: int) -> bool:
        may_be = self.path.duration_s is not None or duration <= self._longest_s
        return may_be and seeds * self._cost(duration) <= _SHARE * self.bench.room_s(self._deadline_s)

    def _wall(self, duration: float, seeds: int) -> float:
        """Estimated wall time of some seeds of all situations, s."""
        return seeds * self._cost(duration) / self.bench.cores

    def _evidence(self, duration: float) -> Observations:
        """The observations of runs of a duration; none are there at first."""
        return self._kept.setdefault(duration, Observations(self.cast.rivals, duration, self.path.life))

    @property
    def needed(self) -> tuple[float, float]:
        """Estimated wall time of an answer, and the duration of its runs, s."""
        duration = self.path.duration_s or self._wanted_duration()
        return self._needed or (self._wall(duration, self._seeds), duration)

    def _whole(self, evidence: Observations) -> set[int]:
        """Seeds that all situations have."""
        situations = self.cast.situations(self.path, evidence.duration_s)
        return set.intersection(*(set(evidence.of(*situation.key)) for situation in situations))

    def _horizon(self, evidence: Observations, found: Decision) -> Horizon:
        """The time for which an answer from some runs is given."""
        from_s, to_s = evidence.range_s
        needed_s, next_s = self._needed or (None, None)
        if self.path.duration_s is None:
            # One or two seeds cannot show that a number has stopped changing; a backend without chance needs no more.
            known = found.seeds >= LEAST_FOR_INTERVAL or not self.varies
            long = evidence.duration_s >= self._wanted_duration()
            return Horizon(LONG_RUN, from_s, to_s, long and known and found.steady, needed_s, next_s)
        reached = evidence.duration_s == self.path.duration_s
        return Horizon(LIFE if self.path.life else STATED, from_s, to_s, reached, needed_s, next_s)

    # ---- one batch of runs ----

    def _make(
        self,
        evidence: Observations,
        seeds: Sequence[int],
        until_s: float | None = None,
        among: Sequence[str] | None = None,
    ) -> None:
        """Run situations seed by seed, and keep the runs that finish in time."""
        situations = self.cast.situations(self.path, evidence.duration_s, among)
        wanted = [(s, seed) for seed in seeds for s in situations if seed not in evidence.of(*s.key)]
        places: dict[tuple[str, int], list[tuple[Situation, int]]] = {}
        for situation, seed in wanted:
            scenario = situation.replicate(seed)
            places.setdefault((scenario.hash, scenario.seed), []).append((situation, seed))
        told = 0

        def each(run: Run) -> None:
            nonlocal told
            for situation, seed in places[run.manifest["scenario_hash"], run.seed]:
                evidence.add(observe(situation, seed, run))
                if not run.cached or situation.key not in self._pace:
                    spent_s = float(run.manifest.get("wall_seconds") or 0.0)
                    self._pace[situation.key] = spent_s / takes_s(situation.scenario, self.bench.on)
            whole = min(len(evidence.of(*situation.key)) for situation in situations)
            if whole > told and self.watch is not None:
                told = whole
                self._judge(evidence)

        runs = [situation.replicate(seed) for situation, seed in wanted]
        self.bench.make(runs, each, self._deadline_s if until_s is None else until_s)

    def _judge(self, evidence: Observations) -> Found | None:
        """Decide by the runs so far, and report the answer."""
        earlier = self._settled[-1] if self._settled else None
        among = (earlier.best, *earlier.undecided) if earlier else self.cast.wanted
        found = decide(evidence, among, self.preference, confidence(looks(self.seeds)), self._seeds)
        if found is None:
            return None
        for before in reversed(self._settled):
            found = _with_decided(found, before)
        words = answer(
            found, evidence, self.preference, self._horizon(evidence, found), self.path.rate_bps / 1e6,
            time.monotonic() - self.bench.started_s, self.bench.notes,
        )  # fmt: skip
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


def _stepped(seconds: float) -> float:
    return float(max(_LEAST_S, math.ceil(seconds / _STEP_S) * _STEP_S))
