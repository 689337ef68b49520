"""A sweep on a Dask cluster: its workers compute, and the results are those of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import elephan
from elephan import runs
from elephan.backends.sim import SimBackend
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
    monkeypatch.setattr(SimBackend, "version", lambda self: "another")
    with pytest.raises(SweepError, match=r"1 of 1 runs failed: cubic-1 \(seed 1\).*the worker's engine is"):
        runs.sweep([short()], store=Store(tmp_path), cluster=cluster.scheduler_address)


OWN = """
import elephan

class Mine(elephan.Algorithm):
    def on_ack(self, ack):
        self.window += ack.acked

    def on_congestion(self, signal):
        if signal.now > 3.0:
            raise LookupError("no such window")
        self.ssthresh = self.window = 20.0
"""


def test_an_own_algorithm_runs_where_the_workers_see_its_file(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN.replace("signal.now > 3.0", "False"))
    wanted = [short().with_overrides({"flow[0].algorithm": f"{tmp_path}/mine.py:Mine"})]
    remote = runs.sweep(wanted, store=Store(tmp_path / "cluster"), cluster=cluster.scheduler_address)
    local = runs.sweep(wanted, store=Store(tmp_path / "threads"))
    assert [run.manifest["tables_sha256"] for run in remote] == [run.manifest["tables_sha256"] for run in local]


def test_an_own_algorithm_that_raises_on_a_worker_comes_back_with_its_traceback(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    wanted = [short().with_overrides({"flow[0].algorithm": f"{tmp_path}/mine.py:Mine"})]
    with pytest.raises(SweepError, match="on_congestion raised LookupError: no such window at 3") as raised:
        runs.sweep(wanted, store=Store(tmp_path / "store"), cluster=cluster.scheduler_address)
    assert 'raise LookupError("no such window")' in raised.value.failures[0].error.trace  # type: ignore[attr-defined]


def test_a_class_of_this_program_is_not_on_a_worker(cluster: Any, tmp_path: Path) -> None:
    def ignore(self: elephan.Algorithm, told: object) -> None:
        """Does nothing."""

    mine = type("Mine", (elephan.Algorithm,), {"on_ack": ignore, "on_congestion": ignore, "__module__": "__main__"})
    with pytest.raises(SweepError, match="Mine was a class of a program or a notebook"):
        runs.sweep(
            [short().with_overrides({"flow[0].algorithm": mine})],
            store=Store(tmp_path),
            cluster=cluster.scheduler_address,
        )


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
