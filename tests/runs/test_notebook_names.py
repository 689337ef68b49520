"""Names of a run and of a scenario that a user types in a notebook."""

from __future__ import annotations

import pytest

import elephan
from elephan import MetricError, Run, Scenario


@pytest.fixture(scope="module")
def run() -> Run:
    return elephan.run(
        Scenario.dumbbell(("reno", "cubic"), rate="5 Mbit/s", rtt="20 ms", buffer="1 BDP", duration="4 s")
    )


def test_a_metric_is_read_by_its_name(run: Run) -> None:
    assert run.metric("jain") == run.metrics["jain"]
    assert run.metric("goodput_mbps", window=(1.0, 2.0)) != run.metric("goodput_mbps")
    with pytest.raises(MetricError, match="did you mean 'utilization'"):
        run.metric("utilisation")
    with pytest.raises(MetricError, match="has no option 'windw'; did you mean 'window'"):
        run.metric("jain", windw=(1.0, 2.0))


def test_a_run_draws_its_quantities_one_below_the_other(run: Run) -> None:
    assert len(run.plot().axes) == 4
    assert len(run.plot("cwnd", "queue").axes) == 2
    with pytest.raises(MetricError, match="'cwmd' is not a quantity"):
        run.plot("cwmd")


def test_completion_offers_no_names_of_pydantic(run: Run) -> None:
    names = dir(run.scenario)
    assert {"flow", "duration", "with_seed"} <= set(names)
    assert not [name for name in names if name.startswith(("model_", "parse_")) or name in ("construct", "from_orm")]
