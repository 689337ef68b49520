"""Each verb on real input: what it prints, what it saves, what ``--json`` promises."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
import pytest

from elephan import Run, metrics
from elephan.cli.main import run_command

SCENARIO = """
title = "two on ten megabits"
duration = "20 s"

[dumbbell]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "1 BDP"

[[flow]]
algorithm = "reno"

[[flow]]
algorithm = "cubic"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    (tmp_path / "two.toml").write_text(SCENARIO)
    return tmp_path


def answer(args: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """Output of a verb with ``--json``: one document, and nothing else on stdout."""
    status = run_command([*args, "--json"])
    out, err = capsys.readouterr()
    assert status == 0, err
    return json.loads(out)


RUN_FIELDS = {
    "id", "dir", "backend", "scenario_hash", "cached", "wall_seconds", "segments_delivered", "warnings",
    "measure", "flows", "links", "metrics",
}  # fmt: skip
FLOW_FIELDS = {
    "name", "algorithm", "start_s", "goodput_mbps", "throughput_mbps", "segments_delivered", "retransmits",
    "loss_events", "ecn_events", "timeouts", "total_retransmits", "total_loss_events", "total_ecn_events",
    "total_timeouts", "rtt_min_ms", "rtt_mean_ms", "rtt_p99_ms", "cwnd_mean", "cwnd_max",
}  # fmt: skip
LINK_FIELDS = {
    "name", "utilization", "throughput_mbps", "loss_rate", "drops", "marks", "queue_mean_packets",
    "queue_max_packets",
}  # fmt: skip


def test_run_prints_the_promised_fields_and_finds_the_saved_result(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = answer(["run", "two.toml"], capsys)
    assert set(first) >= RUN_FIELDS
    assert all(set(flow) >= FLOW_FIELDS for flow in first["flows"])
    assert all(set(link) >= LINK_FIELDS for link in first["links"])
    assert {"jain", "asymmetry"} <= set(first["metrics"])
    assert first["measure"] == {"from_s": 10.0, "to_s": 20.0}
    assert not first["cached"]
    assert (Path(first["dir"]) / "manifest.json").is_file()
    again = answer(["run", "two.toml"], capsys)
    assert again["cached"]
    assert {k: v for k, v in again.items() if k != "cached"} == {k: v for k, v in first.items() if k != "cached"}


def test_counts_under_a_range_of_time_are_those_of_the_range(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the table, in JSON, in the notebook and in the report, on a path where the start loses most."""
    summary = answer(["run", "two.toml"], capsys)
    made = Run.load(summary["dir"])
    columns = ("retransmits", "loss_events", "ecn_events", "timeouts")
    measured: dict[str, list[int]] = {}
    for flow in summary["flows"]:
        rows = made.samples.filter(pl.col("flow").cast(pl.String) == flow["name"])
        first, last = (rows.row(by_predicate=pl.col("time_s") == at, named=True) for at in (10.0, 20.0))
        whole = rows.row(by_predicate=pl.col("time_s") == 20.0, named=True)
        measured[flow["name"]] = [last[name] - first[name] for name in columns]
        assert [flow[name] for name in columns] == measured[flow["name"]]
        assert [flow[f"total_{name}"] for name in columns] == [whole[name] for name in columns]
        assert flow["retransmits"] < flow["total_retransmits"]
    totals = {name: sum(flow[f"total_{name}"] for flow in summary["flows"]) for name in columns}
    assert summary["whole_run"] | totals == summary["whole_run"]
    line = f"whole run, 0 s to 20 s: {totals['retransmits']:,} retransmits, {totals['loss_events']:,} loss events"
    assert run_command(["run", "two.toml"]) == 0
    shown = capsys.readouterr().out
    assert line in shown
    for flow in summary["flows"]:
        (row,) = [words.split() for words in shown.splitlines() if words.startswith(flow["name"])]
        assert row[5:8] == [str(flow[name]) for name in ("retransmits", "loss_events", "timeouts")]
    assert run_command(["show", summary["id"], "--out", "report"]) == 0
    for page in (made._repr_html_(), (folder / "report" / "report.html").read_text()):
        assert line in page


def test_a_run_that_seeds_would_not_contain_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for perturb in (None, "hosts", "none"):
        given = [] if perturb is None else ["--set", f"perturb={perturb}"]
        single = answer(["run", "two.toml", *given], capsys)["id"]
        assert run_command(["run", "two.toml", *given]) == 0
        line = "with --seeds N the runs differ as on real hosts (starts over 80 ms, packets up to 0.2 ms late)"
        assert (line in capsys.readouterr().out) == (perturb is None)
        if perturb != "none":
            several = [run["id"] for run in answer(["run", "two.toml", "--seeds", "2", *given], capsys)["runs"]]
            assert (single in several) == (perturb == "hosts")


def test_reductions_by_marks_are_counted_apart_from_losses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marking = ["--set", "stack.ecn=true", "--set", "dumbbell.queue=pie", "--set", "dumbbell.buffer=200 packets"]
    summary = answer(["run", "two.toml", *marking], capsys)
    assert all(flow["ecn_events"] >= 3 > flow["loss_events"] for flow in summary["flows"])
    assert not any("congestion e" in line for line in summary["warnings"])
    made = Run.load(summary["dir"])
    both = {flow["name"]: flow["ecn_events"] + flow["loss_events"] for flow in summary["flows"]}
    assert metrics.congestion_events(made) == both
    assert all(0 < epoch_s < 10 for epoch_s in metrics.epoch_duration_s(made).values())
    assert all(0 < delta < 1 for delta in metrics.backoff_delta(made).values())
    assert run_command(["run", "two.toml", *marking]) == 0
    assert "ECN events" in capsys.readouterr().out


def test_the_numbers_of_a_run_are_physically_possible(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = answer(["run", "two.toml"], capsys)
    payload_share = 1448 / 1500
    total_mbps = sum(flow["goodput_mbps"] for flow in summary["flows"])
    assert 9.0 * payload_share < total_mbps <= 10.0 * payload_share * 1.001
    # A packet counts when its last bit leaves, so a window may hold up to one more than it has room for.
    one_packet = 1500 * 8 / (10e6 * 10)
    assert 0.9 < summary["links"][0]["utilization"] <= 1.0 + one_packet
    assert all(flow["rtt_min_ms"] >= 20.0 for flow in summary["flows"])
    assert all(flow["rtt_p99_ms"] <= 20.0 * 2 + 5 for flow in summary["flows"])


def test_several_seeds_are_runs_and_metrics_with_intervals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = answer(["run", "two.toml", "--seeds", "3"], capsys)
    assert [row["id"].rpartition("-")[2] for row in document["runs"]] == ["s1", "s2", "s3"]
    assert len({row["scenario_hash"] for row in document["runs"]}) == 1
    for name, value in document["metrics"].items():
        if value["why"] is not None:
            assert (value["low"], value["high"]) == (None, None), name
            continue
        assert value["low"] < value["high"], name
        assert value["low"] <= value["mean"] <= value["high"], name
    assert document["perturb"] == "hosts"
    assert document["outcomes"] == {"seeds": 3, "distinct": 3, "unordered": 3, "text": None}
    # A steady pair may settle into the same cycle, but not from the same first packets.
    flows = {json.dumps(row["flows"]) for row in document["runs"]}
    assert len(flows) == 3, "replicates that are equal are one run"


def test_a_time_that_does_not_always_come_has_no_mean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A vegas flow that comes late to a cubic one with a deep buffer does not get 80 % of what the other has.
    late = ["--set", "flow[0].algorithm=cubic", "--set", "flow[1].algorithm=vegas", "--set", "flow[1].start='3 s'"]
    document = answer(["run", "two.toml", "--seeds", "2", *late, "--set", "dumbbell.buffer='2 BDP'"], capsys)
    assert document["never"]["convergence_time_s"] == 2
    assert "convergence_time_s" not in document["metrics"]
    assert document["metrics"]["utilization"]["mean"] > 0.9


def test_out_puts_a_copy_elsewhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = answer(["run", "two.toml", "--out", "copies"], capsys)
    assert (folder / "copies" / summary["id"] / "samples.parquet").is_file()


def test_a_sweep_crosses_its_axes_and_does_not_repeat_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["--grid", "flow[1].algorithm=cubic,bic", "--grid", "dumbbell.buffer=10 packets,1 BDP"]
    document = answer(["sweep", "two.toml", *grid], capsys)
    assert [row["grid"] for row in document["runs"]] == [
        {"flow[1].algorithm": algorithm, "dumbbell.buffer": buffer}
        for algorithm in ("cubic", "bic")
        for buffer in ("10 packets", "1 BDP")
    ]
    assert len({row["id"] for row in document["runs"]}) == 4
    assert all(row["cached"] for row in answer(["sweep", "two.toml", *grid], capsys)["runs"])


def test_list_names_everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = answer(["list"], capsys)
    names = {entry["name"] for entry in entries}
    assert {"reno", "cubic:2005", "droptail", "droptail:ns2", "weigle2006", "asymmetry", "ns2", "sim"} <= names
    assert all(set(entry) >= {"name", "kind", "title", "source", "parameters"} for entry in entries)
    assert {entry["list"] for entry in answer(["list", "queues"], capsys)} == {"queues"}


def test_every_listed_algorithm_can_be_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for entry in answer(["list", "algorithms"], capsys):
        name = entry["name"]
        helped = ["--set", f"dumbbell.queue={entry['router']}"] if entry.get("router") else []
        shorter = ["--set", f"flow[0].algorithm={name}", "--set", "duration=2 s", *helped]
        backend = ["--on", "quic"] if entry["kind"] == "transport" else []
        if name.startswith("s2n"):
            # An optional part of the program: it runs, or says what to type (tests/backends/test_s2n.py).
            continue
        summary = answer(["run", "two.toml", *shorter, *backend], capsys)
        assert summary["flows"][0]["algorithm"] == name
        assert summary["flows"][0]["segments_delivered"] > 0, name


def test_show_tells_what_a_name_stands_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["show", "cubic:2005"], capsys)["name"] == "cubic"
    assert answer(["show", "utilization"], capsys)["unit"]
    assert answer(["show", "jain"], capsys)["name"] == "jain_fi"  # tables print the alias
    made = answer(["run", "two.toml"], capsys)
    assert answer(["show", made["id"]], capsys)["id"] == made["id"]
    assert answer(["show", made["id"][:8]], capsys)["id"] == made["id"]
    assert run_command(["show", "nothing-of-the-kind"]) == 2
    assert "is not a run" in capsys.readouterr().err


def test_show_writes_the_report_of_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = answer(["run", "two.toml"], capsys)
    assert run_command(["show", made["id"], "--out", "report"]) == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    path = Path(last.removeprefix("report: "))
    assert path.is_file()
    assert path.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")


def test_show_writes_the_tables_for_other_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = answer(["run", "two.toml"], capsys)
    written = answer(["show", made["id"], "--csv", "plain", "--parquet", "columns"], capsys)["files"]
    assert [Path(path) for path in written] == [
        *(Path("plain") / name for name in ("flows.csv", "samples.csv", "links.csv", "manifest.json")),
        *(Path("columns") / name for name in ("flows.parquet", "samples.parquet", "links.parquet", "manifest.json")),
    ]
    for name in ("flows", "samples", "links"):
        saved = pl.read_parquet(Path(made["dir"]) / f"{name}.parquet").with_columns(cs.categorical().cast(pl.String))
        assert pl.read_csv(folder / "plain" / f"{name}.csv", schema=saved.schema).equals(saved)
        columns = pl.read_parquet(folder / "columns" / f"{name}.parquet").with_columns(cs.categorical().cast(pl.String))
        assert columns.equals(saved)
    assert json.loads((folder / "plain" / "manifest.json").read_text())["id"] == made["id"]


def test_show_writes_no_tables_over_the_run_or_of_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = answer(["run", "two.toml"], capsys)
    assert run_command(["show", made["id"], "--parquet", made["dir"]]) == 2
    assert "a saved run is never changed" in capsys.readouterr().err
    assert run_command(["show", "cubic", "--csv", "plain"]) == 2
    assert "'cubic' is not a run" in capsys.readouterr().err


def test_show_prints_any_metric_of_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = answer(["run", "two.toml"], capsys)
    asked = ["show", made["id"], "--metric", "throughput_mbps", "--metric", "jain"]
    found = answer(asked, capsys)["metrics"]
    assert found["jain"] == made["metrics"]["jain"]
    assert found["throughput_mbps"] == pytest.approx({row["name"]: row["throughput_mbps"] for row in made["flows"]})
    part = answer([*asked, "--window", "2 s", "4 s", "--flow", "cubic-2"], capsys)["metrics"]
    assert list(part["throughput_mbps"]) == ["cubic-2"]
    assert part["jain"] == 1
    assert part["throughput_mbps"]["cubic-2"] != found["throughput_mbps"]["cubic-2"]
    link = answer(["show", made["id"], "--metric", "utilization", "--link", "bottleneck"], capsys)["metrics"]
    assert link["utilization"] == made["metrics"]["utilization"]
    assert run_command(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("throughput_mbps" in line and "cubic-2" in line and "Mbit/s" in line for line in lines)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metric", "jian"], "'jian' is not a metric; did you mean 'jain'"),
        (["--metric", "rtt_fairness_ratio"], "rtt_fairness_ratio: all flows have the same RTT"),
        (["--metric", "utilization", "--flow", "cubic-2"], "this is a metric of a link"),
        (["--metric", "jain", "--link", "bottleneck"], "this is a metric of flows"),
        (["--metric", "jain", "--window", "2", "4 s"], "'2' has no unit"),
        (["--flow", "cubic-2"], "belong to --metric NAME"),
    ],
)
def test_show_says_why_a_metric_is_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    made = answer(["run", "two.toml"], capsys)
    assert run_command(["show", made["id"], *options]) == 2
    assert said in capsys.readouterr().err


def test_compare_answers_the_operator(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ["--rate", "10 Mbit/s", "--rtt", "20 ms", "--buffer", "1 BDP", "--duration", "20 s"]
    found = answer(["compare", "htcp", *path, "--rivals", "cubic,reno", "--seeds", "2"], capsys)
    assert {row["algorithm"] for row in found["rows"]} == {"htcp", "cubic", "reno"}
    assert {"alone", "reno", "cubic"} <= {row["against"] for row in found["rows"]}
    assert found["answer"]["algorithm"] == "htcp"
    assert found["answer"]["text"].startswith("htcp: ")
    assert {entry["to"] for entry in found["answer"]["harm"]} == {"cubic", "reno"}
    assert run_command(["compare", "hctp", *path]) == 2
    assert "did you mean 'htcp'?" in capsys.readouterr().err


def test_a_table_for_people_has_the_folder_and_the_warnings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "two.toml", "--set", "stack.receive_window=4 segments"]) == 0
    out, err = capsys.readouterr()
    assert "goodput Mbit/s" in out
    assert "(made in " in out
    assert "warning: reno-1: " in err
    assert "receive window" in err


LONG = ["--set", "duration=40000 s", "--set", "dumbbell.rate=1 Gbit/s", "--set", "sample_period=10 s"]


def test_ctrl_c_ends_a_run_soon_and_leaves_nothing_half_done(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "elephan", "run", "two.toml", *LONG],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    time.sleep(3)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    asked_s = time.monotonic()
    out, err = process.communicate(timeout=30)
    # The promise is one second; the rest is for a loaded machine.
    assert time.monotonic() - asked_s < 5
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == "elephan: interrupted; finished runs are kept, and the same command goes on from there"
    assert list((folder / ".elephan" / "runs").glob("*/manifest.json")) == []


def test_a_killed_sweep_does_not_repeat_what_it_finished(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The first point is short; the second would take for ever.
    sweep = ["sweep", "two.toml", "--jobs", "1", "--grid"]
    short = answer([*sweep, "flow[1].algorithm=cubic"], capsys)["runs"][0]
    process = subprocess.Popen(
        [sys.executable, "-m", "elephan", "run", "two.toml", *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(2)
    process.kill()
    process.communicate()
    again = answer([*sweep, "flow[1].algorithm=cubic,bic"], capsys)["runs"]
    assert [row["cached"] for row in again] == [True, False]
    assert again[0]["id"] == short["id"]
