"""A scenario's meaning: the canonical form, its hash, the shorthands, overrides, and the conversion to TOML."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from elephan.scenario import Scenario, ScenarioError

LATE_FLOW: dict[str, Any] = {
    "duration": "500 s",
    "stack": "ns2",
    "measure": {"from": "250 s", "to": "500 s"},
    "dumbbell": {
        "rate": "622 Mbit/s",
        "rtt": "100 ms",
        "buffer": "1555 packets",
        "queue": "droptail:ns2",
        "access_rate": "1 Gbit/s",
        "access_delay": "1 ms",
    },
    "flow": [{"algorithm": "cubic", "name": "first"}, {"algorithm": "bic", "name": "second", "start": "50 s"}],
}


def late_flow(**changes: Any) -> Scenario:
    return Scenario.from_dict(LATE_FLOW).with_overrides(
        {key.replace("__", "."): value for key, value in changes.items()}
    )


def link(scenario: Scenario, name: str) -> dict[str, Any]:
    return next(row for row in scenario.canonical()["links"] if row["name"] == name)


def test_lost_packets_count_from_one_for_people_and_from_zero_for_the_engine() -> None:
    assert link(late_flow(dumbbell__loss={"packets": [1, 250]}), "bottleneck")["loss"] == {
        "kind": "list",
        "packets": [0, 249],
    }


def test_three_lines_of_python_build_a_scenario() -> None:
    scenario = Scenario.dumbbell(
        ["cubic", "bic"], rate="622 Mbit/s", rtt="100 ms", buffer="20% BDP", starts=["0 s", "50 s"]
    )
    assert scenario.flow_names == ["cubic-1", "bic-2"]
    assert [flow["start_ps"] for flow in scenario.canonical()["flows"]] == [0, 50 * 10**12]


def test_the_bottleneck_and_the_access_links_make_up_the_rtt() -> None:
    scenario = late_flow()
    assert link(scenario, "bottleneck")["delay_ps"] == 48 * 10**9
    assert link(scenario, "source1")["delay_ps"] == 10**9
    assert scenario.graph.rtt_ps(0) == 100 * 10**9


def test_each_flow_goes_through_its_own_access_links_and_back_on_their_other_directions() -> None:
    form = late_flow().canonical()
    names = [row["name"] for row in form["links"]]
    forward = [names[i] for i in form["flows"][1]["path"]]
    backward = [names[i] for i in form["flows"][1]["reverse_path"]]
    assert forward == ["source2", "bottleneck", "sink2"]
    assert backward == ["sink2/reverse", "bottleneck/reverse", "source2/reverse"]


def test_the_reverse_bottleneck_has_the_same_rate_and_buffer() -> None:
    scenario = late_flow()
    there, back = link(scenario, "bottleneck"), link(scenario, "bottleneck/reverse")
    assert (there["rate_bps"], there["queue"]) == (back["rate_bps"], back["queue"])
    assert there["record"]
    assert not back["record"]


def test_a_flow_to_the_left_crosses_the_bottleneck_the_other_way() -> None:
    form = late_flow(**{"flow[1]__direction": "left"}).canonical()
    names = [row["name"] for row in form["links"]]
    assert [names[i] for i in form["flows"][1]["path"]] == ["source2", "bottleneck/reverse", "sink2"]
    assert link(late_flow(**{"flow[1]__direction": "left"}), "bottleneck/reverse")["record"]


def test_access_links_are_ten_times_the_bottleneck_by_default() -> None:
    scenario = Scenario.dumbbell(["reno"], rate="100 Mbit/s", rtt="40 ms", buffer="1 BDP")
    assert link(scenario, "source1")["rate_bps"] == 10**9
    assert link(scenario, "source1")["delay_ps"] == 0


@pytest.mark.parametrize(
    ("wire", "buffer", "packets"),
    [
        ("960 B", "20% BDP", 1555),  # 622 Mbit/s x 100 ms / 8000 bit = 7775 packets
        ("960 B", "100% BDP", 7775),
        ("1000 B", "20% BDP", 1495),  # 1040 B on the wire: 7475.96 packets
        ("960 B", "0.5 BDP", 3888),  # 3887.5, to the nearest, halves up
    ],
)
def test_a_part_of_the_bdp_is_counted_in_packets_on_the_wire(wire: str, buffer: str, packets: int) -> None:
    scenario = Scenario.dumbbell(
        ["reno"], rate="622 Mbit/s", rtt="100 ms", buffer=buffer, stack={"base": "ns2", "payload": wire}
    )
    queue = link(scenario, "bottleneck")["queue"]
    assert queue == {"kind": "droptail", "limit_packets": packets, "limit_bytes": None, "count_in_service": False}


def test_the_bdp_is_that_of_the_longest_path() -> None:
    flows = [{"algorithm": "reno"}, {"algorithm": "reno", "rtt": "200 ms"}]
    scenario = Scenario.dumbbell(flows, rate="100 Mbit/s", rtt="50 ms", buffer="1 BDP")
    assert scenario.graph.rtt_ps(1) == 200 * 10**9
    assert link(scenario, "bottleneck")["queue"]["limit_packets"] == 1667  # 2.5 MB / 1500 B


def test_ns2_counts_one_less_than_its_limit() -> None:
    assert link(late_flow(), "bottleneck")["queue"]["limit_packets"] == 1554
    assert link(late_flow(dumbbell__queue="droptail"), "bottleneck")["queue"]["limit_packets"] == 1555


def test_a_buffer_in_bytes_stays_in_bytes() -> None:
    queue = link(late_flow(dumbbell__buffer="2 MB", dumbbell__queue="droptail"), "bottleneck")["queue"]
    assert (queue["limit_packets"], queue["limit_bytes"]) == (None, 2_000_000)


def test_the_hash_does_not_depend_on_spelling_title_or_seed() -> None:
    same = [
        late_flow(duration="500000 ms"),
        late_flow(dumbbell__rate="0.622 Gbit/s"),
        late_flow(title="another title"),
        late_flow(seed=7),
        late_flow(start_jitter="0.01 s"),
        late_flow(stack={"base": "ns2", "payload": "1 kB"}),
    ]
    assert {scenario.hash for scenario in same} == {late_flow().hash}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("duration", "501 s"),
        ("sample_period", "50 ms"),
        ("start_jitter", "0 s"),
        ("send_jitter", "1 us"),
        ("measure.from", "200 s"),
        ("dumbbell.rate", "621 Mbit/s"),
        ("dumbbell.rtt", "102 ms"),
        ("dumbbell.buffer", "1556 packets"),
        ("dumbbell.queue", "droptail"),
        ("dumbbell.loss", 1e-6),
        ("flow[0].algorithm", "htcp"),
        ("flow[1].start", "51 s"),
        ("flow[1].stop", "400 s"),
        ("flow[1].size", "10 MB"),
        ("flow[1].name", "third"),
        ("flow[0].stack", "linux"),
        ("stack.receive_window", "64 KiB"),
        ("stack", {"base": "ns2", "ack_every": 2, "delayed_ack": "40 ms"}),
        ("stack.initial_window", "3 segments"),
    ],
)
def test_the_hash_depends_on_everything_that_changes_the_experiment(field: str, value: Any) -> None:
    assert late_flow().with_overrides({field: value}).hash != late_flow().hash


def test_the_hash_of_a_known_scenario_never_moves() -> None:
    # A change here makes every saved result unreachable: bump canonical.FORMAT and say so in the changelog.
    assert late_flow().hash == "2985cac76e7e5d1b"


def test_toml_survives_a_round_trip(tmp_path: Path) -> None:
    scenario = late_flow(title='a "late" comer')
    again = Scenario.from_toml(scenario.to_toml())
    assert (again.hash, again.title, again.seed) == (scenario.hash, scenario.title, scenario.seed)
    path = tmp_path / "late.toml"
    path.write_text(scenario.to_toml())
    assert Scenario.load(path) == scenario


def test_a_scenario_can_be_pickled_for_a_cluster() -> None:
    assert pickle.loads(pickle.dumps(late_flow())) == late_flow()


def test_an_override_reaches_one_flow_or_every_flow() -> None:
    assert late_flow(**{"flow[1]__algorithm": "stcp"}).canonical()["flows"][1]["algorithm"] == "stcp"
    everywhere = late_flow(**{"flow[*]__algorithm": "stcp"}).canonical()["flows"]
    assert [flow["algorithm"] for flow in everywhere] == ["stcp", "stcp"]


def test_an_override_of_a_named_stack_keeps_the_name() -> None:
    stack = late_flow(stack__initial_window="3 segments").canonical()["flows"][0]["stack"]
    assert (stack["initial_window"], stack["payload_bytes"]) == (3, 1000)


def test_a_flow_may_have_a_stack_of_its_own() -> None:
    flows = late_flow(**{"flow[0]__stack": {"receive_window": "64 KiB"}, "flow[1]__stack": "linux"}).canonical()[
        "flows"
    ]
    assert (flows[0]["stack"]["receive_window"], flows[0]["stack"]["payload_bytes"]) == (65, 1000)
    assert flows[1]["stack"]["payload_bytes"] == 1448


def test_the_measured_part_is_the_second_half_by_default() -> None:
    scenario = Scenario.dumbbell(["reno"], rate="100 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="60 s")
    assert scenario.canonical()["measure"] == {"from_ps": 30 * 10**12, "to_ps": 60 * 10**12}


def test_a_size_in_bytes_is_rounded_up_to_segments() -> None:
    form = late_flow(**{"flow[0]__size": "2001 B"}).canonical()
    assert form["flows"][0]["size_segments"] == 3


def test_a_parking_lot_has_its_delay_in_equal_hops() -> None:
    scenario = Scenario.from_dict(
        {
            "duration": "10 s",
            "parking_lot": {"hops": 3, "rate": "100 Mbit/s", "rtt": "60 ms", "buffer": "100 packets"},
            "flow": [{"algorithm": "reno"}, {"algorithm": "reno", "hops": 2}, {"algorithm": "reno", "hops": [2, 3]}],
        }
    )
    form = scenario.canonical()
    names = [row["name"] for row in form["links"]]
    paths = [[names[i] for i in flow["path"]] for flow in form["flows"]]
    assert paths == [
        ["source1", "hop1", "hop2", "hop3", "sink1"],
        ["source2", "hop2", "sink2"],
        ["source3", "hop2", "hop3", "sink3"],
    ]
    assert [scenario.graph.rtt_ps(i) // 10**9 for i in range(3)] == [60, 20, 40]


GRAPH = """
duration = "10 s"

