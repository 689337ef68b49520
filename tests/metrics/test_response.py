"""Answers to a change, oscillations, growth of windows, delay and power: on runs that are written down."""

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
from elephan.runs import Run

ALONE = synthetic.scenario(["cubic"])


def alone(curve: synthetic.Curve) -> Run:
    return synthetic.run(ALONE, {"cubic-1": curve})


def test_recovery_is_from_the_disturbance_to_the_first_second_at_the_old_level() -> None:
    def burst(t: synthetic.Array) -> synthetic.Array:
        return np.where(t < 31, 80.0, np.clip(2 * (t - 30), 0, 80))

    # Disturbed at 30 s, it falls at 31 s; the second from T on averages 2 (T - 30) + 0.9 (samples hold for 0.1 s) and
    # is at 76 from T = 67.55 on, so first in the one from 68 s on.
    assert metrics.recovery_time_s(alone(burst), window=(30, 100)) == {"cubic-1": 38}
    assert metrics.get("fill_time_s") is metrics.get("recovery_time_s")
    assert metrics.recovery_time_s(alone(burst), window=(30, 60)) == {"cubic-1": math.inf}
    assert metrics.recovery_time_s(alone(constant(80.0)), window=(30, 60)) == {"cubic-1": 0}


def test_recovery_needs_a_before() -> None:
    with pytest.raises(MetricError, match="give the window"):
        metrics.recovery_time_s(alone(constant(80.0)))
    late = synthetic.run(synthetic.scenario(["cubic"], starts=["29.5 s"]), {"cubic-1": constant(80.0)})
    with pytest.raises(MetricError, match="not there for 1 s before"):
        metrics.recovery_time_s(late, window=(30, 60))


def test_halving_counts_whole_bins() -> None:
    def fading(t: synthetic.Array) -> synthetic.Array:
        return np.where(t < 30, 80.0, 80.0 - 10 * (np.floor(t + 1e-6) - 30))

    # The second from 34 s on has 40; it is over at 35 s.
    assert metrics.halving_time_s(alone(fading), window=(30, 38)) == {"cubic-1": pytest.approx(5)}
    assert metrics.halving_time_s(alone(constant(80.0)), window=(30, 38)) == {"cubic-1": math.inf}


def test_the_full_rate_is_that_of_the_bottleneck() -> None:
    run = alone(step(12, 50.0, 96.0))
    assert metrics.time_to_full_rate_s(run) == {"cubic-1": 12}
    assert metrics.time_to_full_rate_s(run, reached=0.97) == {"cubic-1": math.inf}
    late = synthetic.run(
        synthetic.scenario(["cubic"], starts=["5 s"]), {"cubic-1": step(12, 0.0, 96.0)}, starts={"cubic-1": 5.25}
    )
    assert metrics.time_to_full_rate_s(late) == {"cubic-1": pytest.approx(6.75)}


def test_a_rate_that_changes_counts_as_it_was() -> None:
    stated = synthetic.scenario(["cubic"], rate_steps=[{"at": "50 s", "rate": "50 Mbit/s"}])
    run = synthetic.run(stated, {"cubic-1": constant(49.0)}, cwnd={"cubic-1": constant(100.0)})
    assert metrics.time_to_full_rate_s(run) == {"cubic-1": 50}
    assert metrics.relative_power(run, window=(10, 50)) == {"cubic-1": pytest.approx(0.49)}
    assert metrics.relative_power(run, window=(50, 100)) == {"cubic-1": pytest.approx(0.98)}
    bdp = 100e6 * 0.1 / 8 / 1040
    assert metrics.cwnd_fraction_of_bdp(run, window=(10, 50)) == {"cubic-1": pytest.approx(100 / bdp)}
    assert metrics.peak_window_over_bdp(run, window=(0, 100)) == {"cubic-1": pytest.approx(100 / (0.75 * bdp))}


def test_swings_between_seconds() -> None:
    def wave(t: synthetic.Array) -> synthetic.Array:
        return np.where(np.floor(t + 1e-6) % 2 == 0, 60.0, 20.0)

    assert metrics.throughput_cov(alone(wave)) == {"cubic-1": pytest.approx(0.5)}
    assert metrics.throughput_cov(alone(wave), bin_s=2.0) == {"cubic-1": pytest.approx(0, abs=1e-12)}
    assert metrics.largest_rate_drop(alone(wave)) == {"cubic-1": pytest.approx(2 / 3)}
    assert metrics.largest_rate_drop(alone(lambda t: 1 + t)) == {"cubic-1": 0}
    assert metrics.largest_rate_drop(alone(step(60, 10.0, 0.0))) == {"cubic-1": 1}
    with pytest.raises(MetricError, match="fewer than two bins"):
        metrics.throughput_cov(alone(wave), window=(50, 51))


