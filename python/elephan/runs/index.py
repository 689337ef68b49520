"""List of the saved runs of a store; only a few fields of each run's manifest are read.

A run whose manifest cannot be read is listed as damaged. Digests are not compared here but in
:func:`elephan.runs.saved.verify`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from elephan.runs import saved
from elephan.runs.errors import RunError
from elephan.runs.saved import MANIFEST
from elephan.runs.store import Store
from elephan.scenario import ScenarioError, own, reading
from elephan.scenario.words import hint

LAST = "last"
"""Name of the run that was saved last; ``last~1`` is the run that was saved before it."""

_DIGEST_DIGITS = 8
_LAST = re.compile(r"last(?:~(?P<before>\d{1,7}))?")


class _Flow(msgspec.Struct):
    name: str
    algorithm: str
    count: int = 1


class _Source(msgspec.Struct):
    flow: _Flow


class _Form(msgspec.Struct):
    flows: list[_Flow] = []
    traffic: list[_Source] = []


class _File(msgspec.Struct):
    bytes: int


class _Manifest(msgspec.Struct):
    id: str
    scenario_hash: str
    seed: int
    scenario: _Form
    backend: str = ""
    habitat: str = ""
    title: str | None = None
    created: str = ""
    wall_seconds: float | None = None
    files: dict[str, _File] = {}


class _Stated(msgspec.Struct):
    scenario_toml: str = ""


_DECODER = msgspec.json.Decoder(_Manifest)
_STATED = msgspec.json.Decoder(_Stated)
_LONGEST_STATED = 20_000
"""Largest number of letters of a scenario whose fields are compared in a list."""


@dataclass(frozen=True)
class Entry:
    """A saved run, as its manifest describes it.

    Attributes:
        id: scenario hash, backend and seed.
        folder: the run's folder.
        title: title of the scenario; may be empty.
        flows: names of flows, groups of flows and sources of transfers.
        algorithms: algorithms without duplicates, in the order of the flows.
        backend: name of the backend.
        seed: seed of the random streams.
        created: time of the end of the run, in whole seconds.
        written_ns: modification time of the manifest, ns; it orders runs of the same second.
        size_bytes: size of the run's files, as listed in the manifest.
        wall_seconds: computing time in s, if it was recorded.
    """

    id: str
    folder: Path
    title: str
    flows: tuple[str, ...]
    algorithms: tuple[str, ...]
    backend: str
    seed: int
    created: datetime
    written_ns: int
    size_bytes: int
    wall_seconds: float | None

    @property
    def name(self) -> str:
        """The title, or the names of the flows if the scenario has no title."""
        return self.title or ", ".join(self.flows)

    @cached_property
    def _words(self) -> str:
        parts = [self.id, self.title, *self.flows, *self.algorithms, self.backend]
        return " ".join([*parts, f"{self.created:%Y-%m-%d %H:%M}"]).casefold()

    def has(self, text: str) -> bool:
        """True if each word of a text is in the id, the title, a flow's name, an algorithm, the backend or the date."""
        return all(word in self._words for word in text.casefold().split())

    def uses(self, algorithm: str) -> bool:
        """True if a flow of the run has an algorithm; ``cubic`` includes the presets of CUBIC."""
        return any(algorithm in (name, name.partition(":")[0]) for name in self.algorithms)

    def to_json(self) -> dict[str, Any]:
        """The entry as ``elephan runs --json`` prints it."""
        return {
            "id": self.id,
            "title": self.title or None,
            "flows": list(self.flows),
            "algorithms": list(self.algorithms),
            "backend": self.backend,
            "seed": self.seed,
            "created": self.created.isoformat(),
            "bytes": self.size_bytes,
            "wall_seconds": self.wall_seconds,
            "dir": str(self.folder),
        }


@dataclass(frozen=True)
class Listing:
    """The saved runs of a store.

    Attributes:
        entries: the runs, the newest first.
        damaged: folders of runs whose manifest cannot be read, or belongs to another run.
    """

    entries: list[Entry]
    damaged: list[Path]


def listing(store: Store) -> Listing:
    """The saved runs of a store. Only their manifests are read."""
    entries, damaged = [], []
    for folder in _places(store.root):
        found = read_entry(folder)
        if found is not None and found.id == folder.name:
            entries.append(found)
        elif saved.looks_like_run(folder) and os.path.lexists(
            folder
        ):  # another process may have removed the file meanwhile
            damaged.append(folder)
    entries.sort(key=lambda entry: (entry.created, entry.written_ns, entry.id), reverse=True)
    return Listing(entries, damaged)


def _places(root: Path) -> list[Path]:
    """Paths of the entries of a store; an entry may be a file instead of the folder of a run."""
    try:
        with os.scandir(root) as found:
            return sorted(Path(entry.path) for entry in found if entry.name[0] != ".")
    except FileNotFoundError:
        return []


