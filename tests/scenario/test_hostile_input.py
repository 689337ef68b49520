"""Input that is meant to break a reader: huge numbers, endless files, other encodings, guesses of the wrong size."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenario.test_errors import BASE, GRAPH, ROW, TRAFFIC, refusal, written_fields

from elephan.scenario import Scenario, ScenarioError, reading, units
from elephan.scenario.overrides import apply_overrides, parse_value
from elephan.scenario.words import hint

NUMBERS = ("1e999999999", "1e-999999999", "-1e400", "9" * 5000, "9" * 90, "1e60", "nan")
UNITS = ("s", "bit/s", "B", "packets", "segments", "% BDP", "")
BARE: list[Any] = [1e400, -1e400, float("nan"), 10**400, -(10**400), 2**63, 2**32, 1e308, 5e-324, "x" * 10_000, "", []]
EXTREMES = [*BARE, *(f"{number} {unit}".strip() for number in NUMBERS for unit in UNITS)]


def placed(table: str, name: str, value: Any) -> dict[str, Any]:
    """The overrides that put a value into a field, with what the field needs beside it."""
    if table in ("application", "datagrams"):
        return {f"flow[0].{table}": {"rate": "1 Mbit/s"} | {name: value}}
    if table == "reorder":
        return {"dumbbell.reorder": {"share": "1%", "delay": "1 ms"} | {name: value}}
    if table == "jitter":
        beside = {"normal": {"deviation": "1 ms"}, "deviation": {"normal": "1 ms"}}
        return {"dumbbell.jitter": {name: value} | beside.get(name, {})}
    if table.endswith("_steps"):
        other = {"rate_steps": {"rate": "1 Mbit/s"}, "delay_steps": {"change": "1 ms"}}[table]
        return {f"dumbbell.{table}": [{"at": "1 s"} | other | {name: value}]}
    if table == "sizes":
        return {f"traffic[0].sizes.{name}": value}
    row = {"flow": "[0]", "link": "[0]", "traffic": "[0]"}.get(table, "")
    return {f"{table}{row}.{name}" if table else name: value}


@pytest.mark.parametrize(("table", "name"), written_fields(), ids=lambda word: word or "scenario")
def test_extreme_numbers_in_any_field_have_one_line_of_the_scenarios_own_words(table: str, name: str) -> None:
    document = tomllib.loads({"link": GRAPH, "parking_lot": ROW}.get(table, BASE) + TRAFFIC)
    for value in EXTREMES:
        try:
            Scenario.from_dict(apply_overrides(document, placed(table, name, value)))
        except ScenarioError as error:
            line = str(error)
            assert "\n" not in line
            assert len(line) < 1100
            # Nothing of the canonical form, which no user has written.
            for word in ("spec:", "line 1 column", "links[", "flows[", "_ps", "_bps", "_bytes"):
                assert word not in line, (value, line)


def test_a_number_is_refused_by_its_exponent_before_anything_is_computed() -> None:
    for text in ("1e999999999 s", "11e999000 s", "1e-999999999 s"):
        with pytest.raises(ScenarioError, match="exponent beyond ±60"):
            units.parse_time(text)
    with pytest.raises(ScenarioError, match="5002 letters; a time has at most 100"):
        units.parse_time("9" * 5000 + " s")


def test_a_number_is_exact_however_many_digits_it_has() -> None:
    with pytest.raises(ScenarioError, match="not a whole number of picoseconds"):
        units.parse_time("1.0000000000000000000000000000000000001 s")
    assert units.parse_time("1.0000000000000000000000000000000000000 s") == units.PS_PER_S


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (units.parse_rate, "10 MB/s", "rates are in bits: write '80 Mbit/s'"),
        (units.parse_rate, "10 MBps", "rates are in bits: write '80 Mbit/s'"),
        (units.parse_rate, "10 MBPS", "write '10 Mbit/s', or '80 Mbit/s' for bytes"),
        (units.parse_rate, "1.5 kB/s", "rates are in bits: write '12 kbit/s'"),
        (units.parse_rate, "1 MiB/s", "rates are in bits: write '8.388608 Mbit/s'"),
        (units.parse_rate, "10 bytes/s", "rates are in bits: write '80 bit/s'"),
        (units.parse_rate, "10 Mb/s", "did you mean '10 Mbit/s'?"),
        (units.parse_rate, "10 mbps", "did you mean 'Mbps'?"),
        (units.parse_rate, "10 xbit/s", "allowed: bit/s, kbit/s"),
        (units.parse_size, "10 Mb", "sizes are in bytes: write '1.25 MB'"),
        (units.parse_size, "10 kb", "write '10 kB', or '1250 B' for bits"),
        (units.parse_buffer, "10 Mbit", "sizes are in bytes: write '1.25 MB'"),
        (units.parse_buffer, "20%", "did you mean '20% BDP'?"),
        (units.parse_buffer, "20 percent", "did you mean '20% BDP'?"),
        (units.parse_buffer, "100 ms", "allowed: packets, % BDP"),
        (units.parse_time, "5 m", "did you mean '5 min' or '5 ms'?"),
        (units.parse_time, "5 M", "did you mean '5 min' or '5 ms'?"),
        (units.parse_time, "5 sec", "did you mean 's'?"),
        (units.parse_time, "5 minutes", "did you mean 'min'?"),
        (units.parse_time, "10 MS", "did you mean 'ms'?"),
    ],
)
def test_a_suggested_unit_is_never_of_another_size(parse: Callable[[object], object], text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(text)
    assert said in str(caught.value)


def test_a_byte_order_mark_is_no_mistake_and_other_encodings_are_named(tmp_path: Path) -> None:
    file = tmp_path / "late.toml"
    file.write_bytes(b"\xef\xbb\xbf" + BASE.encode())
    assert Scenario.load(file) == Scenario.from_toml(BASE)
    file.write_text(BASE, encoding="utf-16")
    with pytest.raises(ScenarioError, match=r"late\.toml: text in UTF-16; save it as UTF-8"):
        Scenario.load(file)
    file.write_bytes(b"# one\n# caf\xe9\n" + BASE.encode())
    with pytest.raises(ScenarioError, match="line 2 has the byte 0xe9"):
        Scenario.load(file)


def not_files(folder: Path) -> dict[str, str]:
    """Things with a name that are no files, and what is said of each."""
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    with (folder / "huge").open("wb") as file:
        file.truncate(3_000_000_000)
    return {
        "/dev/zero": "a device, not a file",
        "/dev/null": "a device, not a file",
        str(folder / "pipe"): "a pipe, not a file",
        str(folder / "folder"): "a folder, not a file",
        str(folder / "huge"): "more than the limit for such a file",
        str(folder / "absent"): "no such file",
    }


def test_only_regular_files_of_a_sensible_size_are_read(tmp_path: Path) -> None:
    for name, said in not_files(tmp_path).items():
        with pytest.raises(ScenarioError, match=said):
            Scenario.load(name)
        for field in ({"dumbbell.rate_trace": name}, {"dumbbell.jitter": {"samples": name}}):
            assert said in refusal(BASE, field)
        assert said in refusal(BASE + TRAFFIC, {"traffic": [{"algorithm": "reno", "file": name}]})
    for suffix in (".csv", ".parquet"):
        link = tmp_path / f"rtts{suffix}"
        link.symlink_to("/dev/zero")
        assert "a device, not a file" in refusal(BASE + TRAFFIC, {"traffic[0].rtts": str(link)})


def test_an_own_file_is_a_regular_file_too(tmp_path: Path) -> None:
    for name, said in not_files(tmp_path).items():
        file = tmp_path / f"as-{Path(name).name}.py"
        file.symlink_to(name)
        assert said in refusal(BASE, {"flow[0].algorithm": f"{file}:Mine"})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_that_is_none_has_its_line(suffix: str, tmp_path: Path) -> None:
    for content in (b"", b"PAR1", bytes(range(256)) * 20, b"PAR1" + b"\xff" * 100 + b"PAR1"):
        file = tmp_path / f"transfers{suffix}"
        file.write_bytes(content)
        line = refusal(BASE, {"traffic": [{"algorithm": "reno", "file": str(file)}]})
        assert "traffic[0].file" in line


def test_a_file_that_grows_while_it_is_read_is_read_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "grown"
    file.write_bytes(b"x" * 100)
    monkeypatch.setattr(reading, "_check", lambda status, limit: None)
    with pytest.raises(ScenarioError, match="the limit"):
        reading.read_bytes(file, 10)


def test_numbers_and_brackets_that_stop_the_parser_have_their_line() -> None:
    assert "more digits than any field allows" in refusal("duration = " + "9" * 5000, {})
    assert "seed: a whole number has more digits" in refusal("seed = 0x" + "f" * 5000, {})
    assert "nested too deeply" in refusal("a = " + "[" * 5000, {})
    assert parse_value("9" * 5000) == "9" * 5000
    assert parse_value("[" * 5000) == "[" * 5000


def test_a_long_list_of_names_is_not_printed() -> None:
    line = refusal(BASE, {"flow[0].algorithm": "xyzzy"})
    assert line.endswith("'elephan list algorithms' lists them")
    assert len(line) < 160
    words = [f"word-{i}" for i in range(100)]
    assert hint("ward", words).count("word-") == 3


def test_control_characters_do_not_reach_the_terminal() -> None:
    line = refusal(BASE, {"flow[0].algorithm": "cu\x1b[31mbic\udc80"})
    assert "\x1b" not in line
    assert "\\x1b" in line
    line.encode("utf-8")


def test_what_the_engine_refuses_is_named_as_the_user_wrote_it() -> None:
    steps = [{"at": "1 s", "rate": "1 Mbit/s"}, {"at": "2 s", "rate": "1 bit/s"}]
    assert refusal(BASE, {"dumbbell.rate_steps": steps}).startswith(
        "scenario.toml: dumbbell.rate_steps[1].rate: '1 bit/s' is too small"
    )
    jitter = {"uniform": "2 h"}
    assert refusal(BASE, {"dumbbell.jitter": jitter}).startswith("scenario.toml: dumbbell.jitter: ")
    assert refusal(GRAPH, {"link[1].delay_steps": [{"at": "1 s", "change": "2 h"}]}).startswith(
        "scenario.toml: link[1].delay_steps: "
    )
    assert refusal(BASE, {"stack.ack_size": "65000 B", "stack.sack_block": "1 kB"}).startswith(
        "scenario.toml: stack.ack_size: "
    )
    own = {"flow[1].stack": {"ack_size": "65000 B", "sack_block": "1 kB"}}
    assert refusal(BASE, own).startswith("scenario.toml: flow[1].stack.ack_size: ")
    assert refusal(BASE + TRAFFIC, {"traffic": [{"algorithm": "reno", "per_second": 1e9}]}).startswith(
        "scenario.toml: traffic[0].per_second: "
    )


def test_a_load_beyond_the_link_has_its_warning() -> None:
    stated = Scenario.from_toml(BASE + TRAFFIC, overrides={"traffic[0].load": "120%"})
    assert any("120 % is at least the rate of its slowest link" in line for line in stated.warnings())
    assert not any("slowest link carries" in line for line in Scenario.from_toml(BASE + TRAFFIC).warnings())
