"""Several seeds of a scenario: what is said of how they differ, and of how they do not."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from elephan.cli import replicates
from elephan.cli.main import run_command
from elephan.runs import Run
from elephan.scenario import Scenario

PAIR = """
title = "two CUBIC flows"
duration = "60 s"

[dumbbell]
rate = "50 Mbit/s"
rtt = "100 ms"
buffer = "1 BDP"

[[flow]]
algorithm = "cubic"

[[flow]]
algorithm = "cubic"
"""
BARE = ("--set", "perturb=none", "--set", "start_jitter=10 ms", "--set", "stack=rfc6675")
FAST = ("--set", "dumbbell.rate=100 Mbit/s")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    (tmp_path / "pair.toml").write_text(PAIR)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[str, str]:
    status = run_command(list(args))
    out, err = capsys.readouterr()
    assert status == 0, err
    return out, err


def answer(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    return json.loads(said(capsys, *args, "--json")[0])


def test_several_seeds_are_perturbed_and_one_alone_is_the_same_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = said(capsys, "run", "pair.toml", "--seeds", "3")
    line = "starts over 400 ms, packets up to 0.2 ms late, as hosts do; seed 3 alone: --set perturb=hosts --set seed=3"
    assert line in out.splitlines()
    assert "distinct" not in err
    alone = answer(capsys, "run", "pair.toml", "--set", "perturb=hosts", "--set", "seed=3")
    assert alone["cached"]
    assert alone["id"] in out
    assert line in said(capsys, "sweep", "pair.toml", "--grid", "duration=60 s", "--seeds", "3")[0].splitlines()


def test_two_flows_that_only_start_apart_are_mirror_images(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = "8 seeds, 2 distinct outcomes, mirror images: the interval describes the order of two flows"
    out, err = said(capsys, "run", "pair.toml", "--seeds", "8", *BARE, *FAST)
    assert told in err
    assert "as hosts do" not in out
    document = answer(capsys, "run", "pair.toml", "--seeds", "8", *BARE, *FAST)
    assert document["outcomes"] == {"seeds": 8, "distinct": 2, "unordered": 1, "text": told}
    assert "distinct" not in said(capsys, "run", "pair.toml", "--seeds", "8", *FAST)[1]


def test_a_sweep_says_it_once_and_names_the_points_with_few_outcomes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rtts = ("--grid", "dumbbell.rtt=10 ms,20 ms", "--seeds", "2", "--set", "duration=5 s")
    out, _ = said(capsys, "sweep", "pair.toml", *rtts)
    rule = "starts over 4 of the longest RTT, packets up to 0.2 ms or 1 % of the shortest RTT late, as hosts do; "
    assert rule + "seed 2 alone: --set perturb=hosts --set seed=2" in out.splitlines()
    buffers = "dumbbell.buffer=10 packets,20 packets,30 packets,40 packets,50 packets,60 packets,70 packets"
    # Hosts of this stack have no timer interrupts, whose phase would depend on the seed.
    settings = ("perturb=none", "stack=rfc6675", "dumbbell.loss=1e-12", "duration=2 s")
    rare = (*(word for setting in settings for word in ("--set", setting)), "--seeds", "2")
    out, err = said(capsys, "sweep", "pair.toml", "--grid", buffers, *rare)
    told = [line for line in err.splitlines() if "distinct outcome" in line]
    assert len(told) == 6
    assert told[0].startswith("warning: dumbbell.buffer=10 packets: 2 seeds, 1 distinct outcome")
    assert told[5] == "warning: 2 more points of the grid have few distinct outcomes"


def test_backends_are_compared_over_the_same_perturbed_seeds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("compare-backends", "pair.toml", "--in", "model", "--seeds", "2", "--set", "duration=20 s")
    out, _ = said(capsys, *words)
    line = "starts over 400 ms, packets up to 0.2 ms late, as hosts do; seed 2 alone: --set perturb=hosts --set seed=2"
    assert out.splitlines().count(line) == 1
    document = answer(capsys, *words)
    hashes = {run["scenario_hash"] for runs in document["backends"].values() for run in runs}
    assert hashes == {document["scenario_hash"]}
    assert "as hosts do" not in said(capsys, *words[:4], "--set", "duration=20 s")[0]


def test_metrics_without_an_interval_have_a_dash_and_the_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = said(capsys, "run", "pair.toml", "--seeds", "2", "--on", "model")
    assert "no interval of any metric: 2 replicates, all equal" in out.splitlines()
    assert "the backend 'model' moves no starts and no packets: 2 seeds give one result" in out.splitlines()
    assert "2 seeds, 1 distinct outcome: no goodput and no queue depends on the seed" in err
    lossy = said(capsys, "run", "pair.toml", "--seeds", "2", "--on", "model", "--set", "dumbbell.loss=1e-3")[0]
    assert "moves no starts and no packets: 2 seeds differ by other random draws alone" in lossy
    row = next(line for line in out.splitlines() if line.split()[:1] == ["utilization"])
    assert row.split()[2:] == ["-", "-"]


def test_hosts_of_the_kernel_send_as_late_as_they_do() -> None:
    stated = Scenario.from_toml(PAIR).replicates(2)
    seeds = cast("list[Run]", [SimpleNamespace(scenario=scenario, seed=scenario.seed) for scenario in stated])
    assert replicates.perturbation([seeds], "kernel") == (
        "starts are moved, and packets are as late as the hosts send them; "
        "seed 2 alone: --set perturb=hosts --set seed=2"
    )
    assert replicates.perturbation([], "sim") == ""
    own = Scenario.from_toml(PAIR, overrides={"start_jitter": "1 s", "send_jitter": "1 us"}).replicates(2)
    seeds = cast("list[Run]", [SimpleNamespace(scenario=scenario, seed=scenario.seed) for scenario in own])
    assert replicates.perturbation([seeds], "sim") == "", "the file states both"


def test_seeds_that_draw_nothing_are_said_and_no_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rare = ("--set", "perturb=none", "--set", "dumbbell.loss=1e-12", "--set", "duration=5 s")
    document = answer(capsys, "run", "pair.toml", "--seeds", "2", *rare)
    assert document["outcomes"]["distinct"] == 1
    assert {value["why"] for value in document["metrics"].values()} == {"2 replicates, all equal"}
