"""Convergence by each paper's own definition, on pairs of flows whose shares are written down."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant, step

from elephan import metrics
from elephan.metrics import MetricError
from elephan.runs import Run

STATED = synthetic.scenario(starts=["0 s", "20 s"])


def meeting(at_s: float = 40.0, **more: Any) -> Run:
    """The first flow has everything until the two share equally."""
    rates = {"cubic-1": step(at_s, 80.0, 40.0), "bic-2": step(at_s, 0.0, 40.0)}
    return synthetic.run(STATED, rates, **more)


def test_converged_is_one_or_zero() -> None:
    assert metrics.converged(meeting()) == 1
    assert metrics.converged(synthetic.run(STATED, {"cubic-1": constant(60.0), "bic-2": constant(20.0)})) == 0


def test_accumulated_means_converge_later_than_running_ones() -> None:
    # k seconds after 40 s the first has 80 * 20 + 40 k and the second 40 k: 40 k >= 0.8 (1600 + 40 k) from k = 160 on,
    # after the end; 40 k >= 0.49 (1600 + 40 k) from k = 38.4 on, so at 79 s.
    assert metrics.convergence_accumulated_time_s(meeting()) == math.inf
    assert metrics.convergence_accumulated_time_s(meeting(), reached=0.49) == pytest.approx(59)
    # When they meet at 22 s: 40 k >= 0.79 (160 + 40 k) from k = 15.05 on, so at 38 s.
    assert metrics.convergence_accumulated_time_s(meeting(22.0), reached=0.79) == pytest.approx(18)


def test_windows_converge_when_their_mean_stays() -> None:
    cwnd = {"cubic-1": constant(100.0), "bic-2": lambda t: np.where((t >= 30) & (t < 50) | (t >= 60), 90.0, 10.0)}
    run = meeting(cwnd=cwnd)
    # The mean over 10 s of the second is 10 + 8 k after k seconds at 90: 80 from k = 8.75 on, so from 69 s on; at 39 s
    # it is there too, and falls below again after 52 s, before 30 s are over.
    assert metrics.convergence_cwnd_time_s(run) == pytest.approx(49)
    assert metrics.convergence_cwnd_time_s(run, stays_s=10) == pytest.approx(19)
    # The means at 39 s to 51 s are 80 or more: they stay for 12 s.
    assert metrics.convergence_cwnd_time_s(run, stays_s=12) == pytest.approx(19)
    assert metrics.convergence_cwnd_time_s(run, stays_s=13) == pytest.approx(49)
    assert metrics.convergence_cwnd_time_s(meeting()) == pytest.approx(10)


def test_a_window_that_ends_does_not_stay() -> None:
    run = meeting(completions={"bic-2": 45.0})
    assert metrics.convergence_cwnd_time_s(run) == pytest.approx(10)
    assert metrics.convergence_cwnd_time_s(run, stays_s=40) == math.inf


def test_epochs_until_a_halving_gap_is_closed() -> None:
    """A gap that halves with each backoff of both, as Reno's does: under 5 % in the fifth epoch."""
    backoffs = [5.0, *(30.0 + 10 * k for k in range(7))]

    def gap(t: synthetic.Array) -> synthetic.Array:
        return np.where(t < 30, 1.0, 0.5 ** (1 + np.floor((t - 30 + 1e-6) / 10)))

    rates = {"cubic-1": lambda t: 40 * (1 + gap(t)), "bic-2": lambda t: 40 * (1 - gap(t))}
    run = synthetic.run(STATED, rates, loss_times={"cubic-1": backoffs})
    assert metrics.convergence_epochs(run) == 5  # 1 - 2^-5 is the first at 0.95 or more
    assert metrics.convergence_epochs(run, steady=0.8) == 3
    assert metrics.convergence_epochs(run, steady=0.999) == math.inf
    with pytest.raises(MetricError, match="'cubic-1' backs off too seldom"):
        metrics.convergence_epochs(run, window=(0, 35))


