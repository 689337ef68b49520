"""Closed forms that no other test here integrates, against numerical integration of their own trajectories: 0.1 %."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from elephan.models import RESPONSES, delay, epochs, growth, mean_window, throughput
from elephan.models.cycles import under_even_losses
from elephan.models.delay import equilibrium, in_sequence

NEAR = 1e-3
LOSSES = (1e-4, 1e-5, 1e-6)
# Closed forms with constants that hold at the mean window; BIC's is a sum over its rounds already.
AT_THE_MEAN = ("hstcp", "africa", "ltcp")
OWN_CYCLES = [name for name, form in RESPONSES.items() if form.cycle and name not in (*AT_THE_MEAN, "bic:rounds")]


@pytest.mark.parametrize("algorithm", OWN_CYCLES)
def test_a_response_function_is_the_mean_of_its_cycle(algorithm: str) -> None:
    cycle = RESPONSES[algorithm].cycle
    assert cycle is not None
    for p in LOSSES:
        assert mean_window(algorithm, p) == pytest.approx(under_even_losses(cycle, p, 0.1), rel=NEAR)


def sawtooth(gain: float, decrease: float, p: float) -> float:
    """Mean over round trips of a window that grows by ``gain`` and sends 1/p segments from one loss to the next."""

    def sent(peak: float) -> float:
        rounds = peak * decrease / gain
        return float(quad(lambda n: peak * (1 - decrease) + gain * n, 0, rounds)[0])

    low, high = 1.0, 1e8
    for _ in range(100):
        peak = (low * high) ** 0.5
        low, high = (peak, high) if sent(peak) < 1 / p else (low, peak)
    return float(1 / p / (peak * decrease / gain))


def hstcp_at(window: float) -> tuple[float, float]:
    """a(w) and b(w) of RFC 3649, section 5."""
    decrease = 0.5 - 0.4 * np.log(window / 38) / np.log(83_000 / 38)
    p = 1e-3 * (window / 38) ** (np.log(1e-7 / 1e-3) / np.log(83_000 / 38))
    return window**2 * p * 2 * decrease / (2 - decrease), decrease


def ltcp_at(window: float) -> tuple[float, float]:
    """Layers at a window, with 50 K^3/6 = w, and 0.15."""
    return (6 * window / 50) ** (1 / 3), 0.15


@pytest.mark.parametrize(("algorithm", "rules"), [("hstcp", hstcp_at), ("africa", hstcp_at), ("ltcp", ltcp_at)])
@pytest.mark.parametrize("p", LOSSES)
def test_with_the_constants_of_its_mean_window(
    algorithm: str, rules: Callable[[float], tuple[float, float]], p: float
) -> None:
    window = float(mean_window(algorithm, p))
    assert window == pytest.approx(sawtooth(*rules(window), p), rel=NEAR)


@pytest.mark.parametrize("algorithm", ["dctcp", "prague"])
def test_marked_flows_rest_where_marks_take_what_a_round_adds(algorithm: str) -> None:
    """dw/dn = 1 - w alpha/2 with alpha that follows the marks."""
    p = 0.01
    found = solve_ivp(lambda n, y: [1 - y[0] * y[1] / 2, (p - y[1]) / 16], (0, 5000), [10.0, 1.0], rtol=1e-8)
    assert mean_window(algorithm, p) == pytest.approx(found.y[0, -1], rel=NEAR)


@pytest.mark.parametrize("every", [1, 2])
def test_mathis_is_a_sawtooth(every: int) -> None:
    p, rtt_s = 1e-5, 0.1
    assert throughput.mathis(p, rtt_s, every) == pytest.approx(sawtooth(1 / every, 0.5, p) / rtt_s, rel=NEAR)


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("peak", [20, 300])
def test_padhye_without_timeouts_is_the_sum_of_its_rounds(peak: int, every: int) -> None:
    """Half the window at the loss, a segment more after each ``every`` rounds; half of a round more until it shows."""
    low, high = 1e-9, 0.5
    for _ in range(200):
        p = (low * high) ** 0.5
        low, high = (p, high) if throughput.window_at_loss(p, every) > peak else (low, p)
    windows = [peak // 2 + k for k in range(peak // 2) for _ in range(every)]
    sent = sum(windows) + peak / 2
    assert sent == pytest.approx((1 - p) / p + peak, rel=NEAR)
    # Timeouts take no time here; what they send counts.
    in_timeouts = float(throughput.timeout_probability(p, peak)) / (1 - p)
    rate = (sent + in_timeouts) / (0.1 * (len(windows) + 1))
    assert throughput.padhye(p, 0.1, 1e-12, ack_every=every) == pytest.approx(rate, rel=NEAR)


@pytest.mark.parametrize(("p", "limit"), [(1e-4, 60.0), (1e-5, 100.0)])
def test_padhye_with_a_receive_window_is_the_integral_of_its_window(p: float, limit: float) -> None:
    """From half of the limit up to it, along it until the loss, and a round more until it shows."""
    to_limit = quad(lambda n: limit / 2 + n, 0, limit / 2)[0]
    sent = (1 - p) / p + limit
    rounds = limit / 2 + (sent - to_limit) / limit + 1
    assert throughput.padhye(p, 0.1, 1e-12, limit) == pytest.approx(sent / (0.1 * rounds), rel=NEAR)


@pytest.mark.parametrize("rule", [growth.Power(), growth.Exponential(1.01), growth.Steady(8.3)])
def test_a_growth_is_the_integral_of_its_gain(rule: growth.Growth) -> None:
    def gain(c: float) -> float:
        own = np.log(1.01) * c if isinstance(rule, growth.Exponential) else float(rule.gain(np.array(c)))
        return max(own, 1.0)

    start, end = 5.0, 700.0
    knee = [rule.knee] if start < rule.knee < end else None
    rounds = quad(lambda c: 1 / gain(c), start, end, points=knee)[0]
    sent = quad(lambda c: c / gain(c), start, end, points=knee)[0]
    assert rule.rounds(np.array(start), np.array(end)) == pytest.approx(rounds, rel=NEAR)
    assert rule.sent(np.array(start), np.array(end)) == pytest.approx(sent, rel=NEAR)


# ---- epochs ----


@pytest.mark.parametrize(("rate", "rtt_s", "buffer"), [(20_833.0, 0.1, 2083.0), (833.3, 0.1, 83.0)])
def test_cubics_epoch_is_that_of_its_cubic(rate: float, rtt_s: float, buffer: float) -> None:
    """Stepped in time up to a segment above its last maximum, from 0.7 of it; and its estimate of Reno's window."""
    on = epochs.path(rate, rtt_s, buffer)
    peak = float(on.peak)
    origin_s = np.cbrt(0.3 * peak / 0.4)
    at_s = np.linspace(0, 3 * origin_s, 400_001)
    windows = 0.7 * peak + np.concatenate(([0.0], np.cumsum(1.2 * (at_s[:-1] - origin_s) ** 2 * np.diff(at_s))))
    reached_s = at_s[np.argmax(windows >= peak + 1)]
    assert epochs.cubic(on, friendly=False) == pytest.approx(reached_s, rel=NEAR)
    slow = 3 * 0.3 / 1.7
    found = solve_ivp(
        lambda t, w: [slow / max(rtt_s, w[0] / rate)], (0, 2000), [0.7 * peak],
        dense_output=True, rtol=1e-9, max_step=1.0,
    )  # fmt: skip
    friendly_s = float(np.interp(peak, found.y[0], found.t))
    assert epochs.cubic(on) == pytest.approx(min(reached_s, friendly_s), rel=NEAR)


