"""The files of a saved run: sealed with digests when they are written, verified when they are read.

A manifest lists each file of its run with its size and SHA-256, and has a SHA-256 of itself. Sizes are compared at each
access; digests are compared once after each change of a file. A change is detected by the file's inode, size and times.
Runs of earlier versions have one digest of the contents of their tables instead; their summary is computed from the
tables.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from elephan.runs import tables
from elephan.runs.errors import DamagedRunError, RunError, shown
from elephan.runs.files import Entry
from elephan.scenario import ScenarioError, long_json, reading
from elephan.scenario.canonical import form_hash

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
MANIFEST_FORMAT = 3
MOST_MANIFEST_BYTES = 256_000_000
"""Largest manifest that is read; one of ten thousand flows has a few MB."""
"""Format of the manifest. Format 1 has ``habitat`` instead of ``backend``, and formats 1 and 2 have ``believable``
instead of ``valid``; both can be read."""

FILES = "files"
SEAL = "manifest_sha256"

_FIELDS = {
    "id": str, "scenario_hash": str, "seed": int, "backend": str, "scenario": dict, "scenario_toml": str,
    "tables_sha256": str,
}  # fmt: skip
_OPTIONAL_FIELDS = {"versions": dict, "engine_summary": dict, "warnings": list, "host": dict, FILES: dict}
_NAMES_NOW = {"habitat": "backend"}
"""Fields of format 1 that were renamed later."""

_VALID_BEFORE = "believable"
"""Field of formats 1 and 2 that states whether a kernel run is valid."""
_ID = re.compile(r"[0-9a-f]{8,}-.+-s\d+")
_LARGE_BYTES = 100_000
"""Size from which a verification of a run is recorded in the store. The digests of such a run take longer to compute
than the rest of a lookup (0.3 ms)."""

_RACY_NS = 2_000_000_000
"""Resolution of file systems' clocks: two changes of a file within this time may have the same time."""

_verified: dict[str, str] = {}
"""State (see ``_state``) of each folder in which this process has found all files intact."""


def run_id(scenario_hash: str, backend: str, seed: int) -> str:
    """The name of a result, and of its folder in the store."""
    return f"{scenario_hash}-{backend}-s{seed}"


def table_names(manifest: Mapping[str, Any]) -> list[str]:
    """The tables that a run has."""
    names = ["flows", "samples", "links"]
    traffic = manifest["scenario"].get("traffic") or []
    names += ["transfers", "sources"] if traffic else []
    names += ["distributions"] if any(source.get("record", "all") != "all" for source in traffic) else []
    applications = [flow.get("application") or {} for flow in manifest["scenario"].get("flows", ())]
    names += ["writes"] if any(application.get("writes") for application in applications) else []
    names += ["events"] if manifest["scenario"].get("events") is not None else []
    names += ["internals"] if "internals" in manifest.get("engine_summary", {}) else []
    names += ["crowd"] if manifest["scenario"].get("record_flows") is not None else []
    return names


def seal(manifest: Mapping[str, Any], files: Mapping[str, Entry]) -> dict[str, Any]:
    """A manifest with the entries of the files that were written, and with its own digest.

    Raises:
        ValueError: the manifest has a number that JSON does not have.
    """
    document = {key: value for key, value in manifest.items() if key != SEAL} | {FILES: dict(files)}
    # Read back, so that the digest equals that of a reader: JSON has no tuples and no numeric keys.
    written: dict[str, Any] = long_json.as_read(document)
    return written | {SEAL: _own_digest(written)}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _own_digest(manifest: Mapping[str, Any]) -> str:
    document = {key: value for key, value in manifest.items() if key != SEAL}
    return hashlib.sha256(long_json.dumps(document, sort_keys=True).encode()).hexdigest()


