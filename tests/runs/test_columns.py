"""The register of columns is what the engine gives: names, types, order, and when a value is null."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import elephan
from elephan.runs import Run, Store
from elephan.runs.columns import PROGRAMS, TABLES, Column
from elephan.scenario import Scenario

PATH: dict[str, Any] = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "20 packets", "duration": "6 s"}
DATAGRAMS = {"name": "datagrams", "datagrams": {"rate": "1 Mbit/s", "size": "500 B"}}
MARKED = [
    {"algorithm": name, "stack": {"accurate_ecn": True, "accurate_ecn_option": True}} for name in ("prague", "dctcp")
]
WEB = {"name": "web", "algorithm": "cubic", "load": "30%"}
USERS = {"name": "users", "algorithm": "cubic", "users": 3, "think": "100 ms"}
# The second write does not end within the run.
WRITES = [{"at": "1 s", "size": "20 kB"}, {"at": "2 s", "size": "100 MB"}]

SCENARIOS = {
    "plain": Scenario.dumbbell(
        ["cubic", {"algorithm": "bic", "size": "20 kB"}, "bbr"], **PATH, traffic=[WEB, USERS], internals=True
    ),
    "events": Scenario.dumbbell(
        ["cubic", {"algorithm": "reno", "start": "1 s"}, *MARKED, DATAGRAMS], **PATH,
        queue="dualpi2", traffic=[WEB | {"record": "summary"}], events=True,
    ),
    "udt": Scenario.dumbbell(["udt", "cubic", {"algorithm": "udt", "start": "1 s"}], **PATH),
    "writes": Scenario.dumbbell([{"algorithm": "cubic", "application": {"writes": WRITES}}], **PATH),
    "crowd": Scenario.dumbbell([{"algorithm": "cubic", "count": 20, "start": "1 s"}], **PATH, record=3),
    "parts": Scenario.dumbbell(
        [{"algorithm": "hybla", "count": 2}], **PATH | {"rate": "50 Mbit/s", "rtt": "300 ms"}, record=1
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    store = Store(tmp_path_factory.mktemp("store"))
    return {name: elephan.run(scenario, store=store) for name, scenario in SCENARIOS.items()}


def of(made: dict[str, Run], table: str) -> list[pl.DataFrame]:
    return [run.tables()[table] for run in made.values() if table in run.tables()]


COLUMNS = [(table, column) for table, known in TABLES.items() for column in known.columns if column.only != PROGRAMS]


@pytest.mark.parametrize("table", TABLES)
def test_the_engine_gives_these_columns_in_this_order(table: str, made: dict[str, Run]) -> None:
    frames = of(made, table)
    assert frames, "no scenario here has the table"
    known = [column.name for column in TABLES[table].columns if column.only != PROGRAMS]
    for frame in frames:
        assert frame.columns == [name for name in known if name in frame.columns]
        always = [column.name for column in TABLES[table].columns if not column.only]
        assert set(always) <= set(frame.columns)
    assert set().union(*(frame.columns for frame in frames)) == set(known)


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=[f"{table}.{column.name}" for table, column in COLUMNS])
def test_a_column_has_its_type_and_its_nulls(table: str, column: Column, made: dict[str, Run]) -> None:
    found = [frame[column.name] for frame in of(made, table) if column.name in frame.columns]
    assert {str(series.dtype).partition("(")[0] for series in found} == {column.kind}
    nulls = sum(series.null_count() for series in found)
    assert nulls < sum(map(len, found)), "never a value in these scenarios"
    assert (nulls > 0) == bool(column.null), f"{nulls} nulls"


def test_what_only_some_runs_have_is_as_stated(made: dict[str, Run]) -> None:
    rated = ["sending_rate_mbps" in run.samples.columns for run in made.values()]
    assert rated == [False, False, True, False, False, False]
    crowded = ["measured_wire_bytes" in run.flows.columns for run in made.values()]
    assert crowded == [False, False, False, False, True, True]
    assert ["delivered_bytes" in run.samples.columns for run in made.values()][-1]


def test_units_and_texts_are_there() -> None:
    for _, column in COLUMNS:
        assert column.text.endswith(".")
        assert bool(column.unit) == (column.kind not in ("String", "Categorical", "Boolean"))


def group(kind: str) -> str:
    """Integers are one group here: the model counts some without a sign and some with."""
    return "integer" if "Int" in kind else kind.partition("(")[0]


@pytest.mark.parametrize("table", ["flows", "samples", "links"])
def test_the_model_has_the_columns_of_every_backend(table: str, tmp_path: Any) -> None:
    scenario = Scenario.dumbbell(["cubic", "reno"], **PATH)
    frame = elephan.run(scenario, on="model", store=Store(tmp_path)).tables()[table]
    kinds = {column.name: column.kind for column in TABLES[table].columns}
    assert set(TABLES[table].required) <= set(frame.columns)
    for name in frame.columns:
        assert name not in kinds or group(str(frame[name].dtype)) == group(kinds[name]), name
