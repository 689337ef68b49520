"""Objective of a design loop: one number for a candidate, in natural logarithms relative to CUBIC.

On each path and for each seed, a candidate has the terms of a comparison (:mod:`elephan.comparison.preferences`, which
has their reasons): goodput alone, queueing delay, harm to CUBIC, and the share of a late-starting flow of its own kind.
The value of a path is their weighted sum minus that of CUBIC with the same seeds, so CUBIC has the score 0, and
0.1 is a gain of about 10 % in one term.

    score = (1 - W) mean over paths + W mean over the worst eighth of the paths,    W = 0.2

The second term is there because an average hides the path on which an algorithm fails, and operators ask for that path.
A failure of any kind has the score :data:`WORST`, which no run can have: three ratios above 10⁻⁴ and the delay of a
full buffer are above -36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from elephan.comparison.preferences import Preference, log_ratio
from elephan.design.places import Place
from elephan.design.trials import ALONE, BESIDE, LATE, Measured, Trial

WORST = -40.0
WORST_WEIGHT = 0.2
WORST_FRACTION = 8
_LOSSES = ("harm", "start")
"""Terms that are never positive: nothing is gained by giving way beyond an equal share."""
SITUATION_OF = {"goodput": ALONE, "delay": ALONE, "harm": BESIDE, "start": LATE}
"""The situation whose runs have a term."""
TERMS = tuple(SITUATION_OF)

Results = Mapping[Trial, Measured]
Terms = dict[str, float]


def by_path(candidate: Results, baseline: Results) -> dict[Place, Terms]:
    """The terms of a candidate minus those of the baseline, on each path.

    A ratio is averaged over the seeds before its minimum with 0 is taken, since the minimum of a noisy ratio would
    count the noise as harm.
    """
    places: dict[Place, dict[str, list[tuple[float, float]]]] = {}
    for trial, found in candidate.items():
        terms = places.setdefault(trial.place, {})
        against = baseline[trial]
        base = _ratios(trial, against, against)
        for term, ratio in _ratios(trial, found, against).items():
            terms.setdefault(term, []).append((ratio, base[term]))
    return {place: {term: _difference(term, pairs) for term, pairs in terms.items()} for place, terms in places.items()}


def _difference(term: str, pairs: Sequence[tuple[float, float]]) -> float:
    own, base = (fmean(ratios) for ratios in zip(*pairs, strict=True))
    if term in _LOSSES:
        own, base = min(0.0, own), min(0.0, base)
    return own - base


def _ratios(trial: Trial, found: Measured, against: Measured) -> Terms:
    """Logarithms of the ratios of a run."""
    if trial.situation == ALONE:
        rtt_ms = trial.place.rtt_ms
        return {
            "goodput": _ratio(found.own_mbps, trial.place.rate_mbps),
            "delay": -_ratio(rtt_ms + found.queue_ms, rtt_ms),
        }
    if trial.situation == BESIDE:
        return {"harm": _ratio(found.other_mbps, against.other_mbps)}
    assert trial.situation == LATE
    return {"start": _ratio(2 * found.other_mbps, found.own_mbps + found.other_mbps)}


def _ratio(value: float, reference: float) -> float:
    found = log_ratio(value, reference)
    # Two flows of which none delivers anything share what they have equally.
    return 0.0 if found is None else found


def value(terms: Terms, preference: Preference) -> float:
    """The value of a path."""
    return sum(preference.weights[term] * number for term, number in terms.items())


def combined(values: Sequence[float]) -> tuple[float, float, float]:
    """The score of the paths' values, their mean, and the mean of their worst eighth."""
    mean = fmean(values)
    count = max(1, len(values) // WORST_FRACTION)
    worst = fmean(sorted(values)[:count])
    return (1 - WORST_WEIGHT) * mean + WORST_WEIGHT * worst, mean, worst
