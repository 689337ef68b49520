"""Mathis, Padhye and Cardwell: limits, identities, a trajectory summed up, and what the engine does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import scripts

from elephan import backends
from elephan.models.throughput import (
    backoff,
    mathis,
    padhye,
    padhye_simple,
    slow_start_s,
    slow_start_segments,
    timeout_probability,
    transfer_s,
    window_at_loss,
)
from elephan.runs.execute import compute
from elephan.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
PROBABILITIES = st.floats(1e-9, 0.5)


def test_mathis_has_the_constant_of_even_losses() -> None:
    assert mathis(1e-4, 0.1) == pytest.approx(np.sqrt(1.5) * 100 / 0.1)
    assert mathis(1e-4, 0.1, ack_every=2) == pytest.approx(np.sqrt(0.75) * 100 / 0.1)


@given(PROBABILITIES, st.sampled_from([1, 2]))
def test_the_window_at_a_loss_solves_its_own_equation(p: float, b: int) -> None:
    """A cycle's segments counted by rounds are those between two losses (Padhye 1998, eqs. 5, 7, 10 and 11)."""
    w = float(window_at_loss(p, b))
    until_the_loss = (1 - p) / p
    assert 3 * b / 8 * w**2 - (2 + b) / 4 * w - until_the_loss == pytest.approx(0, abs=1e-6 * (until_the_loss + w))


def test_without_timeouts_and_for_small_p_padhye_is_mathis() -> None:
    p = np.array([1e-8, 1e-7])
    assert padhye(p, 0.1, 1e-9) == pytest.approx(mathis(p, 0.1), rel=1e-3)
    assert padhye_simple(p, 0.1, 1e-9) == pytest.approx(mathis(p, 0.1), rel=1e-6)


def test_the_simple_form_is_near_the_full_one() -> None:
    p = np.geomspace(1e-4, 0.1, 40)
    assert padhye_simple(p, 0.1, 1.0) == pytest.approx(padhye(p, 0.1, 1.0), rel=0.25)


def test_a_receive_window_bounds_the_rate() -> None:
    p = np.geomspace(1e-7, 0.1, 50)
    limited = padhye(p, 0.1, 1.0, max_window=20)
    assert np.all(limited <= 20 / 0.1 * 1.01)
    assert limited[0] == pytest.approx(20 / 0.1, rel=1e-3)
    assert limited[-1] == pytest.approx(padhye(p[-1], 0.1, 1.0), rel=1e-9)


@given(PROBABILITIES, st.floats(1, 1e5))
def test_the_chance_of_a_timeout_is_a_probability(p: float, w: float) -> None:
    assert 0 <= timeout_probability(p, w) <= 1


def test_a_timeout_is_sure_in_a_small_window_and_about_three_over_w_in_a_large_one() -> None:
    assert timeout_probability(0.01, 3) == 1
    assert timeout_probability(1e-9, 300) == pytest.approx(3 / 300, rel=1e-3)


def test_timeouts_double_up_to_sixty_four() -> None:
    """The mean length of a sequence of timeouts, summed over its lengths (Padhye 1998, eqs. 26 to 29)."""
    p = 0.3
    lengths = [float(sum(2.0 ** min(k, 6) for k in range(n))) for n in range(1, 400)]
    mean = sum(length * p ** (n - 1) * (1 - p) for n, length in enumerate(lengths, start=1))
    assert backoff(p) / (1 - p) == pytest.approx(mean, rel=1e-9)


@given(st.integers(1, 100_000), st.floats(1e-6, 0.5))
def test_the_segments_before_the_first_loss_are_a_truncated_geometric_sum(d: int, p: float) -> None:
    k = np.arange(d)
    assert slow_start_segments(d, p) == pytest.approx(
        float(np.sum((1 - p) ** k * p * k) + (1 - p) ** d * d) + 1, rel=1e-6
    )


def test_slow_start_sends_what_its_window_allows_round_by_round() -> None:
    """1 + 2 + 4 + 8 segments take four round trips, and each window of ten more one."""
    assert slow_start_s(15, 0.1, initial_window=1) == pytest.approx(0.4)
    limited = slow_start_s(np.array([31, 41]), 0.1, initial_window=1, max_window=8)
    assert limited[1] - limited[0] == pytest.approx(0.1 * 10 / 8)
    # 15 segments up to a window of 8; 16 more of them in two rounds.
    assert slow_start_s(31, 0.1, initial_window=1, max_window=8) == pytest.approx(0.6)


def test_a_long_transfer_has_the_rate_of_the_steady_state() -> None:
    size = 1e8
    assert size / transfer_s(size, 0.01, 0.1, 0.3) == pytest.approx(padhye(0.01, 0.1, 0.3, delivered=True), rel=1e-3)


def test_a_transfer_without_loss_is_its_slow_start() -> None:
    assert transfer_s(70, 0.0, 0.1, 1.0) == pytest.approx(slow_start_s(70, 0.1))
    assert transfer_s(70, 1e-12, 0.1, 1.0) == pytest.approx(slow_start_s(70, 0.1), rel=1e-6)


def test_no_closed_form_is_computed_point_by_point() -> None:
    """A call for each point takes over 10 µs; an idle machine needs 0.5 µs a point (benches/models.py). A form that is
    over is asked again."""
    bench = scripts.load("benches/models.py")
    forms = bench.models()
    assert len(forms) > 30
    for name, form in forms.items():
        assert any(bench.took_s(form, 50_000) < 0.5 for _ in range(3)), name


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mathis(0.0, 0.1), "p: not above 0"),
        (lambda: padhye(1.0, 0.1, 1.0), "p: not a probability"),
        (lambda: padhye(0.1, -1.0, 1.0), "rtt_s: not above 0"),
        (lambda: slow_start_s(10, 0.1, initial_window=10, max_window=5), "max_window: smaller"),
        (lambda: mathis(float("nan"), 0.1), "p: not a probability"),
    ],
)
def test_what_has_no_meaning_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("p", [0.01, 0.03, 0.1])
def test_with_sack_and_independent_losses_the_engine_lies_between_padhye_and_mathis(p: float) -> None:
    """Padhye's losses take the rest of their round with them and its sender has no SACK, so that it times out more."""
    scenario = Scenario.dumbbell(
        ["reno"], rate="1 Gbit/s", rtt="100 ms", buffer="100% BDP", duration="400 s", loss=p,
        stack={"base": "rfc6675"}, sample_period="1 s",
    )  # fmt: skip
    (flow,) = compute(backends.get("sim"), scenario, 1).summary()["flows"]
    stack = scenario.canonical()["flows"][0]["stack"]
    measured = flow["goodput_mbps"] * 1e6 / 8 / stack["payload_bytes"]
    # ACKs come for every second segment, but the window grows by bytes (RFC 3465): b is 1.
    assert padhye(p, 0.1, stack["min_rto_ps"] / 1e12, delivered=True) < measured < mathis(p, 0.1)
    assert measured > 0.4 * mathis(p, 0.1)
