"""Delay-based flows: where they settle, and which loops swing; against the engine and against themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elephan import backends
from elephan.models.delay import (
    equilibrium,
    fast_loop,
    fill,
    gain_margin,
    hcc_loop,
    hcc_rounds,
    in_sequence,
    phase_margin_rad,
    spectral_radius,
    swings,
    vegas_queue,
)
from elephan.runs.execute import compute
from elephan.scenario import Scenario


def test_each_keeps_alpha_in_the_queue() -> None:
    found = equilibrium([100, 200, 50], 10_000, [0.02, 0.1, 0.3])
    assert found.queue == pytest.approx(350)
    assert found.rates == pytest.approx(np.array([100, 200, 50]) / 350 * 10_000)
    assert found.windows - found.rates * np.array([0.02, 0.1, 0.3]) == pytest.approx([100, 200, 50])


@given(st.lists(st.floats(-0.05, 0.05), min_size=1, max_size=6), st.floats(10, 1000), st.floats(1e3, 1e6))
def test_a_wrong_base_leaves_the_sum_of_the_rates(errors_s: list[float], alpha: float, rate: float) -> None:
    found = equilibrium([alpha] * len(errors_s), rate, 0.5, errors_s)
    assert found.rates.sum() == pytest.approx(rate, rel=1e-6)
    waiting_s = float(found.queue) / rate
    assert waiting_s > max(errors_s)
    assert found.rates * (waiting_s - np.array(errors_s)) == pytest.approx(alpha, rel=1e-6)


def test_two_in_sequence_have_the_golden_ratio() -> None:
    """x1/x2 = (q - e)/q with e = alpha/C: q satisfies 1/q + 1/(q-1) = 1 in units of e, so q = (3 + sqrt 5)/2."""
    found = in_sequence(2, 400, 25_000, 0.04)
    golden = (1 + 5**0.5) / 2
    assert found.queue == pytest.approx(400 * (1 + golden))
    assert found.rates[1] / found.rates[0] == pytest.approx(golden)


def test_vegas_stays_between_its_bounds() -> None:
    least, most = vegas_queue([1, 10])
    assert (least.tolist(), most.tolist()) == ([2, 20], [4, 40])
    with pytest.raises(ValueError, match="beta: below alpha"):
        vegas_queue(1, 4, 2)


def test_many_paths_at_once() -> None:
    found = equilibrium(np.full((500, 2000, 2), 100.0), 10_000, 0.1)
    assert found.queue.shape == (500, 2000)


# ---- loops ----


@given(st.floats(0.05, 20))
def test_the_roots_are_those_of_the_polynomial(b: float) -> None:
    own, lagged = hcc_loop(b)
    assert spectral_radius(hcc_loop(b)) == pytest.approx(max(abs(np.roots([1, -own, lagged]))))


def test_hcc_swings_from_two_on_and_fast_never() -> None:
    b = np.array([0.5, 1.0, 1.9, 1.999, 2.001, 2.5, 7.5])
    assert swings(hcc_loop(b)).tolist() == [False] * 4 + [True] * 3
    assert not swings(fast_loop(np.geomspace(0.01, 1e6, 1000))).any()


@given(st.floats(0.2, 10))
def test_the_margins_say_the_same_as_the_roots(b: float) -> None:
    loop = hcc_loop(b)
    swinging = bool(swings(loop))
    assert (gain_margin(loop) < 1) == (b > 2)
    if abs(b - 2) > 0.01:
        assert (phase_margin_rad(loop) < 0) == swinging
        scaled = loop * np.array([1.0, float(gain_margin(loop)) * 1.001])
        assert swings(scaled)


def test_the_published_trajectory_of_the_rule() -> None:
    """Stable at b = 1.5; at 2.5 a swing that the clip bounds and that does not empty the queue."""
    assert hcc_rounds(1.5, 400)[-1] == pytest.approx(400, rel=1e-6)
    late = hcc_rounds(2.5, 400)[-100:]
    assert late.min() > 0
    assert np.ptp(late) > 100


def engine(algorithm: str, mbps: int, rtt_ms: int, alpha: float, flows: int) -> Any:
    """Queue after 30 s over 30 s, as a fraction of n alpha."""
    scenario = Scenario.dumbbell(
        [{"algorithm": algorithm, "parameters": {"alpha": alpha}} for _ in range(flows)],
        rate=f"{mbps} Mbit/s", rtt=f"{rtt_ms} ms", buffer="20000 packets", duration="60 s", sample_period="10 ms",
        stack={
            "base": "ns2", "payload": "1000 B", "header": "0 B", "receive_window": "100000 segments",
            "initial_ssthresh": "100000 segments",
        },
        start_jitter="5 ms",
    )  # fmt: skip
    links = compute(backends.get("sim"), scenario, 1).links
    waiting = links.filter(links["time_s"] > 30)["queue_packets"].to_numpy()
    return waiting / (flows * alpha)


@pytest.mark.parametrize(("mbps", "rtt_ms", "flows"), [(50, 40, 1), (100, 80, 1), (100, 40, 2)])
@pytest.mark.parametrize("b", [0.5, 1.5, 1.8, 2.3, 3.0, 8.0])
def test_the_engine_rests_and_swings_where_the_loop_says(mbps: int, rtt_ms: int, flows: int, b: float) -> None:
    """At rest the queue moves by 1 % at most; swinging, by 14 % at least."""
    alpha = mbps * 1e6 / 8000 * rtt_ms / 1e3 / (b * flows)
    assert fill(mbps * 1e6 / 8000, rtt_ms / 1e3, alpha, flows) == pytest.approx(b)
    hcc, fast = engine("hcc", mbps, rtt_ms, alpha, flows), engine("fast", mbps, rtt_ms, alpha, flows)
    assert hcc.mean() == pytest.approx(1, rel=0.04)
    assert fast.mean() == pytest.approx(1, rel=0.03)
    assert (hcc.std() > 0.1) == bool(swings(hcc_loop(b)))
    assert fast.std() < 0.03


def test_the_plane_of_paths_in_the_documentation() -> None:
    """The loop is wrong only within 0.1 of the border in b; at rest n alpha wait, within 3 % or one segment."""
    root = Path(__file__).resolve().parents[2]
    points = json.loads((root / "docs" / "loops.json").read_text(encoding="utf-8"))
    wrong = 0
    for point in points:
        b = float(fill(point["mbps"] * 125.0, point["rtt_ms"] / 1e3, point["alpha"], point["flows"]))
        loop = hcc_loop(b) if point["algorithm"] == "hcc" else fast_loop(b)
        if (point["deviation"] > 0.055) != bool(swings(loop)):
            assert abs(b - 2) <= 0.1 + 1e-9
            wrong += 1
        elif not swings(loop):
            assert point["mean"] == pytest.approx(1, rel=0.03, abs=1.01 / (point["flows"] * point["alpha"]))
    hcc = sum(point["algorithm"] == "hcc" for point in points)
    page = " ".join((root / "docs" / "models.md").read_text(encoding="utf-8").split())
    assert f"{hcc} of the {len(points)} runs are of HCC" in page
    assert f"For {hcc - wrong} of these, the loop equation correctly predicts" in page


def test_the_fluid_model_on_paths_of_the_documentation() -> None:
    """It swings where the engine does but for one path; at rest its queue is the engine's within 3 % or one segment."""
    root = Path(__file__).resolve().parents[2]
    points = json.loads((root / "docs" / "loops.json").read_text(encoding="utf-8"))
    both = [point for point in points if "model_mean" in point]
    wrong = 0
    for point in both:
        segment = 1.01 / (point["flows"] * point["alpha"])
        swings_in = [point[key] > 0.055 for key in ("deviation", "model_deviation")]
        if swings_in == [False, False]:
            assert point["model_mean"] == pytest.approx(point["mean"], rel=0.03, abs=segment)
        elif swings_in == [True, True]:
            assert point["model_deviation"] == pytest.approx(point["deviation"], abs=0.05)
        else:
            wrong += 1
    page = " ".join((root / "docs" / "models.md").read_text(encoding="utf-8").split())
    assert f"predicts it correctly for {len(both) - wrong} of {len(both)} paths" in page


