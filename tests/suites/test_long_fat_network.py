"""Known outcomes on long fat networks, by the suite of one's own in examples/."""

from __future__ import annotations

from pathlib import Path

import pytest

from elephan.runs import Store
from elephan.suites import evaluate

SUITE = Path(__file__).resolve().parents[2] / "examples" / "long_fat_network"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("runs"))


@pytest.mark.large
def test_standard_tcp_cannot_fill_10_gbit_over_100_ms_at_a_realistic_loss(store: Store) -> None:
    """RFC 3649, section 1: 1.2 / sqrt(p) segments; HighSpeed TCP has 0.12 / p^0.835 (equation 3)."""
    reno, hstcp = evaluate(["reno", "hstcp"], SUITE, only=["losses"], seeds=4, quick=True, store=store)
    assert reno.outcome("rare-loss-use").verdict == "concern"
    found = reno.outcome("rare-loss-use").worst
    assert found is not None
    assert found.judged is not None
    assert found.judged.found.value < 0.06, "the response function has 1.4 %; a minute begins with a full window"
    assert hstcp.outcome("rare-loss-use").verdict == "pass"


@pytest.mark.parametrize("standard", ["reno", pytest.param("cubic", marks=pytest.mark.large)])
def test_illinois_is_unfair_after_one_late_sample_and_standard_tcp_is_not(store: Store, standard: str) -> None:
    """Leith et al., PFLDnet 2008, section VIII.A and figure 12: the largest RTT is never forgotten."""
    illinois, other = evaluate(["illinois:linux-2.6.23", standard], SUITE, only=["sample"], store=store)
    assert illinois.outcome("late-sample-harm").verdict == "concern"
    assert other.outcome("late-sample-harm").verdict == "pass"