def read_entry(folder: Path) -> Entry | None:
    """The entry of a folder; ``None`` if it has no manifest that can be read."""
    path = folder / MANIFEST
    try:
        content = reading.read_bytes(path, saved.MOST_MANIFEST_BYTES)
        manifest = _DECODER.decode(content)
        written_ns = path.stat().st_mtime_ns
        created = datetime.fromisoformat(manifest.created) if manifest.created else _time_of(written_ns)
    except (OSError, ScenarioError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None
    flows = [*manifest.scenario.flows, *(source.flow for source in manifest.scenario.traffic)]
    return Entry(
        id=manifest.id,
        folder=folder,
        title=manifest.title or "",
        flows=tuple(flow.name if flow.count == 1 else f"{flow.name} x {flow.count}" for flow in flows),
        algorithms=tuple(dict.fromkeys(flow.algorithm for flow in flows)),
        backend=manifest.backend or manifest.habitat,
        seed=manifest.seed,
        created=created if created.tzinfo is not None else created.replace(tzinfo=UTC),
        written_ns=written_ns,
        size_bytes=len(content) + sum(file.bytes for file in manifest.files.values()),
        wall_seconds=manifest.wall_seconds,
    )


def settings(entries: Sequence[Entry]) -> dict[str, str]:
    """By id, the fields of the scenario that differ among entries of the same name, as in a sweep; the longest
    scenarios are left out, since they take too long to read."""
    from elephan.runs.difference import flat_scenario

    by_name: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in entries:
        try:
            manifest = _STATED.decode(reading.read_bytes(entry.folder / MANIFEST, saved.MOST_MANIFEST_BYTES))
            if len(manifest.scenario_toml) <= _LONGEST_STATED:
                by_name.setdefault(entry.name, {})[entry.id] = flat_scenario(manifest.scenario_toml)
        except (OSError, ScenarioError, ValueError, RecursionError):
            continue
    found = {}
    for rows in by_name.values():
        fields = dict.fromkeys(field for row in rows.values() for field in row)
        varied = [field for field in fields if len({str(row.get(field)) for row in rows.values()}) > 1]
        for run_id, row in rows.items():
            found[run_id] = ", ".join(f"{field}={_brief(row[field])}" for field in varied if field in row)
    return found


def _brief(value: Any) -> Any:
    """A value of a field; of a user's own algorithm, its name in tables and what tells its versions apart."""
    if not isinstance(value, str) or not own.pinned(value):
        return value
    return f"{own.label(value)}@{own.digest(value)[:_DIGEST_DIGITS]}"


def _time_of(ns: int) -> datetime:
    return datetime.fromtimestamp(ns / 1e9, UTC)


def locate(name: str, store: Store) -> Path | None:
    """The folder of a run, intact or damaged; ``None`` if there is no such folder.

    ``name`` is a folder, an id, the beginning of exactly one id, ``last`` (the run that was saved last) or ``last~2``
    (the second run before that run).

    Raises:
        RunError: several ids begin with the name, or the store has too few runs for ``last~N``.
    """
    if name and os.path.lexists(name) and saved.looks_like_run(Path(name)):
        return Path(name)
    if match := _LAST.fullmatch(name):
        return _last(int(match["before"] or 0), store)
    names = [folder.name for folder in _places(store.root)]
    if name in names and saved.looks_like_run(store.path(name)):
        return store.path(name)
    found = [other for other in names if _begins(name, other) and saved.looks_like_run(store.path(other))]
    if len(found) > 1:
        more = f" and {len(found) - 4} more" if len(found) > 4 else ""
        raise RunError(f"'{name}' begins {len(found)} runs: {', '.join(found[:4])}{more}; write more of the id")
    return store.path(found[0]) if found else None


def _last(before: int, store: Store) -> Path:
    entries = listing(store).entries
    if not entries:
        raise RunError(f"there is no saved run in {store.root}; 'elephan run SCENARIO.toml' makes one")
    if before >= len(entries):
        raise RunError(f"'{LAST}~{before}' is before the first run; there are {len(entries)} in {store.root}")
    return entries[before].folder


def _begins(name: str, run_id: str) -> bool:
    return bool(name) and run_id.startswith(name) and (name.isalnum() or "-" in name)


def nearest_run(name: str, store: Store) -> str:
    """The end of an error message about an unknown run: the most similar id, or the command that lists the runs."""
    ids = [folder.name for folder in _places(store.root)]
    if not ids:
        return f"there is no saved run in {store.root}"
    return hint(name, [*ids, LAST], lister="elephan runs")


_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def parse_age(text: str) -> timedelta:
    """A duration such as ``30d``, ``12 h`` or ``90 min``.

    Raises:
        RunError: the text is not a duration.
    """
    number = text.strip()
    unit = ""
    while number and not number[-1].isdigit():
        number, unit = number[:-1], number[-1] + unit
    unit = unit.strip()
    if unit not in _UNITS or not number.isascii() or not number.isdigit() or len(number) > 6:
        raise RunError(f"'{text}' is not a span of time; write for example 30d, 12h or 2w")
    return timedelta(seconds=int(number) * _UNITS[unit])


def parse_since(text: str, now: datetime) -> datetime:
    """A date such as ``2026-11-20``, a time such as ``2026-11-20 14:00`` (UTC), or a span of time before ``now``.

    Raises:
        RunError: the text is not a time.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        pass
    else:
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    try:
        return now - parse_age(text)
    except RunError:
        raise RunError(f"'{text}' is not a date; write for example 2026-11-20, or 7d for the last seven days") from None


def chosen(
    entries: Iterable[Entry], *, algorithm: str | None = None, since: datetime | None = None, text: str = ""
) -> list[Entry]:
    """The entries that have a flow of ``algorithm``, were created at ``since`` or later, and contain all words of
    ``text``."""
    return [
        entry
        for entry in entries
        if (algorithm is None or entry.uses(algorithm))
        and (since is None or entry.created >= since)
        and entry.has(text)
    ]


def by_algorithms(entries: Iterable[Entry]) -> Mapping[str, tuple[int, int]]:
    """Number of runs and their size in bytes, by their algorithms; the largest first."""
    sums: dict[str, tuple[int, int]] = {}
    for entry in entries:
        key = ", ".join(entry.algorithms)
        count, octets = sums.get(key, (0, 0))
        sums[key] = count + 1, octets + entry.size_bytes
    return dict(sorted(sums.items(), key=lambda item: -item[1][1]))
