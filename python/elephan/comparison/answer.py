"""The answer of a comparison in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from elephan.comparison.decision import Decision
from elephan.comparison.horizon import LIFE, LONG_RUN, SAME, Horizon
from elephan.comparison.numbers import LEAST_FOR_INTERVAL, number_of, plain, spread
from elephan.comparison.observations import Observations
from elephan.comparison.preferences import Preference
from elephan.comparison.situations import ALONE, LATE
from elephan.scenario.words import listed

HIGH, MEDIUM, LOW = "high", "medium", "low"
_NOTABLE_SHARE = 0.25
"""Share of the goodput below which an answer mentions that an algorithm has a small share. The algorithm and a rival
have equally many flows; this limit is half of an equal share."""
_NOTABLE_DELAY = 1.1
"""An answer mentions the shorter queue of another algorithm as a trade-off if the ratio of the round-trip times, queues
included, is above this value."""
_GIGA = 1000.0


@dataclass(frozen=True)
class Harm:
    """Harm of an algorithm to flows of a rival, with 95 % intervals. Both ends of a missing
    interval are ``None``.

    Attributes:
        algorithm: the algorithm that causes the harm.
        to: the rival.
        harm: fraction of goodput that the rival loses, relative to a run of the rival alone; mean over seeds.
        low, high: ends of the interval of ``harm``.
        excess: fraction of goodput that the rival's flows lose, relative to a run in which they compete with equally
            many other flows of the rival; mean over seeds.
        excess_low, excess_high: ends of the interval of ``excess``.
        seeds: replicates.
    """

    algorithm: str
    to: str
    harm: float
    low: float | None
    high: float | None
    excess: float
    excess_low: float | None
    excess_high: float | None
    seeds: int


@dataclass(frozen=True)
class Answer:
    """Answer of a comparison.

    Attributes:
        text: the answer in words.
        algorithm: the recommended algorithm; ``None`` if the long run of the path was not reached, because the first
            seconds of a path are no reason to choose an algorithm.
        confidence: ``high``, ``medium`` or ``low``.
        settled: True if neither more seeds nor longer runs would change the answer, by the evidence of the runs.
        harm: harm of each algorithm to each rival.
        seeds: number of replicates behind the answer.
        after_s: time to the answer, s.
        horizon: the time for which the answer is given.
        notes: shortened or assumed values.
    """

    text: str
    algorithm: str | None
    confidence: str
    settled: bool
    harm: tuple[Harm, ...]
    seeds: int
    after_s: float
    horizon: Horizon
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON form, as in the ``compare`` document."""
        return asdict(self) | {
            "harm": [asdict(entry) for entry in self.harm],
            "horizon": self.horizon.to_json(),
            "notes": list(self.notes),
        }


def answer(
    decision: Decision, evidence: Observations, preference: Preference, horizon: Horizon, rate_mbps: float,
    after_s: float, notes: Sequence[str] = (),
) -> Answer:  # fmt: skip
    """The answer for a decision.

    Args:
        decision: the ranking.
        evidence: the observations behind the decision.
        preference: the objective.
        horizon: the time for which the answer is given.
        rate_mbps: rate of the bottleneck as the user stated it.
        after_s: seconds since the question.
        notes: remarks on the runs for the reader.
    """
    named = horizon.reached
    settled = decision.settled and named
    level = HIGH if settled else MEDIUM if decision.seeds >= LEAST_FOR_INTERVAL and not decision.undecided else LOW
    sentences = [
        _who(decision) if named else _nobody(evidence, horizon),
        _goodput(decision, evidence, rate_mbps, named=named),
        _delay(decision, evidence),
        _startup(decision, evidence),
    ]
    if named:
        sentences += [*_harm_sentences(decision.best, evidence), *_trade_offs(decision, evidence, preference)]
    else:
        sentences += [sentence for name in decision.order for sentence in _harm_sentences(name, evidence, named=True)]
    sentences.append(_confidence(decision, horizon, level, settled=settled) if named else _missing(decision, horizon))
    harm = tuple(entry for name in decision.order for entry in _harm(name, evidence))
    text = " ".join(sentence for sentence in sentences if sentence)
    best = decision.best if named else None
    return Answer(text, best, level, settled, harm, decision.seeds, after_s, horizon, tuple(notes))


