"""``kill -9`` at random moments of a sweep and at each step of saving: no run is torn, and none that was finished is
made again.

``ELEPHAN_KILLS=100 pytest -s tests/runs/test_kill.py`` kills more often than the ordinary tests, and prints figures.
"""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.runs import synthetic

import elephan.runs.tables
from elephan.runs import Run, Store, files, invariants

KILLS = int(os.environ.get("ELEPHAN_KILLS", "3"))
RUNS = 40
LONGEST_S = 60.0

_SWEEP = """
import os, sys
import polars
from elephan import backends, runs
from elephan.runs import run_id
from elephan.scenario import Scenario

store, log, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
path = {"rate": "2 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP"}
wanted = [Scenario.dumbbell(["reno"], duration=f"{1000 + i} ms", **path) for i in range(count)]
sim = backends.get("sim")
told = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

class Telling(backends.Backend):
    name = "sim"
    version = staticmethod(sim.version)

    def run(self, scenario, seed=None, progress=None):
        os.write(told, (run_id(scenario.hash, "sim", seed) + "\\n").encode())
        return sim.run(scenario, seed, progress)

backends.get = lambda name, memory=None: Telling()
print("ready", flush=True)
sys.stdin.readline()
runs.sweep(wanted, store=runs.Store(store), jobs=2)
print("done", flush=True)
"""


class Sweep:
    """A sweep in a process of its own, which begins at once when it is told to."""

    def __init__(self, folder: Path) -> None:
        program = [sys.executable, "-W", "ignore", "-c", _SWEEP, str(folder / "runs"), str(folder / "log"), str(RUNS)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.says("ready", LONGEST_S)

    def says(self, line: str, within_s: float) -> bool:
        """Wait for a line of its output; false if none comes in time."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], within_s)[0]:
            return False
        assert self.process.stdout.readline().decode() == f"{line}\n"
        return True

    def end(self, after_s: float) -> bool:
        """Kill it a time after it begins; whether it was killed before it was done."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        killed = not self.says("done", after_s)
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        return killed


def finished(store: Store) -> dict[str, tuple[int, int]]:
    """The runs that a store lists, each with what changes when its folder is another."""
    found = {}
    for name in store.ids():
        status = (store.path(name) / "manifest.json").stat()
        found[name] = (status.st_ino, status.st_ctime_ns)
    return found


def damage(store: Store, chance: random.Random) -> None:
    """Flip a bit of one table of one run, if there is any, which is then to be made again."""
    for name in chance.sample(store.ids(), min(1, len(store.ids()))):
        path = store.path(name) / "samples.parquet"
        content = bytearray(path.read_bytes())
        content[chance.randrange(len(content))] ^= 1
        path.write_bytes(content)


def made_in(folder: Path) -> Counter[str]:
    """Number of times that the computation of each run has begun."""
    log = folder / "log"
    return Counter(log.read_text().split()) if log.exists() else Counter()


def test_kill_9_tears_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    chance = random.Random()
    begun_s = time.monotonic()
    first = tmp_path / "first"
    first.mkdir()
    sweep, started_s = Sweep(first), time.monotonic()
    assert not sweep.end(LONGEST_S)
    whole_s = time.monotonic() - started_s
    assert len(finished(Store(first / "runs"))) == RUNS

    kills = complete = interrupted = listed = 0
    folder = first
    while kills < KILLS:
        if folder is first or len(finished(Store(folder / "runs"))) == RUNS:
            folder = tmp_path / f"store{complete}"
            folder.mkdir()
            complete += 1
        store = Store(folder / "runs")
        damage(store, chance)
        damaged = set(store.verify())
        before, made_before = finished(store), made_in(folder)
        kills += Sweep(folder).end(chance.uniform(0.0, whole_s))

        # Nothing torn: all that is listed is intact, but for damaged runs that the sweep did not come to.
        assert set(store.verify()) <= damaged
        # Nothing repeated: what was finished has not been computed again, and is the same folder.
        after, made_after = finished(store), made_in(folder)
        for name, there in before.items():
            if name not in damaged:
                assert after[name] == there
                assert made_after[name] == made_before[name]
        # At most the two that were under way are lost, and one that was being written.
        begun = made_after - made_before
        lost = [name for name in begun if after.get(name) == before.get(name)]
        assert len(lost) <= 3
        assert max(begun.values(), default=1) == 1
        interrupted += len(lost)
        listed += len(after)

    assert not Sweep(folder).end(LONGEST_S)
    store = Store(folder / "runs")
    assert store.verify() == {}
    assert len(finished(store)) == RUNS
    assert [path.name for path in store.root.iterdir() if path.name.startswith(".tmp")] == []
    print(
        f"\n{kills} kills in {complete} stores of {RUNS} runs, a sweep of {whole_s:.2f} s: {listed} listed runs, "
        f"none torn or repeated; {interrupted} runs under way when killed; {time.monotonic() - begun_s:.0f} s"
    )


def save_and_die(store: Store, run: Run, tables: dict[str, bytes], step: int) -> bool:
    """Save a run in a process that is killed before the given step in the store; whether there was such a step."""
    child = os.fork()
    if child == 0:
        steps = count(1)

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            changes = event == "open" or event.startswith(("os.", "shutil.", "fcntl."))
            if changes and str(store.root) in " ".join(map(str, arguments)) and next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        def write(frames: object, folder: Path) -> dict[str, files.Entry]:
            # Polars' threads are not in this process.
            return {name: files.write_bytes(folder / name, content) for name, content in tables.items()}

        try:
            elephan.runs.tables.write = write
            invariants.check = lambda run: None  # it reads the tables with Polars, and changes nothing
            sys.addaudithook(watch)
            Store(store.root).save(run, replace=True)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def absent(folder: Path) -> None:
    shutil.rmtree(folder)


def flipped(folder: Path) -> None:
    content = bytearray((folder / "samples.parquet").read_bytes())
    content[100] ^= 1
    (folder / "samples.parquet").write_bytes(content)


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.touch()


def unchanged(folder: Path) -> None:
    pass


@pytest.mark.parametrize(
    "change",
    [absent, flipped, *(pytest.param(change, marks=pytest.mark.large) for change in (empty, a_file, unchanged))],
)
def test_a_process_that_is_killed_at_any_step_of_saving_leaves_what_is_mended(
    change: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A killed process loses nothing that it gave to the kernel; waiting for the disk is for a host that loses power.
    monkeypatch.setattr(files, "sync_one", lambda path: None)
    stated = synthetic.scenario(duration="20 s")
    run = synthetic.run(stated, dict.fromkeys(stated.flow_names, synthetic.constant(10.0)))
    run.summary()
    store = Store(tmp_path)
    folder = store.save(run).dir
    tables = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    change(folder)
    damaged = set(store.verify())
    for step in count(1):
        if not save_and_die(store, run, tables, step):
            break
        assert set(store.verify()) <= damaged
        Store(tmp_path).save(run)
        assert store.verify() == {}
        assert [path for path in tmp_path.iterdir() if path.name.startswith(".tmp")] == []
        assert store.ids() == [run.id]
        change(folder)
    assert step > 10  # temporary folder, lock, five files, rename
    assert store.verify() == {}
