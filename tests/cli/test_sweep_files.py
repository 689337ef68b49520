"""``elephan sweep``: the metrics that are asked for, and the files that are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.runs import synthetic

from elephan import backends
from elephan.backends import Progress, RawResult
from elephan.cli.main import run_command
from elephan.scenario import Scenario

RTT = ["--grid", "dumbbell.rtt=10 ms,20 ms"]
ALGORITHMS = ["--grid", "flow[1].algorithm=cubic,bic"]


class Breaking(synthetic.WrittenBackend):
    """A backend that cannot run for 13 s."""

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Tables, but for that duration."""
        if scenario.form.duration_ps == 13 * 10**12:
            raise ValueError("13 s cannot be run")
        return super().run(scenario, seed, progress)


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> synthetic.WrittenBackend:
    made = Breaking()
    monkeypatch.setattr(backends, "get", lambda name, memory=None: made)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    scenario = synthetic.scenario(["reno", "cubic"], duration="20 s", start_jitter="10 ms")
    (tmp_path / "two.toml").write_text(scenario.to_toml())
    return made


def said(args: list[str], capsys: pytest.CaptureFixture[str], status: int = 0) -> tuple[str, str]:
    assert run_command(["sweep", "two.toml", *args]) == status
    out, err = capsys.readouterr()
    return out, err


def table(out: str) -> list[list[str]]:
    """The header of a table and its rows, in words."""
    lines = [line.strip() for line in out.splitlines()]
    ruler = next(i for i, line in enumerate(lines) if line and set(line) <= set("─- "))
    end = next((i for i in range(ruler, len(lines)) if not lines[i]), len(lines))
    above = next(i for i in range(ruler - 1, -2, -1) if i < 0 or not lines[i] or lines[i].startswith("means over"))
    head = [word for line in lines[above + 1 : ruler] for word in line.split()]
    return [head, *(line.split() for line in lines[ruler + 1 : end])]


@pytest.mark.usefixtures("backend")
def test_the_table_has_the_axes_and_the_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said([*RTT, "--metric", "jain", "--metric", "sum_throughput_mbps"], capsys)
    header, *rows = table(out)
    assert header == ["dumbbell.rtt", "seed", "jain", "sum_throughput_mbps", "(Mbit/s)"]
    assert rows == [["10", "ms", "1", "1.000", "20.02"], ["20", "ms", "1", "1.000", "20.02"]]


@pytest.mark.usefixtures("backend")
def test_a_metric_of_flows_has_a_row_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said([*ALGORITHMS, "--metric", "throughput_share"], capsys)
    header, *rows = table(out)
    assert header == ["flow[1].algorithm", "seed", "flow", "throughput_share"]
    assert [row[2] for row in rows] == ["reno-1", "cubic-2", "reno-1", "bic-2"]


@pytest.mark.usefixtures("backend")
def test_seeds_are_means_with_their_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said([*RTT, "--seeds", "3", "--metric", "sum_throughput_mbps"], capsys)
    assert "means over the seeds, with 95 % intervals" in out
    # 2 × (10 + 0.01 k) for the seeds k = 1, 2, 3, and t = 4.303 for two degrees of freedom.
    header, *rows = table(out)
    assert header[-1] == "runs"
    assert [row[:-1] for row in rows] == [["10", "ms", "20.04", "±", "0.05"], ["20", "ms", "20.04", "±", "0.05"]]
    saved = {path.name for path in Path(".elephan/runs").iterdir()}
    assert all(f"{row[-1]}-s{seed}" in saved for row in rows for seed in (1, 2, 3))


@pytest.mark.usefixtures("backend")
def test_means_over_numbers_name_their_runs(capsys: pytest.CaptureFixture[str]) -> None:
    values = ["--grid", "dumbbell.loss=0,1e-5,0.001", "--grid", "stack.ack_every=1,2", "--seeds", "2"]
    out, _ = said([*values, "--metric", "jain"], capsys)
    saved = {path.name for path in Path(".elephan/runs").iterdir()}
    assert len(table(out)) == 7
    assert all(f"{row[-1]}-s2" in saved for row in table(out)[1:])


