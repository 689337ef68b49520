"""Tables for people: no wider than the terminal, whole lines elsewhere, and a reason for each missing value."""

from __future__ import annotations

import math
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion
from tests.runs import synthetic

from elephan.cli import tables
from elephan.cli.main import run_command
from elephan.cli.tables import Missing, Page, metric_cell, print_table, table_lines, width_of, wrapped

HEADER = ("algorithm", "goodput Mbit/s", "what it is")
ROW = ("cubic", 0.000847, "a cubic function of the time since the last loss")
SCENARIO = """
title = "a pair on ten megabits"
duration = "10 s"

[dumbbell]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "1 BDP"
loss = 0.001

[[flow]]
algorithm = "reno"

[[flow]]
algorithm = "cubic"
"""


@pytest.mark.parametrize("width", [None, 160, 80, 60, 40, 24])
def test_a_table_at_each_width(width: int | None, snapshot: SnapshotAssertion) -> None:
    rows = [ROW, ("reno", None, "half a window a loss"), ("a-name-of-some-length:and-preset", 12345, Missing("none"))]
    assert "\n".join(table_lines(Page(width), "three algorithms", HEADER, rows)) == snapshot


@example(width=20, rows=[("", None, "aaaaa\u4e2d\u4e2d ")], title="", plain=False)
@given(
    width=st.integers(20, 200),
    rows=st.lists(
        st.tuples(st.text(max_size=60), st.floats() | st.none(), st.text(alphabet="ab \u4e2d\u0301-", max_size=90)),
        max_size=4,
    ),
    title=st.text(max_size=120),
    plain=st.booleans(),
)
def test_no_line_is_wider_than_the_page(
    width: int, rows: list[tuple[str, float | None, str]], title: str, plain: bool
) -> None:
    for line in table_lines(Page(width, ascii_only=plain), title, HEADER, rows, least=["goodput Mbit/s"]):
        assert width_of(line) <= width
        assert line == line.rstrip()
        assert line.isprintable()


def test_columns_are_left_out_in_the_stated_order() -> None:
    header = ["flow", "retransmits", "timeouts", "losses"]
    rows = [["cubic-1", 123456, 7, 8]]
    lines = table_lines(Page(33), "", header, rows, least=["timeouts", "losses"])
    assert lines[0].split() == ["flow", "retransmits", "losses"]
    assert lines[-1] == "left out in 33 columns: timeouts"
    lines = table_lines(Page(24), "", header, rows, least=["timeouts", "losses"])
    assert lines[0].split() == ["flow", "retransmits"]
    assert lines[-2:] == ["left out in 24 columns:", "  timeouts, losses"]


def test_a_column_comes_back_where_a_wider_one_made_room() -> None:
    header, rows = ["run", "seed", "algorithms"], [["a" * 20, 1, "b" * 20]]
    lines = table_lines(Page(30), "", header, rows, least=["seed", "algorithms"])
    assert lines[0].split() == ["run", "seed"]
    assert lines[-2:] == ["left out in 30 columns:", "  algorithms"]


def test_records_stand_below_each_other_where_no_row_fits() -> None:
    lines = table_lines(Page(24), "", ["a flow", "retransmits", "timeouts"], [["cubic-1", 12, 3], ["x", 4, 5]])
    assert lines == [
        "a flow       cubic-1",
        "retransmits  12",
        "timeouts     3",
        "",
        "a flow       x",
        "retransmits  4",
        "timeouts     5",
    ]