@given(st.floats(0.1, 20), st.floats(0.02, 0.4))
def test_a_line_has_its_slope(slope: float, srtt_s: float) -> None:
    """A window that grows by a segment a round trip, with a backoff in between, which does not count."""
    stated = synthetic.scenario(["reno"], duration="10 s")

    def sawtooth(t: synthetic.Array) -> synthetic.Array:
        return 100 + slope / srtt_s * np.where(t < 6.05, t, t - 6.05)

    run = synthetic.run(
        stated, {"reno-1": constant(10.0)}, cwnd={"reno-1": sawtooth}, loss_times={"reno-1": [6.05]},
        sampled={"ssthresh": {"reno-1": constant(50.0)}, "srtt_s": {"reno-1": constant(srtt_s)}},
    )  # fmt: skip
    assert metrics.increase_pkts_per_rtt(run, window=(0, 10)) == {"reno-1": pytest.approx(slope)}
    assert metrics.aggressiveness_pkts_per_rtt(run, window=(0, 10)) == {"reno-1": pytest.approx(slope)}


def test_a_backoff_lasts_until_the_window_falls_no_more() -> None:
    def recovering(t: synthetic.Array) -> synthetic.Array:
        return np.interp(t, [0, 60, 60.1, 60.5, 100], [100, 700, 600, 350, 745])

    run = synthetic.run(
        ALONE, {"cubic-1": constant(10.0)}, cwnd={"cubic-1": recovering}, loss_times={"cubic-1": [60.05]},
        sampled={"ssthresh": {"cubic-1": constant(90.0)}},
    )  # fmt: skip
    assert metrics.increase_pkts_per_rtt(run, window=(0, 100)) == {"cubic-1": pytest.approx(1)}


def test_slow_start_is_no_increase_of_congestion_avoidance() -> None:
    window = {"cubic-1": lambda t: np.where(t < 50, 2 ** (t / 5), 1100 + t - 50)}
    rates = {"cubic-1": constant(10.0)}
    sampled = {"ssthresh": {"cubic-1": constant(1050.0)}}
    run = synthetic.run(ALONE, rates, cwnd=window, sampled=sampled)
    assert metrics.increase_pkts_per_rtt(run, window=(0, 100)) == {"cubic-1": pytest.approx(0.1)}
    with pytest.raises(MetricError, match="nowhere seen in congestion avoidance"):
        metrics.increase_pkts_per_rtt(run, window=(0, 40))
    with pytest.raises(MetricError, match="nowhere seen in congestion avoidance"):
        metrics.increase_pkts_per_rtt(synthetic.run(ALONE, rates, cwnd=window))


def test_delay_and_power() -> None:
    run = synthetic.run(ALONE, {"cubic-1": constant(50.0)}, sampled={"srtt_s": {"cubic-1": step(75, 0.1, 0.3)}})
    # Trapezoids: the step at 75 s takes half a sample more of the higher value.
    mean_s = (0.1 * 24.9 + 0.2 * 0.1 + 0.3 * 25) / 50
    assert metrics.mean_srtt_ms(run) == {"cubic-1": pytest.approx(1e3 * mean_s)}
    assert metrics.queueing_delay_ms(run) == {"cubic-1": pytest.approx(1e3 * mean_s - 100)}
    assert metrics.power_mbps_per_s(run) == {"cubic-1": pytest.approx(50 / mean_s)}
    assert metrics.relative_power(run) == {"cubic-1": pytest.approx(0.5 * 0.1 / mean_s)}
    assert metrics.relative_power(run, window=(10, 20)) == {"cubic-1": pytest.approx(0.5)}
    full = synthetic.run(ALONE, {"cubic-1": constant(100.0)})
    assert metrics.relative_power(full) == {"cubic-1": pytest.approx(1)}


