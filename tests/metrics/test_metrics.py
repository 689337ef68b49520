"""Each metric on runs for which its value is known in closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs import synthetic
from tests.runs.synthetic import constant, step

from elephan import metrics
from elephan.metrics import MetricError
from elephan.runs import Run

RATES = {"cubic-1": constant(60.0), "bic-2": constant(20.0)}


def two(**more: Any) -> Run:
    return synthetic.run(synthetic.scenario(starts=["0 s", "20 s"]), RATES, **more)


def test_throughput_counts_wire_bits_and_goodput_payload_bits() -> None:
    assert metrics.throughput_mbps(two()) == pytest.approx({"cubic-1": 60.0, "bic-2": 20.0})
    # Whole segments of 1000 B payload in 1040 B on the wire: rounding to one segment at either end of 50 s.
    goodput = metrics.goodput_mbps(two())
    assert goodput["cubic-1"] == pytest.approx(60 * 1000 / 1040, abs=2 * 8000 / 50 / 1e6)


def test_flows_may_be_chosen_and_come_in_order_of_start() -> None:
    run = synthetic.run(synthetic.scenario(starts=["20 s", "0 s"]), RATES)
    assert list(metrics.throughput_mbps(run)) == ["bic-2", "cubic-1"]
    assert metrics.throughput_mbps(run, flows=["cubic-1"]) == pytest.approx({"cubic-1": 60.0})
    with pytest.raises(MetricError, match="'cubic' is not a flow of this run; did you mean 'cubic-1'"):
        metrics.throughput_mbps(run, flows=["cubic"])


def test_jitter_does_not_decide_which_flow_is_the_first() -> None:
    run = synthetic.run(synthetic.scenario(), RATES, starts={"cubic-1": 0.009, "bic-2": 0.001})
    assert metrics.asymmetry(run) == pytest.approx(0.5)


def test_asymmetry_is_negative_when_the_late_flow_has_more() -> None:
    assert metrics.asymmetry(two()) == pytest.approx((60 - 20) / 80)
    run = synthetic.run(synthetic.scenario(starts=["20 s", "0 s"]), RATES)
    assert metrics.asymmetry(run) == pytest.approx(-0.5)
    assert metrics.abs_asymmetry(run) == pytest.approx(0.5)


def test_asymmetry_of_three_flows_needs_a_pair() -> None:
    run = synthetic.run(
        synthetic.scenario(["reno", "bic", "stcp"]),
        {"reno-1": constant(10), "bic-2": constant(20), "stcp-3": constant(30)},
    )
    with pytest.raises(MetricError, match="two flows, here are 3"):
        metrics.asymmetry(run)
    assert metrics.asymmetry(run, flows=["reno-1", "stcp-3"]) == pytest.approx(-0.5)
    assert metrics.jain_fi(run) == pytest.approx(60**2 / (3 * (100 + 400 + 900)))


def test_shares_of_the_throughput() -> None:
    assert metrics.throughput_share(two()) == pytest.approx({"cubic-1": 0.75, "bic-2": 0.25})
    assert metrics.late_flow_share(two()) == pytest.approx(0.25)
    assert metrics.sum_throughput_mbps(two()) == pytest.approx(80)
    with pytest.raises(MetricError, match="no flow started after"):
        metrics.late_flow_share(synthetic.run(synthetic.scenario(), RATES))


def test_a_window_looks_at_its_own_part_only() -> None:
    run = synthetic.run(synthetic.scenario(), RATES | {"cubic-1": step(30, 80.0, 40.0)})
    assert metrics.throughput_mbps(run, window=(10, 30))["cubic-1"] == pytest.approx(80)
    assert metrics.throughput_mbps(run, window=(20, 40))["cubic-1"] == pytest.approx(60)


def test_a_window_between_two_samples_is_refused() -> None:
    with pytest.raises(MetricError, match=r"12\.34 s is not a sample time; samples are taken every 0\.1 s"):
        metrics.utilization(two(), window=(12.34, 20))
    with pytest.raises(MetricError, match="not within the run of 100 s"):
        metrics.utilization(two(), window=(50, 101))
    with pytest.raises(MetricError, match="is empty"):
        metrics.utilization(two(), window=(50, 50))


def test_the_ends_of_the_measured_part_are_sample_times_wherever_they_lie() -> None:
    run = synthetic.run(synthetic.scenario(measure={"from": "12.345 s", "to": "77.777 s"}), RATES)
    assert metrics.measure_window(run) == (12.345, 77.777)
    assert metrics.utilization(run) == pytest.approx(0.8)
    assert metrics.mean_cwnd_pkts(run)["bic-2"] == pytest.approx(100)


def test_a_run_may_end_between_two_samples() -> None:
    stated = synthetic.scenario(duration="30.05 s", measure={"from": "10 s", "to": "20 s"}, starts=["0 s", "5 s"])
    losses = {"cubic-1": [float(second) for second in range(2, 30)], "bic-2": [3.0, 12.0, 21.0, 29.0]}
    run = synthetic.run(stated, RATES, loss_times=losses)
    assert metrics.epoch_duration_s(run, flows=["cubic-1"])["cubic-1"] == pytest.approx(1)
    assert metrics.convergence_abs_time_s(run) == math.inf
    assert np.asarray(run.plot_cwnd().axes[0].get_lines()[0].get_xdata())[-1] == pytest.approx(30)
    with pytest.raises(MetricError, match=r"30\.05 s is not a sample time"):
        metrics.utilization(run, window=(10, 30.05))


def test_utilization_and_loss_are_those_of_the_bottleneck() -> None:
    run = two(drop_rate=0.02)
    assert metrics.utilization(run) == pytest.approx(0.8)
    assert metrics.link_throughput_mbps(run) == pytest.approx(80)
    assert metrics.loss_rate(run) == pytest.approx(0.02)
    assert metrics.drops(run) == pytest.approx(80e6 / 8 / 1040 * 50 / 0.98 * 0.02)
    with pytest.raises(MetricError, match="'bottlenek' was not recorded; did you mean 'bottleneck'"):
        metrics.utilization(run, link="bottlenek")


def with_links_at(run: Run, start: dict[str, int], end: dict[str, int]) -> Run:
    """The run with other values in the links' table at the start and the end of the measured part."""
    links, measure = run.links, run.canonical["measure"]
    for time_ps, values in ((measure["from_ps"], start), (measure["to_ps"], end)):
        at = pl.col("time_s") == time_ps / 1e12
        known = links.with_columns(pl.lit(0).alias(name) for name in values if name not in links.columns)
        links = known.with_columns(
            pl.when(at).then(pl.lit(value)).otherwise(pl.col(name)).cast(known.schema[name]).alias(name)
            for name, value in values.items()
        )
    return Run.from_tables(run.scenario, run.tables() | {"links": links})