def test_a_sentence_is_broken_between_words_only() -> None:
    text = "one two three four five six seven"
    assert wrapped(text, 10) == ["one two", "three four", "five six", "seven"]
    assert wrapped(text, 12, "  ") == ["one two", "  three four", "  five six", "  seven"]
    assert wrapped("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrapped(text, None) == [text]


def test_a_heading_is_broken_after_underscores_where_words_are_too_long() -> None:
    assert wrapped("sum_goodput_mbps (Mbit/s)", 16, ends="_.") == ["sum_goodput_mbps", "(Mbit/s)"]
    assert wrapped("flow[1].algorithm", 9, ends="_.") == ["flow[1].", "algorithm"]
    header = ["flow[1].algorithm", "sum_goodput_mbps (Mbit/s)", "mean_queue_delay_ms (ms)"]
    assert table_lines(Page(34), "", header, [["cubic", 96.53, 47.13]]) == [
        "                  sum_       mean_",
        "              goodput_      queue_",
        "flow[1].          mbps    delay_ms",
        "algorithm     (Mbit/s)        (ms)",
        "----------  ----------  ----------",
        "cubic            96.53       47.13",
    ]


def test_a_missing_value_says_why() -> None:
    rows = [["a", Missing("one flow has no fairness"), 1.0], ["b", Missing("one flow has no fairness"), math.nan]]
    lines = table_lines(Page(), "", ["run", "jain", "loss"], rows)
    assert lines[-1] == "jain -: one flow has no fairness"
    assert [line.split() for line in lines[2:4]] == [["a", "-", "1.000"], ["b", "-", "-"]]
    summary = {"metrics": {"jain": None, "convergence_time_s": None, "loss": 0.1}, "undefined": {"jain": "why"}}
    assert metric_cell(summary, "jain") == Missing("why")
    assert metric_cell(summary, "convergence_time_s") == math.inf
    assert metric_cell(summary, "loss") == 0.1


def test_a_title_cannot_write_to_the_terminal() -> None:
    lines = table_lines(Page(80), "a\x1b[2Jtitle\nof two lines", ["name"], [["a\tb\x07"]])
    assert lines[0] == "a?[2Jtitle of two lines"
    assert lines[-1] == "a b?"


def test_a_pipe_gets_whole_lines_of_ascii(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    many = [0.000847 + i * 1e-6 for i in range(30)]
    print_table("", [f"column {i}" for i in range(30)], [many, [None] * 30])
    heading, rule, row, dashes, after = capsys.readouterr().out.split("\n")[:5]
    assert (rule + heading + row + dashes).isascii()
    assert len(row.split()) == len(dashes.split()) == 30
    assert after == ""


# ---- whole commands, as a terminal shows them ----


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario, its runs, and a second store of manifests with dates that do not change."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "pair.toml").write_text(SCENARIO)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("ELEPHAN_STORE", raising=False)
        for args in (["run", "pair.toml"], ["run", "pair.toml", "--seeds", "3"], ["sweep", "pair.toml", *GRID]):
            assert run_command([*args, "--json"]) == 0
    for i, names in enumerate((("cubic",), ("bbr", "cubic:linux"), ("reno", "a-very-long-name-of-an-algorithm"))):
        synthetic.manifest_only(folder / "dated", i, names, title=f"run number {i}" if i else "")
    return folder


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(made)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    return made


GRID = ["--grid", "flow[1].algorithm=cubic,bic", "--grid", "dumbbell.buffer=10 packets,1 BDP"]
COMMANDS = {
    "run": ["run", "pair.toml"],
    "seeds": ["run", "pair.toml", "--seeds", "3"],
    "sweep": ["sweep", "pair.toml", *GRID],
    "show": ["show", "{id}"],
    "list": ["list", "queues"],
    "runs": ["runs", "--store", "dated"],
}


@pytest.fixture
def shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    def show(name: str) -> str:
        assert run_command(["run", "pair.toml", "--json"]) == 0
        found = re.search(r'"id": "(.*)"', capsys.readouterr().out)
        assert found is not None
        assert run_command([found[1] if word == "{id}" else word for word in COMMANDS[name]]) == 0
        return capsys.readouterr().out.replace(str(folder), "/folder")

    return show


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_command_on_a_terminal(
    name: str, width: int, shown: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(tables, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    colored = shown(name)
    assert "\x1b[1m" in colored
    monkeypatch.setenv("NO_COLOR", "1")
    text = shown(name)
    assert "\x1b" not in text
    assert text == re.sub(r"\x1b\[\d*m", "", colored)
    assert text == snapshot


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_command_in_a_pipe(name: str, shown: Callable[[str], str], snapshot: SnapshotAssertion) -> None:
    text = shown(name)
    assert not any(line.endswith(" ") for line in text.splitlines())
    assert text == snapshot


@pytest.mark.parametrize("width", [60, 80, 160])
def test_a_real_terminal_is_not_overflowed(folder: Path, width: int) -> None:
    """Every line of a table, as a terminal of this width gets it."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    command = [sys.executable, "-m", "elephan", "list", "queues"]
    with subprocess.Popen(command, stdout=theirs, env=environment | {"TERM": "xterm"}, cwd=folder) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            text += piece
        assert process.wait() == 0
    os.close(ours)
    assert b"\x1b[1m" in text
    lines = re.sub(r"\x1b\[\d*m", "", text.decode()).splitlines()
    assert width - 25 < max(map(width_of, lines)) <= width
