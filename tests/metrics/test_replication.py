"""Replicates that are one outcome, seen several times."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from elephan.metrics.replication import Outcomes, alike_flows, distinct_outcomes, outcomes
from elephan.runs import Run
from elephan.scenario import Scenario


def test_outcomes_are_counted_up_to_a_relative_difference() -> None:
    assert distinct_outcomes([[1.0, 2.0], [1.0, 2.0 + 1e-7], [1.0, 2.1]]) == 2
    assert distinct_outcomes([[0.0], [0.0], [1e-9]]) == 2, "nothing is near 0 by a fraction of itself"
    assert distinct_outcomes([[math.inf, math.nan], [math.inf, math.nan]]) == 1
    assert distinct_outcomes([[1.0]] * 5) == 1
    assert distinct_outcomes([]) == 0
    with pytest.raises(ValueError, match="inhomogeneous"):
        distinct_outcomes([[1.0], [1.0, 2.0]])


def test_a_few_outcomes_are_apart_and_a_small_spread_is_not_few() -> None:
    # Two CUBIC flows over 50 Mbit/s x 100 ms, starts over 10 ms: a few segments more or less, in one of two orders.
    first = [22.98555, 25.2842, 25.28285, 22.98285, 22.98748, 22.98594, 25.28343, 22.98459]
    assert distinct_outcomes([[rate, 48.2667 - rate] for rate in first]) == 2
    lone = [47.50, 47.51, 47.52, 47.53, 47.54, 47.55, 47.56, 47.57]
    assert distinct_outcomes([[rate] for rate in lone]) == 8, "eight values of one narrow spread"
    assert distinct_outcomes([[rate] for rate in np.random.default_rng(1).normal(20, 2, 8)]) == 8


def test_what_is_said_depends_on_mirror_images() -> None:
    assert Outcomes(8, 8, 8).sentence == ""
    assert Outcomes(8, 8, 5).sentence == ""
    assert Outcomes(1, 1, 1).sentence == ""
    assert "no goodput and no queue depends on the seed" in Outcomes(8, 1, 1).sentence
    assert Outcomes(8, 2, 1, 2).sentence == (
        "8 seeds, 2 distinct outcomes, mirror images: the interval describes the order of two flows"
    )
    assert Outcomes(8, 6, 1, 3).sentence.endswith("the order of 3 flows")
    assert Outcomes(8, 4, 2, 2).sentence == (
        "8 seeds, 4 distinct outcomes (2 without mirror images): the interval describes how often each came"
    )
    assert Outcomes(8, 3, 3).sentence.startswith("8 seeds, 3 distinct outcomes: ")


PATH = {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP"}


def run(stated: Scenario, *goodputs: float) -> Run:
    rows = [{"name": name, "goodput_mbps": rate} for name, rate in zip(stated.flow_names, goodputs, strict=True)]
    document = {"flows": rows, "links": [{"name": "bottleneck", "queue_mean_packets": 5.0}]}
    return cast("Run", SimpleNamespace(form=stated.form, summary=lambda: document))


def test_a_swap_of_flows_that_are_alike_is_one_unordered_outcome() -> None:
    stated = Scenario.dumbbell(["cubic", "cubic", "bic"], **PATH)
    rates = [(5.0, 2.0, 1.0), (2.0, 5.0, 1.0), (5.001, 2.0, 1.0), (2.0, 5.0, 1.0)]
    runs = [run(stated, *row) for row in rates]
    found = outcomes(runs)
    assert (found.seeds, found.distinct, found.unordered, found.alike) == (4, 2, 1, 2)
    other = run(stated, 1.0, 2.0, 5.0)
    assert outcomes([*runs, other]).unordered == 2, "a swap with a flow of another kind is another outcome"
    missing = dict(runs[0].summary(), links=[{"name": "bottleneck", "queue_mean_packets": None}])
    assert outcomes([cast("Run", SimpleNamespace(form=stated.form, summary=lambda: missing))] * 2).distinct == 1


def test_flows_are_alike_but_for_their_names() -> None:
    def groups(*flows: dict[str, str]) -> list[int]:
        return list(alike_flows(Scenario.dumbbell(flows, **PATH).form).values())

    cubic = {"algorithm": "cubic"}
    assert groups(cubic, cubic) == [0, 0]
    assert groups(cubic, cubic | {"name": "other"}) == [0, 0]
    assert groups(cubic, cubic | {"rtt": "40 ms"}) == [0, 1]
    assert groups(cubic, cubic | {"start": "1 s"}, {"algorithm": "bic"}) == [0, 1, 2]