@pytest.mark.parametrize("algorithm", ["fast", "hcc"])
def test_a_kept_point_of_the_plane_is_what_the_model_gives(algorithm: str) -> None:
    root = Path(__file__).resolve().parents[2]
    points = json.loads((root / "docs" / "loops.json").read_text(encoding="utf-8"))
    mine = [point for point in points if point["algorithm"] == algorithm and point.get("model_mean")]
    point = min(mine, key=lambda p: (p["rtt_ms"], p["flows"]))
    scenario = Scenario.dumbbell(
        [{"algorithm": algorithm, "parameters": {"alpha": point["alpha"]}}],
        rate=f"{point['mbps']} Mbit/s", rtt=f"{point['rtt_ms']} ms", buffer="100000 packets",
        duration=f"{point['rtt_ms'] / 2:g} s", sample_period="10 ms", start_jitter="5 ms",
        stack={
            "base": "ns2", "payload": "1000 B", "header": "0 B", "receive_window": "200000 segments",
            "initial_ssthresh": "200000 segments",
        },
    )  # fmt: skip
    links = compute(backends.get("model"), scenario, 1).links
    waiting = links.filter(links["time_s"] > point["rtt_ms"] / 4)["queue_packets"].to_numpy() / point["alpha"]
    assert waiting.mean() == pytest.approx(point["model_mean"], abs=1e-3)
    assert waiting.std() == pytest.approx(point["model_deviation"], abs=1e-3)


def test_the_engine_has_the_golden_ratio() -> None:
    scenario = Scenario.dumbbell(
        [
            {"algorithm": "fast", "parameters": {"alpha": 100}},
            {"algorithm": "fast", "parameters": {"alpha": 100}, "start": "20 s"},
        ],
        rate="100 Mbit/s", rtt="40 ms", buffer="20000 packets", duration="60 s",
        measure={"from": "40 s"}, stack={"base": "ns2", "payload": "1000 B", "header": "0 B"},
    )  # fmt: skip
    flows = compute(backends.get("sim"), scenario, 1).summary()["flows"]
    assert flows[1]["goodput_mbps"] / flows[0]["goodput_mbps"] == pytest.approx((1 + 5**0.5) / 2, rel=0.02)
