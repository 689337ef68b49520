"""Intervals of quantities with a range, and of means over time, against laws whose mean is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from elephan.evaluation.relations import Allowed
from elephan.evaluation.verdicts import judge
from elephan.metrics.ranges import LOST, POSITIVE, REAL, SHARE, Range
from elephan.metrics.registry import get, registry
from elephan.metrics.statistics import interval, over_time, ranged

RANGES = (REAL, POSITIVE, SHARE, LOST)


def test_without_a_range_the_interval_is_students() -> None:
    sample = [1.0, 2.0, 4.0, 3.5]
    ends = stats.t.interval(0.95, 3, loc=np.mean(sample), scale=stats.sem(sample))
    assert list(interval(sample)[1:3]) == pytest.approx(list(ends))


@given(st.lists(st.floats(0.001, 0.999), min_size=2, max_size=12), st.sampled_from(RANGES))
def test_an_interval_stays_within_the_range_and_contains_the_mean(sample: list[float], within: Range) -> None:
    found = interval(sample, within=within)
    if found.known:
        assert within[0] <= found.low < found.value < found.high <= within[1]


@pytest.mark.parametrize("within", RANGES)
def test_a_narrow_interval_is_the_usual_one(within: Range) -> None:
    low, high = ranged(0.5, 1e-6, 7, within=within)
    reach = stats.t.ppf(0.975, 7) * 1e-6
    assert low == pytest.approx(0.5 - reach, rel=1e-9)
    assert high == pytest.approx(0.5 + reach, rel=1e-9)


def test_a_wide_interval_is_that_of_the_transformed_scale() -> None:
    reach = stats.t.ppf(0.975, 7) * 0.2
    wanted = [0.5 * math.exp(-reach / 0.5), 0.5 * math.exp(reach / 0.5)]
    assert list(ranged(0.5, 0.2, 7, within=POSITIVE)) == pytest.approx(wanted)
    low, high = ranged(0.9, 0.2, 7, within=SHARE)
    logit = math.log(0.9 / 0.1)
    assert math.log(low / (1 - low)) == pytest.approx(logit - reach / 0.09)
    assert math.log(high / (1 - high)) == pytest.approx(logit + reach / 0.09)
    assert ranged(-3.0, 0.2, 7, within=LOST)[1] < 1


def test_equal_replicates_have_no_interval_over_time_either() -> None:
    assert not over_time([[1.0, 2.0, 3.0]] * 8, [2.0] * 8).known


def test_replicates_that_move_together_have_a_wider_interval() -> None:
    draws = np.random.default_rng(1)
    noise = draws.normal(0, 1e-3, (8, 6))
    together = noise + np.array([-1.0, 1.0, -0.5, 0.5, 0.2, -0.2])
    apart = over_time(noise.tolist(), noise.mean(axis=1).tolist())
    found = over_time(together.tolist(), together.mean(axis=1).tolist())
    # The six times alone: their mean has the standard error s/√6.
    error = float(np.std([-1.0, 1.0, -0.5, 0.5, 0.2, -0.2], ddof=1)) / math.sqrt(6)
    assert (found.high - found.low) / 2 == pytest.approx(stats.t.ppf(0.975, 5) * error, rel=0.01)
    assert (apart.high - apart.low) < 0.01


@pytest.mark.parametrize(
    ("seed_sd", "time_sd", "rest_sd"), [(1, 0, 0.5), (0, 1, 0.5), (0.3, 0.3, 1), (1, 1, 1), (0, 0, 1)]
)
def test_intervals_over_time_cover_the_mean_as_often_as_they_say(
    seed_sd: float, time_sd: float, rest_sd: float
) -> None:
    """2,000 draws of two crossed random effects; 95 % ± 4 standard errors of a frequency are 93.0 to 97.0 %, and the
    approximate degrees of freedom take or give about two more."""
    draws, covered, trials = np.random.default_rng(7), 0, 2000
    for _ in range(trials):
        table = draws.normal(0, seed_sd, (8, 1)) + draws.normal(0, time_sd, (1, 6)) + draws.normal(0, rest_sd, (8, 6))
        found = over_time(table.tolist(), table.mean(axis=1).tolist())
        covered += found.low <= 0 <= found.high
    assert 0.91 <= covered / trials <= 0.99


def test_longer_parts_add_their_variance_with_its_own_quantile() -> None:
    whole, parts = [1.0, 2.0, 3.0, 4.0], [10.0, 11.0, 13.0]
    found = over_time([[value] * 6 for value in whole], whole, [parts] * 4)
    of_seeds = stats.t.ppf(0.975, 3) * float(np.std(whole, ddof=1)) / 2
    # The measured time is two of the three parts, whose variance has two degrees of freedom.
    of_parts = stats.t.ppf(0.975, 2) * float(np.std(parts, ddof=1)) / math.sqrt(2)
    assert (found.high - found.low) / 2 == pytest.approx(math.hypot(of_seeds, of_parts))
    assert found.value == 2.5


def test_changes_that_last_longer_than_a_batch_are_in_the_interval() -> None:
    """400 draws of a common first-order autoregression that forgets in half of the measured time: without the longer
    parts, the interval has the true mean in less than 80 % of the draws."""
    draws, trials, kept = np.random.default_rng(5), 400, math.exp(-1 / 60)
    covered = {"batches": 0, "parts": 0}
    for _ in range(trials):
        common, level = np.empty(180), draws.normal()
        for step in range(180):
            level = kept * level + math.sqrt(1 - kept**2) * draws.normal()
            common[step] = level
        values = common + draws.normal(0, 1, (8, 180))
        thirds = values.reshape(8, 3, 60).mean(axis=2)
        measured = values[:, 60:]
        batches, whole = measured.reshape(8, 6, 20).mean(axis=2).tolist(), measured.mean(axis=1).tolist()
        for name, parts in (("batches", []), ("parts", thirds.tolist())):
            found = over_time(batches, whole, parts)
            covered[name] += found.low <= 0 <= found.high
    assert covered["batches"] / trials < 0.8
    assert covered["parts"] / trials > 0.88


def test_an_interval_over_seeds_has_no_values_that_its_metric_cannot_have() -> None:
    values = [0.999, 0.9999]
    plain = interval(values)
    assert plain.high > 1
    assert plain.cut(get("utilization").within) == (plain.value, plain.low, 1.0, "")
    # A full link may exceed its rate by a packet, so the mean stays within its interval.
    assert interval([1.00001, 1.00002]).cut(get("utilization").within).high == pytest.approx(1.000015, abs=1e-12)
    assert interval([1.0, 1.0]).cut(SHARE).reason == "2 replicates, all equal"


def test_each_metric_has_a_range_and_a_value_is_judged_with_it() -> None:
    for one in registry().values():
        assert one.within[0] < one.within[1], one.name
        assert one.within[0] in (0.0, -1.0, -math.inf), one.name
    assert get("harm").within == LOST
    assert get("asymmetry").within == (-1.0, 1.0)
    judged = judge([0.999, 0.9999], Allowed(0.9, math.inf), within=SHARE)
    assert judged.found.high == 1.0
