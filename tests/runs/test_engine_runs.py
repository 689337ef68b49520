"""Runs of the real engine: metrics agree with its own totals, results are the same bytes, Ctrl-C and kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from elephan import metrics, runs
from elephan.backends import Cancelled
from elephan.runs import Run, Store
from elephan.scenario import Scenario


def late_flow(**more: Any) -> Scenario:
    fields: dict[str, Any] = {
        "rate": "50 Mbit/s", "rtt": "60 ms", "buffer": "100 packets", "starts": ["0 s", "5 s"], "duration": "30 s",
        "measure": {"from": "10.05 s", "to": "29.99 s"},
    }  # fmt: skip
    return Scenario.dumbbell(["cubic", "bic"], **(fields | more))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return runs.run(late_flow(), store=Store(tmp_path_factory.mktemp("store")))


def by_flow(run: Run, column: str) -> dict[str, float]:
    return dict(run.flows.select("name", column).iter_rows())


def test_rates_from_samples_are_the_engines_own(run: Run) -> None:
    assert metrics.goodput_mbps(run) == pytest.approx(by_flow(run, "goodput_mbps"), rel=1e-9)
    assert metrics.throughput_mbps(run) == pytest.approx(by_flow(run, "throughput_mbps"), rel=1e-9)


def test_what_the_receivers_got_has_left_the_bottleneck(run: Run) -> None:
    # The difference is the packets on the way between them at either end of the window: a few.
    assert metrics.sum_throughput_mbps(run) == pytest.approx(metrics.link_throughput_mbps(run), rel=2e-3)
    # A packet counts when its last bit leaves, so a window may hold up to one more than it has room for.
    one_packet = 1500 * 8 / (50e6 * (29.99 - 10.05))
    assert 0 < metrics.utilization(run) <= 1 + one_packet


def test_windows_from_samples_are_close_to_the_engines_own(run: Run) -> None:
    for name, mean in metrics.mean_cwnd_pkts(run).items():
        assert mean == pytest.approx(by_flow(run, "cwnd_mean")[name], rel=0.05)
        assert metrics.max_cwnd_pkts(run)[name] <= by_flow(run, "cwnd_max")[name] * (1 + 1e-9)


def test_counts_over_the_whole_run_are_the_engines_own(run: Run) -> None:
    assert metrics.loss_events(run, window=(0, 30)) == by_flow(run, "loss_events")
    assert sum(by_flow(run, "segments_delivered").values()) == run.summary()["segments_delivered"]


def test_queueing_agrees_with_round_trips(run: Run) -> None:
    low_ms, high_ms = min(metrics.rtt_min_ms(run).values()), max(metrics.rtt_p99_ms(run).values())
    assert low_ms >= 60
    assert metrics.mean_queue_delay_ms(run) <= high_ms - 60
    assert metrics.max_queue_pkts(run) <= 100
    assert metrics.min_queue_pkts(run) <= metrics.mean_queue_pkts(run) <= metrics.max_queue_pkts(run)


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_threads(tmp_path: Path) -> None:
    wanted = late_flow(duration="12 s", measure={"from": "6 s"}).replicates(4)
    one = runs.sweep(wanted, store=Store(tmp_path / "one"), jobs=1)
    four = runs.sweep(wanted, store=Store(tmp_path / "four"), jobs=4)
    assert [run.manifest["tables_sha256"] for run in one] == [run.manifest["tables_sha256"] for run in four]
    assert len({run.manifest["tables_sha256"] for run in one}) == 4
    for a, b in zip(one, four, strict=True):
        for table in ("flows", "samples", "links"):
            assert (a.dir / f"{table}.parquet").read_bytes() == (b.dir / f"{table}.parquet").read_bytes()


def test_a_run_may_be_cancelled(tmp_path: Path) -> None:
    heard: list[float] = []

    def stop(fraction: float) -> bool:
        heard.append(fraction)
        return False

    begun_s = time.monotonic()
    with pytest.raises(Cancelled):
        runs.run(long_run(1), store=Store(tmp_path), progress=stop)
    assert time.monotonic() - begun_s < 2
    assert len(heard) == 1
    assert 0 <= heard[0] < 1
    assert Store(tmp_path).ids() == []


def test_a_run_may_be_cancelled_while_its_transfers_are_drawn(tmp_path: Path) -> None:
    """A load of 300 million takes a minute to draw; the first report after 0.2 s is of a run that has not begun."""
    heard: list[float] = []

    def stop(fraction: float) -> bool:
        heard.append(fraction)
        return False

    web = {
        "algorithm": "cubic",
        "load": "60%",
        "sizes": {"distribution": "constant", "mean": "1 kB"},
        "record": "summary",
    }
    tables = {**late_flow(rate="100 Gbit/s", duration="60 s").to_dict(), "traffic": [web]}
    with pytest.raises(Cancelled):
        runs.run(Scenario.from_dict(tables), store=Store(tmp_path), progress=stop)
    assert heard == [0.0]


def long_run(seed: int) -> Scenario:
    """Minutes of work for the engine."""
    return Scenario.dumbbell(
        ["cubic"], rate="10 Gbit/s", rtt="20 ms", buffer="50% BDP", duration="4000 s", sample_period="10 s", seed=seed
    )


_SWEEP = """
import sys
from elephan import runs
from elephan.scenario import Scenario
short, long, store = Scenario.load(sys.argv[1]), Scenario.load(sys.argv[2]), runs.Store(sys.argv[3])
told = set()
def progress(done_s, total_s, finished, count):
    if finished not in told:
        told.add(finished)
        print(finished, flush=True)
