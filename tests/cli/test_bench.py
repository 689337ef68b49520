"""The benchmark's rows about single algorithms, on a path short enough for a test."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from elephan.benchmark import long_paths, many_flows, ns2, two_flows
from elephan.scenario import catalog


def test_every_algorithm_that_answers_to_the_path_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_flows, "ALGORITHMS_S", 0.5)
    rows = two_flows.time_algorithms(1)
    assert set(rows) == set(catalog.algorithms()) - {"fixed"}
    assert all(row["segments_delivered"] > 0 and row["ns_per_segment"] > 0 for row in rows.values())


def test_the_default_stack_is_timed_beside_that_of_ns2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_flows, "STEADY_S", 1)
    rows = two_flows.time_stacks(2)
    assert list(rows) == [two_flows.DEFAULT_STACK, two_flows.STACK]
    assert all(row["segments_delivered"] > 0 and row["ns_per_segment"] > 0 for row in rows.values())


def test_reno_in_python_is_timed_beside_the_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_flows, "PYTHON_S", 1.0)
    row = two_flows.time_python(1, pytest.fail)
    assert row is not None
    assert row["algorithm"] == "my_reno.py:MyReno"
    assert row["slowdown"] == pytest.approx(row["ns_per_ack"] / row["built_in_ns_per_ack"])
    assert row["extra_ns_per_ack"] == pytest.approx(row["ns_per_ack"] - row["built_in_ns_per_ack"])


def test_short_transfers_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_flows, "TRANSFERS_S", 1)
    monkeypatch.setattr(many_flows, "TRANSFERS_RATE", "100 Mbit/s")
    row = many_flows.time_transfers(1)
    # 60 % of 100 Mbit/s for a second are 5000 packets; the long ones have not ended.
    assert 1000 < row["segments_delivered"] < 5000
    assert row["ns_per_segment"] == pytest.approx(row["wall_seconds"] / row["segments_delivered"] * 1e9)


def test_crowds_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_flows, "CROWDS", ((2, "50 Mbit/s", 2), (40, "50 Mbit/s", 2)))
    two, forty = many_flows.time_crowds(1)
    assert (two["flows"], two["slowdown"], forty["flows"]) == (2, 1.0, 40)
    assert forty["slowdown"] == pytest.approx(forty["ns_per_segment"] / two["ns_per_segment"])
    assert forty["segments_delivered"] > 1000


def test_both_resolutions_are_timed_on_each_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_paths, "PATHS", (("50 Mbit/s", "20 ms", 1), ("1 Gbit/s", "20 ms", 1)))
    rows = long_paths.time_resolutions(1)
    assert [row["rate"] for row in rows] == ["50 Mbit/s", "1 Gbit/s"]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["segment"]["ns_per_segment"] / row["train"]["ns_per_segment"])
        assert row["train"]["segments_delivered"] == pytest.approx(row["segment"]["segments_delivered"], rel=0.05)


def test_without_the_examples_there_is_no_such_row(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(two_flows, "MY_RENO", Path("nowhere.py"))
    assert two_flows.time_python(1, warnings.append) is None
    assert warnings == ["nowhere.py does not exist, so no algorithm in Python was timed"]


def pretend(monkeypatch: pytest.MonkeyPatch, folder: Path, program: str) -> None:
    """Puts a shell script in the place of ns-2."""
    ns = folder / "ns"
    ns.write_text(f"#!/bin/sh\n{program}\n")
    ns.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_crowds_stand_beside_those_of_ns2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = '{"segments_delivered":1000,"wall_seconds":0.002}'
    pretend(monkeypatch, tmp_path, f"echo \"$@\" >> {tmp_path}/asked; echo 'cmd {answer}'; echo 'select_ca cubic'")
    crowds: list[dict[str, Any]] = [
        {"flows": flows, "rate": "10 Gbit/s", "ns_per_segment": 50.0, "ns2": None} for flows in (2, 1000, 10_000)
    ]
    many_flows.add_ns2(crowds, 2, pytest.fail)
    two, thousand, more = (row["ns2"] for row in crowds)
    assert two["ns_per_segment"] == pytest.approx(2000)
    assert thousand["ratio"] == pytest.approx(40)
    assert more is None
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.partition("crowd.tcl ")[2] for line in asked] == [
        *["2 10000000000 3.0 4.0"] * 2, *["1000 10000000000 3.0 4.0"] * 2
    ]  # fmt: skip


def test_ns2_that_fails_is_left_out_with_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    warnings: list[str] = []
    pretend(monkeypatch, tmp_path, "echo 'no such class' >&2; exit 1")
    crowds: list[dict[str, Any]] = [
        {"flows": flows, "rate": "10 Gbit/s", "ns_per_segment": 50.0, "ns2": None} for flows in (2, 100)
    ]
    many_flows.add_ns2(crowds, 1, warnings.append)
    assert warnings == ["ns-2 failed, so there is no ratio to it: no such class"]
    assert [row["ns2"] for row in crowds] == [None, None]


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
def test_a_crowd_fills_the_link_in_ns2() -> None:
    found = ns2.time_crowd(10, "20 Mbit/s", 1, pytest.fail)
    assert found is not None
    assert found["segments_delivered"] == pytest.approx(20e6 / 8 / 1500, rel=0.02)