[[link]]
name = "west"
from = "a"
to = "b"
rate = "100 Mbit/s"
delay = "10 ms"
buffer = "1 BDP"

[[link]]
name = "east"
from = "b"
to = "c"
rate = "50 Mbit/s"
delay = "20 ms"
buffer = "40 packets"
loss = "0.1%"

[[flow]]
algorithm = "cubic"
path = ["west", "east"]

[[flow]]
algorithm = "reno"
path = ["east/reverse", "west/reverse"]
"""


def test_a_graph_has_a_path_for_each_flow_and_finds_the_way_back() -> None:
    form = Scenario.from_toml(GRAPH).canonical()
    names = [row["name"] for row in form["links"]]
    assert names == ["west", "west/reverse", "east", "east/reverse"]
    assert form["flows"][0]["path"] == [0, 2]
    assert form["flows"][0]["reverse_path"] == [3, 1]
    assert form["flows"][1]["path"] == [3, 1]
    assert form["links"][0]["queue"]["limit_packets"] == 500  # 100 Mbit/s x 60 ms / 1500 B
    assert form["links"][2]["loss"] == {"kind": "bernoulli", "p": 0.001}
    assert form["links"][3]["loss"] == {"kind": "none"}


def test_seeds_that_would_give_equal_runs_are_refused() -> None:
    assert [scenario.seed for scenario in late_flow(seed=5).replicates(3)] == [5, 6, 7]
    with pytest.raises(ScenarioError, match="nothing here is random"):
        late_flow(perturb="none").replicates(2)
    assert len(late_flow(perturb="none", dumbbell__loss=1e-5).replicates(2)) == 2


def test_a_run_too_short_for_its_sawtooth_is_warned_about() -> None:
    short = Scenario.dumbbell(["reno"], rate="622 Mbit/s", rtt="100 ms", buffer="1 BDP", duration="100 s")
    assert any("congestion epochs" in line for line in short.warnings())
    # 622 Mbit/s x 100 ms: a window of 10367 segments, 5183 round trips of 150 ms: 778 s an epoch.
    assert "about 777 s" in short.warnings()[0]
    enough = Scenario.dumbbell(["reno"], rate="10 Mbit/s", rtt="20 ms", buffer="1 BDP", duration="100 s")
    assert enough.warnings() == []


@pytest.mark.parametrize(
    ("path", "warned"),
    [
        ({}, True),
        ({"loss": 1e-9}, True),
        ({"loss": "0.2%"}, False),
        ({"loss": {"packets": [10, 1000, 50_000]}}, False),
        ({"queue": "codel"}, False),
        ({"queue": "pie"}, False),
        ({"reorder": {"share": 0.01, "delay": "30 ms"}}, False),
        ({"rate_steps": [{"at": "30 s", "rate": "20 Mbit/s"}]}, False),
    ],
)
def test_the_sawtooth_is_only_expected_where_a_full_queue_ends_its_epochs(path: dict[str, Any], warned: bool) -> None:
    path = {"rate": "622 Mbit/s", "rtt": "100 ms", "buffer": "1 BDP", **path}
    stated = Scenario.from_dict({"duration": "100 s", "dumbbell": path, "flow": [{"algorithm": "reno"}]})
    assert any("congestion epochs" in line for line in stated.warnings()) is warned


def test_a_late_start_and_a_small_receive_window_are_warned_about() -> None:
    assert any(
        "starts at 300 s, inside the measured part" in w for w in late_flow(**{"flow[1]__start": "300 s"}).warnings()
    )
    assert any("receive window of 65 segments" in w for w in late_flow(stack__receive_window="64 KiB").warnings())