def test_excursions_are_what_follows_the_meeting() -> None:
    def late(t: synthetic.Array) -> synthetic.Array:
        return np.where((t < 40) | (t >= 60) & (t < 75), 0.0, 39.0)

    run = synthetic.run(STATED, {"cubic-1": constant(40.0), "bic-2": late})
    # k seconds after 40 s the mean of the second is 3.9 k: 32 from k = 8.2 on, so at 49 s. After k seconds of silence
    # it is 39 - 3.9 k: under 32 from 62 s on, and until it is 32 again 8.2 seconds after 75 s: 22 whole seconds.
    assert metrics.convergence_time_s(run) == pytest.approx(29)
    assert metrics.fairness_excursion_s(run) == pytest.approx(22)
    assert metrics.fairness_excursion_s(meeting()) == 0
    assert metrics.get("fairness_excursion") is metrics.get("fairness_excursion_s")
    with pytest.raises(MetricError, match="never converge"):
        metrics.fairness_excursion_s(synthetic.run(STATED, {"cubic-1": constant(40.0), "bic-2": constant(4.0)}))


def test_late_flows_are_what_convergence_is_of() -> None:
    together = synthetic.run(synthetic.scenario(), {"cubic-1": constant(40.0), "bic-2": constant(40.0)})
    for metric in (
        metrics.convergence_accumulated_time_s, metrics.convergence_cwnd_time_s, metrics.convergence_epochs,
        metrics.converged, metrics.fairness_excursion_s,
    ):  # fmt: skip
        with pytest.raises(MetricError, match="start together"):
            metric(together)


def test_a_pair_is_chosen_among_more() -> None:
    stated = synthetic.scenario(["cubic", "bic", "stcp"], starts=["0 s", "20 s", "0 s"])
    rates = {"cubic-1": step(40, 80.0, 40.0), "bic-2": step(40, 0.0, 40.0), "stcp-3": constant(1.0)}
    run = synthetic.run(stated, rates)
    assert metrics.convergence_time_s(run, flows=["cubic-1", "bic-2"]) == pytest.approx(29)
    with pytest.raises(MetricError, match="two flows, here are 3"):
        metrics.convergence_accumulated_time_s(run)


def test_three_flows_converge_when_their_index_does() -> None:
    stated = synthetic.scenario(["hstcp", "hstcp", "hstcp"], starts=["0 s", "0 s", "20 s"])
    rates = {"hstcp-1": constant(30.0), "hstcp-2": constant(30.0), "hstcp-3": step(40, 0.0, 30.0)}
    run = synthetic.run(stated, rates)
    # With a third of x times the others' rate the index is (2 + x)^2 / (3 (2 + x^2)): 2.5^2 / (3 * 2.25) = 0.926 for
    # x = 0.5, and 2.6^2 / (3 * 2.36) = 0.955 for x = 0.6; x is k / 10 after k seconds.
    assert metrics.jain_convergence_time_s(run) == pytest.approx(26)
    assert metrics.jain_convergence_time_s(run, index=0.92) == pytest.approx(25)
    assert metrics.jain_convergence_time_s(run, flows=["hstcp-1", "hstcp-2"]) == pytest.approx(10)
    starved = rates | {"hstcp-3": constant(1.0)}
    assert metrics.jain_convergence_time_s(synthetic.run(stated, starved)) == math.inf
    with pytest.raises(MetricError, match="no other flow to share with"):
        metrics.jain_convergence_time_s(run, flows=["hstcp-1"])
    with pytest.raises(MetricError, match="less than 10 s"):
        metrics.jain_convergence_time_s(run, window=(0, 29))


def test_rates_of_any_number_of_flows_come_close() -> None:
    stated = synthetic.scenario(["cubic", "bic", "reno"], starts=["0 s", "0 s", "20 s"])
    rates = {"cubic-1": constant(30.0), "bic-2": step(35, 20.0, 28.0), "reno-3": step(50, 5.0, 27.5)}
    run = synthetic.run(stated, rates, starts={"cubic-1": 0.0, "bic-2": 0.0, "reno-3": 20.25})
    assert metrics.rates_close_time_s(run) == pytest.approx(50 - 20.25)
    assert metrics.rates_close_time_s(run, window=(0, 60)) == math.inf, "20 s have to follow"
    assert metrics.rates_close_time_s(run, flows=["cubic-1", "bic-2"]) == pytest.approx(35)
    assert metrics.rates_close_time_s(run, within=0.05) == math.inf
    with pytest.raises(MetricError, match="one flow has no other flow"):
        metrics.rates_close_time_s(run, flows=["cubic-1"])
    with pytest.raises(MetricError, match="no whole second of all"):
        metrics.rates_close_time_s(run, window=(0, 21))
