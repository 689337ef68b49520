"""The store: a folder of results, each in a folder named by scenario, backend and seed.

A result is written to a temporary folder and renamed, so that a killed process leaves no incomplete result. Several
processes may share a store. The next process that writes removes the files of killed processes. Results are verified
when they are read (:mod:`elephan.runs.saved`); a damaged result causes a warning, counts as not saved, and is replaced
by the next result.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from elephan.runs import files, invariants, saved
from elephan.runs.errors import DamagedRunError, DamagedRunWarning, RunError
from elephan.runs.result import Run
from elephan.runs.saved import MANIFEST, SUMMARY
from elephan.scenario.words import hint

ENVIRONMENT = "ELEPHAN_STORE"
DEFAULT = Path(".elephan") / "runs"
_CLAIMS = ".claims"
_VERIFIED = ".verified"


class Store:
    """A folder of results.

    Attributes:
        root: the folder; created when the first result is saved.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = Path(root or os.environ.get(ENVIRONMENT) or DEFAULT).absolute()
        self._claims = self.root / _CLAIMS
        self._swept = False
        self._told: set[tuple[Path, str]] = set()

    def path(self, run_id: str) -> Path:
        """Folder of the result with an id; it need not exist."""
        return self.root / run_id

    def find(self, run_id: str, *, engine: str | None = None) -> Run | None:
        """The saved result with an id, or ``None``; a damaged result causes a :class:`DamagedRunWarning`.

        With ``engine``, results of other engine versions are ignored.
        """
        return self._intact(run_id, engine, "is made again")

    def _intact(self, run_id: str, engine: str | None, consequence: str) -> Run | None:
        def check(manifest: Mapping[str, Any]) -> None:
            if engine is not None and _engine(manifest) != engine:
                raise RunError(f"{run_id} was made by another version of the engine")

        path = self.path(run_id)
        if not os.path.lexists(path):
            return None
        try:
            return Run(
                saved.load(path, name=run_id, check=check, record=self._record(run_id)), folder=path, cached=True
            )
        except DamagedRunError as error:
            self._tell(error, consequence)
        except RunError:
            pass  # the result is of another engine, or another process has removed it meanwhile
        return None

    def _tell(self, error: DamagedRunError, consequence: str) -> None:
        """Warn once that a run is damaged."""
        told = (error.path, error.problem)
        if told not in self._told:
            self._told.add(told)
            line = f"{error.path}: {error.problem}; the saved run is damaged and {consequence}"
            warnings.warn(line, DamagedRunWarning, stacklevel=4)

    def _record(self, run_id: str) -> Path:
        return self.root / _VERIFIED / run_id

    def save(self, run: Run, *, replace: bool = False) -> Run:
        """Save a run that is in memory, and return the saved run.

        An existing result is kept, unless ``replace`` is set or the result is unusable. The same scenario and seed give
        the same result, so if two processes compute a result, the second process need not write it.

        Raises:
            EngineDefectError: a number of the run is impossible, so the run is not saved.
            OSError: the disk is full, or the folder cannot be written.
        """
        invariants.check(run)
        self.prepare()
        target = self.path(run.id)
        with files.temporary_folder(self.root) as folder:
            manifest = _write(run, folder, target)
            while not files.move_into_place(folder, target):
                there = None if replace else self._same(run)
                if there is not None:
                    return there
                self._put_aside(target)
        return run.saved_in(target, manifest)

    def _same(self, run: Run) -> Run | None:
        """The saved result if it is intact and from the same engine, so that it need not be replaced."""

        def check(manifest: Mapping[str, Any]) -> None:
            if _engine(manifest) != _engine(run.manifest):
                raise RunError(f"{run.id} was made by another version of the engine")

        try:
            return run.saved_in(self.path(run.id), saved.load(self.path(run.id), name=run.id, check=check))
        except RunError:
            return None

    def remove(self, run_id: str) -> bool:
        """Remove a result; true if it existed."""
        if not os.path.lexists(self.path(run_id)):
            return False
        self._put_aside(self.path(run_id))
        self._record(run_id).unlink(missing_ok=True)
        return True

    def verify(self) -> dict[str, str]:
        """Read every file of every saved run, and compare the file with its digest, even if its size and times are
        unchanged.

        Returns:
            One line about the damage of each damaged run, by the run's id; empty if all runs are intact.
        """
        return saved.damaged(path for path in self.entries() if saved.looks_like_run(path))

    def entries(self) -> list[Path]:
        """Paths in the store, in alphabetical order: saved results, damaged or not, and other files."""
        return sorted(path for path in self.root.glob("*") if path.name[0] != ".")

    def _put_aside(self, path: Path) -> None:
        """Rename a result so that no process finds it, then delete it."""
        with files.temporary_folder(self.root) as folder:
            if path.is_dir() and not path.is_symlink():
                # Moving a folder to another parent changes its "..", which requires write permission on the folder.
                with contextlib.suppress(PermissionError, FileNotFoundError):
                    path.chmod(0o700)
            try:
                path.rename(folder / "old")
            except FileNotFoundError:
                return  # another process has removed it

    def prepare(self) -> None:
        """Make the folder, and remove incomplete files of killed processes.

        Raises:
            OSError: the folder cannot be created or written.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        if not self._swept:
            self._swept = True
            files.remove_abandoned(self.root)
            if self._claims.is_dir():
                files.remove_abandoned_locks(self._claims)

    def claim(self, run_id: str) -> files.Lock | None:
        """The exclusive claim to compute a result, until released; ``None`` while another thread or process holds
        it."""
        self.prepare()
        self._claims.mkdir(exist_ok=True)
        return files.Lock.take(self._claims / run_id)

    def ids(self) -> list[str]:
        """Ids of the saved results, in alphabetical order, damaged results included."""
        return [path.name for path in self.entries() if saved.is_there(path / MANIFEST)]

    def get(self, name: str) -> Run:
        """A saved result by its id, or by the beginning of one id only.

        Raises:
            DamagedRunError: the result is damaged.
            RunError: no run or several runs match; the message has the most similar id.
        """
        ids = self.ids()
        matching = [run_id for run_id in ids if run_id == name] or [i for i in ids if name and i.startswith(name)]
        if len(matching) == 1:
            return Run.load(self.path(matching[0]))
        if matching:
            raise RunError(f"'{name}' begins {len(matching)} results: {', '.join(matching[:5])}")
        raise RunError(f"'{name}' is not a saved result in {self.root}; {hint(name, ids)}")

    def __iter__(self) -> Iterator[Run]:
        found = (self._intact(run_id, None, "is left out") for run_id in self.ids())
        return (run for run in found if run is not None)

    def __contains__(self, run_id: object) -> bool:
        return isinstance(run_id, str) and self.find(run_id) is not None

    def __repr__(self) -> str:
        return f"<Store {self.root}: {len(self.ids())} runs>"


def _write(run: Run, folder: Path, target: Path) -> dict[str, Any]:
    """Write a run into a folder that will be renamed to its target. Returns the written manifest."""
    from elephan.runs import tables

    names = saved.table_names(run.manifest)
    written = tables.write({name: run.arrow(name) for name in names}, folder)
    written[SUMMARY] = files.write_json(folder / SUMMARY, run.summary() | {"dir": str(target)})
    manifest = saved.seal(run.manifest, written)
    files.write_json(folder / MANIFEST, manifest)
    return manifest


def _engine(manifest: Mapping[str, Any]) -> Any:
    return manifest.get("versions", {}).get("engine")
