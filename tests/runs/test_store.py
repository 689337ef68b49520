"""The store: whole results or none, shared by processes, found again."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan.runs import DamagedRunWarning, Run, RunError, Store, TableError, files, tables

RATES = {"cubic-1": constant(60.0), "bic-2": constant(20.0)}


def made(engine: str = "1", **more: Any) -> Run:
    stated = synthetic.scenario(starts=["0 s", "20 s"], **more)
    extra = {"versions": {"engine": engine}, "wall_seconds": 0.5}
    return Run.from_tables(stated, synthetic.tables(stated, RATES), extra=extra)


def test_a_saved_run_is_the_run(tmp_path: Path) -> None:
    run = made()
    saved = Store(tmp_path).save(run)
    assert saved.dir == tmp_path / run.id
    assert sorted(path.name for path in saved.dir.iterdir()) == [
        "flows.parquet", "links.parquet", "manifest.json", "samples.parquet", "summary.json",
    ]  # fmt: skip
    loaded = Run.load(saved.dir)
    for name, table in run.tables().items():
        assert loaded.tables()[name].equals(table)
    assert loaded.summary() == run.summary() | {"dir": str(saved.dir), "cached": True}
    assert loaded.scenario == run.scenario
    assert loaded.canonical == run.scenario.canonical()
    assert loaded.metrics["asymmetry"] == pytest.approx(0.5)


def test_the_id_names_scenario_backend_and_seed() -> None:
    run = made(seed=7)
    assert run.id == f"{run.scenario.hash}-sim-s7"
    assert run.seed == 7


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    store = Store(tmp_path / "never")
    assert store.find("abc-sim-s1") is None
    assert store.ids() == []
    assert not (tmp_path / "never").exists()


def test_a_result_of_another_engine_is_not_the_one_asked_for(tmp_path: Path) -> None:
    store = Store(tmp_path)
    old = store.save(made("1"))
    assert store.find(old.id, engine="1") is not None
    assert store.find(old.id, engine="2") is None
    assert store.find(old.id) is not None
    store.save(made("2"))
    assert store.find(old.id, engine="2") is not None


def test_the_first_to_finish_stays_unless_told_to_replace(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = store.save(made())
    inode = first.dir.stat().st_ino
    assert store.save(made()).dir.stat().st_ino == inode
    assert store.save(made(), replace=True).dir.stat().st_ino != inode
    assert len(store.ids()) == 1


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*folders: Path) -> bool:
        raise OSError(28, "No space left on device")

    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(files, "move_into_place", full)
        with pytest.raises(OSError, match="No space left"):
            store.save(made())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["samples.parquet", "summary.json", "manifest.json"])
@pytest.mark.parametrize("content", [b"", b"\0" * 100])
def test_a_file_that_was_lost_with_the_power_is_made_again(tmp_path: Path, name: str, content: bytes) -> None:
    """Only the rename of a result is flushed to the disk: after a loss of power, a file may be empty or have zeros."""
    store = Store(tmp_path)
    first = store.save(made())
    (first.dir / name).write_bytes(content)
    with pytest.warns(DamagedRunWarning, match="the saved run is damaged and is made again"):
        assert store.find(first.id) is None
    again = store.save(made())
    assert Run.load(again.dir).samples.equals(made().samples)


def test_tables_have_one_digest_before_and_after_they_are_saved(tmp_path: Path) -> None:
    """Also as data frames, whose representation of names differs."""
    run = Store(tmp_path).save(made())
    assert tables.contents_digest(Run.load(run.dir).tables()) == run.manifest["tables_sha256"]
    assert tables.contents_digest(made().tables()) == run.manifest["tables_sha256"]
    changed = made().tables() | {"links": made().links.with_columns(pl.col("queue_packets") + 1)}
    assert tables.contents_digest(changed) != run.manifest["tables_sha256"]
    old, new = tables.digest(made().tables()), run.manifest["tables_sha256"]
    for same in (made().tables(), changed):
        digests = [partial(tables.contents_digest, same), partial(str, new)]
        assert tables.same_contents(old, new, digests) == (same is not changed)


_WRITER = """
import sys, time
from pathlib import Path
from elephan.runs import files
root = Path(sys.argv[1])
with files.temporary_folder(root) as folder:
    (folder / "samples.parquet").write_bytes(b"half")
    print(folder.name, flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    def start() -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, tmp_path / process.stdout.readline().strip()

    killed, left = start()
    living, active = start()
    try:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert left.is_dir()
        Store(tmp_path).save(made())
        assert not left.exists()
        assert (active / "samples.parquet").exists()
    finally:
        living.kill()
        for process in (killed, living):
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
    assert len(Store(tmp_path).ids()) == 1


def _save_many(root: str, barrier: Any, failures: Any) -> None:
    barrier.wait()
    try:
        store = Store(root)
        for seed in range(5):
            store.save(made(seed=seed), replace=bool(seed % 2))
    except BaseException as error:
        failures.put(repr(error))
        raise


def test_two_processes_may_save_the_same_results_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, failures = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_save_many, args=(str(tmp_path), barrier, failures)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0], failures.get(timeout=1)
    assert len(Store(tmp_path).ids()) == 5
    assert all(run.flows.height == 2 for run in Store(tmp_path))
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".tmp")] == []