def _who(decision: Decision) -> str:
    if decision.equals:
        return f"{listed((decision.best, *decision.equals), 'or')} (equal within {100 * SAME:.0f} %):"
    if decision.undecided and decision.seeds > 1:
        return f"{decision.best}, not distinguished from {listed(decision.undecided, 'and')}:"
    return f"{decision.best}:"


def _nobody(evidence: Observations, horizon: Horizon) -> str:
    """The beginning of an answer without a recommendation."""
    low, high = evidence.range_s
    return f"No recommendation{' yet' if horizon.needed_s is None else ''}. From {low:g} s to {high:g} s:"


def _goodput(decision: Decision, evidence: Observations, rate_mbps: float, *, named: bool) -> str:
    scale, unit = (_GIGA, "Gbit/s") if rate_mbps >= _GIGA else (1.0, "Mbit/s")
    found = {name: number_of(evidence, (name, ALONE), "goodput_mbps") for name in decision.order}
    best = found.pop(decision.best)
    if best is None:
        return ""
    ends = None if best.ends is None else (best.ends[0] / scale, best.ends[1] / scale)
    text = spread(best.value / scale, ends, f"of {plain(rate_mbps / scale)} {unit}")
    others = [f"{name} {plain(other.value / scale)}" for name, other in found.items() if other is not None]
    subject = "" if named else f"{decision.best} has "
    return f"{subject}{text} alone" + (f"; {listed(others, 'and')}" if others else "") + "."


def _delay(decision: Decision, evidence: Observations) -> str:
    found = {name: number_of(evidence, (name, ALONE), "queueing_delay_ms") for name in decision.order}
    best = found.pop(decision.best)
    if best is None:
        return ""
    others = [f"{name} {plain(other.value)}" for name, other in found.items() if other is not None]
    text = f"Mean queueing delay {spread(best.value, best.ends, 'ms')}"
    return text + (f"; {listed(others, 'and')}" if others else "") + "."


def _startup(decision: Decision, evidence: Observations) -> str:
    """Time to 90 % of the rate alone, and of a late-starting flow to 90 % of its share."""
    alone = number_of(evidence, (decision.best, ALONE), "startup_s")
    late = number_of(evidence, (decision.best, LATE), "startup_s")
    if alone is None or late is None:
        return ""
    text = f"It has 90 % of that after {_after(alone.value)}"
    return f"{text}; a late-starting flow has 90 % of its later share {_after(late.value)} after its start."


def _after(seconds: float) -> str:
    return f"{plain(seconds)} s" if seconds != float("inf") else "infinitely long"


def _harm(name: str, evidence: Observations) -> list[Harm]:
    found = []
    for rival in evidence.rivals:
        harm, excess = (number_of(evidence, (name, rival), kind) for kind in ("harm", "excess_harm"))
        if harm is not None and excess is not None:
            ends = [*(harm.ends or (None, None)), *(excess.ends or (None, None))]
            found.append(Harm(name, rival, harm.value, ends[0], ends[1], excess.value, ends[2], ends[3], excess.seeds))
    return found


def _harm_sentences(name: str, evidence: Observations, *, named: bool = False) -> list[str]:
    found = []
    for entry in _harm(name, evidence):
        if entry.to == name:
            continue
        low, high = entry.excess_low, entry.excess_high
        ends = None if low is None or high is None else (100 * low, 100 * high)
        text = f"{entry.to} flows beside {name if named else 'it'}"
        than = f"than beside as many other {entry.to} flows"
        if ends is not None and ends[0] <= 0 <= ends[1]:
            shown = spread(100 * entry.excess, ends, "%", 2)
            found.append(f"{text} lose nothing that the seeds could show: {shown}.")
        elif entry.excess > 0:
            found.append(f"{text} lose {spread(100 * entry.excess, ends, '% more', 2)} {than}.")
        else:
            gain = None if ends is None else (-ends[1], -ends[0])
            found.append(f"{text} get {spread(-100 * entry.excess, gain, '% more', 2)} {than}.")
    return found


