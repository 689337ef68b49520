"""Kinds of damage to saved runs with what is said of each, and changes that are no damage."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan.runs import Run, Store

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
