"""Damage to saved runs: each kind is mended or refused with one line, and what is no damage is read."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.runs import synthetic
from tests.runs.damage import (
    DAMAGE,
    HARMLESS,
    SAMPLES,
    Change,
    M,
    S,
    cut,
    drop,
    edited,
    flip,
    gone,
    made,
    of_another_run,
    put,
    same_time,
    table_edited,
)

from elephan import backends, runs
from elephan.cli.main import run_command
from elephan.runs import DamagedRunError, DamagedRunWarning, Run, RunError, Store, files, saved
from elephan.scenario import Scenario


@contextmanager
def warned_once(*, of: str) -> Iterator[None]:
    """Exactly one warning, of a damaged run, in one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    (warning,) = caught
    assert warning.category is DamagedRunWarning
    assert of in str(warning.message)
    assert "\n" not in str(warning.message)


@contextmanager
def no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here loses power."""
    monkeypatch.setattr(files, "sync_one", lambda path: None)


def same_result(found: Run | None, wanted: Run) -> None:
    assert found is not None
    assert all(found.tables()[name].equals(table) for name, table in wanted.tables().items())
    assert found.summary() == wanted.summary() | {"dir": str(found.dir), "cached": found.cached}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_run_is_named_in_one_line_and_made_again(kind: str, tmp_path: Path) -> None:
    damage, problem = DAMAGE[kind]
    store = Store(tmp_path / "runs")
    run = made()
    folder = store.save(run).dir
    damage(folder)
    store = Store(store.root)
    with warned_once(of=problem):
        assert store.find(run.id, engine="1") is None
        assert store.find(run.id, engine="1") is None, "and it is said once"
    with no_warning(), pytest.raises(DamagedRunError) as refused:
        Run.load(folder)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)
    assert list(store.verify()) == [run.id]
    with no_warning():
        same_result(store.save(run), run)
        same_result(store.find(run.id, engine="1"), run)
    assert store.verify() == {}
    assert sorted(path.name for path in store.root.iterdir()) == [run.id]


@pytest.mark.parametrize("kind", HARMLESS)
def test_what_is_no_damage_is_read(kind: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    run = made()
    folder = store.save(run).dir
    HARMLESS[kind](folder)
    store = Store(store.root)
    with no_warning():
        same_result(store.find(run.id, engine="1"), run)
        same_result(Run.load(folder), run)
        assert store.verify() == {}
        store.save(made(seed=3))
    assert [path.name for path in store.root.iterdir() if path.name.startswith(".tmp")] == []


def test_a_run_of_another_engine_is_not_looked_into(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.save(made(engine="0"))
    (run.dir / SAMPLES).unlink()
    with no_warning():
        assert store.find(run.id, engine="1") is None
    with warned_once(of="samples.parquet: missing; the saved run is damaged and is left out"):
        assert list(store) == []
    with pytest.raises(DamagedRunError):
        store.get(run.id)
    assert run.id not in store


def test_damage_after_loading_is_seen_at_the_next_table(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = Run.load(store.save(made()).dir)
    assert run.flows.height == 2
    flip(SAMPLES, 0.5)(run.dir)
    with pytest.raises(DamagedRunError, match=r"samples\.parquet: altered"):
        _ = run.samples
    assert run.flows.height == 2


def test_a_run_that_is_replaced_by_the_same_result_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.save(made())
    again = made(wall_seconds=0.7)
    store.save(again, replace=True)
    assert run.flows.equals(again.flows)
    assert run.summary()["wall_seconds"] == 0.7
    other = Run(made().manifest | {"tables_sha256": "0"}, tables=made().tables())
    store.save(other, replace=True)
    with pytest.raises(RunError, match="replaced by another result since it was loaded; load it again"):
        _ = run.samples


def test_a_run_that_is_replaced_while_it_is_verified_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    run = made()
    store.save(run)
    verify = saved.verify
    replaced: list[Run] = []

    def replacing(folder: Path, *args: Any, **more: Any) -> None:
        if not replaced:
            again = made(wall_seconds=0.7)
            replaced.append(again)
            Store(tmp_path).save(again, replace=True)
        verify(folder, *args, **more)

    monkeypatch.setattr(saved, "verify", replacing)
    with no_warning():
        found = store.find(run.id)
    assert found is not None
    assert found.manifest["wall_seconds"] == 0.7


_READER = """
import sys
from elephan.runs import DamagedRunError, RunError, Store
store, name = Store(sys.argv[1]), sys.argv[2]
print("reads", flush=True)
found = 0
while not (store.root / "stop").exists():
    run = store.find(name)
    try:
        found += run is not None and run.flows.height == 2 and run.summary()["id"] == name
        if found:
            (store.root / "found").touch()
    except DamagedRunError:
        raise
    except RunError:
        pass  # between the old one and the new one there is none
