"""Damage to saved runs: each kind is mended or refused with one line, and what is no damage is read."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan import backends, runs
from elephan.cli.main import run_command
from elephan.runs import DamagedRunError, DamagedRunWarning, Run, RunError, Store, files, saved
from elephan.scenario import Scenario

RATES = {"cubic-1": constant(60.0), "bic-2": constant(20.0)}
Change = Callable[[Path], object]


@lru_cache
def made(seed: int = 1, engine: str = "1", wall_seconds: float = 0.5) -> Run:
    """A run in memory, of 20 s; the same for the same seed."""
    stated = synthetic.scenario(starts=["0 s", "5 s"], duration="20 s", seed=seed)
    extra = {"versions": {"engine": engine}, "wall_seconds": wall_seconds}
    rates = {name: constant(rate(pl.Series([0.0]).to_numpy())[0] + 0.01 * seed) for name, rate in RATES.items()}
    return Run.from_tables(stated, synthetic.tables(stated, rates), extra=extra)


# ---- kinds of damage ----


def cut(name: str, keep: float) -> Change:
    def change(folder: Path) -> None:
        size = (folder / name).stat().st_size
        os.truncate(folder / name, int(keep * size))

    return change


def flip(name: str, at: float) -> Change:
    """Change one bit of a file and not its size."""

    def change(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[int(at * (len(content) - 1))] ^= 1
        (folder / name).write_bytes(content)

    return change


def gone(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def instead(name: str, content: bytes) -> Change:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return change


def as_folder(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()
        (folder / name / "inside").touch()

    return change


def as_link(name: str, target: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return change


def as_pipe(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return change


def edited(name: str, edit: Callable[[Any], object]) -> Change:
    """Change a JSON file, so that it is still one."""

    def change(folder: Path) -> None:
        document = json.loads((folder / name).read_text())
        edit(document)
        (folder / name).write_text(json.dumps(document, indent=1) + "\n")

    return change


def of_another_run(*names: str) -> Change:
    def change(folder: Path) -> None:
        other = Store(folder.parent.parent / "other").save(made(seed=2))
        for name in names:
            shutil.copy(other.dir / name, folder / name)

    return change


def table_edited(folder: Path) -> None:
    """A table with other numbers, as a program writes it that knows nothing of digests."""
    path = folder / "flows.parquet"
    pl.read_parquet(path).with_columns(goodput_mbps=pl.lit(99.0)).write_parquet(path)


def deep(folder: Path) -> None:
    """Nesting as deep as the reader of JSON allows; the digest may allow less."""
    depth = sys.getrecursionlimit() * 100
    while True:
        text = '{"format": 1, "manifest_sha256": "", "a": ' + "[" * depth + "]" * depth + "}"
        with contextlib.suppress(RecursionError):
            json.loads(text)
            break
        depth = depth * 9 // 10
    (folder / M).write_text(text)


def digest_follows(folder: Path) -> None:
    """A table with other numbers, and its new digest in the manifest: that of the manifest gives it away."""
    table_edited(folder)
    content = (folder / "flows.parquet").read_bytes()
    document = json.loads((folder / "manifest.json").read_text())
    document["files"]["flows.parquet"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(document))


def run_as_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("not a folder")


def run_as_link(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder.with_name("nowhere"))


def run_empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def same_time(change: Change) -> Change:
    """Damage that leaves every file's time of modification."""

    def hidden(folder: Path) -> None:
        times = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
        change(folder)
        for path, time_ns in times.items():
            os.utime(path, ns=(time_ns, time_ns))

    return hidden


def put(**fields: Any) -> Callable[[Any], None]:
    return lambda document: document.update(fields)


def drop(*fields: str) -> Callable[[Any], None]:
    def edit(document: Any) -> None:
        for field in fields:
            del document[field]

    return edit


M, S = "manifest.json", "summary.json"
SAMPLES = "samples.parquet"

