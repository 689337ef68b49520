"""Options that change nothing are reported, and input that cannot be meant is refused with one line."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from elephan.cli import unchanged
from elephan.cli.main import run_command
from elephan.scenario import Scenario, ScenarioError

SCENARIO = """
duration = "5 s"

[dumbbell]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "1 BDP"

[[flow]]
algorithm = "reno"

[[flow]]
algorithm = "cubic"
"""
MINE = """
import elephan

class Mine(elephan.Algorithm):
    def __init__(self, increase: float = 1.0, fast: bool = False):
        self.increase = increase
        self.window, self.ssthresh = 10.0, float("inf")

    def on_ack(self, ack):
        self.window += ack.acked * self.increase / self.window

    def on_congestion(self, signal):
        self.ssthresh = self.window = max(self.window / 2, 2.0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    (tmp_path / "two.toml").write_text(SCENARIO)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "cap.pcap").write_bytes(b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\xff\xfe")
    return tmp_path


def said(arguments: list[str], capsys: pytest.CaptureFixture[str], status: int = 0) -> str:
    assert run_command(arguments) == status
    return capsys.readouterr().err


def test_a_setting_without_an_effect_is_named_and_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"stack.min_rto": "100 ms", "dumbbell.rtt": "30 ms", "duration": "5 s", "title": "x"}
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    err = said(["run", "two.toml", *options], capsys)
    named = [line for line in err.splitlines() if "changed no bit of the result" in line]
    assert named == [
        "warning: --set stack.min_rto=100 ms: it changed no bit of the result",
        "warning: --set duration=5 s: it changed no bit of the result",
    ]
    assert len(list((folder / ".elephan" / "runs").glob("*-sim-*"))) == 1, "runs for the comparison are not saved"


def test_a_long_run_is_only_compared_with_a_saved_one(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unchanged, "CHEAP_SEGMENTS", 1)
    setting = ["--set", "stack.min_rto=100 ms"]
    assert "no bit" not in said(["run", "two.toml", *setting], capsys)
    said(["run", "two.toml"], capsys)
    assert "no bit" in said(["run", "two.toml", *setting], capsys)


def test_values_of_a_grid_with_equal_results_are_named_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = ["--grid", "stack.min_rto=1 ms,10 ms", "--grid", "dumbbell.buffer=10 packets,1 BDP", "--seeds", "2"]
    err = said(["sweep", "two.toml", *grid], capsys)
    assert [line for line in err.splitlines() if "last bit" in line] == [
        "warning: stack.min_rto: the results of 1 ms and 10 ms are equal to the last bit"
    ]


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"min_rto": "10 ms"}, "min_rto"),
        ({"delayed_ack": "10 ms", "ack_every": 1, "quick_acks": 0}, "delayed_ack"),
        ({"base": "rfc6675", "send_buffer": "1 MB", "receive_window": "64 kB"}, "send_buffer"),
    ],
)
def test_a_field_that_another_makes_irrelevant_is_warned_of(table: dict[str, Any], field: str) -> None:
    path: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "duration": "5 s"}
    for place in ("stack", "flow"):
        flow = {"algorithm": "reno"} | ({"stack": table} if place == "flow" else {})
        more: dict[str, Any] = {"stack": table} if place == "stack" else {}
        warnings = Scenario.dumbbell([flow], **path, **more).warnings()
        assert any(f"{field} has no effect" in line for line in warnings), (place, warnings)
    other = {"base": "rfc6675", "min_rto": "2 s", "rto_granularity": "10 ms"}
    assert not any("no effect" in line for line in Scenario.dumbbell(["reno"], **path, stack=other).warnings())


