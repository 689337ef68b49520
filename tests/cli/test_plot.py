"""``elephan plot``: files of one command, and one line for each mistake."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.report.browsing import unpacked

from elephan.cli.main import run_command
from elephan.cli.plot import alone
from elephan.scenario import Scenario

SCENARIO = """
title = "{title}"
duration = "6 s"

[dumbbell]
rate = "{rate}"
rtt = "20 ms"
buffer = "1 BDP"

[[flow]]
algorithm = "cubic"
parameters = {{ beta = 0.6 }}

[[flow]]
algorithm = "reno"
start = "2 s"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    (tmp_path / "one.toml").write_text(SCENARIO.format(title="one", rate="10 Mbit/s"))
    (tmp_path / "two.toml").write_text(SCENARIO.format(title="two", rate="20 Mbit/s"))
    return tmp_path


def answer(args: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    status = run_command([*args, "--json"])
    out, err = capsys.readouterr()
    assert status == 0, err
    return json.loads(out)


def traces(page: Path) -> list[dict[str, Any]]:
    """The lines of a page's figure."""
    found = re.search(r'<script[^>]*id="figures-data"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    data: list[dict[str, Any]] = unpacked(found[1])["plot"]["data"]
    return [trace for trace in data if trace["line"]["width"] > 0]


def test_windows_of_five_algorithms_on_one_path_are_one_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    algorithms = ["cubic", "bic", "htcp", "bbr", "reno"]
    command = ["plot", "one.toml", "--what", "cwnd", "--algorithms", ",".join(algorithms)]
    found = answer([*command, "--out", "five.html", "--out", "five.pdf"], capsys)
    assert found["files"] == ["five.html", "five.pdf"]
    assert len(set(found["runs"])) == 5
    lines = traces(folder / "five.html")
    assert [line["name"] for line in lines] == algorithms
    assert len({line["line"]["color"] for line in lines}) == 5
    assert (folder / "five.pdf").read_bytes().startswith(b"%PDF")
    # A saved result is not run again.
    assert answer([*command, "--out", "again.svg"], capsys)["runs"] == found["runs"]


def test_an_algorithm_by_itself_has_the_place_of_the_first_flow(folder: Path) -> None:
    made = alone(Scenario.load("one.toml"), "bbr")
    assert [(flow.algorithm, flow.start_ps, dict(flow.parameters)) for flow in made.form.flows] == [
        (
            "bbr",
            0,
            dict(Scenario.dumbbell(["bbr"], rate="1 Mbit/s", rtt="9 ms", buffer="1 BDP").form.flows[0].parameters),
        )
    ]
    assert made.form.links == alone(Scenario.load("one.toml"), "cubic").form.links


def test_runs_and_scenarios_are_overlaid_in_their_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_id = answer(["run", "two.toml"], capsys)["id"]
    found = answer(["plot", "last", "one.toml", run_id[:8], "--what", "rate,queue"], capsys)
    assert found["runs"][0] == found["runs"][2] == run_id
    assert found["files"] == ["plot.html"]
    found = answer(["plot", "two.toml", "one.toml", "--what", "rate"], capsys)
    assert [line["name"] for line in traces(folder / "plot.html")] == [
        "two: cubic-1", "two: reno-2", "one: cubic-1", "one: reno-2",
    ]  # fmt: skip
    found = answer(["plot", "two.toml", "--set", "title=three", "--flow", "reno-2"], capsys)
    assert found["runs"] == [run_id]
    assert "<title>three</title>" in (folder / "plot.html").read_text()
    assert [line["name"] for line in traces(folder / "plot.html")] == ["reno-2"] * 3 + ["queue at bottleneck"]


MISTAKES = [
    ["one.tml"],
    ["nothing"],
    ["one.toml", "--what", "cwnd,rtts"],
    ["one.toml", "--what", ","],
    ["one.toml", "--by", "algorithm"],
    ["one.toml", "--out", "plot.jpeg"],
    ["one.toml", "--out", "nowhere/plot.pdf"],
    ["one.toml", "--size", "huge"],
    ["one.toml", "--from", "soon"],
    ["one.toml", "--from", "5 s", "--to", "2 s"],
    ["one.toml", "--to", "100 s"],
    ["one.toml", "--flow", "cubic-2"],
    ["one.toml", "--algorithms", "cubik"],
    ["one.toml", "--algorithms", "xcp"],
    ["last", "--store", "empty"],
]


def test_mistakes_have_one_line_each(folder: Path, capsys: pytest.CaptureFixture[str], snapshot: Any) -> None:
    lines = []
    for args in MISTAKES:
        status = run_command(["plot", *args])
        out, err = capsys.readouterr()
        err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("warning: "))
        assert (status, out, err.count("\n")) == (2, "", 1), (args, out, err)
        lines.append(f"$ elephan plot {' '.join(args)}\n{err.strip()}")
    assert "\n".join(lines).replace(str(folder), "/folder") == snapshot


def test_a_saved_run_is_not_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(["run", "one.toml"], capsys)
    assert run_command(["plot", "last", "--set", "seed=2"]) == 2
    assert "--set is for scenario files" in capsys.readouterr().err
