"""Runs that are too large, that fail, or that cannot be measured: one line each, and never the others with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import elephan
from elephan import backends, runs
from elephan.backends import EngineDefectError, MemoryPool, RawResult, RunMemoryError
from elephan.backends.base import Progress
from elephan.backends.sim import SimBackend
from elephan.runs.failures import FOLDER, RunFailedError
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError

MIB = 2**20


def dumbbell(*flows: dict[str, Any], **fields: Any) -> Scenario:
    base: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "100 packets"}
    return Scenario.from_dict(
        {"duration": "4 s", "dumbbell": base | fields.pop("dumbbell", {}), "flow": flows} | fields
    )


# ---- memory ----


@pytest.mark.parametrize(
    ("scenario", "field"),
    [
        (dumbbell({"algorithm": "reno"}, stack={"initial_window": "268435456 segments"}), "memory"),
        (dumbbell({"algorithm": "fixed", "parameters": {"window": 2e8}}), "memory"),
    ],
    ids=["initial window", "fixed window"],
)
def test_a_run_that_cannot_fit_is_refused_before_it_starts(scenario: Scenario, field: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=rf"{field}.*the limit is 512 MiB \(--memory\)"):
        elephan.run(scenario, store=Store(tmp_path), memory=512 * MIB)


def test_a_window_that_outgrows_its_memory_ends_the_run_with_one_line(tmp_path: Path) -> None:
    grows = dumbbell(
        {"algorithm": "eefast:anticipated", "parameters": {"alpha": 7e8}}, dumbbell={"buffer": "unlimited"}
    )
    with pytest.raises(RunMemoryError, match=r"64 MiB.*\(--memory\)") as told:
        elephan.run(grows, store=Store(tmp_path), memory=64 * MIB)
    assert "\n" not in str(told.value)


def test_a_sample_period_of_nanoseconds_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"sample_period|memory"):
        SimBackend(MemoryPool(512 * MIB)).run(dumbbell({"algorithm": "reno"}, sample_period="40 ns"))


def test_shares_of_memory_add_up_to_the_limit() -> None:
    pool = MemoryPool(1000, runs=2)
    with pool.share(0, alone=False, go_on=lambda: True) as one, pool.share(0, alone=False, go_on=lambda: True) as two:
        assert (one, two) == (500, 500)
        with pool.share(0, alone=False, go_on=lambda: False) as third:
            assert third is None
    with pool.share(600, alone=False, go_on=lambda: True) as large:
        assert large == 900
    with pool.share(1, alone=True, go_on=lambda: True) as everything:
        assert everything == 1000


# ---- failures ----


class Defective(SimBackend):
    """Fails as the engine would for one scenario, and runs the others."""

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        if scenario.title == "fails":
            raise EngineDefectError("a link's clock went back", "link.rs:1")
        if scenario.title == "exits":
            raise SystemExit(0)
        return super().run(scenario, seed, progress)


@pytest.mark.parametrize("title", ["fails", "exits"])
def test_a_run_that_fails_leaves_the_others_and_a_report(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "get", lambda name, memory=None: Defective(memory))
    good = dumbbell({"algorithm": "reno"})
    bad = Scenario.from_dict(json.loads(json.dumps({**_plain(good), "title": title, "duration": "5 s"})))
    with pytest.raises(runs.SweepError) as failed:
        runs.sweep([bad, good], jobs=1, store=Store(tmp_path), in_order=True)
    (failure,) = failed.value.failures
    assert failed.value.runs[0] is None
    assert failed.value.runs[1] is not None
    assert isinstance(failure.error, RunFailedError)
    assert "\n" not in str(failure.error)
    (report,) = (tmp_path / FOLDER).glob("*.json")
    assert str(report) in str(failure.error)
    written = json.loads(report.read_text(encoding="utf-8"))
    assert Scenario.from_toml(written["scenario"]).hash == bad.hash
    assert {"seed", "versions", "traceback", "canonical"} <= set(written)


def _plain(scenario: Scenario) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(scenario.to_toml())


# ---- numbers that do not exist ----


def test_a_link_that_is_down_while_it_is_measured_has_null_and_a_reason(tmp_path: Path) -> None:
    steps = [{"at": "0.5 s", "rate": "0 bit/s"}, {"at": "3 s", "rate": "10 Mbit/s"}]
    down = dumbbell({"algorithm": "cubic"}, measure={"from": "1 s", "to": "2 s"}, dumbbell={"rate_steps": steps})
    summary = elephan.run(down, store=Store(tmp_path)).summary()
    (link,) = (link for link in summary["links"] if link["name"] == "bottleneck")
    assert link["utilization"] is None
    assert "could send nothing" in link["undefined"]["utilization"]
    assert summary["metrics"]["utilization"] is None
    assert "could send nothing" in summary["undefined"]["utilization"]


# ---- interruption ----

_OWN = """
import time
import elephan

class Loop(elephan.Algorithm):
    def on_start(self, start): self.window = 10.0
    def on_congestion(self, signal): pass
    def on_timeout(self, signal): pass
    def on_ack(self, ack):
        open(__file__ + ".begun", "w").close()
        while True: pass

class Sleep(Loop):
    def on_ack(self, ack):
        open(__file__ + ".begun", "w").close()
        time.sleep(600)
"""


@pytest.mark.parametrize("kind", ["Loop", "Sleep"])
def test_ctrl_c_ends_an_algorithm_that_loops_or_sleeps(kind: str, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(_OWN, encoding="utf-8")
    (tmp_path / "s.toml").write_text(
        dumbbell({"algorithm": "reno"}).to_toml().replace('"reno"', f'"{own}:{kind}"'), encoding="utf-8"
    )
    command = [sys.executable, "-m", "elephan", "run", "s.toml", "--store", "store"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    begun = tmp_path / "own.py.begun"
    while not begun.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    # Half a second is the promise; a test may not depend on how busy the host is.
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    # An empty line comes first, since terminals show ^C.
    (line,) = told.strip().splitlines()
    assert line.startswith("elephan: interrupted")


def test_headers_of_late_segments_that_a_receiver_discards_are_counted() -> None:
    # These values, not rounded ones: whether a late segment's timestamp is too old depends on the phase of the clock.
    path = {"rate": "141.264551 Mbit/s", "rtt": "23.219425936 ms", "buffer": "15.824428% BDP", "queue": "xcp"}
    late = {"share": "30%", "delay": "2.475235755 ms"}
    scenario = elephan.Scenario.dumbbell(["xcp"], **path, duration="1 s", reorder=late)
    assert backends.get("sim").run(scenario).summary["conservation"]["sent"] > 1000
