"""A Dask cluster of processes, started by the commands of docs/scale.md: a sweep of crowds over two workers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from elephan import runs
from elephan.cli.main import run_command
from elephan.runs import Store
from elephan.scenario import Scenario

distributed = pytest.importorskip("distributed", reason="Dask is an optional extra: elephan[cluster]")

PATIENCE_S = 60
CROWD = """
duration = "2 s"
record = "quantiles"

[dumbbell]
rate = "200 Mbit/s"
rtt = "20 ms"
buffer = "50% BDP"

[[flow]]
name = "crowd"
algorithm = "cubic"
count = 200
start_spread = "500 ms"
"""


def dask(stack: ExitStack, folder: Path, *words: str) -> None:
    """Start a command of Dask; it ends with the test."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    log = stack.enter_context((folder / f"{words[0]}-{len(list(folder.iterdir()))}.log").open("w"))
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *words], cwd=folder, stdout=log, stderr=log, env=environment
    )

    def end() -> None:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()

    stack.callback(end)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("dask")
    with ExitStack() as stack:
        told = folder / "scheduler.json"
        dask(
            stack,
            folder,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            "127.0.0.1:0",
            "--scheduler-file",
            str(told),
        )
        until_s = time.monotonic() + PATIENCE_S
        while not told.is_file() and time.monotonic() < until_s:
            time.sleep(0.05)
        for _ in range(2):
            dask(stack, folder, "worker", "--scheduler-file", str(told), "--nthreads", "1", "--no-dashboard")
        with distributed.Client(scheduler_file=str(told), timeout=PATIENCE_S, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE_S)
            found = str(client.scheduler.address)
        yield found


def test_two_workers_share_a_sweep_of_crowds_and_results_are_those_of_threads(address: str, tmp_path: Path) -> None:
    base = Scenario.from_toml(CROWD)
    algorithms = ("cubic", "reno", "bbr", "htcp")
    wanted = [base.replace({"flow[0].algorithm": name}, seed=seed) for name in algorithms for seed in (1, 2)]
    with distributed.Client(address, timeout=PATIENCE_S, set_as_default=False) as client:
        client.get_task_stream()  # from here on the scheduler remembers who did what
        remote = runs.sweep(wanted, store=Store(tmp_path / "cluster"), cluster=address)
        done = [task for task in client.get_task_stream() if str(task["key"]).startswith("elephan-")]
    assert len(done) == len(wanted)
    assert len({task["worker"] for task in done}) == 2
    local = runs.sweep(wanted, store=Store(tmp_path / "threads"))
    for ours, theirs in zip(local, remote, strict=True):
        assert ours.id == theirs.id
        for name in ("flows", "samples", "links", "crowd"):
            assert (ours.dir / f"{name}.parquet").read_bytes() == (theirs.dir / f"{name}.parquet").read_bytes()


def test_the_command_hands_a_sweep_to_the_cluster(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crowd.toml").write_text(CROWD)
    words = ["sweep", str(tmp_path / "crowd.toml"), "--grid", "flow[0].algorithm=cubic,reno", "--cluster", address]
    assert run_command([*words, "--store", str(tmp_path / "store")]) == 0
    assert "2 runs in" in " ".join(capsys.readouterr().out.split())
