"""The kernel backend: real sockets over the emulated path, the simulator's tables, and nothing left behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.kernel.victim import keep_running, stated

from elephan import backends
from elephan.backends.kernel import bpf, host, records
from elephan.backends.kernel.session import KernelError
from elephan.cli.main import run_command
from elephan.runs import Run
from elephan.runs.execute import compute
from elephan.runs.tables import COLUMNS
from elephan.scenario import Scenario

MISSING = host.missing()
needs_kernel = pytest.mark.skipif(bool(MISSING), reason="; ".join(f"{k}: {v}" for k, v in MISSING.items()) or "can")


def on_kernel(scenario: Scenario) -> Run:
    return compute(backends.get("kernel"), scenario, 1)


def facts(run: Run) -> dict[str, Any]:
    return dict(run.manifest["engine_summary"]["kernel"])


def namespaces() -> set[str]:
    return {path.name for path in records.NETNS.glob(f"{records.PREFIX}*")} if records.NETNS.exists() else set()


def own_namespaces() -> set[str]:
    """Another worker may run something meanwhile."""
    return {name for name in namespaces() if name.startswith(f"{records.PREFIX}{os.getpid()}-")}


def valid(run: Run) -> Run:
    """Skips the rest, which is about numbers, on a host that is too busy to give them."""
    if not facts(run)["valid"]:
        pytest.skip(f"this host is too busy: {run.warnings}")
    return run


@needs_kernel
def test_a_flow_has_the_tables_and_the_numbers_of_a_simulation() -> None:
    scenario = stated(["reno"])
    run, sim = on_kernel(scenario), compute(backends.get("sim"), scenario, 1)
    for name, columns in COLUMNS.items():
        table, simulated = run.tables()[name], sim.tables()[name]
        assert set(columns) <= set(table.columns)
        assert {c: table[c].dtype for c in columns} == {c: simulated[c].dtype for c in columns}, name
    assert run.samples["time_s"].to_list() == pytest.approx(sim.samples["time_s"].to_list())
    assert run.flows["start_s"][0] == pytest.approx(sim.flows["start_s"][0], abs=1e-9)
    books = run.manifest["conservation"]
    assert books["sent"] == books["received"] + books["dropped"] + books["under_way"]
    assert facts(run)["congestion_controls"] == ["reno"]
    assert max(run.links["queue_max"].to_list()) == 80
    assert sum(count for _, count in facts(run)["lateness"]["histogram"]) == books["received"]
    (flow,), (simulated,) = valid(run).summary()["flows"], sim.summary()["flows"]
    assert flow["goodput_mbps"] == pytest.approx(simulated["goodput_mbps"], rel=0.03)
    assert flow["rtt_min_ms"] >= 20.0


@needs_kernel
def test_a_list_of_losses_takes_exactly_these_packets() -> None:
    run = on_kernel(stated(["reno"], loss={"packets": [300, 700, 701]}, buffer="4000 packets"))
    (link,) = run.manifest["engine_summary"]["links"]
    assert (link["lost"], link["dropped"]) == (3, 0)
    (flow,) = run.flows.iter_rows(named=True)
    assert (flow["retransmits"], flow["loss_events"], flow["timeouts"]) == (3, 2, 0)


@needs_kernel
def test_flows_have_their_own_round_trips_directions_starts_and_sizes() -> None:
    scenario = stated(
        [
            {"algorithm": "cubic", "rtt": "60 ms", "name": "long"},
            {"algorithm": "reno", "start": "1 s", "size": "500 segments", "name": "sized"},
            {"algorithm": "bbr", "direction": "left", "rtt": "30 ms", "stop": "3 s", "name": "back"},
        ],
        buffer="60 kB",
    )
    run = on_kernel(scenario)
    rows = {row["name"]: row for row in run.flows.iter_rows(named=True)}
    assert rows["sized"]["segments_delivered"] == 500
    assert rows["sized"]["start_s"] == pytest.approx(1.0, abs=0.011)
    assert rows["sized"]["completion_s"] > 0.02
    assert all(row["completion_s"] is None for name, row in rows.items() if name != "sized")
    samples = {name: run.samples.filter(run.samples["flow"].cast(str) == name) for name in rows}
    for name, rtt_s in (("long", 0.06), ("back", 0.03)):
        assert rtt_s < min(samples[name]["rtt_s"].drop_nulls().to_list()) < rtt_s + 0.01
    back = samples["back"]["wire_bytes"].to_list()
    assert 0 < back[-1] == back[-3], "it sends nothing after its end"
    assert max(run.links["queue_max"].to_list()) <= 60_000 // 52
    assert facts(run)["congestion_controls"] == ["cubic", "reno", "bbr"]


@needs_kernel
def test_a_receive_window_is_the_limit_where_it_is_smaller_than_the_path() -> None:
    """20 segments in 20 ms are 11.6 Mbit/s."""
    run = on_kernel(stated(["cubic"], stack={"receive_window": "20 segments"}))
    (flow,) = run.flows.iter_rows(named=True)
    assert flow["receive_window_limited_fraction"] > 0.5
    assert 3 < flow["goodput_mbps"] <= 11.6
    assert flow["retransmits"] == 0


@needs_kernel
def test_a_path_that_does_not_get_the_processor_is_not_valid() -> None:
    """The program is stopped for 30 ms ten times: a packet of a hundred is late by much more than 0.5 ms."""
    found: list[Run] = []
    thread = threading.Thread(target=lambda: found.append(on_kernel(stated(["cubic"], duration="3 s"))))
    thread.start()
    pid = program_of("link")
    time.sleep(1.0)
    for _ in range(10):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.03)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.07)
    thread.join()
    (run,) = found
    assert not facts(run)["valid"]
    assert any("the host was too busy" in line for line in run.warnings)
    assert facts(run)["lateness"]["p99_us"] > 500
    # The rate is the scenario's all the same: a packet is late, and no slower.
    assert run.summary()["links"][0]["throughput_mbps"] <= 50.01


def program_of(what: str) -> int:
    """The program of this process's run that is the path, or a host; waits until there is one."""
    for _ in range(1200):
        for pid in programs_of(os.getpid(), what):
            return pid
        time.sleep(0.05)
    raise AssertionError(f"no {what}")


