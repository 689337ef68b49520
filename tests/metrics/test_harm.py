"""Harm of each quantity on runs whose values are known."""

from __future__ import annotations

import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant, step

from elephan import metrics
from elephan.metrics import MetricError
from elephan.metrics.friendliness import fraction_lost
from elephan.runs import Run
from elephan.scenario import Scenario

ALONE = synthetic.scenario(["cubic"], duration="10 s")
BESIDE = synthetic.scenario(["cubic", "bic"], duration="10 s")


def run(stated: Scenario, cubic_mbps: float, rtt_s: float = 0.1, resent_per_s: float = 0.0) -> Run:
    """A run with these values of the CUBIC flow; the other flow, if any, has 5 Mbit/s and the same RTT."""
    rates = {name: constant(cubic_mbps if name == "cubic-1" else 5.0) for name in stated.flow_names}
    sampled = {
        "srtt_s": dict.fromkeys(rates, constant(rtt_s)),
        "retransmits": dict.fromkeys(rates, lambda t: resent_per_s * t),
    }
    return synthetic.run(stated, rates, sampled=sampled)


def test_harm_in_goodput_is_the_fraction_of_the_payload_that_is_lost() -> None:
    """Segments of 1040 B on the wire carry 1000 B in both runs, so headers cancel; duplicates do not."""
    alone = run(ALONE, 80.0)
    both = run(BESIDE, 20.0)
    assert metrics.harm(both, flows=["cubic-1"], reference=alone) == pytest.approx(0.75, abs=1e-3)
    assert metrics.harm(alone, flows=["cubic-1"], reference=alone) == 0
    assert metrics.harm(run(BESIDE, 100.0), flows=["cubic-1"], reference=alone) == pytest.approx(-0.25, abs=1e-3)
    resent = both.samples.with_columns(wire_bytes=both.samples["wire_bytes"] * 2)
    doubled = Run.from_tables(BESIDE, {**both.tables(), "samples": resent})
    assert metrics.sum_throughput_mbps(doubled, flows=["cubic-1"]) == pytest.approx(40)
    assert metrics.harm(doubled, flows=["cubic-1"], reference=alone) == pytest.approx(0.75, abs=1e-3)


def test_harm_in_delay_and_in_loss_divides_by_the_worse_value() -> None:
    alone = run(ALONE, 80.0, rtt_s=0.1, resent_per_s=1.0)
    both = run(BESIDE, 80.0, rtt_s=0.25, resent_per_s=10.0)
    assert metrics.harm(both, flows=["cubic-1"], reference=alone, of="delay") == pytest.approx(0.6)
    assert metrics.harm(both, flows=["cubic-1"], reference=alone, of="loss") == pytest.approx(0.9, abs=1e-3)
    assert metrics.harm(alone, flows=["cubic-1"], reference=alone, of="loss") == 0


def test_no_loss_in_either_run_is_no_harm() -> None:
    found = metrics.harm(run(BESIDE, 20.0), flows=["cubic-1"], reference=run(ALONE, 80.0), of="loss")
    assert found == 0
    with pytest.raises(MetricError, match="harm in loss is not defined: cubic-1 has none of it in this run"):
        metrics.harm(run(BESIDE, 20.0), flows=["cubic-1"], reference=run(ALONE, 80.0, resent_per_s=1.0), of="loss")


def test_harm_in_completion_time() -> None:
    sized = [{"algorithm": "cubic", "size": "10 kB"}, {"algorithm": "bic"}]
    scenarios = [synthetic.scenario(sized[:count], duration="10 s") for count in (1, 2)]
    alone, both = (
        synthetic.run(stated, dict.fromkeys(stated.flow_names, constant(1.0)), completions={"cubic-1": seconds})
        for stated, seconds in zip(scenarios, (1.0, 4.0), strict=True)
    )
    window = (0.0, 10.0)
    assert metrics.harm(both, window, ["cubic-1"], reference=alone, of="completion") == pytest.approx(0.75)
    with pytest.raises(MetricError, match="no flow has a size"):
        metrics.harm(both, window, ["bic-2"], reference=both, of="completion")


def test_flows_may_have_other_names_in_the_reference() -> None:
    rival = synthetic.scenario(["bic", {"algorithm": "cubic", "name": "rival-1"}], duration="10 s")
    both = synthetic.run(rival, {"bic-1": constant(60.0), "rival-1": constant(20.0)})
    found = metrics.harm(both, flows=["rival-1"], reference=run(ALONE, 80.0), reference_flows=["cubic-1"])
    assert found == pytest.approx(0.75, abs=1e-3)
    with pytest.raises(MetricError, match="'rival-1' is not a flow"):
        metrics.harm(both, flows=["rival-1"], reference=run(ALONE, 80.0))


def test_harm_is_of_a_window() -> None:
    both = synthetic.run(BESIDE, {"cubic-1": step(5.0, 80.0, 20.0), "bic-2": constant(5.0)})
    alone = run(ALONE, 80.0)
    windows = [(0.0, 5.0), (5.0, 10.0)]
    found = [metrics.harm(both, window, ["cubic-1"], reference=alone) for window in windows]
    assert found == pytest.approx([0, 0.75], abs=1e-3)


def test_what_harm_needs() -> None:
    both = run(BESIDE, 20.0)
    with pytest.raises(MetricError, match="choose the flows"):
        metrics.harm(both, reference=both)
    with pytest.raises(MetricError, match="give it as reference=run"):
        metrics.harm(both, flows=["cubic-1"])
    with pytest.raises(MetricError, match="did you mean 'delay'"):
        metrics.harm(both, flows=["cubic-1"], reference=both, of="dealy")  # type: ignore[arg-type]
    with pytest.raises(MetricError, match="cubic-1 has no goodput in the reference"):
        metrics.harm(both, flows=["cubic-1"], reference=run(ALONE, 0.0))


def test_the_fraction_lost() -> None:
    assert fraction_lost(80.0, 20.0) == 0.75
    assert fraction_lost(20.0, 80.0, more_is_better=False) == 0.75
    assert fraction_lost(80.0, 20.0, more_is_better=False) == -3
    assert fraction_lost(0.0, 0.0, more_is_better=False) == 0
    with pytest.raises(ZeroDivisionError):
        fraction_lost(0.0, 0.0)
