"""The objective in closed form, and the tests behind a ranking."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from elephan.comparison.decision import decide
from elephan.comparison.horizon import SAME, changes
from elephan.comparison.measures import BEFORE, HALVES, THIRDS, WHOLE
from elephan.comparison.numbers import LEAST_FOR_INTERVAL, number_of, spread, together
from elephan.comparison.observations import Observations
from elephan.comparison.preferences import LEAST, PREFERENCES, log_ratio, preference
from elephan.comparison.situations import ALONE, LATE
from elephan.metrics.statistics import LOOK_CONFIDENCE, holm, paired_p_value
from elephan.scenario import ScenarioError

SECTIONS = THIRDS[-1] + 1


class Written(Observations):
    """Observations whose objectives are written down."""

    def __init__(self, values: dict[str, list[float]], later: dict[str, float] | None = None) -> None:
        super().__init__((), 40)
        self.values, self.later = values, later or {}

    def objective(self, algorithm: str, preference: Any, part: int = 0) -> dict[int, float]:
        """The values that were given, and in the later half others."""
        shift = self.later.get(algorithm, 0.0) if part == HALVES[1] else 0.0
        return {seed: value + shift for seed, value in enumerate(self.values[algorithm], 1)}


def ranked(values: dict[str, list[float]], later: dict[str, float] | None = None) -> Any:
    found = decide(Written(values, later), list(values), preference(None), LOOK_CONFIDENCE)
    assert found is not None
    return found


def noisy(mean: float, spread: float, seeds: int = 8, key: int = 1) -> list[float]:
    return [float(mean + spread * value) for value in np.random.default_rng(key).standard_normal(seeds)]


def test_a_clear_difference_is_settled() -> None:
    found = ranked({"a": noisy(-1, 0.05), "b": noisy(-0.2, 0.05, key=2), "c": noisy(-2, 0.05, key=3)})
    assert found.order == ("b", "a", "c")
    assert found.settled
    assert not found.undecided


def test_an_indistinct_difference_is_not_settled() -> None:
    found = ranked({"a": noisy(-1, 1.0), "b": noisy(-1, 1.0, key=2)})
    assert not found.settled
    assert len(found.undecided) == 1


def test_a_difference_within_the_margin_is_settled_as_equal() -> None:
    found = ranked({"a": noisy(-1, SAME / 20), "b": noisy(-1 + SAME / 10, SAME / 20, key=2)})
    assert found.settled
    assert found.equals


def test_few_seeds_and_halves_that_disagree_are_not_settled() -> None:
    values = {"a": noisy(-1, 0.01, 7), "b": noisy(-0.2, 0.01, 7, key=2)}
    assert not ranked(values).settled
    values = {"a": noisy(-1, 0.01), "b": noisy(-0.2, 0.01, key=2)}
    assert not ranked(values, {"b": -2.0}).steady
    assert not ranked(values, {"b": -2.0}).settled


def test_one_seed_tells_nothing_apart() -> None:
    found = ranked({"a": [-1.0], "b": [-0.1]})
    assert found.best == "b"
    assert found.undecided == ("a",)


def test_replicates_that_all_differ_by_the_same_are_told_apart_without_an_interval() -> None:
    found = ranked({"a": [-1.0] * 8, "b": [-0.5] * 8})
    assert found.versus[0].distinct
    assert found.settled


def test_holm_is_that_of_his_paper() -> None:
    # Holm (1979): the smallest of n is multiplied by n, the next by n - 1; adjusted values do not fall.
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_paired_test_is_scipys() -> None:
    left, right = noisy(0, 1), noisy(0.5, 1, key=2)
    assert paired_p_value(left, right) == pytest.approx(stats.ttest_rel(left, right).pvalue)
    assert paired_p_value([1.0], [2.0]) == 1.0
    assert paired_p_value([1.0, 2.0], [1.0, 2.0]) == 1.0


def observation(
    key: tuple[str, str], rate: float, other: float | None = None, *, inflation: float = 1.0, **values: float
) -> Any:
    situation = SimpleNamespace(key=key, algorithm=key[0], against=key[1])
    return SimpleNamespace(
        situation=situation, seed=1, rates=((rate, other),) * SECTIONS, inflation=(inflation,) * SECTIONS,
        capacity_mbps=100.0, goodput_mbps=rate, other_mbps=other, values=values, queue_ms=(0.0,) * SECTIONS, run=None,
    )  # fmt: skip


def test_the_objective_is_the_sum_of_logarithms_that_is_documented() -> None:
    evidence = Observations(("cubic",), 40)
    for made in (
        observation(("x", ALONE), 80.0, inflation=1.5),
        observation(("x", "cubic"), 75.0, 15.0),
        observation(("cubic", "cubic"), 60.0, 30.0),
        observation(("cubic", ALONE), 90.0),
        observation(("x", LATE), 60.0, 20.0),
    ):
        evidence.add(cast("Any", made))
    terms = evidence.terms("x", 1)
    assert terms["goodput"] == pytest.approx(math.log(0.8))
    assert terms["delay"] == pytest.approx(-math.log(1.5))
    # The same number of their own kind leave 45: the mean of both groups, whichever of the two is ahead.
    assert terms["harm"] == pytest.approx(math.log(15 / 45))
    assert terms["start"] == pytest.approx(math.log(2 * 20 / 80))
    assert evidence.objective("x", preference(None)) == {1: pytest.approx(sum(v for v in terms.values() if v))}
    assert evidence.harm("x", "cubic") == [pytest.approx(1 - 15 / 90)]
    assert evidence.excess_harm("x", "cubic") == [pytest.approx(1 - 15 / 45)]
    assert evidence.excess_harm("cubic", "cubic") == [0.0]


def test_starving_oneself_earns_nothing_and_delivering_nothing_is_bounded() -> None:
    evidence = Observations(("cubic",), 40)
    for made in (
        observation(("x", ALONE), 0.0),
        observation(("x", "cubic"), 1.0, 89.0),
        observation(("cubic", "cubic"), 45.0, 45.0),
        observation(("x", LATE), 20.0, 60.0),
    ):
        evidence.add(cast("Any", made))
    terms = evidence.terms("x", 1)
    assert terms["goodput"] == pytest.approx(math.log(LEAST))
    assert terms["harm"] == 0.0
    assert terms["start"] == 0.0


def test_ratios_are_bounded_on_both_sides() -> None:
    assert log_ratio(0.0, 1.0) == pytest.approx(math.log(LEAST))
    assert log_ratio(1.0, 0.0) == pytest.approx(-math.log(LEAST))
    assert log_ratio(None, 1.0) is None
    assert log_ratio(0.0, 0.0) is None


def test_preferences_have_names_and_weights() -> None:
    assert set(PREFERENCES) == {"balanced", "goodput", "delay", "fairness", "short-flows"}
    assert preference("delay").weights["delay"] > preference(None).weights["delay"]
    with pytest.raises(ScenarioError, match="did you mean 'goodput'"):
        preference("godput")


def alone(seed: int, rates: dict[int, float]) -> Any:
    """An algorithm alone, with other goodputs in some sections of the run."""
    made = observation(("x", ALONE), 80.0 + seed / 100)
    made.seed = seed
    made.rates = tuple((rates.get(part, 80.0) + seed / 100, None) for part in range(SECTIONS))
    made.staged = True
    return made


@pytest.mark.parametrize("part", [BEFORE, *HALVES, *THIRDS])
def test_a_number_that_differs_in_a_part_of_the_runs_depends_on_the_duration(part: int) -> None:
    steady, moving = Observations((), 40), Observations((), 40)
    for seed in range(1, 9):
        steady.add(alone(seed, {part: 79.0}))
        moving.add(alone(seed, {part: 70.0}))
    assert changes(steady, ["x"], preference("goodput")) == ()
    (change,) = changes(moving, ["x"], preference("goodput"))
    assert (change.algorithm, change.term) == ("x", "goodput")
    assert change.at == pytest.approx(0.70, abs=1e-3)
    assert change.whole == pytest.approx(0.80, abs=1e-3)
    assert "x's goodput alone (70 % in" in str(change)


def test_a_change_that_chance_explains_is_none() -> None:
    evidence = Observations((), 40)
    for seed in range(1, 9):
        evidence.add(alone(seed, {BEFORE: 86.0 if seed % 2 else 66.0}))
    assert changes(evidence, ["x"], preference("goodput")) == ()


def test_a_life_has_no_parts() -> None:
    evidence = Observations((), 40, life=True)
    for seed in range(1, 9):
        evidence.add(alone(seed, {BEFORE: 10.0}))
    assert changes(evidence, ["x"], preference("goodput")) == ()
    assert evidence.range_s == (0, 40)


def test_few_seeds_have_no_interval() -> None:
    evidence = Observations((), 40)
    for seed in range(1, LEAST_FOR_INTERVAL):
        evidence.add(alone(seed, {}))
    few = number_of(evidence, ("x", ALONE), "goodput_mbps")
    assert few is not None
    assert few.ends is None
    assert few.found.reason == "3 replicates; an interval needs 4"
    evidence.add(alone(LEAST_FOR_INTERVAL, {WHOLE: 90.0}))
    enough = number_of(evidence, ("x", ALONE), "goodput_mbps")
    assert enough is not None
    assert enough.ends is not None
    assert number_of(evidence, ("y", ALONE), "goodput_mbps") is None


def test_a_number_and_its_interval_are_rounded_together() -> None:
    assert together(94.9, (94.873, 94.931)) == ("94.90", "94.87", "94.93")
    assert together(94.9, (94.873, 94.931), 2) == ("94.90", "94.87", "94.93")
    assert together(0.07, (0.01, 0.4)) == ("0.070", "0.010", "0.400")
    assert together(12345.6, (12000.0, 13000.0)) == ("12,346", "12,000", "13,000")
    assert together(-1e-9, (-1.0, 1.0)) == ("0.00", "-1.00", "1.00")
    assert together(5.0, None) == ("5", "", "")
    assert spread(94.9, (94.7, 95.1), "Mbit/s") == "94.9 Mbit/s (95 %: 94.7 to 95.1)"
    assert spread(94.9, None, "%") == "94.9 %"
