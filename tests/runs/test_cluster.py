"""A sweep on a Dask cluster: its workers compute, and the results are those of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elephan import runs
from elephan.runs import Store, SweepError
from elephan.scenario import Scenario, ScenarioError

distributed = pytest.importorskip("distributed", reason="Dask is an optional extra: elephan[cluster]")


def short() -> Scenario:
    return Scenario.dumbbell(["cubic"], rate="20 Mbit/s", rtt="40 ms", buffer="50 packets", duration="6 s")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as made:
        yield made


def test_a_cluster_gives_the_same_results_as_threads(cluster: Any, tmp_path: Path) -> None:
    wanted = short().replicates(3)
    there = Store(tmp_path / "cluster")
    told: list[tuple[float, float, int, int]] = []
    remote = runs.sweep(
        wanted, store=there, cluster=cluster.scheduler_address, progress=lambda *state: told.append(state)
    )
    local = runs.sweep(wanted, store=Store(tmp_path / "threads"))
    assert [run.id for run in remote] == [run.id for run in local]
    assert [run.manifest["tables_sha256"] for run in remote] == [run.manifest["tables_sha256"] for run in local]
    assert all((there.path(run.id) / "samples.parquet").is_file() for run in remote)
    assert told[-1][2:] == (3, 3)
    again = runs.sweep(wanted, store=there, cluster=cluster.scheduler_address)
    assert all(run.cached for run in again)


def test_a_run_that_fails_on_a_worker_is_named(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from elephan.runs import execute

    monkeypatch.setattr(execute, "engine_version", lambda habitat: "another")
    with pytest.raises(SweepError, match=r"1 of 1 runs failed: cubic-1 \(seed 1\).*the worker's engine is"):
        runs.sweep([short()], store=Store(tmp_path), cluster=cluster.scheduler_address)


def test_no_scheduler_at_the_address_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elephan.runs.cluster.CONNECT_S", 0.5)
    with pytest.raises(ScenarioError, match="--cluster: no Dask scheduler answers at 'tcp://127"):
        runs.sweep([short()], store=Store(tmp_path), cluster="tcp://127.0.0.1:1")


def test_without_a_cluster_nothing_of_dask_is_imported(tmp_path: Path) -> None:
    program = (
        "import sys; from elephan import runs; from elephan.scenario import Scenario;"
        f"runs.sweep([Scenario.from_toml({short().to_toml()!r})], store=runs.Store({str(tmp_path)!r}));"
        "print(sorted({'dask', 'distributed'} & set(sys.modules)))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert answer.stdout.strip() == "[]"
