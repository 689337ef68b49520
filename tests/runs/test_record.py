"""``record``: which flows have samples, and quantiles over all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.report.browsing import read

import elephan
from elephan import Run, Scenario, ScenarioError, Store, backends, metrics
from elephan.cli.main import run_command
from elephan.metrics import MetricError
from elephan.report.run import run_report
from elephan.scenario.groups import recorded_positions

PATH: dict[str, Any] = {"rate": "50 Mbit/s", "rtt": "40 ms", "buffer": "50% BDP", "duration": "5 s"}
OWN = str(Path(__file__).parents[2] / "examples" / "my_reno.py") + ":MyReno"
PS_PER_S = 1e12


def dumbbell(*flows: Any, **more: Any) -> Scenario:
    return Scenario.dumbbell(list(flows), **(PATH | more))


SCENARIOS = {
    "late starts": dumbbell(
        {"algorithm": "cubic", "count": 40, "start_spread": "2 s"},
        {"algorithm": "cubic", "name": "second", "count": 7, "start": "1 s"},
    ),
    "stops": dumbbell({"algorithm": "bbr", "count": 9, "stop": "3 s"}, "reno"),
    "datagrams": dumbbell({"algorithm": "cubic", "count": 5}, {"count": 4, "datagrams": {"rate": "1 Mbit/s"}}),
    "sizes and UDT": dumbbell(
        {"algorithm": "cubic", "count": 20, "size": "1 MB", "start_spread": "3 s"}, {"algorithm": "udt", "count": 4}
    ),
    "receivers inline": dumbbell({"algorithm": "cubic", "count": 20}, stack="ns2", sample_period="7 ms"),
    "traffic": dumbbell(
        {"algorithm": "cubic", "count": 20}, traffic=[{"algorithm": "reno", "load": "20%"}],
        measure={"from": "1.23456 s", "to": "4.1 s"}, sample_period="210 ms",
    ),
    "own": dumbbell({"algorithm": OWN, "count": 6}, duration="2 s"),
}  # fmt: skip


def made(scenario: Scenario) -> Run:
    raw = backends.get("sim").run(scenario)
    return Run.from_tables(scenario, raw.tables, summary=raw.summary)


def text(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
COLUMNS = {
    "cwnd": "cwnd_segments", "srtt_s": "srtt_s", "in_flight": "in_flight_segments", "goodput": "goodput_mbps",
}  # fmt: skip


def expected(run: Run) -> pl.DataFrame:
    """The table ``crowd`` by NumPy, from the samples of a run that records all flows."""
    rows: list[dict[str, Any]] = []
    for table, form in zip(run.scenario.flow, run.scenario.canonical()["flows"], strict=True):
        group = form["name"]
        names = [group] if table.count == 1 else [f"{group}-{i + 1}" for i in range(table.count)]
        members = [series(run, name) for name in names]
        for k, time_s in enumerate(members[0]["time_s"]):
            active = [member for member in members if member["active"][k]]
            for q in QUANTILES:
                row = {"time_s": time_s, "group": group, "algorithm": form["algorithm"], "quantile": q}
                row["active_flows"] = len(active)
                for column, title in COLUMNS.items():
                    known = [member[column][k] for member in active if not np.isnan(member[column][k])]
                    row[title] = float(np.quantile(known, q)) if known else None
                rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def series(run: Run, name: str) -> dict[str, Any]:
    """The values of a flow at the sample times, and where it is active."""
    spec = next(flow for flow in run.form.flows if flow.name == name)
    row = run.flows.row(by_predicate=pl.col("name") == name, named=True)
    samples = text(run.samples).filter(pl.col("flow") == name).sort("time_s")
    found = {
        column: samples[column].cast(float).fill_null(np.nan).to_numpy() for column in ("cwnd", "srtt_s", "in_flight")
    }
    times_ps = np.rint(samples["time_s"].to_numpy() * PS_PER_S)
    megabits = np.diff(samples["delivered_segments"].cast(float).to_numpy()) * (spec.stack.payload_bytes * 8e-6)
    start_ps = round(row["start_s"] * PS_PER_S)
    completed_ps = np.inf if row["completion_s"] is None else start_ps + round(row["completion_s"] * PS_PER_S)
    return found | {
        "time_s": samples["time_s"].to_list(),
        "goodput": np.concatenate(([np.nan], megabits / (np.diff(times_ps) * 1e-12))),
        "active": (start_ps <= times_ps) & (times_ps <= min(spec.stop_ps or np.inf, completed_ps)),
    }


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_quantiles_are_those_of_all_samples_and_nothing_else_changes(scenario: Scenario) -> None:
    every, none, some = (made(scenario.replace(record=record)) for record in ("all", "quantiles", 3))
    reference = expected(every)
    for run in (every, none, some):
        found = text(run.crowd).select(reference.columns).with_columns(pl.col("active_flows").cast(pl.Int64))
        assert_frame_equal(found, reference.cast(dict.fromkeys(COLUMNS.values(), pl.Float64)), check_exact=True)
    assert none.samples.is_empty()
    kept = [name for group in some.groups for name in group.recorded]
    assert_frame_equal(text(some.samples), text(every.samples).filter(pl.col("flow").is_in(kept)), check_exact=True)
    assert text(some.samples)["flow"].unique(maintain_order=True).to_list() == kept
    for run in (none, some):
        assert_frame_equal(run.flows.select(every.flows.columns), every.flows, check_exact=True)
        for name in set(every.tables()) - {"samples", "flows"}:
            assert_frame_equal(text(run.tables()[name]), text(every.tables()[name]), check_exact=True)
        assert run.warnings == every.warnings
        for name in ("conservation", "segments_delivered", "acks_delivered"):
            assert run.manifest["engine_summary"][name] == every.manifest["engine_summary"][name]


def test_the_default_has_the_hash_of_before_and_others_have_their_own() -> None:
    plain = SCENARIOS["stops"]
    assert "record_flows" not in plain.canonical()
    hashes = [plain.replace(record=record).hash for record in ("all", "quantiles", 1, 2)]
    assert hashes[0] == plain.hash
    assert len(set(hashes)) == 4


def test_counts_over_the_measured_part_are_known_of_every_flow() -> None:
    every, none = (made(SCENARIOS["stops"].replace(record=record)) for record in ("all", "quantiles"))
    for name in ("throughput_mbps", "goodput_mbps", "throughput_share", "loss_events", "retransmit_rate"):
        assert metrics.get(name)(none) == metrics.get(name)(every)
    assert none.summary()["metrics"] == every.summary()["metrics"]


def test_a_metric_of_samples_that_were_not_kept_is_undefined_and_says_why() -> None:
    scenario = dumbbell("cubic", {"algorithm": "bbr", "start": "1 s"}, duration="8 s")
    every, none = (made(scenario.replace(record=record)) for record in ("all", "quantiles"))
    undefined = none.summary()["undefined"]
    reason = "flow 'cubic-1' was not recorded; the scenario has record = \"quantiles\""
    lost = set(undefined) - set(every.summary()["undefined"])
    assert "convergence_accumulated_time_s" in lost
    assert {undefined[name] for name in lost} == {reason}
    assert all(none.summary()["metrics"][name] is None for name in lost)
    crowd = made(dumbbell({"algorithm": "cubic", "count": 10}, record=2))
    assert metrics.mean_cwnd_pkts(crowd, flows=["cubic-1-6"])["cubic-1-6"] > 0
    with pytest.raises(MetricError, match=r"flow 'cubic-1-2' was not recorded; the scenario has record = 2"):
        metrics.mean_cwnd_pkts(crowd)
    with pytest.raises(MetricError, match="was not recorded"):
        metrics.throughput_mbps(crowd, window=(1.0, 2.0))


def test_recorded_flows_are_evenly_spread() -> None:
    assert recorded_positions(10_000, 4) == [0, 2500, 5000, 7500]
    assert recorded_positions(10, 3) == [0, 3, 6]
    assert recorded_positions(3, 9) == recorded_positions(3, None) == [0, 1, 2]
    assert recorded_positions(3, 0) == []


def test_the_summary_has_recorded_flows_and_quantiles_over_all(tmp_path: Path) -> None:
    scenario = dumbbell({"algorithm": "cubic", "count": 50}, "bbr")
    store = Store(tmp_path)
    every, some = (elephan.run(scenario.replace(record=record), store=store) for record in ("all", 2))
    summary = Run.load(some.dir).summary()
    assert [flow["name"] for flow in summary["flows"]] == ["cubic-1-1", "cubic-1-26", "bbr-2"]
    assert summary["flows"] == [flow for flow in every.summary()["flows"] if flow in summary["flows"]]
    assert "crowd" not in every.summary()
    assert [(row["group"], row["flows"], row["quantile"]) for row in summary["crowd"]] == [
        (group, count, q) for group, count in (("cubic-1", 50), ("bbr-2", 1)) for q in QUANTILES
    ]
    goodputs = every.flows.filter(pl.col("algorithm") == "cubic")["goodput_mbps"].to_numpy()
    assert [row["goodput_mbps"] for row in summary["crowd"][:7]] == [np.quantile(goodputs, q) for q in QUANTILES]


def test_a_crowd_is_drawn_as_bands(tmp_path: Path) -> None:
    scenario = dumbbell({"algorithm": "cubic", "count": 50}, "bbr")
    for record in ("all", 2, "quantiles"):
        run = elephan.run(scenario.replace(record=record), store=Store(tmp_path))
        for figure in (run.plot_cwnd(), run.plot_throughput()):
            axes = figure.axes[0]
            assert len(axes.collections) == 4  # two bands a group
            assert [line.get_label() for line in axes.lines] == ["cubic-1: median of flows", "bbr-2"]
        page = read(run_report(run, tmp_path / str(record)))
        assert "cubic-1: 95 %" in page
        assert "median" in run._repr_html_()
    run = elephan.run(scenario.replace(record=2), store=Store(tmp_path))
    assert len(run.plot_cwnd(["cubic-1-1", "bbr-2"]).axes[0].lines) == 2
    with pytest.raises(MetricError, match="'cubic-1-2' was not recorded"):
        run.plot_cwnd(["cubic-1-2"])
    with pytest.raises(MetricError, match="leave bin_s out"):
        run.plot_throughput(bin_s=2.0)


def test_tables_are_saved_and_exported(tmp_path: Path) -> None:
    run = elephan.run(SCENARIOS["stops"].replace(record=2, events=True), store=Store(tmp_path / "store"))
    again = Run.load(run.dir)
    assert_frame_equal(text(again.crowd), text(run.crowd))
    assert tmp_path / "csv" / "crowd.csv" in run.to_csv(tmp_path / "csv")
    assert set(text(run.events)["flow"].unique()) == {flow.name for flow in run.form.flows}


def test_the_commands_show_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "crowd.toml"
    file.write_text(
        'duration = "1 s"\nrecord = "quantiles"\n[dumbbell]\nrate = "50 Mbit/s"\nrtt = "20 ms"\nbuffer = "1 BDP"\n'
        '[[flow]]\nalgorithm = "reno"\nname = "crowd"\ncount = 50\n'
    )
    words = [str(file), "--store", str(tmp_path / "store")]
    assert run_command(["run", *words]) == 0
    assert "quantiles over the flows of each group, 0 recorded" in " ".join(capsys.readouterr().out.split())
    assert run_command(["sweep", *words, "--grid", "seed=1,2"]) == 0
    assert "(median of 50)" in capsys.readouterr().out
    assert run_command(["run", *words, "--set", "record=quantile"]) == 2
    assert capsys.readouterr().err.strip() == (
        "elephan: --set record=quantile: 'quantile' is not a valid record; did you mean 'quantiles'?"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"record": "some"}, "record: 'some' is not a valid record; it is 'all' or 'quantiles'"),
        ({"record": "100"}, "record: '100' is a text; write the number of flows without quotes: 100"),
        ({"record": 0}, 'record: 0 flows cannot be recorded; write "quantiles" for none, or at least 1'),
        ({"record": True}, "record: True is not a valid record; it is 'all' or 'quantiles', or a number of flows"),
        ({"record": 10**8}, "record: 100000000 is not a number of flows to record"),
        ({"record": "quantiles", "internals": True}, "internals: of the flows that are recorded"),
    ],
)
def test_wrong_values_have_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        dumbbell("cubic", **changes)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_there_must_be_a_flow() -> None:
    with pytest.raises(ScenarioError, match="record: there is no flow whose samples could be left out"):
        dumbbell(traffic=[{"algorithm": "reno", "load": "20%"}], record=1)


@pytest.mark.parametrize("backend", ["model", "kernel"])
def test_other_backends_record_all(backend: str) -> None:
    with pytest.raises(ScenarioError, match=r"record: .* records? every flow; write record = \"all\""):
        backends.get(backend).check(dumbbell("cubic", record="quantiles"))


def test_internals_are_those_of_recorded_flows() -> None:
    flows = ({"algorithm": "cubic", "count": 5}, "bbr")
    some, every = (made(dumbbell(*flows, internals=True, record=record)) for record in (2, "all"))
    kept = ["cubic-1-1", "cubic-1-3", "bbr-2"]
    assert_frame_equal(text(some.internals), text(every.internals).filter(pl.col("flow").is_in(kept)))


PEAK = """
import sys
from pathlib import Path
from elephan import Scenario
from elephan.scenario.catalog import engine
record = sys.argv[1]
scenario = Scenario.dumbbell(
    [{"algorithm": "cubic", "count": 2000}], rate="2 Gbit/s", rtt="40 ms", buffer="50% BDP", duration="1 s",
    sample_period="1 ms", record=record,
)
form = scenario.canonical_json()
peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = peak()
engine().run(form)
print(peak() - before, engine().memory(form))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process's memory is read from /proc")
def test_memory_grows_with_the_flows_and_with_the_samples_and_not_with_their_product() -> None:
    def peak(record: str) -> tuple[float, float]:
        ran = subprocess.run([sys.executable, "-c", PEAK, record], capture_output=True, text=True, check=True)
        kib, estimated = map(int, ran.stdout.split())
        return kib / 1024, estimated / 2**20

    (every, estimated_every), (none, estimated_none) = peak("all"), peak("quantiles")
    # 2 million samples of 170 B are 324 MiB; the flows themselves need about 45 MiB.
    assert every - none > 200
    assert none < 100
    assert estimated_every - estimated_none == pytest.approx(every - none, rel=0.4)


HUGE_PAGES = """
from pathlib import Path
from elephan.scenario.catalog import engine
engine()
print("hg" in Path("/proc/self/smaps").read_text().split())
"""


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="this system has no transparent huge pages"
)
@pytest.mark.parametrize("allowed", ["1", "0"])
def test_the_engine_asks_for_huge_pages_unless_the_environment_forbids_it(allowed: str) -> None:
    environment = os.environ | {"MIMALLOC_ALLOW_THP": allowed}
    ran = subprocess.run(
        [sys.executable, "-c", HUGE_PAGES], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(allowed == "1")
