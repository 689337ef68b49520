"""Judgment of each claim by what was measured. A verdict is always computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any, Literal

from elephan.papers.claims import Claim, ClaimSet, Measurer
from elephan.papers.conditions import Value, Where, aggregation, points_of
from elephan.papers.measurement import LEVEL, Measurement, NotJudgedError, Pick, combined, interval
from elephan.papers.relations import RELATIONS, Measured, Outcome
from elephan.papers.wording import expectation, figure_text, number

_TAIL = (1 - LEVEL) / 2
Verdict = Literal["reproduced", "differs", "not_judged"]


@dataclass(frozen=True)
class Judgment:
    """A claim and what became of it.

    Attributes:
        claim: what the paper says.
        verdict: computed.
        why: one sentence.
        expectation: what the claim allows, in words.
        measured: in the unit of ``claim.expected``; ``None`` when not judged, infinite for a time never reached.
        low: lower end of the bootstrap interval over seeds; ``None`` without replicates.
        high: upper end.
        support: part of the bootstrap draws in which the claim holds; ``None`` without replicates. Between 0.025 and
            0.975 the published conclusion lies inside the noise of our seeds.
        margin: how far inside the allowed range; negative when outside.
        detail: what was compared.
        runs: ids of the runs behind it.
        depends_on: ids of other readings of the paper that turn the verdict, where they were run.
        explained: a finding of ours speaks of this claim.
    """

    claim: Claim
    verdict: Verdict
    why: str
    expectation: str
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    support: float | None = None
    margin: float | None = None
    detail: str = ""
    runs: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    explained: bool = False

    @property
    def within_noise(self) -> bool:
        """Other seeds could have turned the verdict."""
        return self.support is not None and _TAIL < self.support < 1 - _TAIL

    @property
    def measured_text(self) -> str:
        """The measured number as a reader wants it."""
        return "" if self.measured is None else figure_text(self.measured, self.claim.metric)

    def to_json(self) -> dict[str, Any]:
        """The claim's entry in the ``paper`` document; a number that is not finite is ``null`` there."""
        claim = self.claim
        return {
            "id": claim.id,
            "experiment": claim.experiment,
            "metric": claim.metric,
            "subject": claim.subject,
            "expected": claim.expected,
            "measured": _finite(self.measured),
            "low": _finite(self.low),
            "high": _finite(self.high),
            "verdict": self.verdict,
            "why": self.why,
            "support": self.support,
            "within_noise": self.within_noise,
            "relation": claim.relation,
            "allowed": self.expectation,
            "measured_text": self.measured_text,
            "certainty": claim.certainty,
            "robustness": claim.robustness,
            "check": claim.check,
            "kind": claim.tolerance_kind,
            "discriminating": claim.discriminating,
            "depends_on": list(self.depends_on),
            "explained": self.explained,
            "figure": claim.figure,
            "quote": claim.quote,
            "runs": list(self.runs),
        }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def judge_all(
    claims: ClaimSet, measurer: Measurer, findings: Mapping[str, str] | None = None, *, intervals: bool = True
) -> list[Judgment]:
    """Judge every claim, in order. ``findings`` explains, by id, why a claim differs; it never changes a verdict.

    Without ``intervals`` there are verdicts and values only, which is quick.
    """
    found = findings or {}
    return [judge(claim, measurer, found.get(claim.id), intervals=intervals) for claim in claims.claims]