print(found)
"""


def test_a_run_may_be_read_while_it_is_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path)
    runs_in_turn = [made(), made(wall_seconds=0.75)]
    name = store.save(runs_in_turn[0]).id
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "error::UserWarning"}
    reader = subprocess.Popen(
        [sys.executable, "-c", _READER, str(tmp_path), name],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert reader.stdout is not None
    assert reader.stdout.readline() == "reads\n"
    until_s = time.monotonic() + 60
    for i in itertools.count():
        store.save(runs_in_turn[i % 2], replace=True)
        # On a busy host the reader may get no processor time during the first replacements.
        if i >= 40 and ((tmp_path / "found").exists() or time.monotonic() > until_s):
            break
    (tmp_path / "stop").touch()
    out, err = reader.communicate(timeout=60)
    assert err == ""
    assert int(out) > 0


# ---- digests are computed once ----


@pytest.fixture
def digests(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files whose digest was computed; a verification is remembered however young the files are."""
    computed: list[Path] = []
    digest = saved._digest

    def counted(path: Path) -> str:
        computed.append(path)
        return digest(path)

    monkeypatch.setattr(saved, "_digest", counted)
    monkeypatch.setattr(saved, "_RACY_NS", -(10**18))
    monkeypatch.setattr(saved, "_verified", {})
    return computed


def wait_for_another_time(path: Path) -> None:
    """Until the file system's clock has gone on since a file changed."""
    probe, before = path.with_name("probe"), path.stat().st_ctime_ns
    while True:
        probe.touch()
        after = probe.stat().st_ctime_ns
        probe.unlink()
        if after > before:
            return
        time.sleep(0.001)


def test_digests_are_computed_once_per_change_of_a_file(tmp_path: Path, digests: list[Path]) -> None:
    store = Store(tmp_path)
    folder = store.save(made()).dir
    digests.clear()
    for _ in range(3):
        assert store.find(folder.name) is not None
        assert Run.load(folder).samples.height
    assert len(digests) == 4, "three tables and the summary"
    for change in (HARMLESS["a table touched"], HARMLESS["a table copied"]):
        digests.clear()
        wait_for_another_time(folder / SAMPLES)
        change(folder)
        assert Store(tmp_path).find(folder.name) is not None
        assert Store(tmp_path).find(folder.name) is not None
        assert len(digests) == 4
    wait_for_another_time(folder / SAMPLES)
    same_time(flip(SAMPLES, 0.5))(folder)
    with warned_once(of="samples.parquet: altered"):
        assert store.find(folder.name) is None
    assert store.verify() != {}


def test_a_young_file_is_read_again(tmp_path: Path, digests: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "_RACY_NS", 10**18)
    store = Store(tmp_path)
    folder = store.save(made()).dir
    digests.clear()
    assert store.find(folder.name) is not None
    assert store.find(folder.name) is not None
    assert len(digests) == 8


def test_the_verification_of_a_large_run_is_remembered_for_other_processes(
    tmp_path: Path, digests: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "_LARGE_BYTES", 1)
    store = Store(tmp_path)
    folder = store.save(made()).dir
    record = tmp_path / ".verified" / folder.name

    def computed() -> int:
        """Digests that another process computes."""
        digests.clear()
        saved._verified.clear()
        found = Store(tmp_path).find(folder.name)
        assert found is None or found.samples.height
        return len(digests)

    assert [computed(), computed()] == [4, 0]
    record.write_text(record.read_text()[:10])
    assert [computed(), computed()] == [4, 0]
    assert store.verify() == {}
    wait_for_another_time(folder / SAMPLES)
    flip(SAMPLES, 0.5)(folder)
    with warned_once(of="samples.parquet: altered"):
        computed()
    store.save(made())
    assert [computed(), computed()] == [4, 0]
    record.unlink()
    record.parent.rmdir()
    record.parent.write_text("in the way")
    assert [computed(), computed()] == [4, 4]
    record.parent.unlink()
    assert [computed(), computed()] == [4, 0]
    assert store.remove(folder.name)
    assert not record.exists()


