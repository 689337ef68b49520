"""Congestion epochs in closed form: against the integral of their own rules, published values, and the engine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from elephan import backends, metrics
from elephan.models import epochs
from elephan.models.cycles import Floats
from elephan.runs.execute import compute
from elephan.scenario import Scenario

Gain = Callable[[float, float], float]
"""(time since the loss in s, window) to segments a round trip."""


def integrated(on: epochs.Path, start: float, gain: Gain) -> float:
    """The time until the window reaches its peak, by integrating the rule."""
    peak, rate, rtt_s = float(on.peak), float(on.rate), float(on.rtt_s)

    def change(time_s: float, window: Floats) -> list[float]:
        return [gain(time_s, float(window[0])) / max(rtt_s, float(window[0]) / rate)]

    def full(time_s: float, window: Floats) -> float:
        del time_s
        return float(window[0]) - peak

    full.terminal = True  # type: ignore[attr-defined]  # as solve_ivp asks for it
    solved = solve_ivp(change, (0.0, 1e6), [start], events=full, rtol=1e-9, atol=1e-9, max_step=20.0)
    return float(solved.t_events[0][0])


PATHS = [(20_833.0, 0.1, 2083.0), (833.3, 0.1, 83.0), (75_000.0, 0.1, 1500.0), (8333.0, 0.04, 1000.0)]


@pytest.mark.parametrize(("rate", "rtt_s", "buffer"), PATHS)
def test_reno_stcp_and_cubic_are_the_integrals_of_their_rules(rate: float, rtt_s: float, buffer: float) -> None:
    on = epochs.path(rate, rtt_s, buffer)
    peak = float(on.peak)
    assert epochs.reno(on) == pytest.approx(integrated(on, peak / 2, lambda t, w: 1.0), rel=1e-3)
    assert epochs.stcp(on) == pytest.approx(integrated(on, 0.875 * peak, lambda t, w: 0.01 * w), rel=1e-3)
    k_s = float(epochs.cubic(on, beyond=0.0, friendly=False))
    assert 0.4 * (-k_s) ** 3 + peak == pytest.approx(0.7 * peak, rel=1e-9)


@pytest.mark.parametrize(("rate", "rtt_s", "buffer"), PATHS)
def test_htcp_is_the_integral_of_its_rule(rate: float, rtt_s: float, buffer: float) -> None:
    on = epochs.path(rate, rtt_s, buffer)
    keep = float(epochs.htcp_keep(on))

    def gain(time_s: float, window: float) -> float:
        del window
        late = max(0.0, time_s - 1.0)
        return 2 * (1 - keep) * (1 + 10 * late + (late / 2) ** 2)

    assert epochs.htcp(on) == pytest.approx(integrated(on, keep * float(on.peak), gain), rel=1e-3)


@pytest.mark.parametrize(("rate", "rtt_s", "buffer"), PATHS)
def test_illinois_is_the_integral_of_its_rule(rate: float, rtt_s: float, buffer: float) -> None:
    on = epochs.path(rate, rtt_s, buffer)
    longest = buffer / rate
    near = 0.01 * longest
    k1, k2 = (longest - near) * 3 / 9.7, (longest - near) * 0.3 / 9.7 - near

    def gain(time_s: float, window: float) -> float:
        del time_s
        delay = max(0.0, window / rate - rtt_s)
        return 10.0 if delay <= near else k1 / (k2 + delay)

    assert epochs.illinois(on) == pytest.approx(integrated(on, float(on.peak) / 2, gain), rel=1e-3)


@pytest.mark.parametrize(("rate", "rtt_s", "buffer"), PATHS)
def test_compound_is_the_integral_of_its_rule(rate: float, rtt_s: float, buffer: float) -> None:
    """Two windows: the Reno part, and the delay part that gives way to it at gamma in the queue."""
    on = epochs.path(rate, rtt_s, buffer)
    peak, knee, step_s = float(on.peak), float(on.bdp) + 30.0, 5e-4
    reno_part, delay_part, time_s = peak / 2, 0.0, 0.0
    while reno_part + delay_part < peak:
        window = reno_part + delay_part
        rounds = step_s / max(rtt_s, window / rate)
        reno_part += rounds
        if window < knee:
            delay_part += rounds * max(0.0, 0.125 * window**0.75 - 1.0)
        else:
            delay_part = max(0.0, knee - reno_part)
        time_s += step_s
    assert epochs.compound(on) == pytest.approx(time_s, rel=1e-3)


def test_the_published_integrals_of_illinois() -> None:
    """leith2008, Figure 3: 588.1 s at 250 Mbit/s, 23.5 s at 10 Mbit/s, 100 ms, one BDP of buffer."""
    on = epochs.path(np.array([250e6, 10e6]) / 12_000, 0.1, np.array([250e6, 10e6]) / 12_000 * 0.1)
    assert epochs.illinois(on) == pytest.approx([588.1, 23.5], rel=2e-3)


def test_renos_epoch_grows_with_the_bdp_and_stcps_does_not() -> None:
    rate = np.array([1e4, 2e4, 4e4])
    on = epochs.path(rate, 0.1, rate * 0.1)
    assert np.diff(np.log2(epochs.reno(on))) == pytest.approx(1.0)
    assert np.ptp(epochs.stcp(on)) == pytest.approx(0.0, abs=1e-9)


def test_epochs_until_two_flows_are_even() -> None:
    """leith2008 §IV: about four for Reno."""
    assert epochs.epochs_to_share(0.5, 0.95) == pytest.approx(4.32, abs=0.01)
    n = float(epochs.epochs_to_fairness(0.875, 0.8))
    difference = 0.875**n
    assert (1 - difference) / (1 + difference) == pytest.approx(0.8)


def test_compound_says_where_its_form_does_not_apply() -> None:
    assert np.isnan(epochs.compound(epochs.path(1e4, 0.1, 20)))
    assert epochs.compound(epochs.path(1e4, 0.1, 2000)) == pytest.approx(epochs.reno(epochs.path(1e4, 0.1, 2000)))
    # From near 0 at 400 Mbit/s, 200 ms: 58 s.
    assert epochs.fluid_fill_s(0, 400e6 / 12_000 * 0.2, 0.2) == pytest.approx(58, abs=0.5)


@pytest.mark.parametrize(
    ("algorithm", "form"),
    [
        ("reno", epochs.reno), ("stcp", epochs.stcp), ("cubic", epochs.cubic), ("htcp", epochs.htcp),
        ("illinois", epochs.illinois), ("compound", epochs.compound),
    ],
)  # fmt: skip
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_the_engines_epochs_are_those(algorithm: str, form: Callable[[epochs.Path], Floats], share: float) -> None:
    """100 Mbit/s, 40 ms, 1000-byte segments without headers: an epoch is two or three round trips longer."""
    scenario = Scenario.dumbbell(
        [algorithm], rate="100 Mbit/s", rtt="40 ms", buffer=f"{round(share * 500)} packets", duration="300 s",
        sample_period="10 ms", stack={"base": "ns2", "payload": "1000 B", "header": "0 B"},
    )  # fmt: skip
    run = compute(backends.get("sim"), scenario, 1)
    (measured,) = metrics.epoch_duration_s(run, skip=5).values()  # slow start ends in up to four losses
    on = epochs.path(12_500, 0.04, round(share * 500))
    rtt_s, rule_s = 0.04 * (1 + share), float(form(on))
    assert 0.97 * (rule_s + 2 * rtt_s) < measured < 1.03 * (rule_s + 3 * rtt_s)


def test_what_has_no_meaning_is_refused() -> None:
    for arguments in ((0, 0.1, 1), (1, -1, 1), (1, 0.1, -1)):
        with pytest.raises(ValueError, match=r"not above 0|below 0"):
            epochs.path(*arguments)
    with pytest.raises(ValueError, match="between 0 and 1"):
        epochs.epochs_to_share(1.0)