def test_a_lock_excludes_until_it_is_released(tmp_path: Path) -> None:
    first = files.Lock.take(tmp_path / "x")
    assert first is not None
    assert files.Lock.take(tmp_path / "x") is None
    first.release()
    second = files.Lock.take(tmp_path / "x")
    assert second is not None
    second.release()
    assert not (tmp_path / "x").exists()


def test_a_result_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    store = Store(tmp_path)
    saved = store.save(made(seed=1))
    assert store.get(saved.id[:6]).id == saved.id
    store.save(made(seed=2))
    with pytest.raises(RunError, match="begins 2 results"):
        store.get(saved.id[:6])
    with pytest.raises(RunError, match="did you mean"):
        store.get("x" + saved.id[1:])
    assert store.remove(saved.id)
    assert not store.remove(saved.id)
    assert len(store.ids()) == 1


def test_the_environment_names_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELEPHAN_STORE", str(tmp_path / "there"))
    assert Store().root == tmp_path / "there"
    monkeypatch.delenv("ELEPHAN_STORE")
    monkeypatch.chdir(tmp_path)
    assert Store().root == tmp_path / ".elephan" / "runs"


def test_a_table_without_a_column_is_refused() -> None:
    stated = synthetic.scenario()
    tables = synthetic.tables(stated, RATES)
    with pytest.raises(TableError, match="'samples' has no column cwnd"):
        Run.from_tables(stated, tables | {"samples": tables["samples"].drop("cwnd")})
    with pytest.raises(TableError, match="no table 'links'"):
        Run.from_tables(stated, {"flows": tables["flows"], "samples": tables["samples"]})


def test_the_digest_tells_results_apart_and_not_encodings() -> None:
    one, two = made(), made()
    assert one.manifest["tables_sha256"] == two.manifest["tables_sha256"]
    stated = synthetic.scenario(starts=["0 s", "20 s"])
    tables = synthetic.tables(stated, RATES)
    plain = tables | {"samples": tables["samples"].with_columns(pl.col("flow").cast(pl.String))}
    assert Run.from_tables(stated, plain).manifest["tables_sha256"] == one.manifest["tables_sha256"]
    other = tables | {"flows": tables["flows"].with_columns(pl.col("timeouts") + 1)}
    assert Run.from_tables(stated, other).manifest["tables_sha256"] != one.manifest["tables_sha256"]


def test_a_run_in_memory_has_no_folder() -> None:
    with pytest.raises(RunError, match="in memory only"):
        _ = made().dir
    assert made().summary()["dir"] is None