@pytest.mark.usefixtures("backend")
def test_a_value_that_is_missing_has_its_reason_below(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said([*RTT, "--metric", "jain", "--metric", "mean_slowdown"], capsys)
    assert out.count("mean_slowdown: no flow has a size") == 1


WRONG = [
    (["--metric", "jian"], "elephan: --metric: 'jian' is not a metric; did you mean 'jain'?\n"),
    (["--out", "runs.xlsx"],
     "elephan: --out: 'runs.xlsx' ends in '.xlsx'; write a file that ends in .csv, .parquet or .html, or a folder\n"),
    (["--out", "nowhere/runs.csv"], "elephan: --out: 'nowhere/runs.csv': there is no folder 'nowhere'\n"),
    (["--grid", "seed=1,2", "--seeds", "2"],
     "elephan: --grid seed: the seeds are an axis already; leave --seeds out\n"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "line"), WRONG)
def test_wrong_options_are_one_line_before_anything_is_run(
    args: list[str], line: str, backend: synthetic.WrittenBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = said([*RTT, *args], capsys, status=2)
    assert (out, err) == ("", line)
    assert backend.computed == []


@pytest.mark.usefixtures("backend")
def test_files_are_written_as_their_ending_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("runs.csv", "runs.parquet", "page.html"):
        out, _ = said([*RTT, "--metric", "jain", "--out", name], capsys)
        assert out.endswith(f"{name}\n")
    frame = pl.read_parquet("runs.parquet")
    assert frame.columns == ["dumbbell.rtt", "dumbbell.rtt_s", "seed", "jain", "run", "why"]
    assert pl.read_csv("runs.csv")["jain"].to_list() == frame["jain"].to_list()
    assert "sweep-jain" in Path("page.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".elephan")) == [
        "page.html", "runs.csv", "runs.parquet", "two.toml",
    ]  # fmt: skip


@pytest.mark.usefixtures("backend")
def test_a_folder_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    said([*RTT, "--seeds", "2", "--metric", "jain", "--metric", "mean_slowdown", "--out", "all"], capsys)
    found = {path.name for path in Path("all").iterdir()}
    assert found == {"runs.csv", "runs.parquet", "means.csv", "jain.pdf", "jain.svg", "report.html"}
    assert pl.read_csv("all/means.csv")["seeds"].to_list() == [2, 0, 2, 0]


@pytest.mark.usefixtures("backend")
def test_a_file_is_replaced_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Path("runs.csv").write_text("before")

    def full(self: pl.DataFrame, *more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", full)
    assert run_command(["sweep", "two.toml", *RTT, "--out", "runs.csv"]) == 1
    assert Path("runs.csv").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if "runs.csv" in path.name] == ["runs.csv"]


@pytest.mark.usefixtures("backend")
def test_formulas_of_spreadsheets_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    said(["--grid", 'title="=1+1",@sum,"-1"', "--out", "runs.csv"], capsys)
    cells = [line.split(",")[0] for line in Path("runs.csv").read_text().splitlines()]
    assert cells == ["title", "'=1+1", "'@sum", "'-1"]


@pytest.mark.usefixtures("backend")
def test_what_did_not_fail_is_shown_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["--grid", "duration=13 s,20 s", "--metric", "jain"]
    out, err = said([*grid, "--out", "runs.parquet"], capsys, status=1)
    assert [row[:2] for row in table(out)[1:]] == [["13", "s"], ["20", "s"]]
    assert "1 of 2 runs failed" in err
    assert pl.read_parquet("runs.parquet")["jain"].is_null().to_list() == [True, False]
    out, _ = said([*grid, "--json"], capsys, status=1)
    first, second = json.loads(out)["runs"]
    assert first["grid"] == {"duration": "13 s"}
    assert "13 s cannot be run" in first["failed"]
    assert second["metrics"]["jain"] == pytest.approx(1.0)


@pytest.mark.usefixtures("backend")
def test_where_all_fail_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(["--grid", "duration=13 s", "--json"], capsys, status=1)
    assert out == ""
    assert err.startswith("elephan: 1 of 1 runs failed: ")


@pytest.mark.usefixtures("backend")
def test_json_has_the_grid_and_the_means(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said([*RTT, "--json"], capsys)
    assert set(json.loads(out)) == {"runs"}
    out, _ = said([*RTT, "--seeds", "2", "--metric", "sum_throughput_mbps", "--json"], capsys)
    document = json.loads(out)
    assert [row["grid"] for row in document["runs"]] == [
        {"dumbbell.rtt": rtt} for rtt in ("10 ms", "20 ms") for _ in "12"
    ]
    (first, _) = document["aggregate"]
    assert {"metric", "mean", "low", "high", "seeds", "why"} <= set(first)
    assert first["mean"] == pytest.approx(20.03)


def test_the_seeds_as_an_axis_have_one_column(
    backend: synthetic.WrittenBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = said(["--grid", "seed=4,5"], capsys)
    assert table(out)[0].count("seed") == 1
    out, _ = said(["--grid", "seed=4,5", "--metric", "jain"], capsys)
    assert table(out)[0] == ["seed", "jain"]
    assert backend.computed[0][0] == Scenario.load("two.toml").hash
