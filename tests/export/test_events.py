"""The event log: asked for by the scenario, or made of a saved run afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.export.conftest import SCENARIO

from elephan import Run, Scenario, ScenarioError, backends, export, runs
from elephan.runs import RunError
from elephan.runs.execute import compute

S = 10**12


def test_a_scenario_can_ask_for_its_events_and_a_run_without_them_gives_the_same(lossy: Run, store: runs.Store) -> None:
    asked = runs.run(Scenario.from_toml(SCENARIO).replace(events=True), store=store)
    assert asked.id != lossy.id
    assert asked.has_events
    assert not lossy.has_events
    loaded = Run.load(asked.dir)
    assert loaded.events.height > 10_000
    once_more = export.events_of(lossy)
    assert loaded.events.equals(once_more)
    assert loaded.flows.equals(lossy.flows)


LATE = {"reorder": {"share": 0.02, "delay": "30 ms"}, "duplicate": 0.01}
SMALL = {"receive_window": "30 kB"}
PARKING_LOT = {
    "duration": "26 s",
    "parking_lot": {
        "rate": "2.015927 Mbit/s", "buffer": "28.379717% BDP", "hops": 3, "rtt": "158.239917858 ms",
        "access_rate": "10.25258 Mbit/s",
    },
    # Far above the rate of the path, so that a part of a segment is repeated.
    "flow": [{"algorithm": "vivace", "parameters": {"min_rate": 112.02546705955703}, "stack": {"ack_every": 1}}],
}  # fmt: skip


@pytest.mark.parametrize("base", ["linux", "linux-2.6", "ns2", "rfc6675"])
@pytest.mark.parametrize(("path", "stack"), [({}, {}), (LATE, {}), ({}, SMALL), (LATE, SMALL)])
def test_a_receiver_that_acknowledges_every_segment_is_the_same_with_a_log(
    base: str, path: dict[str, Any], stack: dict[str, Any]
) -> None:
    """Without a log such a receiver may be evaluated in the turn of the link before it."""
    table = {
        "duration": "5 s",
        "dumbbell": {"rate": "4.997 Mbit/s", "rtt": "40 ms", "buffer": "20 packets"} | path,
        "flow": [{"algorithm": "cubic", "stack": {"base": base, "ack_every": 1} | stack}],
    }
    _compare_with_log(table)


def test_an_ack_reports_segments_that_arrived_twice_in_its_first_block() -> None:
    dumbbell = {"rate": "5 Mbit/s", "rtt": "40 ms", "buffer": "20 packets"} | LATE
    scenario = Scenario.from_dict({"duration": "5 s", "dumbbell": dumbbell, "flow": [{"algorithm": "cubic"}]})
    run = compute(backends.get("sim"), scenario.replace(events=True), 1)
    acks = run.tables()["events"].filter(pl.col("kind").cast(pl.String) == "ack_sent")
    again = acks.filter(pl.col("sack_1_past") <= pl.col("segment"))
    assert again.height > 10
    assert (again["sack_1_past"] - again["sack_1_first"] == 1).all()
    assert (again["sack_2_first"].drop_nulls() > again.filter(pl.col("sack_2_first").is_not_null())["segment"]).all()


def test_acks_of_parts_stay_in_order() -> None:
    _compare_with_log(PARKING_LOT)


def _compare_with_log(table: dict[str, Any]) -> None:
    without, logged = (
        compute(backends.get("sim"), Scenario.from_dict(table | {"events": log}), 1) for log in (False, True)
    )
    for name in ("flows", "links", "samples"):
        assert without.tables()[name].equals(logged.tables()[name]), name


def test_the_log_adds_up_to_the_flows_table(lossy: Run) -> None:
    events = export.events_of(lossy)
    by_kind = events.group_by("flow", "kind").len().with_columns(pl.col("flow", "kind").cast(pl.String))
    counts = {(flow, kind): count for flow, kind, count in by_kind.iter_rows()}
    again = (
        events.filter((pl.col("kind") == "sent") & pl.col("retransmit")).group_by(pl.col("flow").cast(pl.String)).len()
    )
    retransmits = dict(again.iter_rows())
    for flow in lossy.flows.iter_rows(named=True):
        assert counts[flow["name"], "sent"] == flow["segments_sent"]
        assert retransmits.get(flow["name"], 0) == flow["retransmits"]
        received = flow["segments_delivered"] + flow["spurious_retransmits"]
        assert counts[flow["name"], "received"] == received
    assert retransmits["plain"] > 10
    assert events["time_s"].is_sorted()


def test_links_say_what_they_did(lossy: Run) -> None:
    events = export.events_of(lossy).with_columns(pl.col("kind", "link").cast(pl.String))
    at_bottleneck = dict(events.filter(pl.col("link") == "bottleneck").group_by("kind").len().iter_rows())
    link = lossy.manifest["engine_summary"]["links"][0]
    assert at_bottleneck["marked"] == link["marked"] > 5
    assert at_bottleneck["lost"] == link["lost"] > 20
    assert at_bottleneck.get("dropped", 0) == link["dropped"]


def test_a_part_of_a_run_can_be_asked_for(lossy: Run, store: runs.Store) -> None:
    everything = export.events_of(lossy)
    part = everything.filter((pl.col("time_s") >= 2) & (pl.col("time_s") < 3))
    assert export.events_of(lossy, 2 * S, 3 * S).equals(part)
    asked = runs.run(Scenario.from_toml(SCENARIO).replace(events={"from": "2 s", "to": "4 s"}), store=store)
    assert export.events_of(asked, 2 * S, 3 * S).equals(part)
    with pytest.raises(RunError, match="goes from 2 s to 4 s"):
        export.events_of(asked, 2 * S, 5 * S)


def test_too_many_events_are_refused_in_one_line() -> None:
    scenario = Scenario.from_toml(SCENARIO).replace(events={"limit": 500})
    with pytest.raises(ScenarioError, match=r"^events: more than 500 events after 0\.\d+ s of the run"):
        runs.run(scenario)


def test_wrong_event_logs_are_refused() -> None:
    scenario = Scenario.from_toml(SCENARIO)
    for wrong, line in {
        "yes": "events: 'yes' is not an event log; write true or a table (limit, from, to)",
        3: "events: 3 is not an event log; write true or a table (limit, from, to)",
    }.items():
        with pytest.raises(ScenarioError) as refused:
            scenario.replace(events=wrong)
        assert str(refused.value) == line
    for table, line in {
        ("from", "10 s"): "events.from: '10 s' is not before the end of the run, 10 s",
        ("limit", 0): "events.limit: 0 is not a number of events; it is a whole number from 1 to 1000000000",
        ("form", "1 s"): "events.form: not a field of events; did you mean 'from'?",
    }.items():
        with pytest.raises(ScenarioError) as refused:
            scenario.replace(events=dict([table]))
        assert str(refused.value) == line


def test_a_scenario_without_a_log_does_not_mention_it() -> None:
    scenario = Scenario.from_toml(SCENARIO)
    assert "events" not in scenario.canonical()
    assert scenario.replace(events=False).hash == scenario.hash
    asked = scenario.replace(events=True)
    assert "events = true" in asked.to_toml()
    assert Scenario.from_toml(asked.to_toml()).hash == asked.hash != scenario.hash


def test_a_result_that_this_engine_does_not_give_is_not_written_out(lossy: Run) -> None:
    other = Run(lossy.manifest | {"tables_sha256": "contents:" + "0" * 64}, folder=lossy.dir)
    with pytest.raises(RunError, match="this one gives another result; make it again with elephan run --force"):
        export.events_of(other)


def test_the_log_is_among_the_exported_tables(store: runs.Store, tmp_path: Path) -> None:
    asked = runs.run(Scenario.from_toml(SCENARIO).replace(events={"to": "1 s"}), store=store)
    asked.to_csv(tmp_path / "csv")
    table = pl.read_csv(tmp_path / "csv" / "events.csv")
    assert table.height == asked.events.height
    assert {"time_s", "kind", "sack_1_first"} <= set(table.columns)


def test_stamps_of_acks_are_found(lossy: Run) -> None:
    departures = export.ack_departures(export.events_of(lossy))
    assert departures["left_s"].null_count() == 0
    way_s = departures["time_s"] - departures["left_s"]
    # 20 ms of propagation, and transmission: nothing queues on the reverse path.
    assert 0.02 <= way_s.min() <= way_s.max() < 0.0205  # type: ignore[operator]