# ---- runs of earlier versions ----


def unseal(folder: Path) -> None:
    """A run as it was saved before manifests listed files."""
    edited(M, drop("files", "manifest_sha256"))(folder)


EARLIER_DAMAGE: dict[str, tuple[Change, str]] = {
    "table cut": (cut(SAMPLES, 0.5), "samples.parquet: not a table"),
    "table empty": (cut(SAMPLES, 0), "samples.parquet: empty"),
    "table gone": (gone(SAMPLES), "samples.parquet: missing"),
    "table of another run": (of_another_run("samples.parquet"), "its tables are not those that were saved"),
    "table with other numbers": (table_edited, "its tables are not those that were saved"),
    "another rate": (
        edited(M, lambda m: m["scenario"]["links"][0].update(rate_bps=10**9)), "its scenario does not have its hash",
    ),
    "another seed": (edited(M, put(seed=9)), "its id does not name its scenario, backend and seed"),
}  # fmt: skip


@pytest.mark.parametrize("kind", EARLIER_DAMAGE)
def test_a_damaged_run_of_an_earlier_version_is_named_in_one_line(kind: str, tmp_path: Path) -> None:
    damage, problem = EARLIER_DAMAGE[kind]
    store = Store(tmp_path / "runs")
    run = made()
    folder = store.save(run).dir
    unseal(folder)
    damage(folder)
    with warned_once(of=problem):
        assert store.find(run.id, engine="1") is None
    with pytest.raises(DamagedRunError, match=problem):
        Run.load(folder)
    same_result(store.save(run), run)


