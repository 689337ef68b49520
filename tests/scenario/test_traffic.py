"""Applications and datagrams in a scenario: what they mean, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elephan.cli.run import print_run
from elephan.report.run import run_report
from elephan.runs import RunError, Store, run
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.toml import write_toml


def scenario(*flows: dict[str, Any], **more: Any) -> Scenario:
    dumbbell = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "access_rate": "100 Mbit/s"}
    return Scenario.from_dict({"duration": "20 s", "dumbbell": dumbbell, "flow": list(flows), **more})


def test_an_application_is_in_the_canonical_form_only_where_there_is_one() -> None:
    slow = {"algorithm": "reno", "application": {"rate": "2 Mbit/s", "on": "1 s", "off": "2 s", "times": "pareto"}}
    plain, with_application = scenario({"algorithm": "reno"}, slow).canonical()["flows"]
    assert not {"application", "datagrams"} & set(plain)
    times = {"kind": "pareto", "shape": 1.5}
    assert with_application["application"] == {
        "rate_bps": 2_000_000,
        "bursts": [{**times, "mean_ps": 10**12}, {**times, "mean_ps": 2 * 10**12}],
    }


def test_datagrams_have_sizes_of_their_own_and_no_algorithm() -> None:
    one = scenario({"datagrams": {"rate": "1 Mbit/s", "size": "500 B", "arrivals": "poisson"}})
    form = one.canonical()["flows"][0]
    assert (form["name"], form["algorithm"], form["datagrams"]) == ("datagrams-1", "datagrams", True)
    assert (form["stack"]["payload_bytes"], form["stack"]["header_bytes"]) == (472, 28)
    assert Scenario.from_toml(one.to_toml()).hash == one.hash
    assert one.is_random


@pytest.mark.parametrize(
    ("flow", "line"),
    [
        ({"datagrams": {"rate": "1 Mbit/s"}, "algorithm": "cubic"}, "flow[0].algorithm: 'cubic' has no meaning"),
        ({"datagrams": {"rate": "1 Mbit/s"}, "stack": "ns2"}, "flow[0].stack: has no meaning for datagrams"),
        ({"datagrams": {"rate": "1 Mbit/s", "size": "28 B"}}, "flow[0].datagrams.size: '28 B' is not a datagram's"),
        ({"datagrams": {}}, "flow[0].datagrams.rate: missing"),
        ({"algorithm": "reno", "application": {"rate": 5}}, "flow[0].application.rate: 5 has no unit"),
        ({"algorithm": "reno", "application": {"rate": "1 Mbit/s", "on": "1 s"}}, "flow[0].application.off: missing"),
        ({"algorithm": "reno", "application": {"rate": "1 Mbit/s", "shape": 2}}, "has no meaning without on and off"),
        ({"algorithm": "reno", "application": {"rate": "1 Mbit/s", "shape": 1}}, "1 is not a shape"),
        ({"algorithm": "reno", "application": {"rate": "1 Mbit/s", "times": "pareot"}}, "did you mean 'pareto'?"),
        ({"algorithm": "reno", "application": {"rat": "1 Mbit/s"}}, "not a field of application; did you mean 'rate'?"),
    ],
)
def test_traffic_that_makes_no_sense_is_refused(flow: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(flow)
    assert line in str(refused.value)


def test_a_flow_of_datagrams_is_a_row_like_others(tmp_path: Path) -> None:
    result = run(
        scenario(
            {"algorithm": "cubic"},
            {"name": "noise", "datagrams": {"rate": "2 Mbit/s"}},
            {"name": "slow", "algorithm": "reno", "application": {"rate": "1 Mbit/s"}},
            measure={"from": "10 s"},
        ),
        store=Store(tmp_path),
    )
    rows = {row["name"]: row for row in result.flows.to_dicts()}
    noise, slow = rows["noise"], rows["slow"]
    assert noise["algorithm"] == "datagrams"
    assert noise["throughput_mbps"] == pytest.approx(2.0, rel=0.05)
    assert noise["goodput_mbps"] == pytest.approx(noise["throughput_mbps"] * 0.972)
    assert noise["rtt_mean_ms"] is None
    assert noise["cwnd_mean"] is None
    assert slow["goodput_mbps"] == pytest.approx(1.0, rel=0.05)
    assert 6 < rows["cubic-1"]["throughput_mbps"] < 7.1
    assert result.summary()["flows"][1]["cwnd_mean"] is None


WEB = {"name": "web", "algorithm": "reno", "load": "50%", "sizes": {"distribution": "pareto"}}


def with_sources(*sources: dict[str, Any], **more: Any) -> Scenario:
    return scenario({"algorithm": "cubic"}, traffic=list(sources), **more)


def test_a_source_has_access_links_of_its_own_and_the_bottleneck() -> None:
    form = with_sources({**WEB, "direction": "left", "stack": {"receive_window": "64 KiB"}}).canonical()
    (source,) = form["traffic"]
    path = [form["links"][link]["name"] for link in source["flow"]["path"]]
    assert path == ["source2", "bottleneck/reverse", "sink2"]
    assert source["arrivals"] == {"kind": "load", "bps": 5_000_000}
    assert source["sizes"] == {"kind": "pareto", "mean_bytes": 25_000.0, "shape": 1.2}
    assert "rtts" not in source
    assert source["flow"]["stack"]["receive_window"] == 45
    assert "traffic" not in scenario({"algorithm": "cubic"}).canonical()


def test_a_source_survives_a_round_trip() -> None:
    users = {"algorithm": "cubic", "users": 3, "think": "1 s", "rtts": [[0, "20 ms"], [1, "50 ms"]]}
    one = with_sources(WEB, users, {"algorithm": "bic", "per_second": 3, "rtts": "aikat"})
    assert Scenario.from_toml(one.to_toml()).hash == one.hash
    assert one.is_random


def test_a_file_is_what_it_contains(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("start_s,size_bytes,rtt_ms\n0.5,3000,50\n0.25,1000,40\n")
    (tmp_path / "rtts.csv").write_text("rtt_ms\n60\n10\n20\n")
    sources = [{"algorithm": "reno", "file": "list.csv"}, {"algorithm": "reno", "per_second": 9, "rtts": "rtts.csv"}]
    tables = {**scenario({"algorithm": "cubic"}).to_dict(), "traffic": sources}
    read = Scenario.from_toml(write_toml(tables), folder=tmp_path).canonical()["traffic"]
    assert read[0]["arrivals"]["starts_ps"] == [10**12 // 4, 10**12 // 2]
    assert read[0]["arrivals"]["sizes_bytes"] == [1000, 3000]
    assert read[0]["arrivals"]["rtts_ps"] == [40 * 10**9, 50 * 10**9]
    assert read[1]["rtts"] == {"shares": [0.0, 0.5, 1.0], "rtts_ps": [10 * 10**9, 20 * 10**9, 60 * 10**9]}


def test_a_list_of_transfers_is_the_same_as_a_file_of_them(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("start_s,size_bytes,rtt_ms\n0.5,3000,50\n0.25,1000,40\n")
    listed = {"algorithm": "reno", "transfers": [["500 ms", "3 kB", "50 ms"], ["250 ms", "1 kB", "40 ms"]]}
    tables = {**scenario({"algorithm": "cubic"}).to_dict(), "traffic": [{"algorithm": "reno", "file": "list.csv"}]}
    of_file = Scenario.from_toml(write_toml(tables), folder=tmp_path)
    assert with_sources(listed).canonical()["traffic"] == of_file.canonical()["traffic"]
    assert Scenario.from_toml(with_sources(listed).to_toml()).hash == with_sources(listed).hash


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ({"load": None}, "traffic[0].load: missing; write load, per_second, users, file or transfers"),
        ({"per_second": 5}, "traffic[0].per_second: load already determines the starts of transfers"),
        ({"load": None, "users": 5}, "traffic[0].think: missing; users need"),
        ({"load": "0%"}, "traffic[0].load: '0%' is not a load"),
        ({"load": "90 Tbit/s"}, "traffic[0].load: needs more than 500 million transfers"),
        ({"record": "sumary"}, "traffic[0].record: 'sumary' is not a record of transfers; did you mean 'summary'"),
        ({"load": None, "file": "nothing.csv", "sizes": None}, "traffic[0].file: 'nothing.csv': no such file"),
        ({"load": None, "transfers": []}, "traffic[0].transfers: [] is not a list of transfers"),
        ({"load": None, "sizes": None, "transfers": [[0.5, "1 kB"]]}, "traffic[0].transfers: 0.5 has no unit"),
        (
            {"load": None, "sizes": None, "transfers": [["0 s", "1 kB"], ["1 s", "1 kB", "80 ms"]]},
            "traffic[0].transfers: some have a round-trip time and some have none",
        ),
        ({"load": None, "transfers": [["0 s", "1 kB"]]}, "traffic[0].sizes: is in the list of transfers already"),
        ({"sizes": {"distribution": "paretto"}}, "did you mean 'pareto'?"),
        ({"sizes": {"distribution": "pareto", "shape": 0.9}}, "traffic[0].sizes.shape: 0.9 is not a shape"),
        (
            {"rtts": "aikta"},
            "traffic[0].rtts: 'aikta' is not a distribution of round-trip times; did you mean 'aikat'?",
        ),
        ({"rtts": [[0, "5 ms"], [0.5, "9 ms"]]}, "do not rise from 0 to 1"),
        ({"algorithm": "cubik"}, "traffic[0].algorithm: 'cubik' is not an algorithm; did you mean 'cubic'?"),
        ({"name": "cubic-1"}, "traffic[0].name: 'cubic-1' is the name of flow[0] too"),
        ({"start": "20 s"}, "traffic[0].start: '20 s' is not before the end"),
    ],
)
def test_a_source_that_makes_no_sense_is_refused(source: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        with_sources({key: value for key, value in {**WEB, **source}.items() if value is not None})
    assert line in str(refused.value)


def test_short_round_trips_are_warned_of() -> None:
    (line,) = [line for line in with_sources({**WEB, "rtts": "aikat"}).warnings() if "round-trip" in line]
    start, _, end = line.partition("; ")
    assert start == "web: 35% of its round-trip times are shorter than the path's 40 ms"
    assert end == "those transfers have the path's"


def test_transfers_are_a_table_and_a_load_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path)
    one = with_sources(WEB, measure={"from": "5 s"})
    result = run(one, store=store)
    (line,) = result.summary()["traffic"]
    assert line["target_mbps"] == 5.0
    assert line["offered_mbps"] == pytest.approx(5.0, rel=0.01)
    assert line["transfers"] == len(result.transfers) > 100
    done = result.transfers.drop_nulls("completion_s")
    assert len(done) == line["transfers_completed"]
    assert 0.04 <= min(done["completion_s"]) < max(done["completion_s"]) < 20
    assert result.flows["name"].to_list() == ["cubic-1"]
    again = run(one, store=store)
    assert again.cached
    assert again.transfers.equals(result.transfers)
    assert set(again.tables()) == {"flows", "samples", "links", "transfers", "sources"}
    with pytest.raises(RunError, match="has no transfers"):
        _ = run(scenario({"algorithm": "cubic"}), store=store).transfers


def test_round_trips_that_no_path_can_give_are_refused(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("start_s,size_bytes,rtt_ms\n0.5,3000,50\n0.25,1000,39\n")
    listed = {"algorithm": "reno", "file": str(tmp_path / "list.csv")}
    with pytest.raises(ScenarioError, match=r"1 of the 2 round-trip times are shorter than the path's 40 ms.* 39 ms"):
        with_sources(listed)
    stated = {"algorithm": "reno", "transfers": [["0 s", "1 kB", "30 ms"], ["1 s", "1 kB", "60 ms"]]}
    with pytest.raises(ScenarioError, match=r"traffic\[0\].transfers: 1 of the 2 .* shortest is 30 ms"):
        with_sources(stated)
    drawn = {**WEB, "rtts": [[0, "5 ms"], [1, "30 ms"]]}
    with pytest.raises(ScenarioError, match=r"traffic\[0\].rtts: all round-trip times are shorter .* longest is 30 ms"):
        with_sources(drawn)


def test_short_round_trips_are_in_the_manifest(tmp_path: Path) -> None:
    result = run(with_sources({**WEB, "rtts": "aikat"}), store=Store(tmp_path))
    assert any("those transfers have the path's" in line for line in result.manifest["warnings"])
    assert any("those transfers have the path's" in line for line in result.summary()["warnings"])


def test_a_scenario_may_have_nothing_but_transfers(tmp_path: Path) -> None:
    only = scenario(traffic=[WEB, {**WEB, "name": "back", "direction": "left"}])
    assert (only.flow_names, only.sources) == ([], ["web", "back"])
    assert "web, back" in repr(only)
    assert Scenario.from_toml(only.to_toml()).hash == only.hash
    result = run(only, store=Store(tmp_path))
    assert len(result.flows) == len(result.samples) == 0
    assert result.metrics["offered_mbps"] == pytest.approx(10, rel=0.01)
    assert result.metrics["utilization"] == pytest.approx(0.5, abs=0.1)
    assert "web, back" in repr(result)
    names = {path.name for path in result.to_csv(tmp_path / "csv")}
    assert {"flows.csv", "transfers.csv", "sources.csv"} <= names
    page = run_report(result, tmp_path / "report").read_text(encoding="utf-8")
    assert "Sources of transfers" in page
    with pytest.raises(ScenarioError, match="there is no flow; write at least one"):
        scenario()


def test_packets_of_transfers_are_not_logged_and_that_is_said() -> None:
    with pytest.raises(ScenarioError, match="events: there is nothing to write down: packets of transfers"):
        scenario(traffic=[WEB], events=True)
    lines = with_sources(WEB, events=True).warnings()
    assert "web: the packets of its transfers are not in the event log; those of flows are" in lines
    assert not any("event log" in line for line in with_sources(WEB).warnings())


def test_a_variable_bit_rate_comes_in_frames(tmp_path: Path) -> None:
    video = {"name": "video", "datagrams": {"rate": "2 Mbit/s", "size": "500 B", "frames": "40 ms"}}
    one = scenario(video, duration="100 s")
    assert one.canonical()["flows"][0]["application"]["frames"] == {"interval_ps": 40 * 10**9, "shape": 0.8099}
    assert Scenario.from_toml(one.to_toml()).hash == one.hash
    assert one.is_random
    result = run(one, store=Store(tmp_path))
    (row,) = result.flows.to_dicts()
    # 1250 frames in the measured half, each with a standard deviation of 1.24 of its mean.
    assert row["throughput_mbps"] == pytest.approx(2.0, rel=4 * 1.24 / 1250**0.5)
    # A frame of 10 kB on average comes at once and waits for itself: 8 ms to send.
    assert row["owd_mean_ms"] > 20 + 4
    steady = scenario({**video, "datagrams": {"rate": "2 Mbit/s", "size": "500 B"}}, duration="100 s")
    assert not any("frames" in flow.get("application", {}) for flow in steady.canonical()["flows"])


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"frames": "40 ms", "arrivals": "poisson"}, "flow[0].datagrams.frames: contradicts arrivals"),
        ({"frame_shape": 2}, "flow[0].datagrams.frame_shape: has no meaning without frames"),
        ({"frames": "40 ms", "frame_shape": 0}, "flow[0].datagrams.frame_shape: 0 is not a shape"),
        ({"frames": "1 us"}, "flow[0].datagrams.frames: '1 us' at 2 Mbit/s is less than a byte"),
        ({"frames": "2 h"}, "must be from 1 us to an hour"),
    ],
)
def test_frames_that_make_no_sense_are_refused(fields: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario({"datagrams": {"rate": "2 Mbit/s", **fields}}, duration="20 s")
    assert line in str(refused.value)


def test_people_see_the_one_way_delays_of_datagrams_where_there_are_any(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = {"name": "noise", "datagrams": {"rate": "1 Mbit/s"}}
    for flows, there in (([{"algorithm": "cubic"}], False), ([{"algorithm": "cubic"}, noise], True)):
        result = run(scenario(*flows), store=Store(tmp_path))
        print_run(result)
        assert ("one-way" in " ".join(capsys.readouterr().out.split())) == there
        assert ("one-way delay" in run_report(result, tmp_path).read_text(encoding="utf-8")) == there
