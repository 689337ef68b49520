"""Response functions: the closed forms against their published values and against their own rules, and what the
engine measures (docs/algorithms/response.json) against both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import scripts, selection

import elephan
from elephan import backends
from elephan.models import RESPONSES, mean_window, westwood
from elephan.models.cycles import under_even_losses, under_random_losses
from elephan.runs.execute import compute

ROOT = Path(__file__).resolve().parents[2]
MEASURING = scripts.load("docs/measure.py")
MEASURED: dict[str, Any] = json.loads((ROOT / "docs" / "algorithms" / "response.json").read_text())["algorithms"]


PUBLISHED = [
    ("reno", 1e-3, 0.1, 38.7), ("reno", 1e-5, 0.1, 387.3),
    ("hstcp", 1e-3, 0.1, 38.73), ("hstcp", 1e-5, 0.1, 1776), ("hstcp", 1e-7, 0.1, 83_000),
    ("stcp", 1e-4, 0.1, 748.9), ("stcp", 1e-6, 0.1, 74_889),
    ("htcp", 1e-3, 0.1, 57.5), ("htcp", 1e-5, 0.1, 1707.8), ("htcp", 1e-7, 0.1, 43_412),
    ("cubic", 1e-4, 0.1, 187.4), ("cubic", 1e-5, 0.1, 1053.8), ("cubic", 1e-6, 0.01, 1224.7),
    ("cubic:2005", 1e-5, 0.1, 1174.1),
    ("hybla", 1e-4, 0.1, 489.9),
    ("compound", 1e-4, 0.1, 404.6),
    ("ltcp", 1e-6, 0.1, 7760),  # its constants are not verified in the paper's text
    ("dctcp", 0.02, 0.1, 100),
]  # fmt: skip


@pytest.mark.parametrize(("algorithm", "p", "rtt_s", "window"), PUBLISHED)
def test_a_closed_form_has_its_published_values(algorithm: str, p: float, rtt_s: float, window: float) -> None:
    assert mean_window(algorithm, p, rtt_s) == pytest.approx(window, rel=2e-3)


def test_westwood_needs_a_queue() -> None:
    # The form is not verified in the paper's text.
    assert westwood(1e-4, 0.1, 0.02) == pytest.approx(223.6, rel=1e-3)
    with pytest.raises(ValueError, match="above 0"):
        westwood(1e-4, 0.1, 0.0)


# How far a form may be from its own rules. RFC 3649 takes the decrease as constant over a cycle; BIC's counts whole
# round trips; LTCP's takes layers as a real number, half a layer too many on average: 0.6 * 0.5 / 6 at p = 1e-5.
SLACK = {"hstcp": 0.03, "africa": 0.03, "ltcp": 0.05, "bic:rounds": 0.02}


@pytest.mark.parametrize("algorithm", [name for name, response in RESPONSES.items() if response.cycle])
def test_a_closed_form_follows_from_the_rules(algorithm: str) -> None:
    cycle = RESPONSES[algorithm].cycle
    assert cycle is not None
    for p in (1e-5, 1e-6):
        even = under_even_losses(cycle, p, 0.1)
        assert mean_window(algorithm, p) == pytest.approx(even, rel=SLACK.get(algorithm, 2e-3))


def test_renos_mean_under_random_losses_is_otts() -> None:
    """The stationary mean of ideal AIMD(1, 1/2) is 1.3098 / sqrt(p) (Ott, Kemperman, Mathis 1996)."""
    assert mean_window("reno", 1e-7, losses="random") * np.sqrt(1e-7) == pytest.approx(1.3098, rel=2e-3)


def test_scalables_mean_does_not_depend_on_how_losses_come() -> None:
    """The logarithm of its window has no drift: 0.01 = p w ln(8/7), however losses come; detection takes a round."""
    cycle = RESPONSES["stcp"].cycle
    assert cycle is not None
    assert under_random_losses(cycle, 1e-5, 0.1) == pytest.approx(0.01 / np.log(8 / 7) / 1e-5, rel=0.02)


def test_arrays_go_in_and_out() -> None:
    windows = mean_window("cubic", np.array([[1e-4], [1e-5]]), np.array([0.01, 0.1, 0.2]))
    assert windows.shape == (2, 3)
    assert windows[1, 1] == mean_window("cubic", 1e-5, 0.1)
    assert mean_window("reno", [1e-3, 1e-4], losses="random").shape == (2,)


@pytest.mark.parametrize(
    ("p", "rtt_s", "losses", "problem"),
    [(0.0, 0.1, "even", "loss probability"), (1.5, 0.1, "even", "loss probability"), (1e-3, 0.0, "even", "round-trip"),
     (1e-3, 0.1, "odd", "neither")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(p: float, rtt_s: float, losses: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        mean_window("reno", p, rtt_s, losses)


def test_marks_have_no_form_for_random_losses() -> None:
    with pytest.raises(ValueError, match="no form for random losses"):
        mean_window("dctcp", 1e-3, losses="random")


FORMS = sorted(
    name
    for name, response in RESPONSES.items()
    if not response.marks
    and name.partition(":")[0] in elephan.algorithms()
    and MEASURING.modeled(name.partition(":")[0]) == name
)


def measured(algorithm: str) -> list[dict[str, float]]:
    """The points measured with the settings under which the form holds."""
    entry = MEASURED[algorithm.partition(":")[0]]
    own = entry.get("as_modeled")
    if own is not None and own["algorithm"] == algorithm:
        return [*own["losses"], *own["round_trips"]]
    assert algorithm in MEASURED, f"run docs/measure.py {algorithm}"
    assert not RESPONSES[algorithm].settings, f"run docs/measure.py {algorithm}"
    return [*entry["losses"], *entry["round_trips"]]


@pytest.mark.parametrize("algorithm", selection.third(FORMS))
def test_the_engine_measures_what_the_rules_say_under_random_losses(algorithm: str) -> None:
    """Within 10 %, for every point in the form's domain: no allowance for how losses come, which the rules include."""
    response = RESPONSES[algorithm]
    inside = [point for point in measured(algorithm) if response.lowest_p <= point["p"] <= response.highest_p]
    assert len(inside) >= 7
    for point in inside:
        expected = float(mean_window(algorithm, point["p"], point["rtt_s"], "random"))
        assert point["window"] == pytest.approx(expected, rel=0.10), point


