"""Groups of equal flows: what ``count`` stands for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import elephan
from elephan import Scenario, ScenarioError, Store
from elephan.scenario.groups import member_rtts_ps

MS = 10**9
DUMBBELL = {"rate": "50 Mbit/s", "rtt": "40 ms", "buffer": "50% BDP"}
LINKS = [
    {"name": "west", "from": "a", "to": "b", "rate": "40 Mbit/s", "delay": "10 ms", "buffer": "60 packets"},
    {"name": "east", "from": "b", "to": "c", "rate": "30 Mbit/s", "delay": "5 ms", "buffer": "60 packets"},
]
OWN = str(Path(__file__).parents[2] / "examples" / "my_reno.py") + ":MyReno"


def scenario(*flows: dict[str, Any], **more: Any) -> Scenario:
    """A short run on a dumbbell, unless another path is given."""
    path = {} if {"link", "parking_lot"} & more.keys() else {"dumbbell": DUMBBELL}
    return Scenario(duration="3 s", flow=list(flows), **path, **more)


GROUPS = {
    "plain": scenario({"algorithm": "cubic", "count": 3}),
    "spread, beside others": scenario(
        {"algorithm": "reno", "name": "first"},
        {"algorithm": "cubic", "name": "crowd", "count": 4, "start": "100 ms", "start_spread": "1 s"},
        {"algorithm": "bbr", "name": "last"},
        traffic=[{"algorithm": "cubic", "load": "10%"}],
    ),
    "round trips": scenario(
        {"algorithm": "cubic", "count": 5, "rtts": [[0, "20 ms"], [0.5, "60 ms"], [1, "200 ms"]]}, seed=3
    ),
    "to the left": scenario({"algorithm": "htcp", "count": 2, "direction": "left"}, {"algorithm": "reno"}),
    "sized, datagrams": scenario(
        {"algorithm": "cubic", "count": 3, "size": "300 kB"}, {"count": 2, "datagrams": {"rate": "1 Mbit/s"}}
    ),
    "graph": scenario({"algorithm": "cubic", "count": 3, "path": ["west", "east"]}, link=LINKS),
    "parking lot": scenario(
        {"algorithm": "cubic", "count": 2},
        {"algorithm": "bic", "count": 2, "hops": 2},
        parking_lot=DUMBBELL | {"hops": 2},
    ),
    "own": scenario({"algorithm": OWN, "count": 2}),
    "udt": scenario({"algorithm": "udt", "count": 2}),
}


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_a_group_is_what_its_flows_are_one_by_one(group: Scenario, tmp_path: Path) -> None:
    one_by_one = group.without_groups()
    assert all(flow.count == 1 for flow in one_by_one.flow)
    assert group.flow_names == one_by_one.flow_names == [flow.name for flow in group.form.flows]
    runs = [elephan.run(each, store=Store(tmp_path)) for each in (group, one_by_one)]
    for table in ("flows", "samples", "links"):
        first, second = (getattr(run, table) for run in runs)
        assert first.equals(second), table


def test_a_group_of_any_size_is_as_long_in_the_manifest() -> None:
    sizes = {len(scenario({"algorithm": "cubic", "count": count}).canonical_json()) for count in (10, 99)}
    assert len(sizes) == 1
    assert len(scenario({"algorithm": "cubic", "count": 9_999_999}, sample_period="3 s").canonical_json()) < 10_000


def test_a_count_of_one_is_no_other_experiment() -> None:
    assert scenario({"algorithm": "cubic", "count": 1}).hash == scenario({"algorithm": "cubic"}).hash
    assert '"count":' not in scenario({"algorithm": "cubic", "count": 1}).canonical_json()


def test_a_group_comes_back_from_toml() -> None:
    group = GROUPS["round trips"]
    assert Scenario.from_toml(group.to_toml()).hash == group.hash
    assert json.loads(group.canonical_json())["flows"][0]["count"] == 5


def test_round_trips_have_the_distribution_and_no_order() -> None:
    quantiles = ((0.0, 20 * MS), (0.5, 60 * MS), (1.0, 200 * MS))
    times_ms = np.array(member_rtts_ps(quantiles, 1000)) / MS
    assert np.quantile(times_ms, [0.0, 0.25, 0.5, 0.75, 1.0]) == pytest.approx([20, 34.64, 60, 109.5, 200], abs=0.3)
    assert abs(np.corrcoef(np.arange(1000), times_ms)[0, 1]) < 0.05
    assert member_rtts_ps(quantiles, 1) == [60 * MS]


def test_flows_of_a_group_have_the_round_trips_that_were_asked_for(tmp_path: Path) -> None:
    run = elephan.run(GROUPS["round trips"], store=Store(tmp_path))
    base_ms = [sum(run.form.links[i].delay_ps for i in (*f.path, *f.reverse_path)) / MS for f in run.form.flows]
    assert sorted(base_ms) == pytest.approx([40, 40, 60, 97.15, 157.2], rel=1e-3)  # none below the path's 40 ms
    measured = dict(run.flows.select("name", pl.col("rtt_min_ms")).iter_rows())
    assert all(measured[f.name] >= base for f, base in zip(run.form.flows, base_ms, strict=True))


@pytest.mark.parametrize(
    ("flows", "message"),
    [
        ([{"algorithm": "cubic", "count": 0}], "flow[0].count: 0 is not a number of flows"),
        ([{"algorithm": "cubic", "count": "many"}], "flow[0].count: "),
        ([{"algorithm": "cubic", "count": 10**8}], "flow[0].count: "),
        (
            [{"algorithm": "cubic", "start_spread": "1 s"}],
            "flow[0].start_spread: has a meaning for a group of flows only",
        ),
        ([{"algorithm": "cubic", "rtts": "aikat"}], "flow[0].rtts: has a meaning for a group of flows only"),
        ([{"algorithm": "cubic", "count": 2, "rtts": "aikatt"}], "flow[0].rtts: 'aikatt' is not a distribution"),
        ([{"algorithm": "cubic", "count": 2, "rtts": "aikat", "rtt": "50 ms"}], "flow[0].rtts: the round-trip time is"),
        ([{"algorithm": "cubic", "count": 2, "start_spread": "9 s"}], "flow[0].start_spread: '9 s' after 0 s is after"),
        (
            [{"algorithm": "cubic", "count": 2, "start_spread": "2 s", "stop": "1 s"}],
            "flow[0].stop: '1 s' is not after the start of the last flow",
        ),
        (
            [{"algorithm": "cubic", "name": "a", "count": 3}, {"algorithm": "cubic", "name": "a-2"}],
            "flow[1].name: 'a-2' is the name of one of flow[0]'s flows too",
        ),
        ([{"algorithm": "cubic", "counts": 3}], "flow[0].counts: not a field of flow; did you mean 'count'?"),
    ],
)
def test_what_makes_no_sense_gets_one_line(flows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(*flows)
    assert str(caught.value).startswith(message), str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_of_a_group_end_with_its_count() -> None:
    group, other = {"algorithm": "cubic", "name": "a", "count": 3}, {"algorithm": "cubic", "name": "a-4"}
    assert scenario(group, other).flow_names == ["a-1", "a-2", "a-3", "a-4"]


def test_a_group_says_once_what_would_mislead() -> None:
    short = scenario({"algorithm": "reno", "count": 20, "rtts": [[0, "10 ms"], [1, "100 ms"]]})
    assert sum("shorter than the path's" in line for line in short.warnings()) == 1
    assert len(short.warnings()) < 5


def test_a_sweep_over_the_count_may_begin_with_one_flow(tmp_path: Path) -> None:
    flow = {"algorithm": "cubic", "count": 1, "start": "1 s", "start_spread": "500 ms"}
    run = elephan.run(scenario(flow, start_jitter="0 s"), store=Store(tmp_path))
    assert run.flows["start_s"].to_list() == [1.0]