@needs_kernel
def test_the_end_of_a_program_is_the_end_of_the_run() -> None:
    problems: list[BaseException] = []

    def attempt() -> None:
        try:
            on_kernel(stated(["cubic"], duration="60 s", measure={"from": "30 s"}))
        except KernelError as error:
            problems.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    os.kill(program_of("link"), signal.SIGKILL)
    thread.join(timeout=20)
    assert [str(problem) for problem in problems] == ["elephan-wire link was killed by signal 9"]
    assert not own_namespaces()


@needs_kernel
@pytest.mark.parametrize("moments", [8, pytest.param(20, marks=pytest.mark.large)])
def test_killed_at_any_moment_nothing_is_left_after_cleaning_and_nothing_else_is_touched(moments: int) -> None:
    draw = random.Random(4)
    fresh = multiprocessing.get_context("forkserver")
    fresh.set_forkserver_preload(["tests.kernel.victim"])
    kept = "elephan-of-somebody-else"
    subprocess.run(["ip", "netns", "add", kept], check=True)
    try:
        states = []
        for moment in range(moments):
            process = fresh.Process(target=keep_running)
            process.start()
            assert process.pid is not None
            while not any(record.pid == process.pid for record in records.records()):
                time.sleep(0.005)
            time.sleep(draw.uniform(0, 1.3))
            # By turns the whole run, and the path alone: then the run ends by itself.
            path = programs_of(process.pid, "link") if moment % 2 else {}
            for victim in path or [process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
            process.join(timeout=20)
            if process.is_alive():
                # The link had ended before the signal, so the next run had begun.
                process.kill()
                process.join()
            states.append(len([r for r in records.records() if r.pid == process.pid]))
            records.remove_abandoned()
            assert not [name for name in namespaces() if f"-{process.pid}-" in name]
            assert not [record for record in records.records() if record.pid == process.pid]
            assert not list(Path("/tmp").glob(f"{records.PREFIX}{process.pid}-*"))
            assert not remaining(process.pid)
        assert max(states) == 1, "it was never killed in the middle of a run"
        assert kept in namespaces()
    finally:
        subprocess.run(["ip", "netns", "delete", kept], check=True)


def programs_of(run: int, what: str = "") -> dict[int, str]:
    """Programs that the run of a process has started and that are there, by their numbers."""
    # -ww: whole lines whatever COLUMNS says.
    listed = subprocess.run(["ps", "-ww", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listed.splitlines():
        pid, state, *arguments = line.split()
        named = " ".join(arguments)
        if f"{records.PREFIX}{run}-" in named and f"{host.PROGRAM} {what}" in named and arguments[0] != "ip":
            found[int(pid)] = state
    return {pid: named for pid, named in found.items() if named[0] != "Z"}


def remaining(run: int) -> dict[int, str]:
    """Like :func:`programs_of`, once those that were killed have had a moment to go."""
    for _ in range(100):
        if not programs_of(run):
            return {}
        time.sleep(0.02)
    return programs_of(run)


@needs_kernel
@pytest.mark.parametrize("algorithm", ["reno", "stcp"])
def test_a_program_of_ones_own_runs_as_the_user_who_asked_and_leaves_the_tables(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fetches 5 MB from this host over 50 Mbit/s, which takes 0.83 s at least."""
    if algorithm == "stcp" and (lacking := bpf.missing()):
        pytest.skip(lacking)
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_GID", "65534")
    with socket.create_server(("0.0.0.0", 0)) as server:
        thread = threading.Thread(target=serve, args=(server, 5_000_000))
        thread.start()
        fetch = f'exec 3<>/dev/tcp/$ELEPHAN_HOST/{server.getsockname()[1]}; cat <&3 | wc -c > "$0"; id -u >> "$0"'
        # Not in tmp_path, which is root's alone.
        said = Path(tempfile.mkdtemp(prefix="test-elephan-")) / "said"
        said.touch()
        said.parent.chmod(0o755)
        said.chmod(0o666)
        path_options = ["--rate", "50 Mbit/s", "--rtt", "20 ms", "--buffer", "1 BDP", "--algorithm", algorithm]
        out = tmp_path / "out"
        program = ["bash", "-c", fetch, str(said)]
        assert run_command(["lab", "shell", *path_options, "--out", str(out), "--", *program]) == 0
        thread.join()
    assert said.read_text().split() == ["5000000", "65534"]
    shutil.rmtree(said.parent)
    flows = {row["name"]: row for row in pl.read_parquet(out / "flows.parquet").iter_rows(named=True)}
    assert flows["down"]["segments_delivered"] == 5_000_000 // 1448
    assert flows["up"]["segments_delivered"] == 0
    assert flows["down"]["rtt_min_ms"] > 20
    links = pl.read_parquet(out / "links.parquet")
    delivered = links.filter(pl.col("link").cast(pl.String) == "bottleneck/reverse")["delivered_bytes"].to_list()
    # The last sample may be 100 ms before the end, which is up to 625 kB.
    assert delivered[-1] >= 5_000_000 * 1500 // 1448 - 625_000
    assert (out / "internals.parquet").exists() == (algorithm == "stcp")
    if algorithm == "stcp":
        reported = pl.read_parquet(out / "internals.parquet").with_columns(pl.col("flow", "variable").cast(pl.String))
        windows = reported.filter((pl.col("flow") == "down") & (pl.col("variable") == "w"))
        # A row a round trip: at most 20 ms and a full queue of as much.
        assert windows.height >= 15
        assert windows["time_s"].is_between(0, links["time_s"].to_list()[-1]).all()
    assert not own_namespaces()
    # Nothing is left that would repeat its last segments on the next path; a connection in TIME-WAIT, which a late host
    # may have, repeats none and is not listed.
    assert not subprocess.run(["ss", "-tnH", "src", "198.19.0.1"], capture_output=True, check=True).stdout
    assert f"elephan show {out}" in capsys.readouterr().out
    assert run_command(["show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "down" in shown
    assert f"report: {out / 'report.html'}" in shown
    assert Run.load(out).manifest["program"] == program


def serve(server: socket.socket, octets: int) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(bytes(octets))


@needs_kernel
@pytest.mark.parametrize(("algorithm", "after_s"), [("reno", 0.0), ("reno", 4.0), ("stcp", 0.0)])
def test_sigterm_leaves_nothing_on_the_host(algorithm: str, after_s: float, tmp_path: Path) -> None:
    if algorithm == "stcp" and (lacking := bpf.missing()):
        pytest.skip(lacking)
    (tmp_path / "long.toml").write_text(stated([algorithm], duration="60 s").to_toml())
    command = [sys.executable, "-m", "elephan", "run", "long.toml", "--on", "kernel"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun_s = time.monotonic()
    while not any(record.pid == process.pid and record.namespaces for record in records.records()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() - begun_s < 60
        time.sleep(0.05)
    time.sleep(after_s)  # into the setup of the namespaces, and into the run
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (143, "")
    assert "ended by SIGTERM" in err
    assert not any(record.pid == process.pid for record in records.records())
    assert not any(f"-{process.pid}-" in name for name in namespaces())