def judge(claim: Claim, measurer: Measurer, finding: str | None = None, *, intervals: bool = True) -> Judgment:
    """Measure what a claim speaks of, and compare."""
    allowed = expectation(claim)
    try:
        if claim.check == "not_simulable":
            raise NotJudgedError("it is about an artefact of the hosts, which no simulation has")
        question = _Question(claim, measurer)
        outcome = question.outcome()
        found, support = _noise(question) if intervals else (None, None)
    except NotJudgedError as error:
        return Judgment(claim, "not_judged", f"cannot be judged: {error}", allowed)
    judgment = Judgment(
        claim,
        "reproduced" if outcome.passed else "differs",
        why="",
        expectation=allowed,
        measured=outcome.measured,
        low=found[0] if found else None,
        high=found[1] if found else None,
        support=support,
        margin=outcome.margin,
        detail=question.detail(),
        runs=question.runs(),
    )
    return replace(judgment, why=_sentence(judgment, finding), explained=finding is not None)


def _sentence(judgment: Judgment, finding: str | None = None) -> str:
    """One sentence with the numbers; where a claim differs, our explanation of the cause comes first."""
    claim = judgment.claim
    measured = figure_text(judgment.measured if judgment.measured is not None else math.nan, claim.metric)
    between = ""
    if judgment.low is not None and judgment.high is not None and judgment.low != judgment.high:
        between = f" ({number(judgment.low)} to {number(judgment.high)} over seeds)"
    compared = f"; {judgment.detail}" if judgment.detail else ""
    numbers = f"{_what(claim)} {measured}{between}, allowed {judgment.expectation}{_distance(judgment)}{compared}"
    if judgment.verdict == "differs" and finding:
        return f"{finding} [{numbers}]"
    return numbers


def _what(claim: Claim) -> str:
    if claim.relation in ("greater_than_other", "less_than_other"):
        return "measured a margin of"
    if claim.relation == "approx_equal_other":
        return "measured a difference of"
    if claim.relation in ("argmax", "argmin"):
        return "measured rank"
    if claim.relation == "ordering_desc":
        return "measured an agreement (Kendall's tau) of"
    return "measured"


def _distance(judgment: Judgment) -> str:
    margin = judgment.margin
    if judgment.verdict != "differs" or margin is None or not math.isfinite(margin) or margin == 0:
        return ""
    if judgment.claim.relation in ("member_of", "count", "argmax", "argmin", "ordering_desc"):
        return ""
    return f", off by {number(-margin)}"


def _noise(question: _Question) -> tuple[tuple[float, float] | None, float | None]:
    """The interval over seeds of what stands beside ``expected``, and in which part of the draws the claim holds."""
    held: list[bool] = []
    known: dict[tuple[int, ...], Outcome] = {}
    sizes = frozenset[int]().union(*(measurement.sizes for measurement in question.everything()))

    def draw(pick: Pick | None) -> float:
        if pick is None or len(sizes) != 1:
            outcome = question.outcome(pick)
        else:
            # Where everything has as many seeds, draws of the same ones in another order have the same medians.
            (size,) = sizes
            seeds = tuple(sorted(int(share * size) for share in pick[:size]))
            if seeds not in known:
                known[seeds] = question.outcome(pick)
            outcome = known[seeds]
        held.append(outcome.passed)
        return outcome.measured

    found = interval(draw, question.replicates())
    return found, fmean(held) if held else None


