"""The answer of a comparison in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from elephan.comparison.decision import SAME, Decision, changing
from elephan.comparison.evidence import Evidence, summarized
from elephan.comparison.preferences import Preference
from elephan.comparison.situations import ALONE, LATE
from elephan.metrics.statistics import Interval

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
    """Harm of an algorithm to flows of a rival, with 95 % intervals (Student's t over seeds). Both ends of a missing
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
        algorithm: the recommended algorithm.
        confidence: ``high``, ``medium`` or ``low``.
        settled: True if more seeds would not change the answer, by the evidence of the runs.
        harm: harm of each algorithm to each rival.
        seeds: number of replicates behind the answer.
        after_s: time to the answer, s.
        notes: scaled, shortened or assumed values.
    """

    text: str
    algorithm: str
    confidence: str
    settled: bool
    harm: tuple[Harm, ...]
    seeds: int
    after_s: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON form, as in the ``compare`` document."""
        return asdict(self) | {"harm": [asdict(entry) for entry in self.harm], "notes": list(self.notes)}


def answer(
    decision: Decision, evidence: Evidence, preference: Preference, rate_mbps: float, after_s: float,
    notes: Sequence[str] = (),
) -> Answer:  # fmt: skip
    """The answer for a decision.

    Args:
        decision: the ranking.
        evidence: the observations behind the decision.
        preference: the objective.
        rate_mbps: rate of the bottleneck as the user stated it.
        after_s: seconds since the question.
        notes: remarks on the runs for the reader.
    """
    settled = decision.settled and evidence.scale == 1
    level = HIGH if settled else MEDIUM if decision.seeds >= 4 and not decision.undecided else LOW
    sentences = [
        "" if evidence.scale == 1 else f"Simulated at {_fraction(evidence.scale)} of the rate:",
        _who(decision),
        _goodput(decision, evidence, rate_mbps),
        _delay(decision, evidence),
        *_harm_sentences(decision.best, evidence),
        *_trade_offs(decision, evidence, preference),
        _confidence(decision, evidence, level, settled=settled),
    ]
    harm = tuple(entry for name in decision.order for entry in _harm(name, evidence))
    text = " ".join(sentence for sentence in sentences if sentence)
    return Answer(text, decision.best, level, settled, harm, decision.seeds, after_s, tuple(notes))


def _who(decision: Decision) -> str:
    if decision.equals:
        return f"{_listed((decision.best, *decision.equals), 'or')} (equal within {100 * SAME:.0f} %):"
    if decision.undecided and decision.seeds > 1:
        return f"{decision.best}, not distinguished from {_listed(decision.undecided, 'and')}:"
    return f"{decision.best}:"


def _goodput(decision: Decision, evidence: Evidence, rate_mbps: float) -> str:
    scale, unit = (_GIGA, "Gbit/s") if rate_mbps >= _GIGA else (1.0, "Mbit/s")
    capacity = rate_mbps * evidence.scale / scale

    def mean(name: str) -> Interval | None:
        return summarized([value / scale for value in evidence.sample((name, ALONE), lambda o: o.goodput_mbps)])

    best = mean(decision.best)
    if best is None:
        return ""
    text = f"{number(best.value)} of {number(capacity)} {unit}{_between(best)}"
    others = [(name, mean(name)) for name in decision.order[1:]]
    known = [f"{name} {number(value.value)}" for name, value in others if value is not None]
    return text + (f"; alone {_listed(known, 'and')}" if known else "") + "."


def _delay(decision: Decision, evidence: Evidence) -> str:
    found = {name: summarized(evidence.sample((name, ALONE), lambda o: o.queue_ms[0])) for name in decision.order}
    best = found.pop(decision.best)
    if best is None:
        return ""
    others = [f"{name} {number(value.value)}" for name, value in found.items() if value is not None]
    return f"Mean queueing delay {number(best.value)} ms" + (f" ({', '.join(others)})." if others else ".")


def _harm(name: str, evidence: Evidence) -> list[Harm]:
    found = []
    for rival in evidence.rivals:
        harm, excess = summarized(evidence.harm(name, rival)), summarized(evidence.excess_harm(name, rival))
        if harm is not None and excess is not None:
            seeds = len(evidence.excess_harm(name, rival))
            ends = [_known(value) for value in (harm.low, harm.high, excess.low, excess.high)]
            found.append(Harm(name, rival, harm.value, ends[0], ends[1], excess.value, ends[2], ends[3], seeds))
    return found


def _harm_sentences(name: str, evidence: Evidence) -> list[str]:
    found = []
    for entry in _harm(name, evidence):
        if entry.to == name:
            continue
        low, high = entry.excess_low, entry.excess_high
        ends = "" if low is None or high is None else f" (95 %: {_percent(low)} to {_percent(high)} %)"
        of_own = f"beside as many other {entry.to} flows"
        if low is not None and high is not None and low <= 0 <= high:
            found.append(
                f"{entry.to} flows beside it get what they get {of_own}: the difference{ends} is not distinct."
            )
        elif entry.excess > 0:
            found.append(f"{entry.to} flows beside it lose {100 * entry.excess:.0f} % more than {of_own}{ends}.")
        else:
            found.append(f"{entry.to} flows beside it get {-100 * entry.excess:.0f} % more than {of_own}.")
    return found


def _trade_offs(decision: Decision, evidence: Evidence, preference: Preference) -> list[str]:
    """Sentences with reasons for another choice: the recommended algorithm is starved, or another algorithm has a much
    shorter queue."""
    best, found = decision.best, []
    for rival in evidence.rivals:
        share = summarized(evidence.sample((best, rival), lambda o: o.values["share"])) if rival != best else None
        if share is not None and share.value < _NOTABLE_SHARE:
            kept = f"{100 * share.value:.0f} % of the goodput"
            found.append(f"Trade-off: beside as many {rival} flows, {best} itself keeps {kept}.")
    own = summarized(evidence.sample((best, ALONE), lambda o: o.inflation[0]))
    for name in decision.order[1:]:
        other = summarized(evidence.sample((name, ALONE), lambda o: o.inflation[0]))
        if own is not None and other is not None and own.value > _NOTABLE_DELAY * other.value:
            found.append(f"Trade-off: {name} keeps round trips {100 * (1 - other.value / own.value):.0f} % shorter.")
            break
    late = summarized(evidence.sample((best, LATE), lambda o: o.values["late_share"]))
    if late is not None and late.value < _NOTABLE_SHARE and preference.start:
        found.append(f"A late-starting {best} flow has {100 * late.value:.0f} % of the goodput of the two.")
    return found


def _confidence(decision: Decision, evidence: Evidence, level: str, *, settled: bool) -> str:
    seeds = "one seed" if decision.seeds == 1 else f"{decision.seeds} seeds"
    if settled:
        reason = "no interval of a difference contains 0" if not decision.equals else "all others differ, or are equal"
        return f"Confidence {level}: {seeds}, {reason if decision.versus else 'one algorithm'}."
    reasons = []
    if evidence.scale != 1:
        reasons.append("the whole rate takes longer than the budget")
    if decision.seeds == 1:
        reasons.append("one seed has no interval")
    elif decision.undecided:
        reasons.append(f"{seeds} do not tell {decision.best} from {_listed(decision.undecided, 'or')}")
    elif not decision.enough:
        reasons.append(f"{seeds} only")
    if not decision.steady:
        reasons.append(f"the two halves of the measured {evidence.duration_s / 2:g} s disagree")
    changes = [(name, changing(evidence, name)) for name in decision.order]
    moving = [f"{name} ({100 * change:+.0f} %)" for name, change in changes if change is not None]
    if moving and not decision.steady:
        reasons.append(f"still changing: {', '.join(moving)}")
    return f"Not settled, confidence {level}: {'; '.join(reasons)}."


def _percent(fraction: float) -> str:
    return f"{round(100 * fraction)}"


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _between(found: Interval) -> str:
    if math.isnan(found.low):
        return ""
    low, high = ends(found.low, found.high)
    return f" (95 %: {low} to {high})"


def ends(low: float, high: float) -> tuple[str, str]:
    """Both ends of an interval with as many digits as are needed to distinguish them, at most seven."""
    for digits in range(3, 8):
        texts = number(low, digits), number(high, digits)
        if texts[0] != texts[1]:
            return texts
    return number(low), number(high)


def number(value: float, significant: int = 3) -> str:
    """A number with at least three significant digits, without an exponent from 0.001 on."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if abs(value) < 1e-3:
        return f"{value:.1e}"
    digits = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _fraction(scale: float) -> str:
    return f"1/{round(1 / scale)}" if scale < 0.6 else f"{100 * scale:.0f} %"


def _listed(names: Sequence[str], word: str) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"