def test_the_summary_is_what_the_command_line_promises() -> None:
    summary = made().summary()
    assert {
        "id", "dir", "backend", "scenario_hash", "cached", "wall_seconds", "segments_delivered", "warnings", "measure",
        "flows", "links", "metrics",
    } <= set(summary)  # fmt: skip
    assert {
        "name", "algorithm", "start_s", "goodput_mbps", "throughput_mbps", "segments_delivered", "retransmits",
        "loss_events", "timeouts", "rtt_min_ms", "rtt_mean_ms", "rtt_p99_ms", "cwnd_mean", "cwnd_max",
    } <= set(summary["flows"][0])  # fmt: skip
    assert {
        "name", "utilization", "throughput_mbps", "loss_rate", "drops", "marks", "queue_mean_packets",
        "queue_max_packets",
    } <= set(summary["links"][0])  # fmt: skip
    assert {"jain", "asymmetry"} <= set(summary["metrics"])
    assert summary["metrics"]["convergence_abs_time_s"] is None
    json.dumps(summary, allow_nan=False)


def test_one_flow_has_no_asymmetry() -> None:
    run = synthetic.run(synthetic.scenario(["cubic"]), {"cubic-1": constant(60.0)})
    assert "asymmetry" not in run.metrics
    assert run.metrics["utilization"] == pytest.approx(0.6)


def test_a_run_shows_itself_as_a_table(tmp_path: Path) -> None:
    shown = made(title="a <late> comer")._repr_html_()
    assert "<table>" in shown
    assert "a &lt;late&gt; comer" in shown
    assert "cubic-1" in shown
    assert "never" in shown


def test_figures_of_a_run_have_units() -> None:
    run = made()
    for figure in (run.plot_cwnd(), run.plot_throughput(), run.plot_queue()):
        axes = figure.axes[0]
        assert axes.get_xlabel() == "time (s)"
        assert "(" in axes.get_ylabel()
        figure.canvas.draw()
    assert [line.get_label() for line in run.plot_cwnd(["bic-2"]).axes[0].get_lines()] == ["bic-2"]


_ASK_AGAIN = """
import sys, time
begun = time.perf_counter()
from elephan.runs import Run
summary = Run.load(sys.argv[1]).summary()
heavy = sorted({"polars", "pyarrow", "numpy", "scipy", "matplotlib", "dask"} & set(sys.modules))
print(summary["id"], ",".join(heavy), time.perf_counter() - begun)
"""


def test_a_saved_run_answers_without_a_heavy_import(tmp_path: Path) -> None:
    saved = Store(tmp_path).save(made())
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", _ASK_AGAIN, str(saved.dir)], capture_output=True, text=True, check=True, env=environment
    ).stdout.split(" ")
    assert answer[0] == saved.id
    assert answer[1] == "", f"imported {answer[1]} to read a summary"


def test_warnings_name_who_was_held_back_and_who_lost_too_seldom() -> None:
    from elephan.metrics.cautions import warnings_after

    stated = synthetic.scenario(["cubic"])
    limited = synthetic.run(stated, {"cubic-1": constant(60.0)}, flow_columns={"receive_window_limited_fraction": 0.4})
    assert warnings_after(limited) == [
        "cubic-1: its receive window, not its algorithm, held it back for 40% of its time"
    ]
    seldom = synthetic.run(stated, {"cubic-1": constant(60.0)}, loss_times={"cubic-1": [5.0, 60.0]})
    assert warnings_after(seldom)[0].startswith("cubic-1: 1 congestion event in the measured part, fewer than 3")
    early = synthetic.run(stated, {"cubic-1": constant(60.0)}, flow_columns={"completion_s": 12.0})
    assert warnings_after(early) == ["cubic-1: ended at 12 s, before the measured part, which begins at 50 s"]
    often = synthetic.run(stated, {"cubic-1": constant(60.0)}, loss_times={"cubic-1": [60.0, 70.0, 80.0]})
    assert warnings_after(often) == []