def test_reno_is_once_its_own_response_function() -> None:
    """One loss event each round of W/2 round trips from W/2 to W: p = 8 / (3 W^2), mean window 3/4 W."""
    peak, srtt_s = 100.0, 0.1
    period_s = peak / 2 * srtt_s
    rate_mbps = 0.75 * peak * 1040 * 8 / srtt_s / 1e6
    losses = {"cubic-1": [k * period_s - 0.05 for k in range(1, 21)]}
    run = synthetic.run(ALONE, {"cubic-1": constant(rate_mbps)}, loss_times=losses)
    assert metrics.response_over_reno(run) == {"cubic-1": pytest.approx(1, rel=1e-3)}
    with pytest.raises(MetricError, match="no loss event"):
        metrics.response_over_reno(alone(constant(10.0)))


def test_retransmissions_for_each_segment() -> None:
    run = synthetic.run(ALONE, {"cubic-1": constant(83.2)}, sampled={"retransmits": {"cubic-1": lambda t: 100 * t}})
    assert metrics.retransmit_rate(run) == {"cubic-1": pytest.approx(0.01)}


def test_the_peak_over_the_bdp() -> None:
    run = synthetic.run(ALONE, {"cubic-1": constant(10.0)}, cwnd={"cubic-1": lambda t: 10 * t})
    assert metrics.peak_window_over_bdp(run) == {"cubic-1": pytest.approx(1000 / (100e6 * 0.1 / 8 / 1040))}


def test_quantiles_of_the_queue() -> None:
    run = synthetic.run(ALONE, {"cubic-1": constant(10.0)}, queue=np.round)
    # 1001 samples from 0 s to 100 s, rounded: half of them do not exceed 50.
    quantiles = (metrics.p50_queue_pkts, metrics.p95_queue_pkts, metrics.p99_queue_pkts)
    assert [f(run, window=(0, 100)) for f in quantiles] == [50, 95, 99]
    assert metrics.queue_occupancy(run) == pytest.approx(metrics.mean_queue_pkts(run) / 200)
    assert metrics.queue_empty_fraction(run) == 0
    drained = synthetic.run(ALONE, {"cubic-1": constant(10.0)}, queue=step(60, 0.0, 7.0))
    assert metrics.queue_empty_fraction(drained) == pytest.approx(0.2)
    octets = synthetic.scenario(["cubic"], buffer="200 kB")
    with pytest.raises(MetricError, match="not a number of packets"):
        metrics.queue_occupancy(synthetic.run(octets, {"cubic-1": constant(10.0)}))


@given(st.lists(st.integers(0, 200), min_size=2, max_size=11))
def test_quantiles_are_in_order_and_between_the_extremes(levels: list[int]) -> None:
    def queue(t: synthetic.Array) -> synthetic.Array:
        return np.array([levels[int(x) % len(levels)] for x in t + 1e-6], dtype=np.float64)

    run = synthetic.run(synthetic.scenario(["cubic"], duration="11 s"), {"cubic-1": constant(10.0)}, queue=queue)
    window = (0, 11)
    found = [f(run, window) for f in (metrics.p50_queue_pkts, metrics.p95_queue_pkts, metrics.p99_queue_pkts)]
    assert found == sorted(found)
    assert set(found) <= set(map(float, levels))


def test_marks_for_each_packet_that_arrived() -> None:
    arrivals = 83.2e6 / 8 / 1040
    run = synthetic.run(ALONE, {"cubic-1": constant(83.2)}, linked={"marked_packets": lambda t: 0.02 * arrivals * t})
    assert metrics.mark_rate(run) == pytest.approx(0.02)
    with pytest.raises(MetricError, match="marks are not counted"):
        metrics.mark_rate(alone(constant(1.0)))


def test_growth_by_a_factor_per_round_trip() -> None:
    def tripling(t: synthetic.Array) -> synthetic.Array:
        return 2 * 3 ** np.minimum(t / 0.1, 10)  # 100 ms are one round trip and one sample

    tripled = synthetic.run(ALONE, {"cubic-1": constant(1.0)}, cwnd={"cubic-1": tripling})
    assert metrics.growth_factor_per_rtt(tripled, window=(0, 1)) == {"cubic-1": pytest.approx(3)}
    late = synthetic.run(
        synthetic.scenario(["cubic"], starts=["5 s"]), {"cubic-1": constant(1.0)}, cwnd={"cubic-1": constant(4.0)}
    )
    assert metrics.growth_factor_per_rtt(late, window=(6, 7)) == {"cubic-1": pytest.approx(1)}
    with pytest.raises(MetricError, match="no congestion window at an end"):
        metrics.growth_factor_per_rtt(late, window=(0, 10))
