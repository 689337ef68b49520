"""Verdicts from intervals, and the error of looking three times."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from elephan.evaluation import verdicts
from elephan.evaluation.relations import RELATIONS, Allowed, Terms
from elephan.evaluation.verdicts import Verdict
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


@given(st.floats(-10, 10), st.floats(0, 3))
def test_a_value_at_the_stated_distance_is_allowed(limit: float, slack: float) -> None:
    allowed = RELATIONS["approx"].allowed
    assert allowed is not None
    assert allowed(Terms(limit, tol_abs=slack), limit).holds(limit)
    assert allowed(Terms(0.0, tol_abs=slack), 0.0).holds(slack)


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


def test_one_pair_settles_nothing() -> None:
    assert verdicts.compare([1.0], [1.0], better="higher").why == "one replicate"


def test_three_looks_err_in_at_most_five_of_a_hundred() -> None:
    """Values whose mean is the limit itself: whatever a look settles is an error."""
    draws = 1500
    samples = np.random.default_rng(11).normal(1.0, 0.3, (draws, LOOKS[-1])).tolist()
    wrong = sum(
        any(verdicts.judge(row[:seeds], AT_LEAST_1).settled for seeds in LOOKS)  # the first settled look is the last
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
    pairs = zip(values.tolist(), baseline.tolist(), strict=True)
    looks = [[verdicts.compare(one[:n], other[:n], better="higher").change for n in LOOKS] for one, other in pairs]
    changes = [next((change for change in each if change != "not_settled"), "not_settled") for each in looks]
    assert changes.count("better") + changes.count("worse") <= stats.binom.ppf(0.999, draws, 0.05)


def test_looks_at_95_percent_each_would_err_more_often() -> None:
    draws = 1500
    samples = np.random.default_rng(11).normal(1.0, 0.3, (draws, LOOKS[-1])).tolist()
    wrong = sum(
        any(verdicts.judge(row[:seeds], AT_LEAST_1, confidence=0.95).settled for seeds in LOOKS) for row in samples
    )
    assert wrong > stats.binom.ppf(0.999, draws, 0.05)