def test_compounds_fill_is_the_integral_of_its_growth() -> None:
    found = quad(lambda w: 0.2 / (w**0.75 / 8), 20, 5000)[0]
    assert epochs.fluid_fill_s(20, 5000, 0.2) == pytest.approx(found, rel=NEAR)


@pytest.mark.parametrize("keep", [0.5, 0.7, 0.875])
def test_epochs_to_fairness_are_those_of_two_flows_that_grow_alike(keep: float) -> None:
    """Synchronized losses at a sum of 1000: at a whole number of epochs the ratio is that of the form."""
    first, second = 1000.0, 0.0
    for n in range(1, 12):
        first, second = keep * first, keep * second
        grown = (1000.0 - first - second) / 2
        first, second = first + grown, second + grown
        assert epochs.epochs_to_fairness(keep, second / first) == pytest.approx(n, rel=NEAR)
        assert epochs.epochs_to_share(keep, second / 500.0) == pytest.approx(n, rel=NEAR)


# ---- delay ----


def settled(alpha: list[float], rate: float, rtts_s: list[float], errors_s: list[float]) -> tuple[float, list[float]]:
    """Windows that go to alpha in the queue by each one's own sight of the delay: queue in segments, and rates."""
    base, wrong, want = (np.array(values) for values in (rtts_s, errors_s, alpha))

    def waits_s(windows: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        low, high = 0.0, float(windows.sum() / rate)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if (windows / (base + middle)).sum() > rate else (low, middle)
        return high

    def change(
        _now: float, windows: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        delay_s = waits_s(windows)
        rates = windows / (base + delay_s)
        return np.asarray(0.5 * (want - rates * (delay_s - wrong)))

    found = solve_ivp(change, (0, 20_000), rate * base + want, method="LSODA", rtol=1e-8, atol=1e-6)
    windows = found.y[:, -1]
    delay_s = waits_s(windows)
    return delay_s * rate, (windows / (base + delay_s)).tolist()


@pytest.mark.parametrize(
    ("alpha", "rtts_s", "errors_s"),
    [
        ([100.0, 200.0], [0.02, 0.2], [0.0, 0.0]),
        ([100.0, 100.0, 50.0], [0.05, 0.1, 0.1], [0.0, 0.01, -0.005]),
    ],
)
def test_the_equilibrium_is_where_windows_come_to_rest(
    alpha: list[float], rtts_s: list[float], errors_s: list[float]
) -> None:
    queue, rates = settled(alpha, 10_000.0, rtts_s, errors_s)
    found = equilibrium(alpha, 10_000.0, rtts_s, errors_s)
    assert found.queue == pytest.approx(queue, rel=NEAR)
    assert found.rates == pytest.approx(np.array(rates), rel=NEAR)


def test_flows_in_sequence_come_to_rest_one_after_another() -> None:
    errors_s: list[float] = []
    for n in range(1, 5):
        errors_s.append(settled([100.0] * (n - 1), 10_000.0, [0.1] * (n - 1), errors_s)[0] / 1e4 if n > 1 else 0.0)
        queue, rates = settled([100.0] * n, 10_000.0, [0.1] * n, errors_s)
        found = in_sequence(n, 100.0, 10_000.0, 0.1)
        assert found.queue == pytest.approx(queue, rel=NEAR)
        assert found.rates == pytest.approx(np.array(rates), rel=NEAR)


@pytest.mark.parametrize("b", [0.7, 1.5, 1.95])
def test_what_a_round_leaves_of_an_error_is_the_larger_root(b: float) -> None:
    """Rounds of the rule near the equilibrium; the form below shrinks by the product of both roots, a pair."""
    errors = delay.hcc_rounds(b, 1000.0, rounds=12, start=1.0 + 1e-4) - 1000.0
    own, lagged = delay.hcc_loop(b)
    size = errors[1:] ** 2 - own * errors[1:] * errors[:-1] + lagged * errors[:-1] ** 2
    radius = float(delay.spectral_radius(delay.hcc_loop(b)))
    assert (size[-1] / size[0]) ** (1 / 20) == pytest.approx(radius, rel=NEAR)
