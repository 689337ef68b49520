"""Measurements, their intervals and the conditions that they are made under."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from elephan.evaluation.conditions import aggregation, points_of, span
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined, constant
from elephan.metrics.statistics import bootstrap
from elephan.runs import Run
from elephan.scenario import Scenario


def test_spans_and_points() -> None:
    assert span("20..50") == (20.0, 50.0)
    assert span("600 to 4000") == (600.0, 4000.0)
    assert span("each of 3") is None
    assert points_of("x", lambda name: [1, 2, 3, 4], "2..3") == [2, 3]
    assert aggregation({"x": 3, "y": "on"}, lambda name: []) is None


def test_an_interval_needs_replicates_and_is_the_same_every_time() -> None:
    assert bootstrap(lambda pick: 1.0, 1) is None
    values = Measurement(sample=(1.0, 2.0, 4.0))
    first = bootstrap(values.value, 3)
    assert first == bootstrap(values.value, 3)
    assert first == (1.0, 4.0)


def test_measurements_combine_after_the_median_over_seeds() -> None:
    parts = [Measurement(sample=(1.0, 5.0, 2.0), runs=("x",)), constant(10.0)]
    total = combined(parts, sum)
    assert total.value() == 12.0
    assert total.replicates == 3
    assert total.run_ids == ("x",)
    with pytest.raises(NotJudgedError):
        combined([], sum)


def test_runs_of_some_scenarios_keep_the_order_of_the_runs() -> None:
    names = [f"{number:016x}" for number in range(50)]
    runs = [SimpleNamespace(id=name, manifest={"scenario_hash": name}, seed=1) for name in names]
    wanted = [SimpleNamespace(hash=name) for name in reversed(names[10:])]
    fewer = Evidence(cast("list[Run]", runs)).of_scenarios(cast("list[Scenario]", wanted))
    assert [run.manifest["scenario_hash"] for run in fewer] == names[10:]