def test_the_loss_rate_counts_packets_that_came_before_the_window_with_those_that_left_in_it() -> None:
    # 400 packets wait at the window's start; in the window 10 arrive, 300 are dropped from the queue, and 100 are sent.
    run = with_links_at(
        two(),
        {"arrived_packets": 1000, "dropped_packets": 0, "queue_packets": 400},
        {"arrived_packets": 1010, "dropped_packets": 300, "queue_packets": 10},
    )
    assert metrics.loss_rate(run) == pytest.approx(300 / 400)
    assert run.summary()["links"][0]["loss_rate"] == pytest.approx(300 / 400)


def test_the_mark_rate_counts_packets_that_came_before_the_window_and_were_marked_as_they_left() -> None:
    start = {"arrived_packets": 1000, "marked_packets": 0, "queue_packets": 400}
    run = with_links_at(two(), start, {"arrived_packets": 1010, "marked_packets": 300, "queue_packets": 10})
    assert metrics.mark_rate(run) == pytest.approx(300 / 400)


def test_without_a_link_of_that_name_the_bottleneck_is_the_busiest() -> None:
    stated = synthetic.scenario()
    form = stated.canonical()
    made = synthetic.tables(stated, RATES, link="left")
    other = synthetic.tables(stated, {name: constant(1.0) for name in RATES}, link="right")["links"]
    run = Run.from_tables(stated, made | {"links": made["links"].vstack(other)})
    run.manifest["scenario"] = form | {
        "links": [dict(form["links"][0], name="right"), dict(form["links"][0], name="left")]
    }
    assert metrics.bottleneck(run) == "left"


