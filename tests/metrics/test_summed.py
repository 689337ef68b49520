"""Transfers of a source with ``record = "summary"``: what sums and buckets answer, and what they do not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import elephan
from elephan import metrics
from elephan.metrics import MetricError
from elephan.runs import Run, Store
from elephan.scenario import Scenario, ScenarioError

EXACT = (
    "transfers_begun", "completed_fraction", "mean_flow_rate_mbps", "mean_size_over_mean_duration_mbps",
    "mean_flow_duration_ms", "mean_slowdown", "offered_mbps", "short_flow_total_mbps",
)  # fmt: skip
QUANTILES = ("flow_duration_p50_ms", "flow_duration_p95_ms", "flow_duration_p99_ms", "slowdown_p50", "slowdown_p99")


def scenario(**more: object) -> Scenario:
    """Two sources and a flow that has a size; of the first source the record is to be chosen."""
    web = {"name": "web", "algorithm": "cubic", "load": "50%", "rtts": "aikat", **more}
    users = {"name": "users", "algorithm": "reno", "users": 5, "think": "200 ms"}
    sized = {"algorithm": "cubic", "size": "20 kB", "name": "sized"}
    return Scenario.dumbbell(
        [sized],
        rate="200 Mbit/s",
        rtt="40 ms",
        buffer="200 packets",
        duration="10 s",
        measure={"from": "1 s"},
        starts=["2 s"],
        traffic=[web, users],
    )


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    """The same transfers, each kept, and in sums."""
    return elephan.run(scenario(), store=None), elephan.run(scenario(record="summary"), store=None)


@pytest.mark.parametrize("flows", [None, ["web"], ["web", "sized"], ["users"]])
def test_metrics_from_sums_are_those_from_rows(runs: tuple[Run, Run], flows: list[str] | None) -> None:
    rows, sums = runs
    for name in EXACT:
        function = getattr(metrics, name)
        assert function(sums, flows=flows) == pytest.approx(function(rows, flows=flows), rel=1e-8), name
    for name in QUANTILES:
        function = getattr(metrics, name)
        assert function(sums, flows=flows) == pytest.approx(function(rows, flows=flows), rel=1.001e-3), name


def test_what_needs_each_transfer_has_no_answer(runs: tuple[Run, Run]) -> None:
    _, sums = runs
    with pytest.raises(MetricError, match="'web' has record = \"summary\": of the measured part, 1 s to 10 s"):
        metrics.mean_slowdown(sums, window=(2, 5))
    with pytest.raises(MetricError, match="a class of sizes needs each transfer"):
        metrics.slowdown_p99(sums, size_bytes=(0, 1e4))
    with pytest.raises(MetricError, match="there is no row for each"):
        metrics.sized_transfers(sums)
    with pytest.raises(MetricError, match="there is no row for each"):
        metrics.by_size(sums, metrics.mean_slowdown, [0, 1e4, 1e5])
    assert metrics.mean_slowdown(sums, flows=["users"], window=(2, 5)) > 1


def test_a_summary_is_saved_and_read_back(tmp_path: Path, runs: tuple[Run, Run]) -> None:
    rows, sums = runs
    assert "distributions" not in rows.tables()
    counted = sums.distributions.group_by("source", "quantity").agg(pl.col("transfers").sum())
    assert set(counted["transfers"]) == {metrics.transfers_begun(sums, flows=["web"])
                                         * metrics.completed_fraction(sums, flows=["web"])}  # fmt: skip
    assert set(sums.transfers["source"].cast(pl.String)) == {"users"}
    again, read = (elephan.run(scenario(record="summary"), store=Store(tmp_path)) for _ in range(2))
    assert read.distributions.equals(again.distributions)
    assert metrics.slowdown_p99(read) == metrics.slowdown_p99(sums)


def test_the_record_is_part_of_the_scenario_only_where_it_is_chosen() -> None:
    assert scenario(record="all").hash == scenario().hash
    assert "record" not in scenario().canonical()["traffic"][0]
    assert scenario(record="summary").canonical()["traffic"][0]["record"] == "summary"
    assert Scenario.from_toml(scenario(record="summary").to_toml()).hash == scenario(record="summary").hash
    with pytest.raises(ScenarioError, match="'sumary' is not a record of transfers; did you mean 'summary'"):
        scenario(record="sumary")


MEASURED = """
import json, sys
from pathlib import Path
from elephan.scenario import Scenario, catalog
engine = catalog.engine()
def peak(): return 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
document = json.loads(sys.stdin.read())
text = Scenario.from_toml(document).canonical_json()
engine.memory(text)
before = peak()
engine.run(text, None, {})
print(json.dumps([engine.memory(text), peak() - before]))
"""


@pytest.mark.parametrize(
    ("source", "record"),
    [
        ({"per_second": 40_000, "sizes": {"distribution": "constant", "mean": "5 kB"}}, "summary"),
        ({"per_second": 40_000, "sizes": {"distribution": "constant", "mean": "5 kB"}}, "all"),
        ({"per_second": 3_000, "sizes": {"distribution": "constant", "mean": "60 kB"}}, "summary"),
    ],
)
def test_the_estimate_of_memory_is_within_a_factor_of_what_is_measured(source: dict[str, object], record: str) -> None:
    stated = Scenario.dumbbell(
        [{"algorithm": "reno", "size": "1 segment"}],
        rate="10 Gbit/s",
        rtt="500 ms",
        buffer="100% BDP",
        duration="2 s",
        sample_period="1 s",
        traffic=[{"algorithm": "cubic", "record": record, **source}],
    )
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], input=json.dumps(stated.to_toml()), capture_output=True, text=True, check=True
    )
    estimated, measured = json.loads(done.stdout)
    assert measured > 15e6
    assert 1 / 1.5 < estimated / measured < 1.5, (estimated / 2**20, measured / 2**20)
