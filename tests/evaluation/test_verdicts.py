"""Verdicts from intervals, and the error of looking three times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from elephan.evaluation import verdicts
from elephan.evaluation.criteria import Criterion
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.relations import RELATIONS, Measured, Terms
from elephan.evaluation.verdicts import Allowed, Judged, Verdict
from elephan.metrics.statistics import LOOK_CONFIDENCE, LOOKS

AT_LEAST_1 = Allowed(1.0, math.inf)


def around(mean: float, spread: float, seeds: int = 8) -> list[float]:
    """Values with a known mean, and an interval of a known order of width."""
    return [mean + spread * (k - (seeds - 1) / 2) for k in range(seeds)]


@pytest.mark.parametrize(
    ("values", "force", "margin", "verdict"),
    [
        (around(2.0, 0.01), "must", 0.0, "pass"),
        (around(0.5, 0.01), "must", 0.0, "fail"),
        (around(0.5, 0.01), "should", 0.0, "concern"),
        (around(0.5, 0.01), "consider", 0.0, "concern"),
        (around(1.01, 0.1), "must", 0.0, "not_settled"),
        (around(0.9, 0.01), "must", 0.2, "concern"),
        (around(0.5, 0.01), "must", 0.2, "fail"),
        (around(0.8, 0.05), "must", 0.2, "not_settled"),
        ([0.5], "must", 0.0, "not_settled"),
        ([2.0] * 8, "must", 0.0, "pass"),
        ([0.5] * 8, "must", 0.0, "fail"),
        ([0.9] * 8, "must", 0.2, "concern"),
        ([math.inf, *around(2.0, 0.01, 7)], "must", 0.0, "not_settled"),
        ([math.inf] * 8, "must", 0.0, "pass"),
    ],
)
def test_a_verdict_is_that_of_the_whole_interval(
    values: Sequence[float], force: verdicts.Force, margin: float, verdict: Verdict
) -> None:
    judged = verdicts.judge(values, AT_LEAST_1, force=force, margin=margin)
    assert judged.verdict == verdict, judged.why
    assert judged.seeds == len(values)
    assert judged.why


@given(
    st.sampled_from(["approx", "identity", ">=", "<=", ">", "<", "in_range", "sign"]),
    st.floats(-10, 10),
    st.floats(0, 3),
    st.floats(-20, 20),
)
def test_the_allowed_values_are_those_of_the_relation(name: str, limit: float, slack: float, value: float) -> None:
    values = {"in_range": (limit - 1, limit + 1), "sign": ("+" if limit > 0 else "-",)}.get(name, ())
    terms = Terms(limit, tol_abs=slack, values=values)
    outcome = RELATIONS[name].judge(terms, Measured(subject=value))
    if abs(outcome.margin) > 1e-9:
        assert verdicts.allowed(name, terms).holds(value) == outcome.passed


@given(
    st.sampled_from(["greater_than_other", "less_than_other", "approx_equal_other"]),
    st.floats(-3, 3), st.floats(0, 0.5), st.floats(-20, 20), st.floats(-20, 20),
)  # fmt: skip
def test_the_allowed_difference_is_that_of_the_relation(
    name: str, limit: float, share: float, value: float, other: float
) -> None:
    terms = Terms(limit, tol_rel=share)
    outcome = RELATIONS[name].judge(terms, Measured(subject=value, others=(("other", other),)))
    if abs(outcome.margin) > 1e-9:
        assert verdicts.allowed(name, terms, other).holds(value - other) == outcome.passed


def test_a_relation_of_several_values_has_no_range() -> None:
    with pytest.raises(NotJudgedError, match="'argmax' is not about one value"):
        verdicts.allowed("argmax", Terms(0.0))


def test_a_relation_of_several_values_is_judged_by_its_margins() -> None:
    terms = Terms(0.0, values=("a", "b"))
    first = [Measured(series=(("a", 5.0 + more), ("b", 3.0))) for more in around(0.0, 0.1)]
    assert verdicts.margins("argmax", terms, first) == pytest.approx(around(2.0, 0.1))
    assert verdicts.judge(verdicts.margins("argmax", terms, first), verdicts.HOLDS).verdict == "pass"
    second = [Measured(series=one.series, position=1) for one in first]
    assert verdicts.judge(verdicts.margins("argmax", terms, second), verdicts.HOLDS).verdict == "fail"


def test_a_time_that_hardly_ever_comes_is_judged_by_its_median() -> None:
    times = [*around(10.0, 0.1, 1), *[math.inf] * 7]
    within = Allowed(-math.inf, 30.0)
    assert verdicts.judge(times, within).why == "a value is infinite"
    assert verdicts.judge(times, within, statistic="median").verdict == "fail"
    assert verdicts.judge([*around(10.0, 0.1, 15), math.inf], within, statistic="median").verdict == "pass"


@pytest.mark.parametrize(
    ("shift", "spread", "better", "margin", "change"),
    [
        (0.5, 0.001, "higher", None, "same"),
        (5.0, 0.01, "higher", None, "better"),
        (5.0, 0.01, "lower", None, "worse"),
        (-5.0, 0.01, "lower", None, "better"),
        (5.0, 0.01, "lower", 10.0, "same"),
        (0.5, 5.0, "higher", None, "not_settled"),
        (0.0, 0.0, "higher", None, "same"),
        (5.0, 0.0, "higher", None, "better"),
        (2.02, 0.001, "higher", None, "better"),  # more than 2 % of the baseline, and less than 2 % of the value
    ],
)
def test_a_comparison_is_of_pairs(
    shift: float, spread: float, better: str, margin: float | None, change: verdicts.Change
) -> None:
    baseline = around(100.0, 20.0)  # its own spread is far larger than the difference, and common to both
    values = [value + more for value, more in zip(baseline, around(shift, spread), strict=True)]
    found = verdicts.compare(values, baseline, better="higher" if better == "higher" else "lower", margin=margin)
    assert found.change == change, found.why


def criterion(**fields: Any) -> Criterion:
    stated: dict[str, Any] = {
        "id": "c", "document": "d", "section": "1", "text": "t", "experiment": "e", "metric": "m", "subject": "s",
        "relation": ">=", "limit": 1.0,
    }  # fmt: skip
    return Criterion(**(stated | fields))


def test_a_criterion_brings_its_relation_its_force_and_its_margin() -> None:
    below = around(0.9, 0.01)
    assert verdicts.judge_criterion(criterion(), below).verdict == "fail"
    assert verdicts.judge_criterion(criterion(force="should"), below).verdict == "concern"
    assert verdicts.judge_criterion(criterion(margin=0.2), below).verdict == "concern"
    assert verdicts.judge_criterion(criterion(tol_abs=2.0), below).weak.startswith("its tolerance of 2 is wider")
    beside = criterion(relation="greater_than_other", limit=0.0, other=("o",), tol_rel=0.01)
    common = around(5.0, 1.0)
    better = [value + more for value, more in zip(common, around(0.5, 0.01), strict=True)]
    assert verdicts.judge_criterion(beside, better, common).verdict == "pass"
    assert verdicts.judge_criterion(beside, common, better).verdict == "fail"
    with pytest.raises(NotJudgedError, match="compares with another subject"):
        verdicts.judge_criterion(beside, better)


def test_one_pair_settles_nothing() -> None:
    assert verdicts.compare([1.0], [1.0], better="higher").why == "one replicate"


def test_looks_stop_at_the_first_that_settles() -> None:
    asked: list[int] = []

    def look(seeds: int) -> Judged:
        asked.append(seeds)
        return verdicts.judge(around(2.0, 0.01 if seeds >= 16 else 1.0, seeds), AT_LEAST_1)

    stopped = verdicts.settle(look)
    assert (asked, stopped.found.verdict, stopped.found.seeds, stopped.looks) == ([8, 16], "pass", 16, 2)
    never = verdicts.settle(lambda seeds: verdicts.judge(around(1.0, 1.0, seeds), AT_LEAST_1))
    assert (never.found.verdict, never.found.seeds, never.looks) == ("not_settled", 32, 3)


def test_three_looks_err_in_at_most_five_of_a_hundred() -> None:
    """Values whose mean is the limit itself: whatever a look settles is an error."""
    draws = 1500
    samples = np.random.default_rng(11).normal(1.0, 0.3, (draws, LOOKS[-1])).tolist()
    wrong = sum(
        verdicts.settle(lambda seeds, row=row: verdicts.judge(row[:seeds], AT_LEAST_1)).found.settled  # type: ignore[misc]
        for row in samples
    )
    # So many errors at 5 % in 1,500 come once in a thousand times; with 95 % at each look there are about 11 %.
    assert wrong <= stats.binom.ppf(0.999, draws, 0.05)
    assert wrong > 0.01 * draws, "the looks have power: Bonferroni is not far below 5 %"
    assert pytest.approx(1 - 0.05 / 3) == LOOK_CONFIDENCE


def test_three_looks_at_a_difference_that_is_none_err_as_seldom() -> None:
    draws = 800
    rng = np.random.default_rng(12)
    baseline = rng.normal(1.0, 0.3, (draws, LOOKS[-1]))
    values = baseline + rng.normal(0.0, 0.2, baseline.shape)
    changes = [
        verdicts.settle(
            lambda seeds, one=one, other=other: verdicts.compare(one[:seeds], other[:seeds], better="higher")  # type: ignore[misc]
        ).found.change
        for one, other in zip(values.tolist(), baseline.tolist(), strict=True)
    ]
    assert changes.count("better") + changes.count("worse") <= stats.binom.ppf(0.999, draws, 0.05)


def test_looks_at_95_percent_each_would_err_more_often() -> None:
    draws = 1500
    samples = np.random.default_rng(11).normal(1.0, 0.3, (draws, LOOKS[-1])).tolist()
    wrong = sum(
        any(verdicts.judge(row[:seeds], AT_LEAST_1, confidence=0.95).settled for seeds in LOOKS) for row in samples
    )
    assert wrong > stats.binom.ppf(0.999, draws, 0.05)


def test_a_weak_criterion_is_not_counted_as_passed() -> None:
    assert verdicts.weakness(Terms(0.1, tol_abs=0.2), 0.1).startswith("its tolerance of 0.2 is wider")
    assert verdicts.weakness(Terms(0.1, tol_abs=0.05), 0.1) == ""
    assert verdicts.weakness(Terms(0.0, tol_abs=0.02), 0.0) == "", "a tolerance about 0 is the limit"
    failed = verdicts.judge([0.5] * 8, AT_LEAST_1)
    passed = verdicts.judge([2.0] * 8, AT_LEAST_1)
    why = verdicts.weakness(Terms(1.0), 1.0, baseline=failed)
    assert why == "the baseline does not meet its limit either"
    weak = verdicts.weakened(passed, why)
    assert verdicts.totals([passed, weak, failed, verdicts.weakened(failed, why)]) == {
        "pass": 1, "concern": 0, "fail": 2, "not_settled": 0, "not_judged": 0, "weak": 1,
    }  # fmt: skip