class _Question:
    """Everything that is measured for one claim; asked again for each bootstrap draw."""

    def __init__(self, claim: Claim, measurer: Measurer) -> None:
        self.claim = claim
        self.measurer = measurer
        where = claim.where or {}
        several = aggregation(where, self._points)
        at_each = several is not None and several.how == "each"
        self.cases = [self._terms_of(case) for case in (several.wheres if several and at_each else (where,))]

    def _points(self, parameter: str) -> Sequence[Value]:
        return self.measurer.points(parameter, self.claim)

    def _terms_of(self, where: Where) -> _Case:
        claim = self.claim
        needs = RELATIONS[claim.relation].needs
        if needs == "subjects":
            names = [str(value) for value in claim.values]
            return _Case(series=[(name, self._measure(name, where)) for name in names])
        if needs == "parameter":
            parameter = str(claim.values[0])
            points = points_of(parameter, self._points, str(where.get(parameter, "")))
            along = [(point, {**where, parameter: point}) for point in points]
            return _Case(series=[(str(point), self._measure(claim.subject, at)) for point, at in along])
        case = _Case(subject=self._measure(claim.subject, where))
        if needs == "other":
            # A condition that the other side states replaces the same condition of the subject's side.
            beside = where if claim.other_where is None else self._other_where(where)
            case.others = [(name, self._measure(name, beside)) for name in claim.other]
        return case

    def _other_where(self, where: Where) -> Where:
        stated = dict(self.claim.other_where or {})
        point = {key: value for key, value in where.items() if key in stated and _asks_each(stated[key])}
        return {**stated, **point}

    def _measure(self, subject: str, where: Where) -> Measurement:
        claim = self.claim
        several = aggregation(where, self._points)
        if several is None:
            return self.measurer.measure(claim.metric, subject, where, claim)
        parts = [self.measurer.measure(claim.metric, subject, at, claim) for at in several.wheres]
        if several.how == "each":
            raise NotJudgedError("its comparison asks for each point, and its subject does not")
        combine = {"mean": fmean, "max": max, "min": min}[several.how]
        return combined(parts, partial(_apply, combine))

    def outcome(self, pick: Pick | None = None) -> Outcome:
        """The comparison; of several cases the one that is furthest from holding."""
        rule = RELATIONS[self.claim.relation].judge
        outcomes = [rule(self.claim.terms, case.measured(self.claim, pick)) for case in self.cases]
        return min(outcomes, key=lambda outcome: (outcome.passed, outcome.margin))

    def everything(self) -> list[Measurement]:
        """All that was measured."""
        return [measurement for case in self.cases for measurement in case.everything()]

    def replicates(self) -> int:
        """The largest number of seeds behind any of it."""
        return max(measurement.replicates for measurement in self.everything())

    def runs(self) -> tuple[str, ...]:
        """Ids of the runs behind it, each once."""
        found: dict[str, None] = {}
        for measurement in self.everything():
            found.update(dict.fromkeys(measurement.run_ids))
        return tuple(found)

    def detail(self) -> str:
        """The compared values, by name, and what the measurements say of themselves."""
        parts = []
        for case in self.cases:
            named = list(case.series)
            if case.others and case.subject:
                named = [(self.claim.subject, case.subject), *case.others]
            parts += [f"{name} {figure_text(item.value(), self.claim.metric)}" for name, item in named]
            parts += [item.detail for item in case.everything() if item.detail]
        return ", ".join(dict.fromkeys(parts))


def _asks_each(value: Value) -> bool:
    return isinstance(value, str) and value.startswith("each")


def _apply(combine: Any, values: Sequence[float]) -> float:
    return float(combine(values))


class _Case:
    """The measurements under one condition."""

    def __init__(self, subject: Measurement | None = None, series: list[tuple[str, Measurement]] | None = None) -> None:
        self.subject = subject
        self.series = series or []
        self.others: list[tuple[str, Measurement]] = []

    def measured(self, claim: Claim, pick: Pick | None) -> Measured:
        """Numbers for the relation."""
        names = [name for name, _ in self.series]
        return Measured(
            subject=self.subject.value(pick) if self.subject else math.nan,
            others=tuple((name, item.value(pick)) for name, item in self.others),
            series=tuple((name, item.value(pick)) for name, item in self.series),
            position=names.index(claim.subject) if claim.subject in names else 0,
        )

    def everything(self) -> list[Measurement]:
        """All measurements of the case."""
        own = [self.subject] if self.subject else []
        return [*own, *(item for _, item in self.others), *(item for _, item in self.series)]


def totals(judgments: Iterable[Judgment]) -> dict[str, int]:
    """How many claims have each verdict."""
    counts = {"reproduced": 0, "differs": 0, "not_judged": 0}
    for judgment in judgments:
        counts[judgment.verdict] += 1
    return counts