DAMAGE: dict[str, tuple[Change, str]] = {
    "manifest cut": (cut(M, 0.5), "manifest.json: not JSON"),
    "manifest empty": (cut(M, 0), "manifest.json: empty"),
    "manifest gone": (gone(M), "manifest.json: missing"),
    "manifest a folder": (as_folder(M), "manifest.json: not a file"),
    "manifest a dangling link": (as_link(M, "nowhere"), "manifest.json: missing"),
    "manifest a link to itself": (as_link(M, M), "manifest.json: cannot be read"),
    "manifest a pipe": (as_pipe(M), "manifest.json: not a file"),
    "manifest an endless device": (as_link(M, "/dev/zero"), "manifest.json: not a file"),
    "manifest of zeros": (instead(M, bytes(4096)), "manifest.json: not JSON"),
    "manifest not UTF-8": (instead(M, b'{"format": 1, "id": "\xff"}'), "manifest.json: not JSON"),
    "manifest nested": (instead(M, b"[" * 200_000), "manifest.json: not JSON"),
    "manifest nested as deep as JSON may be": (deep, "manifest.json: "),
    "manifest with half a character": (
        edited(M, lambda m: drop("files", "manifest_sha256")(m) or m["scenario"].update(x="\ud800")),
        "manifest.json: not a manifest",
    ),
    "manifest a huge number": (instead(M, b'{"format": 1' + b"0" * 10_000 + b"}"), "manifest.json: not JSON"),
    "manifest a list": (instead(M, b"[1, 2]\n"), "manifest.json: a JSON value that is not an object"),
    "manifest an empty object": (instead(M, b"{}\n"), "manifest.json: format None instead of 3"),
    "manifest of format 99": (edited(M, put(format=99)), "manifest.json: format 99 instead of 3"),
    "manifest of format 1.0": (edited(M, put(format=1.0)), "manifest.json: format 1.0 instead of 3"),
    "manifest of another run": (of_another_run(M), "manifest.json: of the run"),
    "manifest with another time": (edited(M, put(wall_seconds=0.001)), "manifest.json: altered"),
    "manifest with another rate": (
        edited(M, lambda m: m["scenario"]["links"][0].update(rate_bps=10**9)), "manifest.json: altered",
    ),
    "manifest with another hash": (edited(M, put(scenario_hash="0" * 16)), "manifest.json: altered"),
    "manifest without files": (edited(M, drop("files")), "manifest.json: altered"),
    "manifest without its digest": (edited(M, drop("manifest_sha256")), "manifest.json: altered"),
    "manifest without a table": (edited(M, lambda m: m["files"].pop(SAMPLES)), "manifest.json: altered"),
    "manifest with a table that is not there": (
        edited(M, lambda m: m["files"].update({"../x.parquet": {"bytes": 1, "sha256": "0"}})), "manifest.json: altered",
    ),
    "manifest without an id": (edited(M, drop("id", "files", "manifest_sha256")), "the field 'id' is missing"),
    "manifest with a list as versions": (
        edited(M, lambda m: drop("files", "manifest_sha256")(m) or put(versions=[1])(m)), "the field 'versions' is [1]",
    ),
    "manifest of a list of scenarios": (
        edited(M, lambda m: drop("files", "manifest_sha256")(m) or put(scenario=[])(m)), "the field 'scenario' is []",
    ),
    "manifest without digests": (
        edited(M, drop("files", "manifest_sha256", "tables_sha256")), "the field 'tables_sha256' is missing",
    ),
    "summary cut": (cut(S, 0.5), "summary.json: "),
    "summary empty": (cut(S, 0), "summary.json: empty"),
    "summary gone": (gone(S), "summary.json: missing"),
    "summary a folder": (as_folder(S), "summary.json: not a file"),
    "summary with another number": (edited(S, lambda s: s["metrics"].update(jain=7)), "summary.json: "),
    "summary with one other digit": (flip(S, 0.5), "summary.json: altered"),
    "summary of another run": (of_another_run(S), "summary.json: "),
    "table cut": (cut(SAMPLES, 0.5), "samples.parquet: "),
    "table without its last byte": (cut(SAMPLES, 0.9999), "samples.parquet: "),
    "table empty": (cut(SAMPLES, 0), "samples.parquet: empty"),
    "table longer": (lambda folder: os.truncate(folder / SAMPLES, 10**6), "samples.parquet: 1,000,000 bytes instead"),
    "table gone": (gone("links.parquet"), "links.parquet: missing"),
    "table a folder": (as_folder(SAMPLES), "samples.parquet: not a file"),
    "table a dangling link": (as_link(SAMPLES, "nowhere"), "samples.parquet: missing"),
    "table a pipe": (as_pipe(SAMPLES), "samples.parquet: not a file"),
    "table with a bit flipped at its begin": (flip(SAMPLES, 0), "samples.parquet: altered"),
    "table with a bit flipped in the middle": (flip(SAMPLES, 0.5), "samples.parquet: altered"),
    "table with a bit flipped at its end": (flip(SAMPLES, 1), "samples.parquet: altered"),
    "table with a bit flipped and its old time": (same_time(flip(SAMPLES, 0.5)), "samples.parquet: altered"),
    "table of another run": (of_another_run(SAMPLES), "samples.parquet: "),
    "table with other numbers": (table_edited, "flows.parquet: "),
    "table with other numbers and its new digest": (digest_follows, "manifest.json: altered"),
    "all files of another run": (
        of_another_run(M, S, SAMPLES, "flows.parquet", "links.parquet"), "manifest.json: of the run",
    ),
    "run a file": (run_as_file, ": not a folder"),
    "run a dangling link": (run_as_link, ": not a folder"),
    "run an empty folder": (run_empty, "manifest.json: missing"),
}  # fmt: skip


def elsewhere(folder: Path) -> None:
    shutil.move(folder / SAMPLES, folder.parent.parent / SAMPLES)
    (folder / SAMPLES).symlink_to(folder.parent.parent / SAMPLES)


def sorted_manifest(folder: Path) -> None:
    (folder / M).write_text(json.dumps(json.loads((folder / M).read_text()), sort_keys=True))


def left_over(folder: Path) -> None:
    """Files that killed processes leave in a store."""
    half = folder.parent / ".tmp-0123456789abcdef"
    half.mkdir()
    (half / SAMPLES).write_bytes(b"half")
    half.with_name(half.name + ".lock").touch()
    half.with_name(".tmp-fedcba9876543210.lock").touch()
    (folder.parent / ".claims").mkdir()
    (folder.parent / ".claims" / folder.name).touch()


HARMLESS: dict[str, Change] = {
    "a report in the run's folder": instead("report.html", b"report"),
    "another table": lambda folder: shutil.copy(folder / SAMPLES, folder / "events.parquet"),
    "a table touched": lambda folder: os.utime(folder / SAMPLES, ns=(0, 0)),
    "a table copied": lambda folder: (folder / SAMPLES).write_bytes((folder / SAMPLES).read_bytes()),
    "a table that is a link to itself elsewhere": elsewhere,
    "a manifest in another layout": sorted_manifest,
    "left over by killed processes": left_over,
}


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
