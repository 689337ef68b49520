"""Steps of the bottleneck's rate are found where they are, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explanation.conftest import Make

import elephan
from elephan.explanation.modes import highest_mode
from elephan.explanation.wording import path_words

STEPS = [{"at": "3 s", "rate": "4 Mbit/s"}, {"at": "6 s", "rate": "20 Mbit/s"}]


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_steps_have_their_times_and_rates(at: str, make: Make) -> None:
    fit = elephan.explain(make(at, algorithm="stcp:linux", rate_steps=STEPS)).path
    assert [level.rate_bps for level in fit.best.levels] == pytest.approx([10e6, 4e6, 20e6], rel=0.01)
    assert [level.from_s for level in fit.best.levels] == pytest.approx([0, 3, 6], abs=0.15)
    assert "Its rate changes: 10 Mbit/s at first, 4 Mbit/s from " in path_words(fit)


def test_simulations_have_the_steps(make: Make) -> None:
    found = elephan.explain(make(algorithm="stcp:linux", rate_steps=STEPS))
    assert "rate_steps" in found.scenario.to_toml()
    # The drops just before a step are those of a queue at the next rate, and not random.
    loss = found.path.by_name["loss"]
    assert (loss.value, loss.low) == (0, 0)
    assert found.check.distance < 0.05
    (fast,) = found.what_if(["cubic:linux"], rate="50 Mbit/s")
    assert fast.means["goodput_mbps"] > 25
    assert [level["rate_bps"] for level in found.model_document()["path"]["rate_levels"]] == pytest.approx(
        [10e6, 4e6, 20e6], rel=0.01
    )


@pytest.mark.parametrize("algorithm", ["cubic", "bbr:linux", "vegas:linux"])
def test_one_rate_has_no_steps(algorithm: str, make: Make) -> None:
    assert elephan.explain(make(algorithm=algorithm)).path.best.levels == ()


def test_equal_rates_have_a_mode() -> None:
    assert highest_mode(np.full(50, 1e7), np.ones(50)) == pytest.approx(1e7)