def is_there(path: Path) -> bool:
    """Return true if a path exists; always false in a folder without read permission."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def looks_like_run(folder: Path) -> bool:
    """Return true if the name and the files of a folder belong to a saved run, intact or damaged."""
    parts = (MANIFEST, SUMMARY, "flows.parquet", "samples.parquet", "links.parquet")
    return _ID.fullmatch(folder.name) is not None or any(is_there(folder / name) for name in parts)


def load(
    folder: Path,
    *,
    name: str | None = None,
    check: Callable[[Mapping[str, Any]], None] | None = None,
    record: Path | None = None,
    again: bool = False,
) -> dict[str, Any]:
    """The manifest of a saved run whose files are all intact.

    Args:
        folder: folder in which the run is saved.
        name: the id that it must have; by default the folder's name, if that is an id.
        check: called with the manifest before other files are read; raises a :class:`RunError` for an unwanted run.
        record: file in which the verification of a large run is recorded for other processes.
        again: true to compare all digests, also of unchanged files.

    Raises:
        DamagedRunError: the run is damaged.
        RunError: there is no run, or ``check`` rejects the run.
    """
    if name is None and _ID.fullmatch(folder.name):
        name = folder.name
    while True:
        before = identity(folder)
        try:
            manifest = read_manifest(folder, name)
            if check is not None:
                check(manifest)
            verify(folder, manifest, record=record, again=again)
        except DamagedRunError:
            if not replaced(folder, before):
                raise
            # Another process has replaced the run meanwhile, so some files were read before the replacement and some
            # after it.
        else:
            return manifest


def identity(folder: Path) -> tuple[int, int, int] | None:
    """Device, inode and status-change time of a folder; they differ after a process has replaced the folder.

    The time is needed because file systems reuse the inode of a removed folder for the next new folder.
    """
    try:
        found = folder.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def replaced(folder: Path, before: tuple[int, int, int] | None) -> bool:
    """Return true if a folder may have changed since its ``identity`` was taken, or did not exist at that time."""
    return before is None or identity(folder) != before


def read_manifest(folder: Path, name: str | None = None) -> dict[str, Any]:
    """The manifest of a saved run, verified by its own digest; the run's other files are not read.

    Raises:
        DamagedRunError: the manifest is damaged, has another format, or belongs to another run than ``name``.
        RunError: there is no run.
    """
    path = folder / MANIFEST
    if not os.path.lexists(folder) or (
        name is None and folder.is_dir() and not os.path.lexists(path) and not looks_like_run(folder)
    ):
        raise RunError(f"{folder}: no run is saved here (no {MANIFEST})")
    if not folder.is_dir():
        raise DamagedRunError(folder, "not a folder")
    _stat(path)
    try:
        manifest = json.loads(reading.read_bytes(path, MOST_MANIFEST_BYTES))
    except OSError as error:
        raise _unreadable(path, error) from None
    except ScenarioError as error:
        raise DamagedRunError(path, f"cannot be read ({error.message})") from None
    except (ValueError, RecursionError) as error:
        raise DamagedRunError(path, f"not JSON ({shown(error)})") from None
    if not isinstance(manifest, dict):
        raise DamagedRunError(path, "a JSON value that is not an object")
    try:
        _check(path, manifest)
    except (ValueError, RecursionError) as error:
        raise DamagedRunError(path, f"not a manifest ({shown(error)})") from None
    if name is not None and manifest["id"] != name:
        raise DamagedRunError(path, f"of the run {shown(manifest['id'])}")
    return _renamed(manifest)


def _renamed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest of any format, converted to the fields of the current format."""
    made = {_NAMES_NOW.get(key, key): value for key, value in manifest.items()}
    summary = made.get("engine_summary")
    if isinstance(summary, dict) and _VALID_BEFORE in (summary.get("kernel") or {}):
        made["engine_summary"] = summary | {"kernel": _judged(summary["kernel"], summary.get("warnings", []))}
    return made | {"format": MANIFEST_FORMAT}


def _judged(kernel: Mapping[str, Any], warnings: Iterable[str]) -> dict[str, Any]:
    """The validity of a kernel run of format 1 or 2, converted to the current fields; its warnings are used as the
    failed checks."""
    valid = bool(kernel[_VALID_BEFORE])
    rest = {key: value for key, value in kernel.items() if key != _VALID_BEFORE}
    return {"valid": valid, "failed_checks": [] if valid else list(warnings), **rest}


def _check(path: Path, manifest: Mapping[str, Any]) -> None:
    found = manifest.get("format")
    if type(found) is not int or not 1 <= found <= MANIFEST_FORMAT:
        raise DamagedRunError(path, f"format {shown(found)} instead of {MANIFEST_FORMAT}")
    if (SEAL in manifest or FILES in manifest) and manifest.get(SEAL) != _own_digest(manifest):
        raise DamagedRunError(path, "altered since it was saved (its own SHA-256 differs)")
    manifest = _renamed(manifest)
    for fields, needed in ((_FIELDS, True), (_OPTIONAL_FIELDS, False)):
        for field, kind in fields.items():
            if field not in manifest and needed:
                raise DamagedRunError(path, f"the field '{field}' is missing")
            if field in manifest and type(manifest[field]) is not kind:
                raise DamagedRunError(path, f"the field '{field}' is {shown(manifest[field])}")
    for name, entry in manifest.get(FILES, {}).items():
        if name != Path(name).name or not isinstance(entry, dict) or {"bytes", "sha256"} - set(entry):
            raise DamagedRunError(path, f"{shown(name)} in its list of files is {shown(entry)}")
    if manifest["id"] != run_id(manifest["scenario_hash"], manifest["backend"], manifest["seed"]):
        raise DamagedRunError(path, "its id does not name its scenario, backend and seed")
    if SEAL not in manifest and form_hash(manifest["scenario"]) != manifest["scenario_hash"]:
        raise DamagedRunError(path, "its scenario does not have its hash")


