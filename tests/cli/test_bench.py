"""The benchmark's rows about single algorithms, on a path short enough for a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from elephan.cli import bench
from elephan.scenario import catalog


def test_every_algorithm_that_answers_to_the_path_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SHORT_S", 0.5)
    rows = bench.time_algorithms(1)
    assert set(rows) == set(catalog.algorithms()) - {"fixed"}
    assert all(row["segments_delivered"] > 0 and row["ns_per_segment"] > 0 for row in rows.values())


def test_reno_in_python_is_timed_beside_the_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "PYTHON_S", 1.0)
    row = bench.time_python(1)
    assert row is not None
    assert row["algorithm"] == "my_reno.py:MyReno"
    assert row["slowdown"] == pytest.approx(row["ns_per_ack"] / row["built_in_ns_per_ack"])
    assert row["extra_ns_per_ack"] == pytest.approx(row["ns_per_ack"] - row["built_in_ns_per_ack"])


def test_short_transfers_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "TRANSFERS_S", 1)
    monkeypatch.setattr(bench, "TRANSFERS_RATE", "100 Mbit/s")
    row = bench.time_transfers(1)
    # 60 % of 100 Mbit/s for a second are 5000 packets; the long ones have not ended.
    assert 1000 < row["segments_delivered"] < 5000
    assert row["ns_per_segment"] == pytest.approx(row["wall_seconds"] / row["segments_delivered"] * 1e9)


def test_crowds_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "CROWDS", ((2, "50 Mbit/s", 2), (40, "50 Mbit/s", 2)))
    two, forty = bench.time_crowds(1)
    assert (two["flows"], two["slowdown"], forty["flows"]) == (2, 1.0, 40)
    assert forty["slowdown"] == pytest.approx(forty["ns_per_segment"] / two["ns_per_segment"])
    assert forty["segments_delivered"] > 1000


def test_without_the_examples_there_is_no_such_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "MY_RENO", Path("nowhere.py"))
    assert bench.time_python(1) is None
    assert "nowhere.py is not there" in capsys.readouterr().err
