"""Recorded paths: each published format becomes the rates and delays that its definition says, and damaged files are
one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elephan.scenario import Scenario, ScenarioError, imports, named, netem_trace, recorded, timed

MS = 10**9
S = 10**12


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(named.ENVIRONMENT, str(tmp_path / "imported"))
    return tmp_path / "imported"


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def lines(numbers: Any) -> str:
    return "".join(f"{number}\n" for number in numbers)


def refused(quantity: str, file: Path) -> str:
    with pytest.raises(ScenarioError) as error:
        timed.parse_table(quantity, str(file))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1000
    return str(error.value)


# ---- opportunities and intervals ----


def test_each_line_of_opportunities_is_1500_bytes_and_bins_have_10_ms(tmp_path: Path) -> None:
    # LeoReplayer's traces/README.md: n lines with the same ms are n times 12 Mbit/s.
    file = (
        written(tmp_path, {"bw_1.txt": lines(ms for ms in range(20) for _ in range(3 if ms < 10 else 1))}) / "bw_1.txt"
    )
    found = recorded.opportunity_rates(str(file))
    # The last opportunity, at 19 ms, ends the trace.
    assert found.rows == ((0, 36_000_000), (10 * MS, 10 * 12_000 * 1000 // 9))
    assert (found.length, found.again) == (19 * MS, True)


def test_an_opportunity_at_the_end_of_the_last_bin_belongs_to_it(tmp_path: Path) -> None:
    file = written(tmp_path, {"a.trace": "10\n"}) / "a.trace"
    assert recorded.opportunity_rates(str(file)).rows == ((0, 1_200_000),)


def test_all_opportunities_are_counted(tmp_path: Path) -> None:
    times = [ms * 7 % 13 + ms for ms in range(5000)]
    file = written(tmp_path, {"a.trace": lines(sorted(times))}) / "a.trace"
    found = recorded.opportunity_rates(str(file))
    ends = [at for at, _ in found.rows[1:]] + [found.length]
    bits = sum((end - at) * rate for (at, rate), end in zip(found.rows, ends, strict=True)) / S
    assert bits == pytest.approx(len(times) * 12_000, rel=1e-6)


def test_a_line_of_leoreplayer_is_the_delay_of_10_ms_and_the_file_begins_again(tmp_path: Path) -> None:
    file = written(tmp_path, {"delay_1.txt": "24\n18\n18\n"}) / "delay_1.txt"
    table = timed.parse_table("delay", str(file))
    assert table.rows == ((0, 24 * MS), (10 * MS, 18 * MS))
    assert table.repeat == 30 * MS
    assert timed.parse_table("delay", {"file": str(file), "repeat": False}).repeat is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("\n\n", "line 1: '' is not a time"),
        ("1\n\n2\n", "line 2: '' is not a time"),
        ("1\n2x\n", "line 2: '2x' is not a time"),
        ("1\n-2\n", "line 2: '-2' is not a time"),
        ("1\n2.5\n", "line 2: '2.5' is not a time"),
        ("5\n4\n", "line 2: 4 follows 5; times do not go back"),
        ("0\n0\n", "must last longer than 0 ms"),
        ("1\n99999999999999999999999\n", "line 2: '99999999999999999999999' is not a time"),
        ("1\n9999999999\n", "from 0 to 604800000"),
        ("1\n\0\n", "has null characters"),
        ("PK\x03\x04\n", "line 1:"),
    ],
)
def test_damaged_opportunities_are_one_line(tmp_path: Path, text: str, says: str) -> None:
    file = written(tmp_path, {"a.txt": text}) / "a.txt"
    message = refused("rate", file)
    assert says in message
    assert "a.txt" in message


def test_bytes_that_are_no_text_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"1\n\xff\xfe\n")
    assert "is not a text in UTF-8" in refused("rate", tmp_path / "a.txt")
    assert "no such file" in refused("rate", tmp_path / "b.txt")
    assert "a folder" in refused("rate", tmp_path)


def test_spaces_around_numbers_are_allowed(tmp_path: Path) -> None:
    file = written(tmp_path, {"a.txt": "1 \r\n 2\r\n"}) / "a.txt"
    assert list(recorded.opportunities(str(file))) == [1, 2]


# ---- CellReplay ----

TRAINS = "0 20 0 1 2\n1000 30 0 2 4 8\n2000 25 0\n3000 25 0 0\n"


def test_a_train_is_a_delay_and_the_rate_after_its_first_packet(tmp_path: Path) -> None:
    file = written(tmp_path, {"down-delay-light-pdo": TRAINS}) / "down-delay-light-pdo"
    delays = timed.parse_table("delay", str(file))
    assert delays.rows == ((0, 20 * MS), (S, 30 * MS), (2 * S, 25 * MS))
    assert delays.repeat == 4 * S
    # 2 packets of 1400 B in 2 ms, 3 in 8 ms, one packet says nothing, one within 1 ms counts as 1 ms.
    rates = timed.parse_table("rate", str(file))
    assert rates.rows == ((0, 11_200_000), (S, 4_200_000), (3 * S, 11_200_000))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 20 0 1\n", "fewer than two trains"),
        ("0 20 0 1\n0 20 0 1\n", "times rise"),
        ("0 20 0 1\n5 20\n", "line 2: '5 20' is not a train"),
        ("0 20 0 1\n5 20 3 1\n", "do not go back"),
        ("0 20 0 1\n5 999999999 0\n", "too large"),
        ("0 20 0\n5 20 0\n", "no train has a second packet"),
    ],
)
def test_damaged_trains_are_one_line(tmp_path: Path, text: str, says: str) -> None:
    file = written(tmp_path, {"a": text}) / "a"
    assert says in refused("rate", file)


# ---- netem-trace ----

CRATE = (  # the examples of the crate's documentation, with its feature "human" and without
    '{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":{"gbps":0,"bps":12000000},"duration":{"secs":1,'
    '"nanos":0}}},{"StaticBwConfig":{"bw":{"gbps":0,"bps":24000000},"duration":{"secs":1,"nanos":0}}}],"count":2}}',
    '{"RepeatedBwPatternConfig":{"pattern":[{"StaticBwConfig":{"bw":"12Mbps","duration":"1s"}},{"StaticBwConfig":'
    '{"bw":"24Mbps","duration":"1s"}}],"count":2}}',
)


@pytest.mark.parametrize("text", CRATE)
def test_the_examples_of_the_crate(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, {"a.json": text}) / "a.json"
    found = recorded.course("rate", str(file))
    assert found.rows == ((0, 12_000_000), (S, 24_000_000), (2 * S, 12_000_000), (3 * S, 24_000_000))
    assert (found.length, found.again) == (4 * S, False)


@pytest.mark.parametrize(
    "text",
    [
        '{"RepeatedBwPatternConfig":{"pattern":[{"TraceBwConfig":[["1ms",["2Mbps","4Mbps"]],["2ms",["1Mbps"]]]}],"count":0}}',
        '{"RepeatedBwPatternConfig":{"pattern":[{"TraceBwConfig":[[1.0,[2.0,4.0]],[2.0,[1.0]]]}],"count":0}}',
    ],
)
def test_a_count_of_0_repeats_for_ever(tmp_path: Path, text: str) -> None:
    table = timed.parse_table("rate", str(written(tmp_path, {"a.json": text}) / "a.json"))
    assert table.rows == ((0, 2_000_000), (MS, 4_000_000), (2 * MS, 1_000_000))
    assert table.repeat == 4 * MS


def test_a_sawtooth_without_noise_is_that_of_the_crate(tmp_path: Path) -> None:
    fields = {
        "bottom": "12Mbps",
        "top": "16Mbps",
        "duration": "1s",
        "step": "100ms",
        "interval": "500ms",
        "duty_ratio": 0.8,
    }
    file = written(tmp_path, {"a.json": json.dumps({"SawtoothBwConfig": fields})}) / "a.json"
    mbps = [rate / 1e6 for _, rate in recorded.course("rate", str(file)).rows]
    assert mbps == [12, 13, 14, 15, 16, 12, 13, 14, 15, 16]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "a table with one key"),
        ('{"StaticDelayConfig": {}}', "'StaticDelayConfig' is not a model of a rate"),
        ('{"NormalizedBwConfig": {"std_dev": "1Mbps"}}', "has random numbers"),
        ('{"StaticBwConfig": {"bw": "12 parsec"}}', "is not a bandwidth"),
        ('{"StaticBwConfig": {"bw": {"gbps": -1, "bps": 0}}}', "is not a bandwidth"),
        ('{"StaticBwConfig": {"bw": {"gbps": 10000000, "bps": 0}}}', "is too large"),
        ('{"RepeatedBwPatternConfig": {"pattern": [{"StaticBwConfig": {"duration": "1ns", "bw": "1bps"}}, '
         '{"StaticBwConfig": {"duration": "1ns"}}], "count": 1000000000000}}', "more than 1,000 steps"),
        ('{"RepeatedBwPatternConfig": {"pattern": [], "count": 1000000000000}}', "has no values"),
        ('{"SawtoothBwConfig": {"step": "0s"}}', "a step and an interval above 0"),
        ('{"TraceBwConfig": [[NaN, [1.0]]]}', "is not a time in ms"),
        ('{"RepeatedBwPatternConfig":{"pattern":[' * 40 + "{}" + "]}}" * 40, "nested too deeply"),
    ],
)  # fmt: skip
def test_damaged_models_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    monkeypatch.setattr(netem_trace, "MOST_STEPS", 1000)
    file = written(tmp_path, {"a.json": text}) / "a.json"
    assert says in refused("rate", file)


# ---- imports ----


def flow_form(path: Any, duration: str = "1 s") -> dict[str, dict[str, Any]]:
    made = Scenario.from_dict({"duration": duration, "path": path, "flow": [{"algorithm": "cubic"}]})
    return {link["name"]: link for link in made.canonical()["links"]}


def test_a_pair_of_leoreplayer_is_a_path_named_after_its_folders(tmp_path: Path) -> None:
    pair = {"A/7/bw_7.txt": lines(range(1, 101)), "A/7/delay_7.txt": "24\n18\n" * 5, "A/A_statistics.txt": "x"}
    done = imports.import_folder(str(written(tmp_path / "down", pair)))
    assert done == imports.Imported(("A-7",), ())
    links = flow_form("A-7")
    assert links["forward"]["delay_ps"] == 24 * MS
    assert links["forward"]["impairments"]["rate_steps"][:2] == [
        {"at_ps": 0, "rate_bps": 10_800_000}, {"at_ps": 10 * MS, "rate_bps": 12_000_000},
    ]  # fmt: skip
    for way in ("forward", "reverse"):
        assert [step["delay_ps"] // MS for step in links[way]["impairments"]["delay_steps"]][:4] == [24, 18, 24, 18]
    assert "rate_steps" not in links["reverse"]["impairments"]


def test_heavy_and_light_opportunities_are_two_paths(tmp_path: Path) -> None:
    heavy = lines(range(1, 4001))
    files = {f"{way}-pdo": heavy for way in ("up", "down")} | {
        f"{way}-delay-light-pdo": TRAINS for way in ("up", "down")
    }
    done = imports.import_folder(str(written(tmp_path / "driving", files)))
    assert done.names == ("driving", "driving-light")
    assert flow_form("driving")["forward"]["rate_bps"] == 11_200_000
    assert named.find("driving-light").links["up"]["rate"] != "11.2 Mbit/s"


def test_mahimahis_files_are_pairs_or_one_for_both(tmp_path: Path) -> None:
    files = {"X-LTE.up": "10\n", "X-LTE.down": "5\n10\n", "y.trace": "10\n", "alone.up": "10\n"}
    done = imports.import_folder(str(written(tmp_path / "m", files)), "m")
    assert done.names == ("m-X-LTE", "m-y")
    assert [flow_form("m-X-LTE")[way]["rate_bps"] for way in ("forward", "reverse")] == [2_400_000, 1_200_000]
    up = flow_form({"name": "m-X-LTE", "direction": "up"})
    assert up["forward"]["rate_bps"] == 1_200_000


PROFILES = """operator,country,rat,signal_quality,download_kbps,upload_kbps,latency_ms_avg,latency_ms_stdev
telia,norway,3G,good,6192.6,1997.3,80,59.8
telia,norway,3G,medium,3265.6,1457.2,100,75.4
"""


def test_errants_profiles_and_schedules(tmp_path: Path) -> None:
    schedule = "operator,country,rat,quality,duration,period\ntelia,norway,3g,good,5,-\ntelia,norway,3g,medium,5,2\n"
    done = imports.import_folder(str(written(tmp_path / "e", {"profiles.csv": PROFILES, "day.csv": schedule})))
    assert sorted(done.names) == ["day", "telia-norway-3g-good", "telia-norway-3g-medium"]
    links = flow_form("day", "20 s")
    assert [step["rate_bps"] for step in links["forward"]["impairments"]["rate_steps"]] == [6_192_600, 3_265_600] * 2
    assert [step["delay_ps"] // MS for step in links["reverse"]["impairments"]["delay_steps"]] == [40, 50] * 2


def test_a_table_over_time_has_its_columns_and_units(tmp_path: Path) -> None:
    table = "time_s,download_kbps,upload_kbps,latency_ms\n100,2000,500,80\n101,1000,500,60\n"
    imports.import_folder(str(written(tmp_path / "t", {"drive.csv": table, "other.csv": "a,b\n1,2\n"})))
    found = named.find("drive").recorded
    assert found is not None
    assert found.down.rates == named.Course(((0, 2_000_000), (S, 1_000_000)), 2 * S)
    assert found.up == named.Way(500_000, 40 * MS, None, named.Course(((0, 40 * MS), (S, 30 * MS)), 2 * S))


def test_models_of_netem_trace_with_and_without_a_delay(tmp_path: Path) -> None:
    late = '{"StaticDelayConfig": {"delay": "7ms"}}'
    files = {"a.json": CRATE[0], "a.delay.json": late, "b.json": CRATE[1], "package.json": '{"name": "x"}'}
    assert imports.import_folder(str(written(tmp_path / "n", files))).names == ("a", "b")
    assert [named.find(name).links["down"]["delay"] for name in "ab"] == ["7 ms", "20 ms"]


def test_a_damaged_recording_is_a_line_and_the_others_are_imported(tmp_path: Path) -> None:
    files = {"bw_1.txt": "1\nx\n", "delay_1.txt": "5\n", "bw_2.txt": "1\n2\n", "delay_2.txt": "5\n"}
    done = imports.import_folder(str(written(tmp_path / "d", files)))
    assert done.names == ("2",)
    (line,) = done.refused
    assert "bw_1.txt', line 2: 'x' is not a time" in line


def test_a_folder_without_recordings_says_which_are_known(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ScenarioError, match="has no recordings that are known"):
        imports.import_folder(str(tmp_path / "empty"))
    with pytest.raises(ScenarioError, match="is not a folder"):
        imports.import_folder(str(tmp_path / "missing"))


def test_a_name_of_a_shipped_path_is_not_taken(tmp_path: Path) -> None:
    done = imports.import_folder(str(written(tmp_path / "x", {"leo.trace": "10\n", "../x/ä ö.trace": "10\n"})))
    assert done.names == ("leo-recorded", "path")


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"format": 1}', "\0\0",
        '{"format":1,"title":"","kind":"","down":{"rate_bps":0,"delay_ps":1},"up":{"rate_bps":1,"delay_ps":1}}',
        '{"format":1,"title":"","kind":"","down":{"rate_bps":1,"delay_ps":1,"rates":{"rows":[]}},'
        '"up":{"rate_bps":1,"delay_ps":1}}',
        '{"format":1,"title":"","kind":"","down":{"rate_bps":1,"delay_ps":1,"rates":{"rows":[[5,1],[5,2]]}},'
        '"up":{"rate_bps":1,"delay_ps":1}}',
        '{"format":9,"title":"","kind":"","down":{"rate_bps":1,"delay_ps":1},"up":{"rate_bps":1,"delay_ps":1}}',
    ],
)  # fmt: skip
def test_a_damaged_import_is_one_line(store: Path, text: str) -> None:
    written(store, {"bad.json": text})
    with pytest.raises(ScenarioError, match="import it again"):
        named.find("bad")


# ---- names in scenarios ----


@pytest.mark.parametrize("name", sorted(named.shipped()))
def test_a_shipped_path_runs_in_both_directions(name: str) -> None:
    for direction in ("down", "up"):
        links = flow_form({"name": name, "direction": direction})
        assert set(links) == {"forward", "reverse"}
    assert named.find(name).fitted


def test_another_path_takes_the_place_of_the_first() -> None:
    flows = [{"algorithm": "cubic"}, {"algorithm": "reno", "direction": "left"}]
    made = {name: Scenario.from_dict({"duration": "5 s", "path": name, "flow": flows}) for name in ("leo", "lte")}
    assert made["leo"].replace(path="lte").canonical() == made["lte"].canonical()
    assert (
        made["leo"].replace({"path": {"name": "lte", "buffer": "3 BDP"}}).link[0].buffer != made["lte"].link[0].buffer
    )
    dumbbell = Scenario.dumbbell(["cubic"], rate="10 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="5 s")
    with pytest.raises(ScenarioError, match="path: there is dumbbell too"):
        dumbbell.replace(path="lte")


def test_the_scenario_has_the_links_in_place_of_the_name() -> None:
    made = Scenario.from_dict({"duration": "5 s", "path": "leo", "flow": [{"algorithm": "cubic"}]})
    assert "path" not in made.to_dict()
    assert Scenario.from_toml(made.to_toml()).hash == made.hash


def test_both_directions_of_a_satellite_change_at_the_same_times_and_a_seed_moves_both() -> None:
    one, other = flow_form("leo", "60 s"), flow_form({"name": "leo", "seed": 2}, "60 s")
    at = {way: [step["at_ps"] for step in link["impairments"]["rate_steps"]] for way, link in one.items()}
    assert at["forward"] == at["reverse"]
    assert one["forward"]["impairments"]["delay_steps"] == one["reverse"]["impairments"]["delay_steps"]
    assert other["forward"]["impairments"]["rate_steps"] != one["forward"]["impairments"]["rate_steps"]
    fading = flow_form("lte")
    assert fading["forward"]["impairments"]["rate_steps"][1:] != fading["reverse"]["impairments"]["rate_steps"][1:]


def test_buffer_queue_and_loss_are_those_of_the_data() -> None:
    path = {"name": "policer", "buffer": "100 packets", "queue": "fq_codel", "loss": "1%"}
    links = flow_form(path)
    assert links["forward"]["queue"]["limit_packets"] == 100
    assert "loss" in links["forward"]
    assert links["reverse"]["queue"]["kind"] == "droptail"


def test_flows_go_with_or_against_the_path() -> None:
    rows = [{"algorithm": "cubic"}, {"algorithm": "bbr", "direction": "left"}]
    made = Scenario.from_dict({"duration": "5 s", "path": "docsis", "flow": rows})
    assert [flow.path for flow in made.flow] == [("forward",), ("reverse",)]


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"path": "leoo"}, "path: 'leoo' is not a path; did you mean 'leo'"),
        ({"path": "../../etc/passwd"}, "is not a path"),
        ({"path": 5}, "is the name of a path"),
        ({"path": {"name": "leo", "bufer": "1 BDP"}}, "path.bufer: not a field of path; did you mean 'buffer'"),
        ({"path": {"name": "leo", "buffer": "1 apple"}}, "path.buffer: "),
        ({"path": {"name": "leo", "direction": "left"}}, "path.direction: "),
        ({"path": {"name": "leo", "seed": 0}}, "path.seed: "),
        ({"path": {"name": "leo", "queue": "fq_coddle"}}, "path.queue: "),
        ({"path": "leo", "link": [{"name": "x"}]}, "path: there is link too"),
        ({"path": "leo", "flow": [{"algorithm": "cubic", "direction": "up"}]}, "flow[0].direction: "),
    ],
)
def test_a_wrong_path_is_one_line(tables: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        Scenario.from_dict({"duration": "5 s", "flow": [{"algorithm": "cubic"}]} | tables)
    assert says in str(error.value)