OWN = "flow[0].algorithm=./mine.py:Mine"
REFUSED = {
    "run two.toml --set stack.send_buffer=0B": "'0 B' is too small; a send buffer has at least 4608 B",
    "run two.toml --set duration=-5": "-5 is below zero and has no unit",
    "run two.toml --set flow[2].algorithm=bic": "flow[2] is not there; there are 2: flow[0] and flow[1]",
    "run two.toml --set dumbbell.rate=10G": "'10G': 'G' is not a unit of rate; did you mean '10 Gbit/s'?",
    "run two.toml --set duration=5m": "'5m': 'm' is not a unit of time; did you mean '5 min' or '5 ms'?",
    "run two.toml --set dumbbell.rate_trace=cap.pcap": "a packet capture (pcap) and not a text file",
    "run two": "two: no such file; did you mean 'two.toml'?",
    "run mine.py": "--set flow[0].algorithm=./mine.py:NameOfTheClass",
    "run two.toml --out no/such/folder": "there is no folder",
    "sweep two.toml": "--grid: missing; write a field with its values",
    f"sweep two.toml --set {OWN} --grid flow[0].parameters.increase=1..8": "'1..8' is not a number",
    f"run two.toml --set {OWN} --set flow[0].parameters.fast=1": "1 is neither true nor false",
    "compare cubic": "missing: --rate, --rtt, --buffer;",
    "compare cubic --rtt 10ms": "missing: --rate, --buffer;",
    "compare cubic bic cubic": "'cubic' is there twice",
    "compare bic --rate 10Mbit/s --rtt 10ms --buffer 1BDP --rivals ,": "--rivals: ',' names no algorithm",
    "evaluate cubic --against cubic": "--against: 'cubic' would be compared with itself",
    "evaluate cubic --only 99": "its sections are 5.1.1, 5.1.2,",
    "export ./mine.py:Mine --to rust --set increase=x": "'x' is not a number; its default is 1.0",
    "show 12345": "'elephan runs' lists the 1 saved runs, and 'elephan list' lists everything else",
}  # fmt: skip


@pytest.mark.parametrize("command", list(REFUSED))
def test_what_cannot_be_meant_gets_one_line(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if command.startswith("show"):
        said(["run", "two.toml"], capsys)
    line = said(command.split(), capsys, status=2)
    assert REFUSED[command] in line
    assert line.count("\n") == 1


def test_a_key_of_hundreds_of_parts_is_refused_at_once() -> None:
    deep = ".".join(["a"] * 500)
    texts = [
        f"{deep} = 1\n{SCENARIO}",
        f"x = {{ {deep} = 1 }}\n{SCENARIO}",
        f"[{deep}]\nb = 1\n",
        f"[[{deep}]]\nb = 1\n",
    ]
    texts.append(".".join(["a"] * 200_000) + " = 1\n")
    for text in texts:
        with pytest.raises(ScenarioError) as refused:
            Scenario.from_toml(text)
        assert len(str(refused.value)) < 200
    with pytest.raises(ScenarioError, match="not a field; a field has at most 16 parts"):
        Scenario.from_toml(SCENARIO, overrides={deep: 1})


def test_a_list_of_runs_says_in_which_settings_they_differ(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sweep", "two.toml", "--grid", "dumbbell.buffer=10 packets,1 BDP"]) == 0
    capsys.readouterr()
    assert run_command(["runs"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert "differs in" in rows[0]
    assert {"dumbbell.buffer=10 packets", "dumbbell.buffer=100% BDP"} == {
        field for row in rows for field in ("dumbbell.buffer=10 packets", "dumbbell.buffer=100% BDP") if field in row
    }


@pytest.mark.parametrize(
    "kind", ["fifo", "device", *(pytest.param(kind, marks=pytest.mark.large) for kind in ("folder", "socket"))]
)
def test_a_manifest_that_is_no_file_hangs_no_command(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run_command(["run", "two.toml"])
    store = folder / ".elephan" / "runs"
    place = store / "0123456789abcdef-sim-s1"
    place.mkdir()
    manifest = place / "manifest.json"
    if kind == "fifo":
        os.mkfifo(manifest)
    elif kind == "device":
        manifest.symlink_to("/dev/zero")
    elif kind == "folder":
        manifest.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            monkeypatch.chdir(place)
            bound.bind(manifest.name)
            monkeypatch.chdir(folder)
    commands = ["runs", "runs size", "runs find reno", "runs prune --older-than 1d", "show last", f"show {place.name}"]
    for command in commands:
        code = f"import sys; from elephan.cli.main import run_command; sys.exit(run_command({command.split()!r}))"
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == (1 if command.endswith(place.name) else 0), (command, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_list_of_runs_names_an_own_algorithm_briefly(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = (Path(__file__).resolve().parents[2] / "examples" / "my_reno.py").read_text()
    for name in ("a.py", "b.py"):
        (folder / name).write_text(f"# {name}\n{code}")
    assert run_command(["sweep", "two.toml", "--grid", "flow[0].algorithm=./a.py:MyReno,./b.py:MyReno"]) == 0
    capsys.readouterr()
    assert run_command(["runs"]) == 0
    found = re.findall(r"flow\[0\]\.algorithm=([ab]\.py:MyReno)@[0-9a-f]{8} ", capsys.readouterr().out)
    assert sorted(found) == ["a.py:MyReno", "b.py:MyReno"]
