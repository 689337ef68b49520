"""Fairness in one number, at a time scale, and against another run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs import synthetic
from tests.runs.synthetic import constant, step

from elephan import metrics
from elephan.metrics import MetricError

SHORT = synthetic.scenario(duration="10 s")


def test_flows_that_take_turns_are_fair_in_the_long_run_only() -> None:
    def turn(t: synthetic.Array) -> synthetic.Array:
        return np.where(np.floor(t + 1e-6) % 2 == 0, 40.0, 0.0)

    run = synthetic.run(synthetic.scenario(), {"cubic-1": turn, "bic-2": lambda t: 40 - turn(t)})
    assert metrics.jain_fi(run) == pytest.approx(1)
    assert metrics.mean_jain_fi(run) == pytest.approx(0.5)
    assert metrics.mean_jain_fi(run, bin_s=2.0) == pytest.approx(1)
    idle = synthetic.run(synthetic.scenario(), {"cubic-1": step(60, 0.0, 40.0), "bic-2": step(60, 0.0, 40.0)})
    assert metrics.mean_jain_fi(idle) == pytest.approx(1)
    with pytest.raises(MetricError, match="nothing arrived"):
        metrics.mean_jain_fi(idle, window=(0, 50))


def test_all_active_is_between_the_last_start_and_the_first_end() -> None:
    stated = synthetic.scenario(["hstcp", "hstcp", "hstcp"], starts=["0 s", "10 s", "20 s"])
    rates = {"hstcp-1": step(20, 90.0, 30.0), "hstcp-2": step(50, 30.0, 60.0), "hstcp-3": step(20, 0.0, 30.0)}
    run = synthetic.run(stated, rates, completions={"hstcp-3": 30.0})
    assert metrics.jain_fi_when_all_active(run) == pytest.approx(1)
    assert metrics.jain_fi(run, window=(0, 50)) < 0.95
    with pytest.raises(MetricError, match="never all there"):
        metrics.jain_fi_when_all_active(run, window=(0, 20))


def test_smallest_over_largest_and_the_product() -> None:
    run = synthetic.run(synthetic.scenario(), {"cubic-1": constant(64.0), "bic-2": constant(16.0)})
    assert metrics.min_max_ratio(run) == pytest.approx(0.25)
    assert metrics.product_fairness(run) == pytest.approx(32 / 40)
    starved = synthetic.run(synthetic.scenario(), {"cubic-1": constant(64.0), "bic-2": constant(0.0)})
    assert metrics.min_max_ratio(starved) == 0
    assert metrics.product_fairness(starved) == 0


@given(st.lists(st.floats(0.5, 80), min_size=3, max_size=3))
def test_measures_of_fairness_agree_on_what_is_fair(rates: list[float]) -> None:
    stated = synthetic.scenario(["reno", "bic", "stcp"], duration="10 s")
    run = synthetic.run(stated, dict(zip(stated.flow_names, map(constant, rates), strict=True)))
    low, product, jain = metrics.min_max_ratio(run), metrics.product_fairness(run), metrics.jain_fi(run)
    assert 0 < low <= product + 1e-12
    assert product <= 1 + 1e-12
    # With 1 - e <= x / max <= 1 Jain's index is at least 4 (1 - e) / (2 - e)^2 (Cassels).
    assert jain >= 4 * low / (1 + low) ** 2 - 1e-9
    assert metrics.mean_jain_fi(run) == pytest.approx(jain)


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 2.0])
def test_the_exponent_of_the_rtt_is_found(exponent: float) -> None:
    stated = synthetic.scenario([{"algorithm": "cubic", "rtt": "200 ms"}, {"algorithm": "bic"}])
    run = synthetic.run(stated, {"cubic-1": constant(10.0), "bic-2": constant(10.0 * 2**exponent)})
    assert metrics.rtt_fairness_exponent(run) == pytest.approx(exponent, abs=1e-9)
    assert metrics.rtt_fairness_ratio(run) == pytest.approx(2**exponent)
    assert metrics.throughput_ratio_long_over_short(run) == pytest.approx(2**-exponent)
    assert metrics.throughput_ratio(run) == pytest.approx(2**-exponent)


def test_no_ratio_to_nothing() -> None:
    run = synthetic.run(SHORT, {"cubic-1": constant(10.0), "bic-2": constant(0.0)})
    with pytest.raises(MetricError, match="nothing of flow 'bic-2' arrived"):
        metrics.throughput_ratio(run)
    with pytest.raises(MetricError, match="same RTT"):
        metrics.rtt_fairness_exponent(run)


def test_friendliness_is_against_the_same_path_with_reno_only() -> None:
    stated = synthetic.scenario([{"algorithm": "cubic", "parameters": {"beta": 0.8}}, "reno"])
    alone = metrics.only_reno(stated)
    assert alone.flow_names == stated.flow_names == ["cubic-1", "reno-2"]
    forms = stated.canonical(), alone.canonical()
    assert [flow["algorithm"] for flow in forms[1]["flows"]] == ["reno", "reno"]
    assert [flow["parameters"] for flow in forms[1]["flows"]] == [{}, {}]
    assert forms[0]["links"] == forms[1]["links"]
    run = synthetic.run(stated, {"cubic-1": constant(60.0), "reno-2": constant(20.0)})
    reference = synthetic.run(alone, {"cubic-1": constant(40.0), "reno-2": constant(40.0)})
    assert metrics.tcp_friendliness(run, reference=reference) == pytest.approx(0.5, abs=1e-3)
    assert metrics.harm(run, flows=["reno-2"], reference=reference) == pytest.approx(0.5, abs=1e-3)
    assert metrics.harm(run, flows=["cubic-1"], reference=reference) == pytest.approx(-0.5, abs=1e-3)


def test_comparisons_over_seeds_are_in_pairs() -> None:
    stated = synthetic.scenario(["cubic", "reno"], duration="10 s")
    runs = [synthetic.run(stated, {"cubic-1": constant(50.0), "reno-2": constant(rate)}) for rate in (10.0, 20.0, 30.0)]
    alone = metrics.only_reno(stated)
    others = [synthetic.run(alone, {"cubic-1": constant(1.0), "reno-2": constant(rate)}) for rate in (20.0, 40.0, 60.0)]
    found = metrics.over_seeds("tcp_friendliness", runs, reference=others)
    assert isinstance(found, metrics.Interval)
    assert found.value == pytest.approx(0.5)
    assert found.reason == "3 replicates, all equal"
    with pytest.raises(ValueError, match="shorter"):
        metrics.over_seeds("tcp_friendliness", runs, reference=others[:2])


def test_a_comparison_needs_the_right_reference() -> None:
    stated = synthetic.scenario(["cubic", "reno"], duration="10 s")
    run = synthetic.run(stated, {"cubic-1": constant(60.0), "reno-2": constant(20.0)})
    with pytest.raises(MetricError, match="give it as reference=run"):
        metrics.tcp_friendliness(run)
    with pytest.raises(MetricError, match="not all flows of the reference are Reno"):
        metrics.tcp_friendliness(run, reference=run)
    with pytest.raises(MetricError, match="choose the flows"):
        metrics.harm(run, reference=run)
    with pytest.raises(MetricError, match="no flow of this run is Reno"):
        metrics.tcp_friendliness(synthetic.run(SHORT, {"cubic-1": constant(1.0), "bic-2": constant(1.0)}))


def test_the_mean_over_flows() -> None:
    run = synthetic.run(SHORT, {"cubic-1": constant(60.0), "bic-2": constant(20.0)})
    assert metrics.mean_throughput_mbps(run) == pytest.approx(40)
    assert metrics.mean_throughput_mbps(run, flows=["bic-2"]) == pytest.approx(20)
    assert not math.isnan(metrics.mean_throughput_mbps(run, window=(0, 1)))