def verify(folder: Path, manifest: Mapping[str, Any], *, record: Path | None = None, again: bool = False) -> None:
    """Compare the files of a run with its manifest; arguments as for :func:`load`.

    Raises:
        DamagedRunError: a file is missing, or is no longer as it was saved.
    """
    tables = [f"{name}.parquet" for name in table_names(manifest)]
    listed: Mapping[str, Any] | None = manifest.get(FILES)
    if listed is None:
        found = {name: _stat(folder / name) for name in tables}
    else:
        for name in tables:
            if name not in listed:
                raise DamagedRunError(folder / MANIFEST, f"no {name} in its list of files")
        found = {name: _stat(folder / name, entry["bytes"]) for name, entry in listed.items()}
    state = _state(manifest, found)
    large = sum(file.st_size for file in found.values()) >= _LARGE_BYTES
    if not again and _verified.get(str(folder)) == state:
        return
    if not again and large and record is not None and _read(record) == state:
        _verified[str(folder)] = state
        return
    if listed is None:
        _compare_contents(folder, manifest)
    else:
        for name, entry in listed.items():
            _compare_digest(folder / name, entry["sha256"])
    if time.time_ns() - max(file.st_ctime_ns for file in found.values()) > _RACY_NS:
        _verified[str(folder)] = state
        if large and record is not None:
            _remember(record, state)


def _stat(path: Path, size: int | None = None) -> os.stat_result:
    try:
        found = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(found.st_mode):
        raise DamagedRunError(path, "not a file")
    if found.st_size == 0:
        raise DamagedRunError(path, "empty")
    if size is not None and found.st_size != size:
        raise DamagedRunError(path, f"{found.st_size:,} bytes instead of {size:,}")
    return found


def _state(manifest: Mapping[str, Any], found: Mapping[str, os.stat_result]) -> str:
    """Digest of the manifest and of each file's inode, size and times; programs cannot set the status-change time."""
    files = [(name, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns) for name, file in found.items()]
    known = manifest.get(SEAL) or _own_digest(manifest)
    return hashlib.sha256(repr((known, files)).encode()).hexdigest()


def _compare_digest(path: Path, digest: str) -> None:
    try:
        found = _digest(path)
    except OSError as error:
        raise _unreadable(path, error) from None
    if found != digest:
        raise DamagedRunError(path, "altered since it was saved (its SHA-256 differs)")


def _compare_contents(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Compare the tables of a run of an earlier version, whose manifest has no digests of files."""
    frames = {name: tables.read(folder, name) for name in table_names(manifest)}
    digest = manifest["tables_sha256"]
    if digest != tables.contents_digest(frames) and not tables.was_digest(frames, digest):
        raise DamagedRunError(folder, "its tables are not those that were saved (their SHA-256 differs)")


def _read(record: Path) -> str:
    try:
        return record.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def _remember(record: Path, state: str) -> None:
    """Record a verification for other processes. In a read-only store each process verifies again."""
    with contextlib.suppress(OSError):
        record.parent.mkdir(exist_ok=True)
        # No rename is needed: a record that a killed process left incomplete equals no state.
        record.write_text(state, encoding="ascii")


def _unreadable(path: Path, error: OSError) -> DamagedRunError:
    if isinstance(error, FileNotFoundError):
        return DamagedRunError(path, "missing")
    return DamagedRunError(path, f"cannot be read ({(error.strerror or str(error)).lower()})")


def damaged(folders: Iterable[Path]) -> dict[str, str]:
    """Read every file of some runs; returns the reason for each damaged run, by its name."""
    found = {}
    for folder in folders:
        try:
            load(folder, name=folder.name, again=True)
        except RunError as error:
            found[folder.name] = str(error)
    return found