try:
    runs.sweep([long, *short.replicates(3)], store=store, jobs=2, progress=progress)
except runs.Interrupted as stopped:
    print("kept", len(stopped.runs), flush=True)
    raise SystemExit(130)
"""


def start_sweep(folder: Path) -> subprocess.Popen[str]:
    short, long = folder / "short.toml", folder / "long.toml"
    short.write_text(late_flow(duration="8 s", measure={"from": "4 s"}).to_toml())
    long.write_text(long_run(1).to_toml())
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _SWEEP, str(short), str(long), str(folder / "store")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def wait_for_three(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "3":
            return
    raise AssertionError("the sweep ended before three runs were finished")


def test_ctrl_c_stops_a_sweep_within_a_second_and_loses_nothing_finished(tmp_path: Path) -> None:
    with start_sweep(tmp_path) as process:
        wait_for_three(process)
        pressed_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert time.monotonic() - pressed_s < 1
        assert process.stdout is not None
        assert process.stdout.read().strip().endswith("kept 3")
    assert len(Store(tmp_path / "store").ids()) == 3


def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    with start_sweep(tmp_path) as process:
        wait_for_three(process)
        process.kill()
    store = Store(tmp_path / "store")
    assert len(store.ids()) == 3
    wanted = late_flow(duration="8 s", measure={"from": "4 s"}).replicates(4)
    assert [run.cached for run in runs.sweep(wanted, store=store)] == [True, True, True, False]
    assert [path.name for path in store.root.iterdir() if path.name.startswith(".tmp")] == []


def test_a_run_and_a_saved_result_import_nothing_heavy(tmp_path: Path) -> None:
    """Neither the tables nor the summary of a run need data frames: the engine computes and writes them."""
    scenario = tmp_path / "s.toml"
    scenario.write_text(late_flow(duration="8 s", measure={"from": "4 s"}).to_toml())
    arguments = ["-m", "elephan", "run", str(scenario), "--store", str(tmp_path / "store"), "--json"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for cached in ("false", "true"):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *arguments],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        assert f'"cached": {cached}' in done.stdout
        lines = [line for line in done.stderr.splitlines() if line.startswith("import time")]
        imported = {line.rpartition("|")[2].strip() for line in lines}
        assert not imported & {"polars", "numpy", "scipy", "matplotlib", "pyarrow", "distributed", "jinja2"}


_RUN = """
import sys
from elephan import runs
from elephan.scenario import Scenario
print("begun", flush=True)
try:
    runs.run(Scenario.load(sys.argv[1]), store=runs.Store(sys.argv[2]))
except KeyboardInterrupt:
    raise SystemExit(130)
"""


def test_ctrl_c_stops_a_single_run_within_a_second(tmp_path: Path) -> None:
    long = tmp_path / "long.toml"
    long.write_text(long_run(1).to_toml())
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _RUN, str(long), str(tmp_path / "store")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)  # so that the engine, not the start of it, is interrupted
        pressed_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert time.monotonic() - pressed_s < 1


def test_classic_ecn_is_counted_where_it_is_marked_heard_and_answered(tmp_path: Path) -> None:
    scenario = late_flow(
        stack={"base": "rfc6675", "ecn": True}, queue="threshold", queue_parameters={"mark": "40 packets"}
    )
    run = runs.run(scenario, store=Store(tmp_path))
    assert min(run.flows["ecn_events"]) >= 3, "each flow answers marks"
    assert (run.flows["marked_segments"] >= run.flows["ecn_events"]).all()
    link = run.summary()["links"][0]
    assert link["marks"] > 0
    assert link["drops"] == 0, "between 10 s and the end the threshold is enough"
