"""katto2008's models: identities between its equations, and each closed form against the trajectory that it is of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from elephan.models import abstracted, growth, hybrid, refined
from elephan.models.abstracted import Hybrid
from elephan.models.hybrid import Pipe

PIPE = Pipe(100e6, 0.04, 12_000)
W, R, Q = float(PIPE.bdp), 0.04, 1.2e-4
SINGLE = np.array([1633.0, 900.0, 660.0, 500.0, 400.0, 340.0, 300.0, 100.0, 60.0, 40.0, 26.0, 20.0, 10.0])
DOUBLE = np.array([1633.0, 500.0, 330.0, 300.0, 250.0, 200.0, 170.0, 160.0, 60.0, 40.0, 26.0, 20.0, 10.0])
LOSSES = np.geomspace(1e-7, 0.3, 200)
HYBRIDS = [
    abstracted.ctcp(),
    abstracted.ctcp(keep=7 / 8),
    abstracted.areno(PIPE),
    abstracted.yeah(),
    abstracted.yeah(1.03),
    abstracted.yeah(1.1),
    abstracted.fusion(PIPE, d_min_s=0.001),
    abstracted.fusion(PIPE, flows=2),
]
NAMES = ["ctcp", "ctcp-7/8", "areno", "yeah", "yeah-1.03", "yeah-1.1", "fusion-1ms", "fusion-2"]
EACH = pytest.mark.parametrize("model", HYBRIDS, ids=NAMES)


def test_equation_1_is_one_loss_in_a_round() -> None:
    w = hybrid.window_at_loss(LOSSES)
    np.testing.assert_allclose(hybrid.loss_rate(w), LOSSES, rtol=1e-12)
    np.testing.assert_allclose(LOSSES * hybrid.single_flow("loss", w, W, R, Q).packets, 1.0, rtol=1e-9)


def test_the_borders_are_where_the_case_changes() -> None:
    for flows in (1, 2):
        first, second = hybrid.borders(W, flows)
        below, above = (hybrid.window_at_loss(np.array([first, second]) * factor) for factor in (1 - 1e-9, 1 + 1e-9))
        assert hybrid.case_of(below, W, flows).tolist() == [1, 2]
        assert hybrid.case_of(above, W, flows).tolist() == [2, 3]
    assert hybrid.borders(W)[1] == hybrid.borders(W, 2)[0]


def test_whoever_fills_the_link_sends_a_packet_in_a_packet_time() -> None:
    for control in ("delay", "hybrid"):
        found = hybrid.single_flow(control, SINGLE, W, R, Q)
        np.testing.assert_allclose(found.packets * Q, found.seconds, rtol=1e-9)
    both = [hybrid.two_flows(control, DOUBLE, W, R, Q) for control in ("loss", "hybrid")]
    np.testing.assert_allclose((both[0].packets + both[1].packets) * Q, both[0].seconds, rtol=1e-9)


@pytest.mark.parametrize("flows", [1, 2])
@pytest.mark.parametrize("control", ["loss", "hybrid"])
def test_packets_and_times_are_continuous_at_the_borders(control: hybrid.Control, flows: int) -> None:
    table = hybrid.single_flow if flows == 1 else hybrid.two_flows
    for border in (2 * W / flows, W / flows):
        below, above = (table(control, border * factor, W, R, Q) for factor in (1 - 1e-12, 1 + 1e-12))
        np.testing.assert_allclose(below, above, rtol=1e-9)


def test_equation_6_is_table_1_over_the_round_trips() -> None:
    w = hybrid.window_at_loss(LOSSES)
    found = hybrid.single_flow("hybrid", w, W, R, Q)
    np.testing.assert_allclose(hybrid.response(LOSSES, W), found.packets / (w / 2), rtol=1e-9)
    seconds = 1 / (Q + LOSSES * hybrid.timeout_penalty_s(LOSSES, 2 * R))
    with_timeouts = hybrid.response_with_timeouts(LOSSES, W, R)
    late = hybrid.case_of(w, W) == 3
    np.testing.assert_allclose(with_timeouts[late], seconds[late] * R, rtol=1e-9)
    np.testing.assert_allclose(hybrid.ideal_mbps("hybrid", LOSSES, PIPE), seconds * 0.012, rtol=1e-9)


def test_the_timeout_penalty_is_the_sum_over_timeouts_in_a_row() -> None:
    for p in (1e-3, 0.1, 0.4):
        durations = [2.0**k - 1 if k <= 6 else 63 + 64 * (k - 6) for k in range(1, 2000)]
        total = sum(p ** (k - 1) * (1 - p) * duration for k, duration in enumerate(durations, start=1))
        assert hybrid.timeout_penalty_s(p, 1.0, "padhye") == pytest.approx(total, rel=1e-9)
        assert hybrid.timeout_penalty_s(p, 1.0) == pytest.approx(total * (1 - p) ** 2, rel=1e-9)


def _reno(n: float, w: float) -> float:
    return w / 2 + n


IDEAL: dict[tuple[hybrid.Control, int], Callable[[float, float], float]] = {
    ("loss", 1): _reno,
    ("delay", 1): lambda n, w: W,
    ("hybrid", 1): lambda n, w: max(W, _reno(n, w)) if w <= 2 * W else _reno(n, w),
    ("loss", 2): _reno,
    ("hybrid", 2): lambda n, w: max(W - _reno(n, w), _reno(n, w)) if w <= W else _reno(n, w),
}


@pytest.mark.parametrize(("control", "flows"), IDEAL)
def test_the_ideal_tables_are_integrals_of_their_windows(control: hybrid.Control, flows: int) -> None:
    table, windows = (hybrid.single_flow, SINGLE) if flows == 1 else (hybrid.two_flows, DOUBLE)
    for w in windows:
        own = IDEAL[control, flows]
        rival = (lambda n, w: 0.0) if flows == 1 else _reno
        found = table(control, w, W, R, Q)
        kinks = sorted({min(max(n, 0.0), w / 2) for n in (W - w / 2, (W - w) / 2)})
        packets = quad(own, 0, w / 2, args=(w,), points=kinks)[0]
        assert found.packets == pytest.approx(packets, rel=1e-6)
        # A flow that cares for delay leaves no queue of its own: what is above the pipe is Reno's kind of window.
        queue = quad(lambda n, w, a=own, b=rival: max(0.0, a(n, w) + b(n, w) - W), 0, w / 2, args=(w,), points=kinks)[0]
        assert found.seconds == pytest.approx(R * w / 2 + Q * queue, rel=1e-6)


def _rate(rule: growth.Growth, c: float) -> float:
    """dc/dn as table 3 has it, and Reno's one packet at least."""
    if isinstance(rule, growth.Power):
        return float(max(rule.alpha * c**rule.k, 1.0))
    if isinstance(rule, growth.Exponential):
        return max(float(np.log(rule.factor)) * c, 1.0)
    assert isinstance(rule, growth.Steady)
    return max(float(rule.step), 1.0)