def test_stability_is_the_variation_between_bins_of_ten_seconds() -> None:
    wave = {"cubic-1": lambda t: 50 + 10 * np.sign(np.sin(2 * np.pi * (t + 1e-6) / 20)), "bic-2": constant(10.0)}
    run = synthetic.run(synthetic.scenario(measure={"from": "20 s", "to": "100 s"}), wave)
    assert metrics.cov_total_throughput(run) == pytest.approx(10 / 60)
    assert metrics.cov_total_throughput(two()) == pytest.approx(0, abs=1e-12)
    with pytest.raises(MetricError, match="fewer than two bins"):
        metrics.cov_total_throughput(run, window=(20, 39))


def test_queue_statistics() -> None:
    run = two(queue=step(75, 20.0, 60.0))
    assert metrics.mean_queue_pkts(run) == pytest.approx(40)
    assert metrics.min_queue_pkts(run) == 20
    assert metrics.max_queue_pkts(run) == 60
    assert metrics.min_queue_pkts(run, window=(80, 90)) == 60
    # 251 samples of 20 would be 250 here: the one at 75 s has the new value.
    values = np.array([20.0] * 250 + [60.0] * 251)
    assert metrics.queue_cov(run) == pytest.approx(values.std() / values.mean())
    assert metrics.mean_queue_delay_ms(run) == pytest.approx(1e3 * 40 * 50 / (80e6 / 8 / 1040 * 50))
    with pytest.raises(MetricError, match="empty at every sample"):
        metrics.queue_cov(two())


def test_the_queue_before_the_window_does_not_count() -> None:
    run = two(queue=step(50, 5.0, 60.0))
    assert metrics.min_queue_pkts(run) == 60


def test_congestion_windows() -> None:
    run = two(cwnd={"cubic-1": lambda t: t * 10, "bic-2": constant(50.0)})
    assert metrics.mean_cwnd_pkts(run) == pytest.approx({"cubic-1": 750, "bic-2": 50})
    assert metrics.max_cwnd_pkts(run) == pytest.approx({"cubic-1": 1000, "bic-2": 50})
    assert metrics.cwnd_cov(run)["bic-2"] == pytest.approx(0)
    bdp = 100e6 * 0.1 / (8 * 1040)
    assert metrics.cwnd_fraction_of_bdp(run)["bic-2"] == pytest.approx(50 / bdp)


def test_congestion_windows_before_the_start_are_left_out() -> None:
    run = two(cwnd={"cubic-1": constant(10.0), "bic-2": step(20, 0.0, 50.0)})
    assert metrics.mean_cwnd_pkts(run, window=(0, 40))["bic-2"] == pytest.approx(50)
    assert metrics.cwnd_cov(run, window=(0, 40))["bic-2"] == pytest.approx(0)
    with pytest.raises(MetricError):
        metrics.mean_cwnd_pkts(run, window=(0, 10), flows=["bic-2"])


def test_congestion_windows_after_the_end_are_left_out() -> None:
    windows = {"cubic-1": step(60.05, 30.0, 999.0), "bic-2": constant(1.0)}
    stopped = synthetic.run(synthetic.scenario([{"algorithm": "cubic", "stop": "60 s"}, "bic"]), RATES, cwnd=windows)
    assert metrics.max_cwnd_pkts(stopped)["cubic-1"] == 30
    finished = two(cwnd=windows, flow_columns={"completion_s": 60.0})
    assert metrics.mean_cwnd_pkts(finished)["cubic-1"] == pytest.approx(30)


def test_epochs_leave_out_the_start_and_the_one_after_it() -> None:
    losses = [3.05, 5.05, 15.05, 25.05, 35.05, 45.05]
    run = two(loss_times={"cubic-1": losses})
    assert metrics.epoch_duration_s(run, flows=["cubic-1"])["cubic-1"] == pytest.approx(10)
    assert metrics.epoch_duration_s(run, flows=["cubic-1"], skip=0)["cubic-1"] == pytest.approx(42 / 5)
    with pytest.raises(MetricError, match="too seldom"):
        metrics.epoch_duration_s(run)


