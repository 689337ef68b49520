"""Each relation at, inside and outside its boundary."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.relations import RELATIONS, Measured, Outcome, Terms


def judge(name: str, expected: float, measured: Measured, **terms: Any) -> Outcome:
    return RELATIONS[name].judge(Terms(expected, **terms), measured)


def passes(name: str, expected: float, value: float, **terms: Any) -> bool:
    return judge(name, expected, Measured(subject=value), **terms).passed


@pytest.mark.parametrize(
    ("name", "expected", "terms", "inside", "outside"),
    [
        ("approx", 10.0, {"tol_abs": 1.0}, [9.0, 11.0, 10.0], [8.999, 11.001]),
        ("approx", 100.0, {"tol_abs": 1.0, "tol_rel": 0.05}, [95.0, 105.0], [94.9, 105.1]),
        ("approx", -0.236, {"tol_abs": 0.05}, [-0.286, -0.2], [-0.1, 0.236]),
        ("approx", 3.0, {}, [3.0], [3.0000001]),
        ("identity", 2.0, {"tol_rel": 1e-6}, [2.000001], [2.00001]),
        (">=", 0.99, {"tol_abs": 0.01}, [0.98, 1.0], [0.9799]),
        ("<=", 0.05, {}, [0.05, -1.0], [0.0501]),
        (">", 0.0, {}, [1e-9], [0.0, -1.0]),
        (">", 500.0, {}, [math.inf], [500.0]),
        ("<", 1.0, {"tol_rel": 0.1}, [1.0999], [1.1]),
        ("in_range", 4.0, {"values": (3.0, 6.0)}, [3.0, 6.0], [2.99, 6.01]),
        ("in_range", 0.925, {"values": (0.9, 0.95), "tol_abs": 0.03}, [0.88, 0.97], [0.86, 0.99]),
        ("count", 4.0, {"values": (4.0, 7.0)}, [4.0, 7.0], [3.0, 8.0]),
        ("sign", 1.0, {"values": ("+",)}, [0.021], [0.02, 0.0, -0.5]),
        ("sign", -1.0, {"values": ("-",)}, [-0.021], [-0.02, 0.5]),
        ("member_of", -1.0, {"values": (3.0, 4.0)}, [3.0, 4.0], [2.0, 5.0]),
    ],
)
def test_relations_of_one_value(
    name: str, expected: float, terms: dict[str, Any], inside: list[float], outside: list[float]
) -> None:
    assert all(passes(name, expected, value, **terms) for value in inside)
    assert not any(passes(name, expected, value, **terms) for value in outside)


def with_others(subject: float, *others: float) -> Measured:
    return Measured(subject=subject, others=tuple((str(i), other) for i, other in enumerate(others)))


def test_a_comparison_must_hold_for_every_other_and_gives_the_tightest_margin() -> None:
    outcome = judge("greater_than_other", 0.0, with_others(5.0, 1.0, 4.0))
    assert (outcome.passed, outcome.measured) == (True, 1.0)
    outcome = judge("greater_than_other", 0.0, with_others(5.0, 1.0, 6.0))
    assert (outcome.passed, outcome.measured) == (False, -1.0)
    assert judge("less_than_other", 0.0, with_others(1.0, 2.0, 3.0)).measured == 1.0
    assert not judge("less_than_other", 0.0, with_others(2.0, 2.0)).passed


def test_the_slack_of_a_comparison_is_taken_of_the_other() -> None:
    assert judge("greater_than_other", 0.0, with_others(98.0, 100.0), tol_rel=0.03).passed
    assert not judge("greater_than_other", 0.0, with_others(96.0, 100.0), tol_rel=0.03).passed
    assert judge("approx_equal_other", 0.0, with_others(0.5, 0.3), tol_abs=0.2).measured == pytest.approx(0.2)
    assert judge("approx_equal_other", 0.0, with_others(0.5, 0.35), tol_abs=0.2).passed
    assert not judge("approx_equal_other", 0.0, with_others(-0.5, 0.5), tol_abs=0.2).passed


def along(*values: float, position: int = 0) -> Measured:
    return Measured(series=tuple((str(i), value) for i, value in enumerate(values)), position=position)


def test_the_extreme_is_a_rank_and_ties_within_the_slack_count() -> None:
    assert judge("argmax", 1.0, along(5.0, 1.0, 3.0)) == Outcome(1.0, 2.0, passed=True)
    assert judge("argmax", 1.0, along(1.0, 5.0, 3.0)).measured == 3.0
    assert judge("argmin", 1.0, along(1.0, 5.0, 3.0)).passed
    assert judge("argmin", 1.0, along(2.0, 2.0)).passed
    assert not judge("argmin", 1.0, along(3.0, 2.0)).passed
    assert judge("argmin", 1.0, along(3.0, 2.0), tol_abs=1.0).passed


def test_nobody_is_first_when_nobody_arrives() -> None:
    outcome = judge("argmin", 1.0, along(math.inf, math.inf))
    assert not outcome.passed
    assert judge("argmin", 1.0, along(150.0, math.inf)).passed


def test_an_order_is_measured_by_kendalls_tau() -> None:
    assert judge("ordering_desc", 1.0, along(3.0, 2.0, 1.0)).measured == 1.0
    outcome = judge("ordering_desc", 1.0, along(3.0, 1.0, 2.0))
    assert outcome.measured == pytest.approx(1 / 3)
    assert not outcome.passed
    assert judge("ordering_desc", 1.0, along(3.0, 1.0, 2.0), tol_abs=0.7).passed
    assert judge("ordering_desc", 1.0, along(1.0, 1.0)).measured == 0.0


def test_along_a_parameter() -> None:
    assert judge("increasing_in", 1.0, along(1.0, 1.0, 2.0)).passed
    assert not judge("increasing_in", 1.0, along(1.0, 3.0, 2.0)).passed
    assert judge("increasing_in", 1.0, along(1.0, 3.0, 2.9), tol_rel=0.1).passed
    outcome = judge("decreasing_in", -1.0, along(3.0, 2.0, 1.0))
    assert (outcome.measured, outcome.passed) == (-1.0, True)
    assert judge("constant_in", 0.1, along(1.0, 0.95)).measured == pytest.approx(0.05)
    assert not judge("constant_in", 0.1, along(1.0, 0.8)).passed


def test_what_is_not_defined_is_neither_a_pass_nor_a_failure() -> None:
    with pytest.raises(NotJudgedError):
        passes("approx", 1.0, math.nan, tol_abs=1.0)
    with pytest.raises(NotJudgedError):
        judge("less_than_other", 0.0, with_others(math.inf, math.inf))
    with pytest.raises(NotJudgedError):
        judge("increasing_in", 1.0, along(1.0))
    with pytest.raises(NotJudgedError):
        judge("constant_in", 0.1, along(0.0, 0.0))


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1e3))
def test_the_margin_says_what_the_verdict_says(expected: float, value: float, slack: float) -> None:
    for name in ("approx", ">=", "<="):
        outcome = judge(name, expected, Measured(subject=value), tol_abs=slack)
        assert outcome.passed == (outcome.margin >= 0)
        assert outcome.measured == value


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True))
def test_exactly_one_subject_is_the_largest_when_all_differ(values: list[int]) -> None:
    found = [judge("argmax", 1.0, along(*map(float, values), position=i)).passed for i in range(len(values))]
    assert sum(found) == 1
    assert found.index(True) == values.index(max(values))
