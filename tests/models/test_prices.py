"""Losses of a fluid flow before a queue is full: their number, and their evenness."""

from __future__ import annotations

import numpy as np
import pytest

from elephan.models import fluid, laws
from elephan.models.prices import Bernoulli, Red, RedSettings, Stream

SETTINGS = RedSettings(low=20.0, high=60.0, max_p=0.1, weight=0.002, gentle=True, adaptive=False)


def test_a_stream_depends_on_seed_and_name_and_nothing_else() -> None:
    def first(seed: int, name: str) -> list[float]:
        stream = Stream(seed, name)
        return [stream.uniform() for _ in range(4)]

    assert first(1, "loss/a") == first(1, "loss/a")
    assert first(1, "loss/a") != first(1, "loss/b")
    assert first(1, "loss/a") != first(2, "loss/a")
    values = np.array([value for seed in range(500) for value in first(seed, "x")])
    assert values.min() >= 0
    assert values.max() < 1
    assert values.mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("step", [0.3, 1.0, 50.0])
def test_losses_are_as_many_and_as_uneven_as_of_independent_segments(step: float) -> None:
    """However the segments are cut into steps: in each 1000 of them a Poisson number of mean 20."""
    price = Bernoulli(0.02, Stream(7, "test"))
    counts = [sum(price.losses(step) for _ in range(round(1000 / step))) for _ in range(400)]
    each = -np.log1p(-0.02) * 1000
    assert np.mean(counts) == pytest.approx(each, rel=0.03)
    assert np.var(counts) == pytest.approx(each, rel=0.25)


def test_the_probability_of_red_has_four_pieces() -> None:
    red = Red(SETTINGS, Stream(1, "test"))
    found = []
    for average in (19.9, 40.0, 60.0, 90.0, 120.0):
        red.average = average
        found.append(red.p)
    assert found == pytest.approx([0.0, 0.05, 0.1, 0.55, 1.0])


def test_gaps_between_early_drops_are_uniform() -> None:
    """Half-way between the thresholds p is 0.05: uniform in 0 to 20 segments (Floyd & Jacobson 1993, section VII)."""
    red = Red(SETTINGS, Stream(3, "test"))
    red.average = 40.0
    gaps, gap = [], 0.0
    for _ in range(400_000):
        gap += 0.1
        if red.losses(0.0, 40.0, 0.1, 0.1):
            gaps.append(gap)
            gap = 0.0
    assert np.mean(gaps) == pytest.approx(10, rel=0.03)
    assert np.std(gaps) == pytest.approx(20 / np.sqrt(12), rel=0.05)
    assert max(gaps) <= 20.2


def test_the_average_of_red_goes_the_way_of_its_weight() -> None:
    red = Red(SETTINGS, Stream(1, "test"))
    for _ in range(100):
        red.losses(0.0, 50.0, 5.0, 5.0)
    assert red.average == pytest.approx(50 * (1 - (1 - 0.002) ** 500))


def test_adaptive_red_gives_up_a_tenth_each_half_second_below_its_target() -> None:
    red = Red(RedSettings(20.0, 60.0, 0.1, 0.002, gentle=True, adaptive=True), Stream(1, "test"))
    for step in range(50):
        red.losses(step * 0.1, 25.0, 100.0, 1000.0)
    red.average = 60.0
    # At 0.5, 1.0, ... 4.5 s.
    assert red.p == pytest.approx(0.1 * 0.9**9)
    red.average = 50.0
    red.losses(5.0, 50.0, 1.0, 1.0)
    red.average = 60.0
    assert red.p == pytest.approx(0.1 * 0.9**9 + min(0.01, 0.1 * 0.9**9 / 4))


def test_a_loss_rate_that_is_no_probability_is_refused() -> None:
    sender = fluid.Sender("a", laws.Memoryless(lambda window: 1.0, lambda window: 0.5), 0.1, loss=1.0)
    with pytest.raises(ValueError, match="loss: not a probability"):
        fluid.run([sender], 1000.0, 100.0, [0.0, 1.0])