@pytest.mark.parametrize("change", [lambda folder: None, gone(S), edited(S, lambda s: s["metrics"].update(jain=7))])
def test_the_numbers_of_an_earlier_version_come_from_its_tables(change: Change, tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = made()
    folder = store.save(run).dir
    unseal(folder)
    change(folder)
    with no_warning():
        same_result(store.find(run.id, engine="1"), run)
        same_result(Run.load(folder), run)
        assert store.verify() == {}


WEB = {"name": "web", "algorithm": "cubic", "load": "20%"}


@pytest.mark.parametrize(
    ("on", "more"),
    [
        ("sim", {"flows": ["cubic", "vegas"]}),
        ("sim", {"flows": ["udt"]}),
        ("sim", {"flows": ["cubic"], "traffic": [WEB], "events": True}),
        ("model", {"flows": ["cubic", "reno"]}),
    ],
    ids=["two flows", "datagrams", "all tables", "the model"],
)  # fmt: skip
def test_tables_that_are_read_back_have_the_digest_of_the_backends(
    on: str, more: dict[str, Any], tmp_path: Path
) -> None:
    stated = Scenario.dumbbell(rate="5 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="5 s", **more)
    store = Store(tmp_path)
    run = runs.run(stated, on=on, store=store)
    unseal(run.dir)
    with no_warning():
        assert store.find(run.id) is not None


# ---- the command line ----

SCENARIO = """
duration = "3 s"

[dumbbell]
rate = "5 Mbit/s"
rtt = "20 ms"
buffer = "1 BDP"

[[flow]]
algorithm = "reno"
"""
CLI_DAMAGE = ["manifest cut", "manifest gone", "summary gone", "summary with another number", "table cut",
              "table with a bit flipped in the middle", "table a folder", "run a file"]  # fmt: skip


@pytest.mark.parametrize("kind", CLI_DAMAGE)
def test_verbs_make_a_damaged_run_again_and_show_refuses_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELEPHAN_STORE", raising=False)
    Path("one.toml").write_text(SCENARIO)

    def answer(*args: str) -> tuple[Any, str]:
        assert run_command([*args, "--json"]) == 0
        out, err = capsys.readouterr()
        return json.loads(out), err

    first, _ = answer("run", "one.toml")
    folder = Path(first["dir"])
    damage, problem = DAMAGE[kind]
    for verb in ("run", "sweep"):
        damage(folder)
        names = (first["id"], first["id"][:8], str(folder))
        for name, more in zip(names, ([], ["--json"], ["--csv", "csv"]), strict=True):
            assert run_command(["show", name, *more]) == 1
            out, err = capsys.readouterr()
            assert out == ""
            assert err.count("\n") == 1
            assert problem in err
            assert err.startswith("elephan: ")
            assert err.endswith("the saved run is damaged: run its scenario again\n")
        document, err = answer(verb, "one.toml", *(["--grid", "duration=3 s"] if verb == "sweep" else []))
        again = document["runs"][0] if verb == "sweep" else document
        assert err.count("\n") == 1
        assert err.startswith("warning: ")
        assert problem in err
        assert err.endswith("the saved run is damaged and is made again\n")
        assert not again["cached"]
        assert again["metrics"] == first["metrics"]
        repeated, err = answer("run", "one.toml")
        assert repeated["cached"]
        assert err == ""


def test_exported_tables_are_a_run_that_can_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = made()
    run.to_parquet("tables")
    assert Run.load("tables").metrics == run.metrics
    table_edited(Path("tables"))
    assert run_command(["show", "tables", "--json"]) == 1
    assert "flows.parquet: " in capsys.readouterr().err
    run.to_csv("plain")
    assert run_command(["show", "plain"]) == 1
    assert "plain/manifest.json: no flows.parquet in its list of files" in capsys.readouterr().err


_NOT_ALLOWED = """
import os, sys
from elephan.cli.main import run_command
if os.geteuid() == 0:
    # Root reads everything, unless it gives these rights up for good: numbers of linux/capability.h.
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    assert libc.capset(header, (ctypes.c_uint32 * 6)()) == 0, os.strerror(ctypes.get_errno())
store, folder = sys.argv[1:]
commands = ["show", folder], ["run", "one.toml", "--store", store, "--json"], ["show", folder, "--json"]
print([run_command(command) for command in commands], file=sys.stderr)
"""


@pytest.mark.parametrize("name", ["", "manifest.json", "summary.json", "samples.parquet"])
def test_what_may_not_be_read_is_made_again(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.toml").write_text(SCENARIO)
    assert run_command(["run", "one.toml", "--store", "runs", "--json"]) == 0
    folder = Path(json.loads(capsys.readouterr().out)["dir"])
    (folder / name).chmod(0)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _NOT_ALLOWED, "runs", str(folder)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    refused, warned, statuses = done.stderr.splitlines()
    problem = f"{folder / (name or M)}: cannot be read (permission denied); the saved run is damaged"
    assert refused == f"elephan: {problem}: run its scenario again"
    assert warned == f"warning: {problem} and is made again"
    assert statuses == "[1, 0, 0]"
    assert Store("runs").verify() == {}


_LIMITED = """
import resource, sys
from elephan.cli.main import main
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
main(sys.argv[1:])
"""


def test_a_disk_that_is_full_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for limit in (0, 2000):
        done = subprocess.run(
            [sys.executable, "-c", _LIMITED, str(limit), "run", "one.toml", "--store", "runs"],
            capture_output=True, text=True, cwd=tmp_path, env=environment, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1, done.stderr
        assert "File too large: " in done.stderr
        assert "flows.parquet" in done.stderr
        assert [path.name for path in (tmp_path / "runs").iterdir()] == [".claims"]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> synthetic.WrittenBackend:
    backend = synthetic.WrittenBackend()
    monkeypatch.setattr(backends, "get", lambda name, memory=None: backend)
    return backend


def test_a_sweep_makes_again_what_is_damaged_and_nothing_else(
    tmp_path: Path, written: synthetic.WrittenBackend
) -> None:
    wanted = [synthetic.scenario(duration=f"{20 + i} s") for i in range(5)]
    first = runs.sweep(wanted, store=Store(tmp_path))
    flip(SAMPLES, 0.5)(first[1].dir)
    gone(S)(first[3].dir)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = runs.sweep(wanted, store=Store(tmp_path))
    assert [run.cached for run in again] == [True, False, True, False, True]
    assert sorted(first[i].id in str(w.message) for w in caught for i in (1, 3)) == [False, False, True, True]
    assert len(written.computed) == 7
    with no_warning():
        assert all(run.cached for run in runs.sweep(wanted, store=Store(tmp_path)))