def test_an_epoch_grows_from_its_least_to_its_largest() -> None:
    def sawtooth(t: synthetic.Array) -> synthetic.Array:
        return 100 + 10 * ((t - 5.05) % 10)

    losses = [5.05, 15.05, 25.05, 35.05, 45.05]
    run = two(cwnd={"cubic-1": sawtooth, "bic-2": constant(1.0)}, loss_times={"cubic-1": losses})
    # Sampled each 0.1 s, from 0.05 s to 9.95 s after a backoff.
    assert metrics.epoch_growth_pkts(run, flows=["cubic-1"])["cubic-1"] == pytest.approx(99)
    with pytest.raises(MetricError, match="'bic-2' backs off too seldom"):
        metrics.epoch_growth_pkts(run)


def test_points_of_the_response_function() -> None:
    run = two(loss_times={"cubic-1": [60.0, 70.0, 80.0], "bic-2": [10.0]})
    segments = 60e6 / 8 / 1040 * 50
    assert metrics.loss_events(run) == {"cubic-1": 3, "bic-2": 0}
    assert metrics.loss_event_rate(run)["cubic-1"] == pytest.approx(3 / segments, rel=1e-4)
    assert metrics.response_pkts_per_rtt(run)["cubic-1"] == pytest.approx(segments / 50 * 0.1, rel=1e-4)


def test_convergence_is_when_the_running_mean_reaches_four_fifths() -> None:
    rates = {"cubic-1": step(40, 80.0, 40.0), "bic-2": step(40, 0.0, 40.0)}
    run = synthetic.run(synthetic.scenario(starts=["0 s", "20 s"]), rates)
    # k seconds after 40 s the means over 10 s are 80 - 4 k and 4 k: 4 k >= 0.8 (80 - 4 k) from k = 8.9, so at 49 s.
    assert metrics.convergence_time_s(run) == pytest.approx(29)
    # (1 - 0.1) / 2 of the sum of 80: 4 k >= 36, k = 9
    assert metrics.delta_fair_convergence_time_s(run) == pytest.approx(29)
    assert metrics.delta_fair_convergence_time_s(run, delta=0.5) == pytest.approx(25)
    assert metrics.convergence_abs_time_s(run) == pytest.approx(40)


def test_convergence_is_undefined_where_no_running_mean_fits() -> None:
    rates = {"cubic-1": constant(40.0), "bic-2": constant(40.0)}
    run = synthetic.run(synthetic.scenario(starts=["0 s", "20 s"]), rates)
    for metric in (metrics.convergence_time_s, metrics.delta_fair_convergence_time_s):
        assert metric(run, window=(0, 31)) > 0
        with pytest.raises(metrics.MetricError, match="active together for 8 s; a running mean takes 10"):
            metric(run, window=(0, 28))


def test_convergence_counts_from_the_real_start() -> None:
    rates = {"cubic-1": step(40, 80.0, 40.0), "bic-2": step(40, 0.0, 40.0)}
    run = synthetic.run(synthetic.scenario(starts=["0 s", "20 s"]), rates, starts={"bic-2": 20.004, "cubic-1": 0.0})
    assert metrics.convergence_time_s(run) == pytest.approx(29 - 0.004)


def test_what_never_converges_takes_for_ever() -> None:
    assert metrics.convergence_time_s(two()) == math.inf
    assert metrics.convergence_abs_time_s(two()) == math.inf
    assert metrics.delta_fair_convergence_time_s(two()) == math.inf


def test_two_idle_flows_have_not_converged() -> None:
    rates = {"cubic-1": step(20, 50.0, 0.0), "bic-2": constant(0.0)}
    run = synthetic.run(synthetic.scenario(starts=["0 s", "20 s"]), rates)
    assert metrics.convergence_abs_time_s(run) == math.inf
    assert metrics.convergence_time_s(run) == math.inf


def test_being_close_must_last() -> None:
    def meets(t: synthetic.Array) -> synthetic.Array:
        return np.where((t >= 30) & (t < 49) | (t >= 70), 40.0, 10.0)

    rates = {"cubic-1": constant(40.0), "bic-2": meets}
    run = synthetic.run(synthetic.scenario(starts=["0 s", "20 s"]), rates)
    assert metrics.convergence_abs_time_s(run) == pytest.approx(70)
    assert metrics.convergence_abs_time_s(run, hold_s=19) == pytest.approx(30)


