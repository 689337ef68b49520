"""A run whose numbers are impossible is not saved, and says which number it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import elephan
from elephan.backends import EngineDefectError, RawResult
from elephan.runs import Run, RunFailedError, Store, invariants
from elephan.runs.execute import compute
from elephan.scenario import Scenario

PATH: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "20 packets", "duration": "4 s"}
FLOWS: list[Any] = ["cubic", {"algorithm": "reno", "size": "20 kB", "start": "1 s"}]


def made(change: Callable[[dict[str, pl.DataFrame]], dict[str, pl.DataFrame]], on: str = "sim") -> Run:
    """A run whose tables were changed."""
    scenario = Scenario.dumbbell(FLOWS, **PATH)
    run = compute(elephan.backends.get(on), scenario, 1)
    return Run.from_tables(scenario, change(dict(run.tables())), backend=on, seed=1, summary={})


def setting(table: str, column: str, value: Any) -> Callable[[dict[str, pl.DataFrame]], dict[str, pl.DataFrame]]:
    """Sets a column of the first row."""

    def change(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        frame = tables[table].with_row_index("row_number")
        changed = pl.when(pl.col("row_number") == 0).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
        return tables | {table: frame.with_columns(changed).drop("row_number")}

    return change


@pytest.mark.parametrize(
    ("table", "column", "value", "said"),
    [
        ("flows", "goodput_mbps", 8.55e16, "goodput of flow 'cubic-1' is 8.55e+16 Mbit/s, above its throughput"),
        ("flows", "throughput_mbps", 10.1, "throughput of flow 'cubic-1' is 10.1 Mbit/s, above the rate of its path"),
        ("flows", "segments_delivered", 10**6, "segments_delivered of flow 'cubic-1' is 1e+06 segments, above "),
        ("flows", "rtt_mean_ms", 1.0, "rtt_min_ms of flow 'cubic-1'"),
        ("samples", "wire_bytes", 2**64 - 5, "samples.wire_bytes is 1.84467e+19, a count below zero"),
        ("samples", "cwnd", float("inf"), "a value of samples.cwnd is not a finite number"),
        ("samples", "cwnd", -1.0, "samples.cwnd is -1, below 0"),
        ("links", "queue_max", 21, "queue_max of link 'bottleneck' is 21 packets, above its buffer, 20 packets"),
    ],
)  # fmt: skip
def test_an_impossible_number_is_named(table: str, column: str, value: Any, said: str, tmp_path: Path) -> None:
    run = made(setting(table, column, value))
    with pytest.raises(EngineDefectError) as raised:
        Store(tmp_path).save(run)
    assert said in str(raised.value)
    assert not list(Store(tmp_path).ids())


@pytest.mark.parametrize("on", ["sim", "model"])
def test_a_run_obeys_them(on: str) -> None:
    scenario = Scenario.dumbbell(FLOWS if on == "sim" else ["cubic"], **PATH)
    assert list(invariants.problems(compute(elephan.backends.get(on), scenario, 1))) == []


def test_a_defect_is_one_line_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    backend = elephan.backends.get("sim")
    whole = type(backend).run

    def broken(self: Any, *args: Any, **more: Any) -> RawResult:
        raw = whole(self, *args, **more)
        flows = pl.DataFrame(raw.tables["flows"]).with_columns(goodput_mbps=pl.lit(1e9))
        return RawResult(raw.tables | {"flows": flows}, raw.summary)

    monkeypatch.setattr(type(backend), "run", broken)
    said = r"^a defect of Elephan: goodput of flow 'cubic-1' is 1e\+09 Mbit/s, above its throughput"
    with pytest.raises(RunFailedError, match=said) as raised:
        elephan.run(Scenario.dumbbell(["cubic"], **PATH), store=Store(tmp_path))
    assert "\n" not in str(raised.value)
    assert not list(Store(tmp_path).ids())
