"""Rates and delays over time: tables in a scenario and in files, the steps that the engine gets, and the results."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from elephan import Run, run
from elephan.metrics.throughput import throughput_mbps
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.toml import write_value

MS = 10**9
S = 10**12
PATH: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "100 packets"}


def scenario(flow: dict[str, Any] | None = None, duration: str = "10 s", **fields: Any) -> Scenario:
    return Scenario.from_dict(
        {
            "duration": duration,
            "start_jitter": "0 s",
            "sample_period": "50 ms",
            "dumbbell": PATH | fields,
            "flow": [flow or {"algorithm": "cubic"}],
        }
    )


def impairments(made: Scenario) -> dict[str, Any]:
    (link,) = (link for link in made.canonical()["links"] if link["name"] == "bottleneck")
    found: dict[str, Any] = link.get("impairments", {})
    return found


def rates(made: Scenario) -> list[tuple[int, int]]:
    return [(step["at_ps"], step["rate_bps"]) for step in impairments(made)["rate_steps"]]


def refused(**fields: Any) -> str:
    with pytest.raises(ScenarioError) as error:
        scenario(**fields)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_table_becomes_steps_and_its_last_value_holds() -> None:
    rows = [["0 s", "5 Mbit/s"], ["2 s", "5 Mbit/s"], ["3 s", "0 bit/s"], ["4 s", "20 Mbit/s"], ["30 s", "1 Mbit/s"]]
    assert rates(scenario(rate_table=rows)) == [(0, 5_000_000), (3 * S, 0), (4 * S, 20_000_000)]


def test_a_table_repeats_after_its_period() -> None:
    rows = [["0 s", "5 Mbit/s"], ["1 s", "8 Mbit/s"]]
    by_rows = [(0, 5_000_000), (S, 8_000_000), (2 * S, 5_000_000), (3 * S, 8_000_000), (4 * S, 5_000_000)]
    assert rates(scenario(duration="5 s", rate_table={"rows": rows, "repeat": True})) == by_rows
    by_period = [(0, 5_000_000), (S, 8_000_000), (4 * S, 5_000_000)]
    assert rates(scenario(duration="5 s", rate_table={"rows": rows, "repeat": "4 s"})) == by_period


def test_a_repeated_table_that_ends_with_a_link_down_goes_on_to_its_next_rate() -> None:
    table = {"rows": [["0 s", "5 Mbit/s"], ["4 s", "0 bit/s"]], "repeat": "6 s"}
    assert rates(scenario(duration="5 s", rate_table=table))[-2:] == [(4 * S, 0), (6 * S, 5_000_000)]


def test_a_delay_is_that_of_the_link_and_packets_stay_in_order() -> None:
    rows = [["1 s", "50 ms"], ["2 s", "5 ms"]]
    steps = [{"at_ps": S, "delay_ps": 50 * MS}, {"at_ps": 2 * S, "delay_ps": 5 * MS}]
    assert impairments(scenario(delay_table=rows)) == {"delay_steps": steps, "steps_in_order": True}
    overtaking = scenario(delay_table={"rows": rows, "overtake": True})
    assert impairments(overtaking) == {"delay_steps": steps}
    same = scenario(delay_steps=[{"at": "1 s", "change": "30 ms"}, {"at": "2 s", "change": "-15 ms"}])
    assert overtaking.hash == same.hash


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("time_s,rate_mbps", "0,5\n0.25,0.5"),
        ("time (ms),rate (Mbit/s)", "0,5\n250,0.5"),
        ("time [s],note,rate_kbps", "0,a,5000\n0.25,b,500"),
        ("Time,Rate", "0 s,5 Mbit/s\n250 ms,500 kbit/s"),
    ],
)
def test_a_file_states_its_units_in_the_header_or_in_its_values(tmp_path: Path, header: str, rows: str) -> None:
    (tmp_path / "r.csv").write_text(f"{header}\n{rows}\n")
    made = scenario(rate_table=str(tmp_path / "r.csv"))
    assert rates(made) == [(0, 5_000_000), (S // 4, 500_000)]


def test_parquet_and_csv_have_one_hash_and_the_content_is_kept(tmp_path: Path) -> None:
    frame = pl.DataFrame({"time_s": [0.0, 1.5, 2.0], "delay_ms": [20.0, 35.25, 0.1]})
    frame.write_csv(tmp_path / "d.csv")
    frame.write_parquet(tmp_path / "d.parquet")
    text = (
        'duration = "5 s"\n[dumbbell]\nrate = "10 Mbit/s"\nrtt = "40 ms"\nbuffer = "1 BDP"\n'
        'delay_table = {}\n[[flow]]\nalgorithm = "reno"\n'
    )
    (tmp_path / "csv.toml").write_text(text.format('"d.csv"'))
    (tmp_path / "parquet.toml").write_text(text.format('{ file = "d.parquet", repeat = "3 s" }'))
    (tmp_path / "again.toml").write_text(text.format('{ file = "d.csv", repeat = "3 s" }'))
    once, parquet, again = (Scenario.load(tmp_path / f"{name}.toml") for name in ("csv", "parquet", "again"))
    assert parquet.hash == again.hash != once.hash
    (tmp_path / "d.csv").write_text("time_s,delay_ms\n0,1\n")
    assert Scenario.load(tmp_path / "csv.toml").hash != once.hash
    (tmp_path / "d.csv").unlink()
    for made in (once, again):
        assert Scenario.from_toml(made.to_toml()).hash == made.hash


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"rate_table": []}, "dumbbell.rate_table: [] is not a table of rate over time"),
        ({"rate_table": [["0 s", "5"]]}, "dumbbell.rate_table: row 1: '5' has no unit"),
        ({"rate_table": [["1 s", "5 Mbit/s"], ["1 s", "6 Mbit/s"]]}, "'1 s' is not after the row before, 1 s"),
        ({"rate_table": [["0 s", "5 Mbit/s"], ["1 s", "0 bit/s"]]}, "'0 bit/s' would last for ever"),
        ({"rate_table": {"rows": [["0 s", "5 Mbit/s"]], "repeat": True}}, "rate_table: repeat: one row does not state"),
        ({"rate_table": {"rows": [["2 s", "5 Mbit/s"]], "repeat": "1 s"}}, "'1 s' is not after the last row, 2 s"),
        ({"rate_table": {"row": []}}, "rate_table: row: not a field of a table over time; did you mean 'rows'?"),
        (
            {"rate_table": {"rows": [["0 s", "5 Mbit/s"]], "overtake": True}},
            "overtake: not a field of a table over time",
        ),
        ({"rate_table": {"repeat": True}}, "write either a file, or rows"),
        ({"rate_table": "no.csv"}, "dumbbell.rate_table: 'no.csv': no such file"),
        ({"rate_table": "no.trace"}, "'no.trace': no such file"),
        (
            {"rate_table": [["0 s", "5 Mbit/s"]], "rate_steps": [{"at": "1 s", "rate": "1 Mbit/s"}]},
            "dumbbell.rate_table: there are rate_steps too; write one of the two",
        ),
        (
            {"delay_table": [["0 s", "5 ms"]], "delay_steps": [{"at": "1 s", "change": "1 ms"}]},
            "dumbbell.delay_table: there are delay_steps too",
        ),
        ({"rate_table": [["0 s", "5 Mbit/s"]], "rate_trace": [1]}, "dumbbell.rate_trace: there is rate_table too"),
        ({"rate_table": [["0 s", "5 Mbit/s"]], "channel": {"model": "leo"}}, "channel: there is rate_table too"),
        (
            {"duration": "3000 s", "rate_table": {"rows": [["0 s", "1 Mbit/s"], ["1 ms", "2 Mbit/s"]], "repeat": True}},
            "changes more than 2,000,000 times in the run",
        ),
    ],
    ids=str,
)
def test_what_has_no_sense_is_refused_in_one_line(fields: dict[str, Any], line: str) -> None:
    assert line in refused(**fields)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("time_s,speed\n0,1\n", "has no column rate; its columns are time_s, speed"),
        ("time_s,rate_mpbs\n0,1\n", "'mpbs' in the column rate_mpbs is not a unit"),
        ("time_s,rate_MBps\n0,1\n", "'MBps' in the column rate_MBps is not a unit"),
        ("time_s,rate_mbps\n0,1\n1,x\n", "row 1: '1' is not a number"),
        ("time_s,rate_mbps\n0,1\n1,-2\n", "row 2: '-2000000 bit/s' is too small"),
        ("time,rate\n0,1 Mbit/s\n", "row 1: 0 has no unit"),
        ("time_s,rate_mbps\n", "has no rows"),
    ],
)
def test_a_wrong_file_is_named_with_its_row(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "r.csv").write_text(text)
    message = refused(rate_table=str(tmp_path / "r.csv"))
    assert message.startswith(f"dumbbell.rate_table: '{tmp_path / 'r.csv'}'")
    assert line in message


def made(given: Scenario, folder: Path) -> Run:
    return run(given, store=Store(folder))


def test_throughput_is_the_mean_of_a_table(tmp_path: Path) -> None:
    """Datagrams that always fill the link get 4, 12 and 2 Mbit/s: 6 Mbit/s on average over each period of 3 s."""
    table = {"rows": [["0 s", "4 Mbit/s"], ["1 s", "12 Mbit/s"], ["2 s", "2 Mbit/s"]], "repeat": True}
    flow = {"name": "cbr", "datagrams": {"rate": "30 Mbit/s", "size": "1500 B"}}
    found = made(scenario(flow, "12 s", rate_table=table, buffer="500 packets"), tmp_path)
    for window, mbps in (((3.05, 3.95), 4.0), ((4.05, 4.95), 12.0), ((5.05, 5.95), 2.0), ((3.05, 9.05), 6.0)):
        assert throughput_mbps(found, window)["cbr"] == pytest.approx(mbps, rel=0.01), window


@pytest.mark.parametrize("overtake", [False, True])
def test_delays_follow_a_table_in_order(tmp_path: Path, overtake: bool) -> None:
    """One datagram each 10 ms. When the delay falls from 50 to 20.5 ms, the packets after the fall wait for the last
    one before it, or overtake the packets that are still on the way."""
    rows = [["0 s", "50 ms"], ["1.005 s", "20.5 ms"]]
    flow = {"name": "cbr", "datagrams": {"rate": "1.2 Mbit/s", "size": "1500 B"}}
    given = scenario(flow, "2 s", delay_table={"rows": rows, "overtake": overtake}).with_overrides({"events": True})
    events = made(given, tmp_path).events.filter(pl.col("kind").cast(str) == "received")
    delays_ms = {row["segment"]: 1e3 * (row["time_s"] - row["stamp_s"]) for row in events.iter_rows(named=True)}
    # A datagram of 1500 B takes 1.2 ms on the link, and 0.12 ms on each access link.
    sent = 1.2 + 2 * 0.12
    # Datagram 100 is sent at 1 s. Those that arrive together with it follow it on the receiver's access link.
    wait = {101: 40.0 + 0.12, 102: 30.0 + 0.24} if not overtake else {}
    for segment, delay_ms in delays_ms.items():
        expected = 50.0 if segment <= 100 else wait.get(segment, 20.5)
        assert delay_ms == pytest.approx(sent + expected, abs=1e-6), segment
    order = events["segment"].to_list()
    assert (order == sorted(order)) != overtake


def test_access_links_follow_the_highest_rate() -> None:
    def access_mbps(**fields: Any) -> float:
        links = scenario(**fields).form.links
        return next(link.rate_bps for link in links if link.name == "source1") / 1e6

    assert access_mbps() == 100
    assert access_mbps(rate_steps=[{"at": "1 s", "rate": "5 Mbit/s"}, {"at": "2 s", "rate": "40 Mbit/s"}]) == 400
    assert access_mbps(rate_table=[["0 s", "5 Mbit/s"], ["1 s", "80 Mbit/s"]]) == 800
    # Three opportunities of 1500 B in one millisecond are 36 Mbit/s.
    assert access_mbps(rate_trace=[1, 2, 2, 2, 9]) == 360
    assert access_mbps(rate_table=[["0 s", "80 Mbit/s"]], access_rate="15 Mbit/s") == 15
    leo = scenario(channel={"model": "leo", "seed": 1}, duration="60 s")
    peak = max(rate for _, rate in rates(leo))
    assert next(link.rate_bps for link in leo.form.links if link.name == "source1") == 10 * max(peak, 10_000_000)


def test_a_trace_above_ten_times_the_rate_is_used(tmp_path: Path) -> None:
    """Ten opportunities each millisecond are 120 Mbit/s, with a stated rate of 5 Mbit/s."""
    given = scenario(rate="5 Mbit/s", buffer="1000 packets", rate_trace=[1] * 10)
    assert throughput_mbps(made(given, tmp_path), (2.0, 10.0))["cubic-1"] == pytest.approx(120, rel=0.02)


def test_samples_of_a_course_are_cautioned() -> None:
    spread = {"samples": ["5 ms", "10 ms", "15 ms", "168 ms"]}
    (line,) = [line for line in scenario(jitter=spread, rate="100 Mbit/s").warnings() if "jitter" in line]
    assert line == (
        "bottleneck: jitter.samples are drawn anew for each packet and packets stay in order, so at full rate, with a "
        "packet each 120 us, delays stay near the largest sample, 168 ms; write delays that were recorded over time as "
        "delay_table"
    )
    # At 100 kbit/s the packets are 120 ms apart.
    narrow = scenario(jitter=spread, rate="100 kbit/s").warnings()
    assert not [line for line in narrow if "jitter" in line]


def test_most_packets_have_the_largest_sample(tmp_path: Path) -> None:
    """The caution in numbers: with samples of 1 or 30 ms and a packet each 0.12 ms, the mean delay is 29.9 ms.

    The delay falls by 0.12 ms for each packet since the last one with 30 ms, of which the mean number is 1."""
    flow = {"name": "cbr", "datagrams": {"rate": "100 Mbit/s", "size": "1500 B"}}
    given = scenario(flow, "4 s", rate="100 Mbit/s", jitter={"samples": ["1 ms", "30 ms"]})
    mean_ms = made(given, tmp_path).flows["owd_mean_ms"][0]
    # 20 ms of propagation, 0.12 ms on the link, and a tenth of this on each access link.
    assert mean_ms == pytest.approx(20 + 0.144 + 30 - 0.12, abs=0.02)


def test_a_long_table_is_written_as_a_short_one_is() -> None:
    """Long lists take another way, unless a text in them needs an escape."""
    rows = [[f"{i} s", f"{i % 7 + 1}.5 Mbit/s"] for i in range(3000)]
    for table in (rows, [*rows, ["a\\b", 'c"d']], [*rows, ["{", "null"]], [[i, i % 2 == 0, 0.5] for i in range(3000)]):
        text = write_value(table)
        assert text == "[" + ", ".join(write_value(row) for row in table) + "]"
        assert tomllib.loads(f"x = {text}")["x"] == table
