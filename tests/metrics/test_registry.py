"""The register of metrics, and intervals over replicates."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.runs import synthetic

from elephan import metrics
from elephan.evaluation.measurement import Measurement
from elephan.metrics import MetricError
from elephan.metrics.statistics import bootstrap
from elephan.metrics.summary import RUN_METRICS, run_metrics


def test_every_metric_says_what_it_is() -> None:
    for name, metric in metrics.registry().items():
        assert metric.name == name
        assert metric.title.endswith("."), name
        assert metric.unit, name
        assert metric.source, name
        assert metric.scope in ("run", "flow", "link")


def test_the_names_that_claims_use_are_there() -> None:
    for name in (
        "throughput_mbps", "sum_throughput_mbps", "utilization", "jain_fi", "asymmetry", "abs_asymmetry",
        "throughput_share", "convergence_time_s", "convergence_abs_time_s", "cov_total_throughput", "loss_rate",
        "mean_queue_pkts", "min_queue_pkts", "queue_cov", "mean_cwnd_pkts", "max_cwnd_pkts", "cwnd_cov",
        "cwnd_fraction_of_bdp", "epoch_duration_s", "response_pkts_per_rtt", "loss_events", "converged",
        "convergence_epochs", "epoch_growth_pkts", "fairness_excursion", "fill_time_s", "jain_fi_when_all_active",
        "mean_alpha_pkts_per_rtt",
        "mean_flow_duration_ms", "mean_flow_rate_mbps", "mean_size_over_mean_duration_mbps", "peak_window_over_bdp",
        "recovery_time_s", "short_flow_total_mbps", "throughput_ratio", "throughput_ratio_long_over_short",
        "throughput_ratio_short_over_long", "time_to_full_rate_s",
    ):  # fmt: skip
        found = metrics.get(name)
        assert name in (found.name, *found.aliases)


def test_an_alias_is_the_same_definition() -> None:
    assert metrics.get("jain") is metrics.get("jain_fi")
    assert metrics.get("stability") is metrics.get("cov_total_throughput")


def test_a_mistyped_metric_gets_the_nearest() -> None:
    with pytest.raises(MetricError, match="'asymetry' is not a metric; did you mean 'asymmetry'"):
        metrics.get("asymetry")


def test_a_name_is_defined_once() -> None:
    with pytest.raises(ValueError, match="'jain' is defined twice"):

        @metrics.metric("jain", "1", "nowhere")
        def _again() -> float:
            """Another Jain."""
            return 0.0

    with pytest.raises(ValueError, match="no definition"):

        @metrics.metric("undocumented", "1", "nowhere")
        def _undocumented() -> float:
            return 0.0


def test_metrics_of_the_summary_are_numbers_of_the_whole_run() -> None:
    rates = {"cubic-1": synthetic.constant(40.0), "bic-2": synthetic.constant(35.0)}
    pair = synthetic.run(
        synthetic.scenario([{"algorithm": "cubic", "rtt": "200 ms"}, "bic"], starts=["0 s", "20 s"]), rates,
        queue=synthetic.constant(3.0), loss_times={"cubic-1": [30.0, 60.0, 90.0]},
    )  # fmt: skip
    sized = synthetic.scenario([{"algorithm": "cubic", "size": "1 MB"}, "bic"], starts=["60 s", "0 s"])
    transfer = synthetic.run(sized, rates, completions={"cubic-1": 2.0})
    values: dict[str, float | None] = {}
    for run in (transfer, pair):
        found, undefined = run_metrics(run)
        assert set(found) == set(RUN_METRICS)
        assert all(found[name] is None and reason for name, reason in undefined.items())
        values |= {name: value for name, value in found.items() if name not in undefined}
    assert set(values) == set(RUN_METRICS)
    for name, value in values.items():
        assert metrics.get(name).scope in ("run", "link")
        assert value is None or isinstance(value, float), name
    assert values["mean_flow_rate_mbps"] == pytest.approx(4)
    assert {name for name, value in values.items() if value is None} == {"convergence_abs_time_s", "convergence_epochs"}


def test_an_interval_holds_its_value() -> None:
    value, low, high, reason = metrics.interval([1.0, 2.0, 3.0, 4.0, 10.0])
    assert reason == ""
    # Student (1908): t of four degrees of freedom at 97.5 % is 2.776, and the standard error is 3.5355/√5.
    assert (value, low, high) == pytest.approx((4.0, 4 - 2.7764 * 1.5811, 4 + 2.7764 * 1.5811), abs=1e-3)
    value, low, high, _ = metrics.interval([1.0, 2.0, 3.0, 4.0, 10.0], statistic="median")
    assert value == 3.0
    assert 1 <= low < value < high <= 10


def test_an_interval_of_a_median_is_that_of_claims() -> None:
    sample = [3.0, 1.0, 4.0, 1.5, 9.0]
    assert metrics.interval(sample, statistic="median")[1:3] == bootstrap(Measurement(sample=tuple(sample)).value, 5)


def test_a_paired_difference_is_that_of_the_paired_t() -> None:
    values, reference = [10.0, 12.0, 9.5, 13.5], [9.0, 10.5, 8.5, 12.0]
    expected = stats.ttest_rel(values, reference).confidence_interval(0.95)
    found = metrics.paired_difference(values, reference)
    assert found[:3] == pytest.approx((1.25, expected.low, expected.high))
    assert found.low > 0
    assert metrics.interval(values).low < metrics.interval(reference).high, "apart, they are not told from each other"
    with pytest.raises(ValueError, match="longer"):
        metrics.paired_difference(values, [*reference, 1.0])


def test_a_mean_that_is_infinite_has_no_interval() -> None:
    value, low, high, reason = metrics.interval([1.0, math.inf])
    assert value == math.inf
    assert math.isnan(low)
    assert math.isnan(high)
    assert reason == "a value is infinite"


@pytest.mark.parametrize(
    ("values", "statistic", "reason"),
    [
        ([3.0], "mean", "one replicate"),
        ([3.0] * 8, "mean", "8 replicates, all equal"),
        ([math.inf] * 4, "median", "4 replicates, all equal"),
        ([1.0] * 31 + [2.0], "median", "zero width: most of 32 replicates are equal"),
    ],
)
def test_an_interval_of_zero_width_is_none_and_says_why(
    values: list[float], statistic: Literal["mean", "median"], reason: str
) -> None:
    found = metrics.interval(values, statistic=statistic)
    assert found.value == values[0]
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.reason == reason
    assert not found.known


def test_equal_differences_have_no_interval() -> None:
    assert metrics.paired_difference([2.0, 3.0], [1.0, 2.0]).reason == "2 replicates, all equal"
    assert metrics.paired_difference([0.3, 50.1], [0.1 + 0.2, 50.1]).reason == "2 replicates, all equal"
    assert metrics.interval([80.0, 80.0000000000013]).reason == "2 replicates, all equal"
    assert metrics.interval([80.0, 80.00000001]).known


def test_holm_multiplies_the_smallest_by_all_and_never_descends() -> None:
    # Holm (1979), the example of Wright (1992): adjusted 0.03, 0.06, 0.06, 0.02 for 0.01, 0.04, 0.03, 0.005.
    assert metrics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert metrics.holm([0.6, 0.7]) == [1.0, 1.0]
    assert metrics.holm([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        metrics.holm([math.nan])


def test_an_interval_is_the_same_whenever_it_is_asked_for() -> None:
    assert metrics.interval([1.0, 5.0, 2.0]) == metrics.interval([1.0, 5.0, 2.0])


def test_one_replicate_has_no_interval() -> None:
    value, low, high, _ = metrics.interval([3.0])
    assert value == 3.0
    assert math.isnan(low)
    assert math.isnan(high)


def test_a_time_that_never_came_stays_in_the_interval() -> None:
    value, low, high, _ = metrics.interval([100.0, 120.0, math.inf, 110.0, 130.0], statistic="median")
    assert value == 120.0
    assert 100 <= low <= 120
    assert high == math.inf


def test_nothing_and_not_a_number_have_no_interval() -> None:
    with pytest.raises(ValueError, match="no values"):
        metrics.interval([])
    with pytest.raises(ValueError, match="not a number"):
        metrics.interval([1.0, math.nan])


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8))
def test_an_interval_of_a_median_lies_within_the_values(values: list[float]) -> None:
    value, low, high, reason = metrics.interval(values, statistic="median")
    if reason:
        assert math.isnan(low)
        return
    slack = 1e-9 * max(1.0, *map(abs, values))
    assert min(values) - slack <= low <= value + slack
    assert value - slack <= high <= max(values) + slack


def test_any_metric_has_an_interval_over_seeds() -> None:
    stated = synthetic.scenario(starts=["0 s", "20 s"])
    runs = [
        synthetic.run(stated, {"cubic-1": synthetic.constant(rate), "bic-2": synthetic.constant(20.0)})
        for rate in (50.0, 60.0, 70.0)
    ]
    found = metrics.over_seeds("sum_throughput_mbps", runs)
    assert isinstance(found, metrics.Interval)
    assert found[:3] == pytest.approx(metrics.interval([70.0, 80.0, 90.0])[:3])
    by_flow = metrics.over_seeds("throughput_mbps", runs, window=(10, 20), flows=["bic-2"])
    assert isinstance(by_flow, dict)
    assert list(by_flow) == ["bic-2"]
    assert by_flow["bic-2"].value == pytest.approx(20.0)
    assert by_flow["bic-2"].reason == "3 replicates, all equal"
    never = metrics.over_seeds("convergence_time_s", runs, statistic="median", reached=0.3)
    assert never == (10.0, 10.0, math.inf, "")
    with pytest.raises(MetricError, match="did you mean"):
        metrics.over_seeds("sum_thruput_mbps", runs)
    with pytest.raises(ValueError, match="no values"):
        metrics.over_seeds("jain", [])


def test_an_interval_holds_the_mean_about_as_often_as_it_says() -> None:
    """It should in 95 % of 400 samples of 8 from a normal law; a percentile bootstrap does in 84 to 88 %."""
    rng = np.random.default_rng(7)
    intervals = [metrics.interval(rng.normal(1.0, 1.0, 8).tolist()) for _ in range(400)]
    held = sum(low <= 1.0 <= high for _, low, high, _ in intervals)
    assert 0.92 <= held / 400 <= 0.98


def test_what_the_design_asks_for_is_there_once() -> None:
    """Rates and losses, fairness, convergence, stability, queues, epochs, friendliness, responsiveness, transfers."""
    wanted = (
        "utilization", "goodput_mbps", "throughput_mbps", "jain_fi", "asymmetry", "convergence_time_s",
        "delta_fair_convergence_time_s", "stability", "loss_rate", "queue_occupancy", "epoch_duration_s",
        "rtt_fairness_ratio", "tcp_friendliness", "recovery_time_s", "halving_time_s", "mean_flow_rate_mbps",
        "mean_size_over_mean_duration_mbps", "mean_flow_duration_ms", "flow_duration_p99_ms", "mean_slowdown",
        "transfers_begun", "completed_fraction", "offered_mbps", "carried_mbps", "response_pkts_per_rtt",
        "loss_event_rate", "rtt_p99_ms", "owd_mean_ms", "owd_p99_ms", "mean_queue_delay_ms", "harm",
    )  # fmt: skip
    for name in wanted:
        assert metrics.get(name).source, name
    functions = [metric.function for metric in metrics.registry().values()]
    assert len(functions) == len(set(functions))
