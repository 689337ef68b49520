"""Own algorithms on the command line: every verb takes them, and every mistake is one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import elephan
from elephan.cli.main import run_command
from elephan.scenario import Scenario, own

FAILING = {"if ack.may_grow:": "if ack.now > 3:\n            raise LookupError('no such window')\n        else:"}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run_command(list(words))
    output = capsys.readouterr()
    return status, output.out, output.err


def test_a_run(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    write()
    words = ["run", "path.toml", "--set", "flow[0].algorithm=./mine.py:Mine", "--json"]
    status, out, err = said(capsys, *words, "--set", "flow[0].parameters.beta=0.8")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert [flow["algorithm"] for flow in document["flows"]] == ["mine.py:Mine"]
    assert document["flows"][0]["name"] == "Mine-1"
    assert document["flows"][0]["loss_events"] > 0
    assert json.loads(said(capsys, *words)[1])["scenario_hash"] != document["scenario_hash"]
    assert json.loads(said(capsys, *words)[1])["cached"] is True


def test_what_an_algorithm_prints_is_not_in_the_document(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    write(**{"import elephan\n": "import elephan\nprint('loaded')\n", "if ack": "print('ack')\n        if ack"})
    words = ["run", "path.toml", "--set", "flow[0].algorithm=mine.py:Mine"]
    status, out, err = said(capsys, *words, "--json")
    assert status == 0
    assert json.loads(out)["flows"][0]["name"] == "Mine-1"
    assert set(err.splitlines()) == {"loaded", "ack"}
    assert "ack\n" in said(capsys, *words, "--force")[1]


def test_a_saved_run_is_shown_when_its_file_is_gone(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write()
    _, out, _ = said(capsys, "run", "path.toml", "--set", "flow[0].algorithm=mine.py:Mine", "--json")
    path.unlink()
    monkeypatch.setattr(own, "_live", {})
    status, shown, err = said(capsys, "show", json.loads(out)["id"])
    assert (status, err) == (0, "")
    assert "mine.py:Mine" in shown
    assert (Path(json.loads(out)["dir"]) / "report.html").is_file()


def test_an_exception_ends_the_run_with_its_traceback_and_the_time(
    write: Callable[..., Path], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(**FAILING)
    status, out, err = said(capsys, "run", "path.toml", "--set", "flow[0].algorithm=mine.py:Mine", "--json")
    assert (status, out) == (1, "")
    *trace, last = err.splitlines()
    assert trace[0] == "Traceback (most recent call last):"
    assert trace[1] == '  File "mine.py", line 16, in on_ack'
    assert trace[-1] == "LookupError: no such window"
    assert last.startswith(
        "elephan: 1 of 1 runs failed: Mine-1 (seed 1): Mine-1: on_ack raised LookupError: no such window at 3.0"
    )
    assert not list((here / "store").glob("*/manifest.json"))


def test_the_rest_of_a_sweep_goes_on(
    write: Callable[..., Path], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write()
    write("bad.py", **FAILING)
    grid = ["--grid", "flow[0].algorithm=reno,./bad.py:Mine,./mine.py:Mine"]
    status, out, err = said(capsys, "sweep", "path.toml", *grid, "--seeds", "2", "--json")
    assert status == 1
    rows = json.loads(out)["runs"]
    assert ["failed" in row for row in rows] == [False, False, True, True, False, False]
    assert rows[2]["grid"] == {"flow[0].algorithm": "./bad.py:Mine"}
    assert "on_ack raised" in rows[2]["failed"]
    assert err.count("Traceback") == 1  # two seeds fail in the same place
    assert "2 of 6 runs failed" in err
    assert len(list((here / "store").glob("*/manifest.json"))) == 4
    again = ("--grid", "flow[0].algorithm=reno,./mine.py:Mine", "--set", "perturb=hosts")
    status, out, err = said(capsys, "sweep", "path.toml", *again, "--json")
    assert (status, err) == (0, "")
    assert all(run["cached"] for run in json.loads(out)["runs"])


def test_compare(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    write()
    path = ["--rate", "5 Mbit/s", "--rtt", "40 ms", "--buffer", "30 packets", "--duration", "30 s", "--seeds", "1"]
    status, out, err = said(capsys, "compare", "cubic", "./mine.py:Mine", *path, "--json")
    assert (status, err) == (0, "")
    goodputs = {
        (row["algorithm"], row["against"]): row["mean"]
        for row in json.loads(out)["rows"]
        if row["metric"] == "goodput_mbps"
    }
    assert {algorithm for algorithm, _ in goodputs} == {"cubic", "mine.py:Mine"}
    assert all(value > 0.5 for value in goodputs.values())


def test_compare_tells_apart_what_has_one_name(write: Callable[..., Path]) -> None:
    first, second = write("a/mine.py"), write("b/mine.py", **{"0.5": "0.9"})
    path: dict[str, Any] = {"rate": "5 Mbit/s", "rtt": "40 ms", "buffer": "30 packets", "duration": "30 s"}
    names = [f"{first}:Mine", f"{second}:Mine", f"{first}:Mine"]
    found = elephan.compare(names, rivals=["reno"], seeds=1, **path)
    assert set(found.decision.order) == {"mine.py:Mine", "mine.py:Mine (2)"}
    delay = {
        row["algorithm"]: row["mean"]
        for row in found.rows
        if (row["against"], row["metric"]) == ("alone", "queueing_delay_ms")
    }
    assert delay["mine.py:Mine"] < delay["mine.py:Mine (2)"]


def test_what_a_class_takes_is_shown(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    write()
    status, out, _ = said(capsys, "show", "./mine.py:Mine")
    assert status == 0
    assert "Additive increase, multiplicative decrease" in out
    assert "beta" in out


MISTAKES: dict[str, tuple[dict[str, str], str]] = {
    "no such file": ({}, "./mien.py:Mine"),
    "no such class": ({}, "./mine.py:Mien"),
    "a module and not a file": ({}, "mine:Mine"),
    "no class named": ({}, "./mine.py"),
    "no Python file": ({}, "./mine:Mine"),
    "not an algorithm": ({"elephan.Algorithm": "object"}, "mine.py:Mine"),
    "a constant": ({"class Mine": "Mine = 3\nclass Other"}, "mine.py:Mine"),
    "not finished": ({"on_congestion": "on_congestoin"}, "mine.py:Mine"),
    "no Python": ({"def on_ack(self, ack):": "def on_ack(self, ack)"}, "mine.py:Mine"),
    "a missing module": ({"import elephan\n": "import elephan\nimport not_there\n"}, "mine.py:Mine"),
    "raises when it is loaded": ({"import elephan\n": "import elephan\n1 / 0\n"}, "mine.py:Mine"),
    "raises when it is made": ({"self.beta = beta": "raise LookupError('no beta')"}, "mine.py:Mine"),
    "no such need": ({"def __init__": "needs = ('deliverie',)\n    def __init__"}, "mine.py:Mine"),
    "a word for a list of needs": ({"def __init__": "needs = 'delivery'\n    def __init__"}, "mine.py:Mine"),
    "a missing parameter": ({"float = 0.5": "float"}, "mine.py:Mine"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(
    mistake: str,
    write: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    snapshot: SnapshotAssertion,
) -> None:
    replaced, spelled = MISTAKES[mistake]
    write(**replaced)
    status, out, err = said(capsys, "run", "path.toml", "--set", f"flow[0].algorithm={spelled}")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert err == snapshot


def test_a_wrong_parameter_is_one_line(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    write()
    words = ["run", "path.toml", "--set", "flow[0].algorithm=mine.py:Mine", "--set", "flow[0].parameters.betta=1"]
    status, out, err = said(capsys, *words)
    assert (status, out) == (2, "")
    assert err == snapshot


@pytest.fixture
def package(here: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package that offers an algorithm, one that is broken, and one that would hide a built-in one."""
    from tests.own.conftest import AIMD

    info = here / "lab-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1.2\n")
    points = "mine = lab_algorithms:Mine\nbroken = lab_algorithms:Gone\ncubic = lab_algorithms:Mine\n"
    (info / "entry_points.txt").write_text(f"[elephan.algorithms]\n{points}")
    (here / "lab_algorithms.py").write_text(AIMD)
    monkeypatch.syspath_prepend(here)
    own.points.cache_clear()
    yield
    monkeypatch.delitem(sys.modules, "lab_algorithms", raising=False)
    own.points.cache_clear()


