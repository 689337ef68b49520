"""Judgment of each claim by measurements. Every verdict is computed; none is entered by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from elephan.evaluation.criteria import Measurer
from elephan.evaluation.judging import Assessment, assess
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.questions import question
from elephan.evaluation.relations import RELATIONS
from elephan.evaluation.wording import figure_text, spread
from elephan.metrics.statistics import Interval, finite
from elephan.papers.claims import Claim, ClaimSet

Verdict = Literal["reproduced", "differs", "not_judged"]


@dataclass(frozen=True)
class Judgment:
    """A claim with its verdict.

    Attributes:
        claim: the paper's statement.
        verdict: the verdict.
        why: one sentence.
        found: what was measured; ``None`` if not judged.
        depends_on: ids of variants of the paper that change the verdict, if they were run.
        explained: true if there is an explanation for this claim.
    """

    claim: Claim
    verdict: Verdict
    why: str
    found: Assessment | None = None
    depends_on: tuple[str, ...] = ()
    explained: bool = False

    @property
    def expectation(self) -> str:
        """Allowed values, in words."""
        return self.claim.expectation

    @property
    def measured(self) -> float | None:
        """Measured value in the unit of ``claim.limit``; ``None`` if not judged, infinite if never reached."""
        return None if self.found is None else self.found.outcome.measured

    @property
    def interval(self) -> Interval:
        """The interval over seeds of the measured value."""
        return Interval(math.nan, math.nan, math.nan, "not judged") if self.found is None else self.found.found

    @property
    def support(self) -> float | None:
        """Fraction of the bootstrap draws in which the claim holds; ``None`` without replicates."""
        return None if self.found is None else self.found.support

    @property
    def runs(self) -> tuple[str, ...]:
        """Ids of the measured runs."""
        return () if self.found is None else self.found.runs

    @property
    def within_noise(self) -> bool:
        """True if other seeds could change the verdict."""
        return self.found is not None and self.found.within_noise

    @property
    def numbers(self) -> str:
        """The part of ``why`` that has the compared values, without an explanation."""
        return self.why if self.found is None else self.claim.sentence(self.found)

    @property
    def weak(self) -> bool:
        """True if the claim is reproduced, and its tolerance is wider than the reference value."""
        return self.verdict == "reproduced" and self.claim.weak

    @property
    def measured_text(self) -> str:
        """Text of the measured number."""
        return "" if self.measured is None else figure_text(self.measured, self.claim.metric)

    @property
    def interval_text(self) -> str:
        """Text of the interval; empty without one."""
        return spread(self.interval.low, self.interval.high) if self.interval.known else ""

    def to_json(self) -> dict[str, Any]:
        """The claim's entry in the ``paper`` document; a number that is not finite is ``null`` there."""
        claim = self.claim
        return {
            "id": claim.id,
            "experiment": claim.experiment,
            "metric": claim.metric,
            "subject": claim.subject,
            "expected": claim.limit,
            "measured": finite(self.measured),
            **{end: finite(value) for end, value in self.interval.ends.items()},
            "verdict": self.verdict,
            "why": self.why,
            "weak": self.weak,
            "support": self.support,
            "within_noise": self.within_noise,
            "no_interval": None if self.found is None else self.interval.reason or None,
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
            "figure": claim.section,
            "quote": claim.text,
            "runs": list(self.runs),
        }


def judge_all(
    claims: ClaimSet,
    measurer: Measurer[Claim],
    explanations: Mapping[str, str] | None = None,
    *,
    intervals: bool = True,
    reduced: Reduced | None = None,
) -> list[Judgment]:
    """Judge every claim, in order. ``explanations`` has the reasons for differences by id; an explanation never changes
    a verdict.

    Without ``intervals`` only verdicts and values are computed, which is fast. With ``reduced``, the runs are those of
    a smaller path; claims about values that scale with the path are not judged, and explanations, which are about the
    paper's path, are left out.
    """
    found = explanations if explanations is not None and reduced is None else {}
    return [
        _not_of_the_path(claim, reduced)
        if reduced is not None and reduced.scales(claim)
        else judge(claim, measurer, found.get(claim.id), intervals=intervals)
        for claim in claims.claims
    ]


@dataclass(frozen=True)
class Reduced:
    """The path of a quick reproduction, which is smaller than the paper's.

    Attributes:
        note: the reductions, in words.
        metrics: metrics whose values scale with the path.
    """

    note: str
    metrics: frozenset[str]

    def scales(self, claim: Claim) -> bool:
        """True if the claim compares such a value with a number of the paper, and not with another measured value."""
        return claim.metric in self.metrics and RELATIONS[claim.relation].against_number


def _not_of_the_path(claim: Claim, reduced: Reduced) -> Judgment:
    why = f"cannot be judged: it scales with the path, which --quick makes smaller ({reduced.note})"
    return Judgment(claim, "not_judged", why)


def judge(
    claim: Claim, measurer: Measurer[Claim], explanation: str | None = None, *, intervals: bool = True
) -> Judgment:
    """Measure the subjects of a claim, and compare; the reason for a difference begins with our explanation."""
    try:
        if claim.check == "not_simulable":
            raise NotJudgedError("it is about an artefact of the hosts, which no simulation has")
        found = assess(question(claim, measurer), intervals=intervals)
    except NotJudgedError as error:
        return Judgment(claim, "not_judged", f"cannot be judged: {error}")
    numbers, passed = claim.sentence(found), found.outcome.passed
    why = f"{explanation} [{numbers}]" if explanation and not passed else numbers
    return Judgment(claim, "reproduced" if passed else "differs", why, found, explained=explanation is not None)


def totals(judgments: Iterable[Judgment]) -> dict[str, int]:
    """Number of claims with each verdict; weak passes, whose tolerance is wider than the value, are counted
    separately."""
    counts = {"reproduced": 0, "weak": 0, "differs": 0, "not_judged": 0}
    for judgment in judgments:
        counts["weak" if judgment.weak else judgment.verdict] += 1
    return counts
