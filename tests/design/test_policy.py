"""A policy acts in the simulator, without Python, as it did in the environment."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import scripts

import elephan
from elephan import Scenario, ScenarioError
from elephan.design.environments import FEATURES, MEASURES, Flows

ROOT = Path(__file__).resolve().parents[2]
TRAIN = scripts.load("examples/learning/train.py")
WINDOW = MEASURES.index("window_segments")


def scenario(algorithm: dict[str, Any], **more: Any) -> Scenario:
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "6 s"} | more
    return Scenario.dumbbell([{"name": "flow", **algorithm}], **path)


@pytest.mark.parametrize(
    "more", [{}, {"loss": "1%"}, {"rate": "1 Mbit/s", "buffer": "2 packets", "loss": "5%"}, {"rtt": "3 ms"}],
    ids=["clean", "losses", "timeouts", "short"],
)  # fmt: skip
def test_the_simulator_acts_as_the_environment(more: dict[str, str]) -> None:
    row = np.array([-3.0, 1.0, -4.0, 0.5, 0.2, 0.3, -1.0, 0.4, -0.2, 0.1, 0.4])
    network = TRAIN.written(row)
    flows = Flows([scenario({"algorithm": "fixed"}, **more)])
    features, measures = flows.reset(0, 0, 5)
    windows = [measures[0, WINDOW]]
    while True:
        # The engine adds the products one after the other, and then the bias.
        weighted = 0.0
        for weight, feature in zip(row[:-1], features[0], strict=True):
            weighted += weight * feature
        step = flows.step([[[np.tanh(weighted + row[-1])]]])
        windows.append(step.measures[0, 0, WINDOW])
        features = step.features[0]
        if step.over[0]:
            break
    policy = {"algorithm": "policy", "parameters": {"network": network}}
    run = elephan.run(scenario(policy, sample_period="500 us", seed=5, **more), force=True)
    sampled = run.samples["cwnd"].drop_nulls().to_list()
    shown = [window for window, _ in groupby(sampled)]
    told = [window for window, _ in groupby(windows)]
    # Timeouts change the window within a step, so that not all windows of the run are those at the end of a step.
    # NumPy's tanh and the engine's may differ in the last bit.
    place = 0
    for window in told[:-1]:
        while place < len(shown) and not np.isclose(shown[place], window, rtol=1e-9):
            place += 1
        assert place < len(shown), f"{window} is missing after {told.index(window)} windows"
    assert len(told) > 20


def test_a_network_of_another_size_is_refused_in_one_line() -> None:
    with pytest.raises(ScenarioError) as error:
        scenario({"algorithm": "policy", "parameters": {"network": f"network 1 1 {len(FEATURES) - 1} 1"}})
    assert "has 9 inputs and 1 outputs; it must have 10 inputs and one or two outputs" in str(error.value)


def test_the_page_has_the_numbers_that_were_measured() -> None:
    page = (ROOT / "docs/environments.md").read_text(encoding="utf-8")
    for row in json.loads((ROOT / "docs/learned.json").read_text(encoding="utf-8")):
        cells = [
            f"{100 * one['utilization']:.0f} / {one['delay_rtts']:.2f} / {100 * one['share']:.0f}"
            for one in (row[name] for name in ("policy", "cubic", "bbr3"))
        ]
        assert f"| {row['path']} | {' | '.join(cells)} |" in page


@pytest.mark.large
def test_the_script_writes_the_network_of_the_example_again(tmp_path: Path) -> None:
    made_with = {"cmaes": "0.13.1", "numpy": "2.4.6"}
    for package, version in made_with.items():
        if metadata.version(package) != version:
            pytest.skip(f"the network was trained with {package} {version}")
    script, out = ROOT / "examples/learning/train.py", tmp_path / "network.txt"
    subprocess.run([sys.executable, str(script), "--rounds", "60", "--out", str(out)], check=True, capture_output=True)
    assert out.read_bytes() == (ROOT / "examples/learning/network.txt").read_bytes()


def test_training_repeats_and_finds_a_better_policy() -> None:
    flows = Flows([scenario({"algorithm": "fixed"}, duration="3 s")], count=6)
    drawn = np.random.default_rng(1).normal(0, 1, (6, len(FEATURES) + 1))
    first = TRAIN.fitness(drawn, flows, 1)
    assert (first == TRAIN.fitness(drawn, flows, 1)).all()
    better = drawn.copy()
    better[:] = drawn[first.argmax()]
    assert TRAIN.fitness(better, flows, 1) == pytest.approx(first.max())
