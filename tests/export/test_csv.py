"""Tables as CSV: names that a spreadsheet would evaluate are text there."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from elephan import runs
from elephan.scenario import Scenario

NAMES = ["=1+1", "+1", "-1", "@sum", "plain", "in-side=1"]
PATH = {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "20 packets", "duration": "2 s"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> runs.Run:
    flows = [{"name": name, "algorithm": "reno"} for name in NAMES]
    return runs.run(Scenario.dumbbell(flows, **PATH), store=runs.Store(tmp_path_factory.mktemp("runs")))


def test_a_name_is_never_a_formula(run: runs.Run, tmp_path: Path) -> None:
    run.to_csv(tmp_path)
    for table, column in (("flows", "name"), ("samples", "flow")):
        with (tmp_path / f"{table}.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        shown = list(dict.fromkeys(row[column] for row in rows))
        assert shown == ["'=1+1", "'+1", "'-1", "'@sum", "plain", "in-side=1"]


def test_numbers_stay_numbers(run: runs.Run, tmp_path: Path) -> None:
    run.to_csv(tmp_path)
    with (tmp_path / "flows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["goodput_mbps"]) for row in rows] == run.flows["goodput_mbps"].to_list()


def test_parquet_keeps_names_as_they_are(run: runs.Run, tmp_path: Path) -> None:
    import polars as pl

    run.to_parquet(tmp_path)
    assert pl.read_parquet(tmp_path / "flows.parquet")["name"].to_list() == NAMES