def _trade_offs(decision: Decision, evidence: Observations, preference: Preference) -> list[str]:
    """Sentences with reasons for another choice: the recommended algorithm is starved, or another algorithm has a much
    shorter queue."""
    best, found = decision.best, []
    for rival in evidence.rivals:
        share = number_of(evidence, (best, rival), "share") if rival != best else None
        if share is not None and share.value < _NOTABLE_SHARE:
            kept = f"{100 * share.value:.0f} % of the goodput"
            found.append(f"Trade-off: beside as many {rival} flows, {best} itself keeps {kept}.")
    own = _inflation(evidence, best)
    for name in decision.order[1:]:
        other = _inflation(evidence, name)
        if own is not None and other is not None and own > _NOTABLE_DELAY * other:
            found.append(f"Trade-off: {name} keeps round trips {100 * (1 - other / own):.0f} % shorter.")
            break
    late = number_of(evidence, (best, LATE), "late_share")
    if late is not None and late.value < _NOTABLE_SHARE and preference.start:
        found.append(f"A late-starting {best} flow has {100 * late.value:.0f} % of the goodput of the two.")
    return found


def _inflation(evidence: Observations, name: str) -> float | None:
    sample = evidence.sample((name, ALONE), lambda o: o.inflation[0])
    return fmean(sample) if sample else None


def _confidence(decision: Decision, horizon: Horizon, level: str, *, settled: bool) -> str:
    seeds = "one seed" if decision.seeds == 1 else f"{decision.seeds} seeds"
    time = _time(decision, horizon)
    if settled:
        if not decision.versus:
            reason = "one algorithm"
        elif any(other.same for other in decision.versus):
            reason = f"each difference is within {100 * SAME:.0f} % or distinct from 0"
        else:
            reason = "each difference is distinct from 0"
        return f"Confidence {level}: {seeds}, {reason}; {time}."
    return f"Not settled, confidence {level}: {'; '.join(_open(decision, horizon))}; {time}."


def _time(decision: Decision, horizon: Horizon) -> str:
    text = f"means over {horizon.from_s:g} s to {horizon.to_s:g} s"
    if horizon.kind == LIFE:
        return f"{text} of a flow's life"
    return text + (f", within {100 * SAME:.0f} % of the time before" if decision.steady else "")


def _open(decision: Decision, horizon: Horizon) -> list[str]:
    """Reasons for which an answer is not settled."""
    seeds = "one seed" if decision.seeds == 1 else f"{decision.seeds} seeds"
    reasons = []
    if decision.seeds == 1:
        reasons.append("one seed has no interval")
    elif decision.undecided:
        reasons.append(f"{seeds} do not tell {decision.best} from {listed(decision.undecided, 'or')}")
    elif not decision.enough:
        reasons.append(f"{seeds} only")
    if not decision.ranked:
        reasons.append("parts of the runs have another best algorithm")
    if decision.changes and decision.seeds >= LEAST_FOR_INTERVAL:
        reasons.append(f"still changing with the duration: {listed(map(str, decision.changes), 'and')}")
    if horizon.needed_s is not None:
        reasons.append(_needed(horizon))
    return reasons


def _missing(decision: Decision, horizon: Horizon) -> str:
    """The reason for which there is no recommendation."""
    reasons = _open(decision, horizon)
    if not reasons:
        return ""
    text = "; ".join(reasons)
    advice = " or '--horizon 30s' for short lives" if horizon.kind == LONG_RUN and horizon.needed_s is not None else ""
    return f"{text[0].upper()}{text[1:]}{advice}."


def _needed(horizon: Horizon) -> str:
    runs = f"runs of {horizon.next_s:g} s" if horizon.next_s is not None else "longer runs"
    return f"{runs} take about {rough_time(horizon.needed_s or 0.0)} here, so give '--budget' more"


def rough_time(seconds: float) -> str:
    """A time with one or two digits."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{plain(seconds / 3600, 2)} h"