def _trajectory(model: Hybrid, w: float, flows: int) -> tuple[float, float, float]:
    """Packets, window after the loss and window at the loss of a steady round, by integrating dc/dn = g(c)."""
    case = int(hybrid.case_of(w, W, flows))
    n = np.linspace(0.0, w / 2, 10_001)
    reno = w / 2 + n
    room = np.full_like(n, W) if flows == 1 else W - reno
    if case == 1:
        return float(np.trapezoid(reno, n)), w / 2, w

    def grown(start: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        def rate(_n: float, c: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[float]:
            return [_rate(model.growth, min(float(c[0]), 2 * W))]

        found = solve_ivp(rate, (0.0, w / 2), [start], t_eval=n, rtol=1e-9, atol=1e-9, max_step=w / 40)
        limit = np.maximum(room, reno) if case == 2 else room
        followed = np.maximum(np.minimum(found.y[0], room), reno) if case == 2 else np.minimum(found.y[0], room)
        assert np.all(followed <= limit + 1e-9)
        return np.asarray(followed)

    if case == 2:
        start = min(float(model.keep(np.array(w * flows / W))) * w, W if flows == 1 else W - w / 2)
        return float(np.trapezoid(grown(start), n)), start, w
    end = float(room[-1])
    for _ in range(400):
        start = model.keep_empty * end
        windows = grown(start)
        if abs(windows[-1] - end) < 1e-7 * end:
            break
        end = float(windows[-1])
    return float(np.trapezoid(windows, n)), start, end


@EACH
@pytest.mark.parametrize("flows", [1, 2])
def test_an_abstracted_round_is_the_integral_of_its_window(model: Hybrid, flows: int) -> None:
    cycle = abstracted.alone if flows == 1 else abstracted.beside_reno
    for w in (SINGLE if flows == 1 else DOUBLE)[::2]:
        packets, start, peak = _trajectory(model, float(w), flows)
        found = cycle(model, w, W)
        assert found.packets == pytest.approx(packets, rel=1e-3), w
        assert found.start == pytest.approx(start, rel=1e-3), w
        assert found.peak == pytest.approx(peak, rel=1e-3), w


@EACH
@pytest.mark.parametrize("flows", [1, 2])
def test_arrays_give_what_their_elements_give(model: Hybrid, flows: int) -> None:
    together = abstracted.hybrid_mbps(model, LOSSES, PIPE, flows)
    apart = [float(abstracted.hybrid_mbps(model, p, PIPE, flows)) for p in LOSSES]
    np.testing.assert_allclose(together, apart, rtol=1e-9)


def test_a_sweep_of_bandwidths_is_an_array_too() -> None:
    rates = np.array([[10e6], [100e6], [1e9], [10e9]])
    pipe = Pipe(rates, 0.1, 12_000)
    for make in (abstracted.areno, abstracted.fusion):
        table = abstracted.hybrid_mbps(make(pipe), LOSSES, pipe, 2)
        assert table.shape == (4, len(LOSSES))
        for row, rate in zip(table, rates[:, 0], strict=True):
            one = Pipe(float(rate), 0.1, 12_000)
            np.testing.assert_allclose(row, abstracted.hybrid_mbps(make(one), LOSSES, one, 2), rtol=1e-9)


@pytest.mark.parametrize(
    "rule", [growth.Power(), growth.Exponential(1.01), growth.Exponential(1.1), growth.Steady(8.3)]
)
def test_a_growth_agrees_with_its_own_inverse(rule: growth.Growth) -> None:
    start, rounds = np.array([2.0, 10.0, 15.0, 50.0, 99.0, 120.0])[:, None], np.array([0.5, 3.0, 30.0, 90.0])[None, :]
    end = rule.after(start, rounds)
    np.testing.assert_allclose(rule.rounds(start, end), rounds + 0 * start, rtol=1e-9)
    np.testing.assert_allclose(rule.meet(start, end + rounds), end, rtol=1e-9)
    assert np.all(rule.sent(start, end) >= start * rounds)


def test_equation_5_has_three_pieces() -> None:
    ratio = np.array([1.0, 1.1, 8 / 7, 1.5, 2.0, 3.0])
    np.testing.assert_allclose(abstracted.yeah_keep(ratio), [7 / 8, 7 / 8, 7 / 8, 2 / 3, 1 / 2, 1 / 2], rtol=1e-12)


def test_fusion_and_adaptive_reno_are_the_ideal_hybrid_where_nothing_is_queued() -> None:
    late = LOSSES[hybrid.borders(W)[1] < LOSSES]
    ideal = hybrid.ideal_mbps("hybrid", late, PIPE)
    for make in (abstracted.fusion, abstracted.areno):
        np.testing.assert_allclose(abstracted.hybrid_mbps(make(PIPE), late, PIPE), ideal, rtol=1e-9)


def test_senseless_arguments_are_refused() -> None:
    for call in (
        lambda: hybrid.window_at_loss(0.0),
        lambda: hybrid.single_flow("loss", -1.0, W, R, Q),
        lambda: hybrid.two_flows("delay", 100.0, W, R, Q),
        lambda: hybrid.borders(W, 3),
        lambda: hybrid.timeout_penalty_s(1.0, R, "padhye"),
    ):
        with pytest.raises(ValueError, match=r"above 0|neither|number of flows|below 1"):
            call()


@EACH
def test_a_round_in_packets_sends_the_packets_between_two_losses(model: Hybrid) -> None:
    window = refined.window_in_packets(model, LOSSES, PIPE)
    assert np.all(window <= hybrid.window_at_loss(LOSSES) * (1 + 1e-9))
    cycle = abstracted.alone(model, window, W)
    reached = np.abs(cycle.packets * LOSSES - 1) < 1e-6
    if isinstance(model.growth, growth.Exponential):
        # A factor regains 7/8 in the same time from any window, so that 1/p packets may be any of many rounds.
        rounds = np.log(8 / 7) / np.log(model.growth.factor)
        np.testing.assert_allclose(window[~reached] / 2, rounds, rtol=1e-6)
    else:
        assert np.all(reached)


def test_who_keeps_the_pipe_full_does_not_notice_how_losses_are_counted() -> None:
    late = LOSSES[(hybrid.borders(W)[1] < LOSSES) & (LOSSES < 1e-2)]
    for model in (abstracted.fusion(PIPE), abstracted.areno(PIPE)):
        printed = abstracted.hybrid_mbps(model, late, PIPE)
        np.testing.assert_allclose(refined.in_packets_mbps(model, late, PIPE), printed, rtol=1e-6)
    for model in (abstracted.ctcp(), abstracted.yeah()):
        printed = abstracted.hybrid_mbps(model, late, PIPE)
        assert np.all(refined.in_packets_mbps(model, late, PIPE) <= printed * (1 + 1e-9))


def test_rare_timeouts_cost_less_than_one_for_each_loss() -> None:
    rare = np.geomspace(1e-6, 1e-2, 30)
    for model in HYBRIDS:
        often = refined.in_packets_mbps(model, rare, PIPE)
        seldom = refined.with_rare_timeouts_mbps(model, rare, PIPE, float(PIPE.t0_s))
        assert np.all(seldom >= often)
        assert np.all(seldom <= 100.0 * (1 + 1e-9))


def test_compounds_rule_for_small_windows_is_reno() -> None:
    rule = growth.Power(low_window=38.0)
    assert rule.increase(20.0) == 1.0
    assert rule.increase(81.0) == pytest.approx(81.0**0.75 / 8)
    assert rule.rounds(np.array(20.0), np.array(30.0)) == pytest.approx(10.0)
    slow, fast = (abstracted.ctcp(low_window=low) for low in (38.0, 0.0))
    at = np.array([3e-3])
    assert refined.in_packets_mbps(slow, at, PIPE) < refined.in_packets_mbps(fast, at, PIPE)
