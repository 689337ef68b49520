"""The time for which an answer is given, and the test that numbers no longer depend on the duration of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from elephan.comparison.measures import BEFORE, HALVES, STAGES, THIRDS, WHOLE
from elephan.comparison.observations import Observations
from elephan.comparison.preferences import Preference
from elephan.metrics.statistics import paired_p_value

SAME = 0.05
"""Margin within which two algorithms, or a number at two times, count as equal: objectives are logarithms, so this is
5 %."""
LONG_RUN, LIFE, STATED = "long run", "first seconds of a flow", "stated duration"
_ERROR = 0.05
"""Error probability of the test that a change is not chance."""
_LEAST_TO_TEST = 4
"""Fewest seeds whose changes are tested. With fewer, a change counts if it is twice the margin."""
_PARTS = {BEFORE: "the time before", **dict.fromkeys(HALVES, "a half"), **dict.fromkeys(THIRDS, "a third")}


@dataclass(frozen=True)
class Horizon:
    """The time for which an answer is given.

    Attributes:
        kind: :data:`LONG_RUN`, :data:`LIFE` or :data:`STATED`.
        from_s, to_s: numbers are means over this time of the runs, s.
        reached: True if the numbers are those of the stated time; of the long run, True if they no longer depend on the
            duration of the runs.
        needed_s: estimated wall time of the next step to the long run, s, if it does not fit the budget.
        next_s: duration of the runs of this step, s.
    """

    kind: str
    from_s: float
    to_s: float
    reached: bool
    needed_s: float | None = None
    next_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """A number that depends on the part of the runs in which it is measured.

    Attributes:
        algorithm: label of the algorithm.
        term: term of the objective.
        part: the part of the runs, in words.
        at, whole: the number in this part and in the whole measured part.
    """

    algorithm: str
    term: str
    part: str
    at: float
    whole: float

    def __str__(self) -> str:
        before, after = self.at, self.whole
        if self.term == "delay":
            return f"{self.algorithm}'s round trips ({before:.3g} base RTTs in {self.part}, {after:.3g} in all)"
        words = {
            "goodput": f"{self.algorithm}'s goodput alone",
            "harm": f"the goodput of flows beside {self.algorithm}",
            "start": f"the share of a late-starting {self.algorithm} flow",
        }[self.term]
        return f"{words} ({100 * before:.0f} % in {self.part}, {100 * after:.0f} % in all)"


def changes(evidence: Observations, algorithms: Sequence[str], preference: Preference) -> tuple[Change, ...]:
    """Numbers that differ between parts of the runs by more than the margin and more than chance: between the time
    before the measured part and this part (a doubling of the duration), and between its halves and thirds. The largest
    change of each number."""
    if evidence.life:
        return ()
    found = []
    for name in algorithms:
        for term, weight in preference.weights.items():
            if not weight or term == "short":  # slowdowns of transfers are known of the whole part alone
                continue
            largest = max(_of_term(evidence, name, term), key=lambda c: abs(c[0]), default=None)
            if largest is not None:
                found.append(largest[1])
    return tuple(found)


def _of_term(evidence: Observations, name: str, term: str) -> Iterator[tuple[float, Change]]:
    whole = _natural(evidence, name, term, WHOLE)
    for part in STAGES:
        at = _natural(evidence, name, term, part)
        seeds = sorted(whole.keys() & at.keys())
        if not seeds:
            continue
        pairs = [at[seed] for seed in seeds], [whole[seed] for seed in seeds]
        size = _scaled(fmean(pairs[0]), term) - _scaled(fmean(pairs[1]), term)
        if changed(*pairs, size):
            yield size, Change(name, term, _PARTS[part], fmean(pairs[0]), fmean(pairs[1]))


def _natural(evidence: Observations, name: str, term: str, part: int) -> dict[int, float]:
    """A term of the objective by seed as a ratio: goodput over rate, RTT over base RTT, kept goodput, share."""
    sign = -1.0 if term == "delay" else 1.0
    half = 0.5 if term == "start" else 1.0
    found = ((seed, evidence.terms(name, seed, part)[term]) for seed in evidence.seeds(name))
    return {seed: half * math.exp(sign * value) for seed, value in found if value is not None}


def _scaled(value: float, term: str) -> float:
    return math.log(value) if term == "delay" else value


def changed(before: Sequence[float], after: Sequence[float], size: float) -> bool:
    """True if paired values differ by more than the margin, and by more than chance."""
    if len(before) < _LEAST_TO_TEST:
        return abs(size) > 2 * SAME
    return abs(size) > SAME and paired_p_value(before, after) < _ERROR


def same_best(evidence: Observations, best: str, others: Sequence[str], preference: Preference) -> bool:
    """True if no other algorithm has a better objective in a part of the runs, by more than the margin and chance."""
    if evidence.life:
        return True
    for part in STAGES:
        mine = evidence.objective(best, preference, part)
        for name in others:
            theirs = evidence.objective(name, preference, part)
            seeds = sorted(mine.keys() & theirs.keys())
            if not seeds:
                return False
            pairs = [mine[seed] for seed in seeds], [theirs[seed] for seed in seeds]
            ahead = fmean(pairs[1]) - fmean(pairs[0])
            if ahead > 0 and changed(*pairs, ahead):
                return False
    return True