def test_flows_that_start_together_need_not_converge() -> None:
    run = synthetic.run(synthetic.scenario(), {"cubic-1": constant(40.0), "bic-2": constant(40.0)})
    with pytest.raises(MetricError, match="start together"):
        metrics.convergence_time_s(run)
    assert metrics.convergence_abs_time_s(run) == 0


def test_rtt_fairness_is_short_over_long() -> None:
    stated = synthetic.scenario([{"algorithm": "cubic", "rtt": "200 ms"}, {"algorithm": "bic"}])
    run = synthetic.run(stated, RATES)
    assert metrics.base_rtt_s(run, "cubic-1") == pytest.approx(0.2)
    assert metrics.rtt_fairness_ratio(run) == pytest.approx(20 / 60)
    with pytest.raises(MetricError, match="same RTT"):
        metrics.rtt_fairness_ratio(two())


def test_round_trips_of_every_packet_belong_to_the_measured_part() -> None:
    assert metrics.rtt_p99_ms(two())["bic-2"] == 110
    assert metrics.rtt_p99_ms(two(), window=(50, 100))["bic-2"] == 110
    with pytest.raises(MetricError, match="not for other windows"):
        metrics.rtt_p99_ms(two(), window=(40, 100))


def test_completion_is_that_of_sized_flows() -> None:
    with pytest.raises(MetricError, match="no completion s"):
        metrics.completion_s(two())
    assert metrics.completion_s(two(flow_columns={"completion_s": 12.5}))["bic-2"] == 12.5


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=6).filter(lambda rates: max(rates) > 1e-3))
def test_jains_index_lies_between_one_nth_and_one(rates: list[float]) -> None:
    index = metrics.jain_index(rates)
    assert 1 / len(rates) - 1e-12 <= index <= 1 + 1e-12
    assert metrics.jain_index([3.5 * rate for rate in rates]) == pytest.approx(index)
    assert metrics.jain_index(rates[::-1]) == pytest.approx(index)
    assert metrics.jain_index([7.0] * len(rates)) == pytest.approx(1)


@given(st.floats(0.1, 90), st.floats(0.1, 90))
def test_asymmetry_changes_its_sign_with_the_order(a: float, b: float) -> None:
    there = synthetic.run(SHORT, {"cubic-1": constant(a), "bic-2": constant(b)})
    back = synthetic.run(SHORT, {"cubic-1": constant(b), "bic-2": constant(a)})
    value = metrics.asymmetry(there)
    assert -1 <= value <= 1
    assert metrics.asymmetry(back) == pytest.approx(-value, abs=1e-9)
    shares = metrics.throughput_share(there)
    assert shares["cubic-1"] - shares["bic-2"] == pytest.approx(value, abs=1e-9)
    # For two flows Jain's index and the asymmetry say the same: J = 1 / (1 + A^2).
    assert metrics.jain_fi(there) == pytest.approx(1 / (1 + value**2))


@given(st.lists(st.integers(0, 200), min_size=2, max_size=11))
def test_the_mean_queue_lies_between_its_extremes(levels: list[int]) -> None:
    def queue(t: synthetic.Array) -> synthetic.Array:
        return np.array([levels[int(x) % len(levels)] for x in t + 1e-6], dtype=np.float64)

    run = synthetic.run(SHORT, RATES, queue=queue)
    low, mean, high = (f(run) for f in (metrics.min_queue_pkts, metrics.mean_queue_pkts, metrics.max_queue_pkts))
    assert low - 1e-9 <= mean <= high + 1e-9


@given(st.integers(0, 45), st.integers(46, 100))
def test_bits_of_two_parts_are_those_of_the_whole(cut: int, end: int) -> None:
    run = synthetic.run(SHORT, {"cubic-1": lambda t: 10 + t, "bic-2": constant(3.0)})
    whole = metrics.link_throughput_mbps(run, window=(0, end / 10)) * end / 10
    parts = metrics.link_throughput_mbps(run, window=(cut / 10, end / 10)) * (end - cut) / 10
    if cut:
        parts += metrics.link_throughput_mbps(run, window=(0, cut / 10)) * cut / 10
    assert parts == pytest.approx(whole)


SHORT = synthetic.scenario(duration="10 s")
