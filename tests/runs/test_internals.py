"""Internal variables of algorithms: declared, recorded, saved, and without any influence on a run."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import elephan
from elephan import backends
from elephan.backends.kernel.plan import Plan
from elephan.runs import Run, RunError, Store
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.catalog import algorithms

ROOT = Path(__file__).resolve().parents[2]
PATH: dict[str, Any] = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "12 s"}


def dumbbell(*flows: Any, **more: Any) -> Scenario:
    return Scenario.dumbbell(list(flows), **(PATH | {"internals": True} | more))


def made(scenario: Scenario) -> Run:
    raw = backends.get("sim").run(scenario)
    return Run.from_tables(scenario, raw.tables, summary=raw.summary)


def text(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


@pytest.mark.parametrize("name", algorithms())
def test_a_run_has_the_variables_that_the_algorithm_declares(name: str) -> None:
    entry = algorithms()[name]
    queue = entry["router"] or "droptail"
    found = text(made(dumbbell(name, duration="2 s", queue=queue)).internals)
    variables = {variable["name"]: variable for variable in entry["variables"]}
    assert found["variable"].unique(maintain_order=True).to_list() == list(variables)
    for variable, value, state in found.select("variable", "value", "state").iter_rows():
        states = variables[variable]["states"]
        assert state == (states[int(value)] if states and value is not None else None)


def test_rows_are_at_the_sample_times_of_each_flow() -> None:
    run = made(dumbbell("cubic", {"algorithm": "vegas", "start": "2 s"}, start_jitter="0 s"))
    times = run.samples["time_s"].unique()
    for flow, start_s in (("cubic-1", 0), ("vegas-2", 2)):
        rows = text(run.internals).filter(pl.col("flow") == flow)
        assert rows["time_s"].unique().sort().to_list() == times.filter(times > start_s).sort().to_list()


def test_the_other_tables_do_not_change_and_a_second_run_gives_the_same() -> None:
    flows = ("cubic", "bbr", "hcc", "lp")
    first, second, plain = (made(dumbbell(*flows, internals=asked)) for asked in (True, True, False))
    for name, table in plain.tables().items():
        assert text(table).equals(text(first.tables()[name]))
    assert text(first.internals).equals(text(second.internals))
    assert first.manifest["tables_sha256"] == second.manifest["tables_sha256"]


def test_they_are_saved_and_exported_with_the_run(tmp_path: Path) -> None:
    run = elephan.run(dumbbell("bbr"), store=Store(tmp_path / "store"))
    assert (run.dir / "internals.parquet").exists()
    loaded = Run.load(run.dir)
    assert loaded.has_internals
    states = loaded.internals.filter(pl.col("variable") == "mode")["state"].cast(pl.String)
    assert states.rle().struct.field("value").to_list()[0] == "Startup"
    assert {"ProbeBW", "ProbeRTT"} <= set(states)
    assert tmp_path / "csv" / "internals.csv" in loaded.to_csv(tmp_path / "csv")
    assert pl.read_csv(tmp_path / "csv" / "internals.csv").height == loaded.internals.height


def test_a_scenario_that_does_not_ask_has_the_form_and_the_hash_that_it_had() -> None:
    plain, asked = dumbbell("cubic", internals=False), dumbbell("cubic")
    assert "internals" not in plain.canonical()
    assert plain.hash == Scenario.dumbbell(["cubic"], **PATH).hash != asked.hash
    assert asked.canonical() == plain.canonical() | {"internals": True}
    assert Scenario.from_toml(asked.to_toml()).hash == asked.hash
    with pytest.raises(RunError, match="has no internals; write internals = true into its scenario"):
        _ = made(plain).internals


class Shown(elephan.Algorithm):
    shown: Any = None

    def on_ack(self, ack: elephan.Ack) -> None:
        self.window += ack.acked / self.window if ack.may_grow else 0.0

    def on_congestion(self, signal: elephan.Signal) -> None:
        self.ssthresh = self.window = max(self.window / 2, 2.0)

    def observe(self) -> Any:
        return {"half": self.window / 2, "unknown": math.nan, "whole": 3, "yes": True} | (self.shown or {})


def test_an_own_algorithm_shows_what_observe_returns() -> None:
    run = made(dumbbell(Shown, buffer="unlimited"))
    wide = text(run.internals).pivot("variable", index=["time_s", "flow"], values="value")
    assert wide.columns == ["time_s", "flow", "half", "unknown", "whole", "yes"]
    assert wide["unknown"].is_null().all()
    assert (set(wide["whole"]), set(wide["yes"])) == ({3.0}, {1.0})
    both = wide.join(text(run.samples), on=["time_s", "flow"])
    assert both.height == wide.height > 100
    assert (both["half"] * 2).to_list() == both["cwnd"].to_list()
    assert run.internals["state"].is_null().all()


@pytest.mark.parametrize(
    ("shown", "what"),
    [
        ({"name": "high"}, "TypeError: observe returned 'high' for 'name', which is not a number"),
        ({7: 1.0}, "TypeError: observe returned the name 7, which is not a text"),
        (None, "TypeError: observe returned no dictionary of names and numbers"),
        (1, "ZeroDivisionError"),
    ],
)
def test_what_observe_does_wrong_is_told_with_flow_and_time(shown: Any, what: str) -> None:
    class Wrong(Shown):
        def observe(self) -> Any:
            return shown if not isinstance(shown, int) else 1 / 0

    with pytest.raises(elephan.AlgorithmError, match=re.escape(f"Wrong-1: observe raised {what}")):
        made(dumbbell(Wrong))
    assert made(dumbbell(Wrong, internals=False)).flows.height == 1


def test_where_nothing_can_be_recorded_it_is_refused() -> None:
    with pytest.raises(
        ScenarioError, match=r"^internals: the model cannot say what goes on inside an algorithm; 'sim'"
    ):
        backends.get("model").check(dumbbell("reno"))
    with pytest.raises(
        ScenarioError, match=r"^internals: Linux's own reno does not show its internal variables; 'sim'"
    ):
        Plan.of(dumbbell("reno", stack="linux"))
    with pytest.raises(ScenarioError, match=r"^internals: there is nothing to record: transfers"):
        dumbbell(traffic=[{"algorithm": "cubic", "load": "50%"}])


@pytest.mark.parametrize("path", sorted((ROOT / "bpf").glob("*.bpf.c")), ids=lambda path: path.name.partition(".")[0])
def test_a_program_in_the_kernel_has_the_names_of_its_twin(path: Path) -> None:
    names = {re.sub("_us$", "_s", name) for name in re.findall(r"\bvariable\((\w+), ", path.read_text("utf-8"))}
    declared = {variable["name"] for variable in algorithms()[path.name.partition(".")[0]]["variables"]}
    assert names <= declared