def test_an_entry_point_is_listed_shown_and_run(package: Any, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "list", "algorithms", "--json")
    assert status == 0
    rows = {row["name"]: row for row in json.loads(out) if row["kind"] == "python"}
    assert rows["mine"]["title"] == "Additive increase, multiplicative decrease"
    assert rows["mine"]["source"] == "lab 1.2"
    assert rows["mine"]["parameters"] == [{"name": "beta", "doc": "", "source": "", "default": 0.5}]
    assert "cannot be loaded" in rows["broken"]["title"]
    assert said(capsys, "show", "mine")[0] == 0
    status, out, err = said(capsys, "run", "path.toml", "--set", "flow[0].algorithm=mine", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["flows"][0]["algorithm"] == "mine"
    status, _, err = said(capsys, "run", "path.toml", "--set", "flow[0].algorithm=broken")
    assert status == 2
    assert "'broken' of lab 1.2 cannot be loaded: AttributeError" in err


def test_an_entry_point_hides_no_built_in_algorithm(package: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(said(capsys, "list", "algorithms", "--json")[1])
    assert [row["kind"] for row in rows if row["name"] == "cubic"] == ["loss"]
    scenario = Scenario.load("path.toml", overrides={"flow[0].algorithm": "cubic"})
    assert "source_sha256" not in scenario.canonical()["flows"][0]