def test_every_algorithm_is_measured() -> None:
    missing = sorted(set(MEASURING.algorithm_names()) - set(MEASURED))
    assert not missing, f"run .venv/bin/python docs/measure.py {' '.join(missing)}"


@pytest.mark.parametrize("name", selection.third(sorted(MEASURED)))
def test_the_kept_points_are_what_the_engine_gives(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELEPHAN_STORE", str(tmp_path))
    entry = MEASURED[name]
    runs: list[tuple[str, dict[str, Any], list[dict[str, float]]]] = [(name, {}, entry["losses"])]
    if "as_modeled" in entry:
        runs.append(
            (entry["as_modeled"]["algorithm"], entry["as_modeled"]["parameters"], entry["as_modeled"]["losses"])
        )
    for algorithm, parameters, points in runs:
        cheap = min(points, key=lambda point: point["window"] * point["duration_s"])
        again = MEASURING.window(algorithm, parameters, cheap)
        assert again == cheap, f"run .venv/bin/python docs/measure.py {name}"


def test_westwood_is_near_its_form_where_others_keep_a_queue() -> None:
    """Within 25 %: the form is not verified in the paper's text, and takes the estimate as exact.

    A flow with a constant window keeps 20 ms of queue, and Westwood was there before it, so knows the path without.
    """
    scenario = elephan.Scenario.dumbbell(
        ["westwood", {"algorithm": "fixed", "parameters": {"window": 5000.0}}],
        rate="500 Mbit/s",
        rtt="100 ms",
        buffer="20000 packets",
        loss=1e-3,
        starts=["0 s", "5 s"],
        duration="200 s",
        measure={"from": "20 s"},
        stack={"base": "linux", "ack_every": 1},
    )
    flow = compute(backends.get("sim"), scenario, 1).summary()["flows"][0]
    rtt_s = flow["rtt_mean_ms"] / 1e3
    window = flow["goodput_mbps"] * 1e6 / 8 / 1448 * rtt_s
    assert window == pytest.approx(float(westwood(1e-3, rtt_s, rtt_s - 0.1)), rel=0.25)


def test_the_page_has_every_form() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    for name, response in RESPONSES.items():
        assert f"| `{name}` | {response.formula} | {response.source} |" in page
