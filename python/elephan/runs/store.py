"""The store: a folder of results, one folder each, named by what was run.

A result is written beside its place and renamed into it, so that there is never half of one; two processes may share a
store, and what a killed process left is removed by the next one that writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from elephan.runs import files
from elephan.runs.result import MANIFEST, SUMMARY, Run, RunError, read_manifest
from elephan.scenario.words import hint

ENVIRONMENT = "ELEPHAN_STORE"
DEFAULT = Path(".elephan") / "runs"
_CLAIMS = ".claims"


class Store:
    """A folder of results.

    Attributes:
        root: the folder; made when the first result is saved.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = Path(root or os.environ.get(ENVIRONMENT) or DEFAULT).absolute()
        self._swept = False

    def path(self, run_id: str) -> Path:
        """Where the result of an id is, or would be."""
        return self.root / run_id

    def find(self, run_id: str, *, engine: str | None = None) -> Run | None:
        """The saved result of an id, or ``None``.

        With ``engine``, a result that another version of the engine made is not the one that was asked for.
        """
        if not (self.path(run_id) / MANIFEST).is_file():
            return None
        try:
            run = Run.load(self.path(run_id))
        except RunError:
            return None  # of another format: as good as not there, and replaced by the next save
        return run if engine is None or _engine(run.manifest) == engine else None

    def save(self, run: Run, *, replace: bool = False) -> Run:
        """Save a run in memory and give the saved one back.

        What is there already stays, unless ``replace`` is set or it cannot be used: the same scenario and seed give the
        same result, so the first of two processes to finish has written what the second would.

        Raises:
            OSError: the disk is full, or the folder cannot be written.
        """
        self.prepare()
        with files.temporary_folder(self.root) as folder:
            _write(run, folder, self.path(run.id))
            target = self.path(run.id)
            while not files.move_into_place(folder, target):
                if not replace and _same(target, run):
                    break
                self._put_aside(target)
        return run.saved_in(target)

    def remove(self, run_id: str) -> bool:
        """Remove a result; whether there was one."""
        if not self.path(run_id).exists():
            return False
        self._put_aside(self.path(run_id))
        return True

    def _put_aside(self, path: Path) -> None:
        """Take a result out of sight at once, then delete it."""
        with files.temporary_folder(self.root) as folder:
            try:
                path.rename(folder / "old")
            except FileNotFoundError:
                return  # another process was faster

    def prepare(self) -> None:
        """Make the folder, and remove what killed processes left half written.

        Raises:
            OSError: it cannot be made, or not be written.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        if not self._swept:
            self._swept = True
            files.remove_abandoned(self.root)

    def claim(self, run_id: str) -> files.Lock | None:
        """The right to compute a result, until released; ``None`` while another thread or process has it."""
        self.prepare()
        claims = self.root / _CLAIMS
        claims.mkdir(exist_ok=True)
        return files.Lock.take(claims / run_id)

    def ids(self) -> list[str]:
        """Ids of the saved results, in alphabetical order."""
        return sorted(path.parent.name for path in self.root.glob(f"*/{MANIFEST}") if path.parent.name[0] != ".")

    def get(self, name: str) -> Run:
        """A saved result by its id, or by the beginning of one id only.

        Raises:
            RunError: none, or several; the message has the nearest.
        """
        ids = self.ids()
        matching = [run_id for run_id in ids if run_id == name] or [i for i in ids if name and i.startswith(name)]
        if len(matching) == 1:
            return Run.load(self.path(matching[0]))
        if matching:
            raise RunError(f"'{name}' begins {len(matching)} results: {', '.join(matching[:5])}")
        raise RunError(f"'{name}' is not a saved result in {self.root}; {hint(name, ids)}")

    def __iter__(self) -> Iterator[Run]:
        found = (self.find(run_id) for run_id in self.ids())
        return (run for run in found if run is not None)

    def __contains__(self, run_id: object) -> bool:
        return isinstance(run_id, str) and self.find(run_id) is not None

    def __repr__(self) -> str:
        return f"<Store {self.root}: {len(self.ids())} runs>"


def _write(run: Run, folder: Path, target: Path) -> None:
    from elephan.runs import tables

    tables.write(run.tables(), folder)
    files.write_json(folder / SUMMARY, run.summary() | {"dir": str(target)})
    files.write_json(folder / MANIFEST, run.manifest)
    files.sync(folder)


def _same(folder: Path, run: Run) -> bool:
    """Whether a folder holds a result of the same engine, so that it need not be replaced."""
    try:
        there = read_manifest(folder)
    except RunError:
        return False
    return bool(_engine(there) == _engine(run.manifest))


def _engine(manifest: Mapping[str, Any]) -> Any:
    return manifest.get("versions", {}).get("engine")
