"""Records of all objects that this program creates on a host. Each record is written before its objects are created, so
that the objects of a crashed run can be removed.

A record is a file in the runtime folder. The file is named after the run, and the record belongs to a process.
:func:`remove_abandoned` only removes the objects of processes that have ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path

from elephan.backends.kernel.traces import runtime_dir, started_of

PREFIX = "elephan-"
NETNS = Path("/run/netns")


class LeftOverError(RuntimeError):
    """An object of a run could not be removed from the host; the message names it."""


@dataclass
class Record:
    """Objects of a run on the host.

    Attributes:
        name: name of the run; the names of its namespaces begin with this name.
        pid: id of the process that the record belongs to.
        started: start time of that process, in the kernel's units.
        namespaces: names of network namespaces.
        devices: names of devices outside of these namespaces.
        folders: temporary folders.
    """

    name: str
    pid: int
    started: str
    namespaces: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    @classmethod
    def new(cls) -> Record:
        """A record of this process with an unused name."""
        pid = os.getpid()
        return cls(f"{PREFIX}{pid}-{secrets.token_hex(2)}", pid, started_of(pid))

    def folder(self) -> Path:
        """Add a temporary folder, which is created by :meth:`kept`."""
        path = Path(tempfile.gettempdir(), self.name)
        self.folders.append(str(path))
        return path

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Save the record within this context; at the end of the context all objects of the record are removed.

        This context creates the folders; the caller creates all other objects.
        """
        try:
            self.write()
            for folder in self.folders:
                Path(folder).mkdir(mode=0o700)
            yield
        finally:
            try:
                self.remove()
            except KeyboardInterrupt:
                # Another Ctrl-C, or SIGTERM, does not stop the removal.
                self.remove()
                raise

    @property
    def path(self) -> Path:
        """File of the record."""
        return runtime_dir() / "runs" / f"{self.name}.json"

    def write(self) -> None:
        """Write the record atomically to the runtime folder."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".tmp")
        beside.write_text(json.dumps(asdict(self)), encoding="utf-8")
        beside.replace(self.path)

    def remove(self) -> list[str]:
        """Remove all recorded objects that exist, then the record. Returns the names of the removed objects.

        Raises:
            LeftOverError: an object could not be removed; the record remains.
        """
        there = self._there()
        for name in self.namespaces:
            if (NETNS / name).exists():
                _end_processes_in(name)
                _ip("netns", "delete", name)
        for name in self.devices:
            if _device(name).exists():
                _ip("link", "delete", name)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
        if left := self._there():
            raise LeftOverError(f"could not remove {', '.join(left)}; removing it needs root")
        self.path.unlink(missing_ok=True)
        return there

    def _there(self) -> list[str]:
        """Names of the recorded objects that exist on the host."""
        found = [f"namespace {name}" for name in self.namespaces if (NETNS / name).exists()]
        found += [f"device {name}" for name in self.devices if _device(name).exists()]
        return found + [f"folder {folder}" for folder in self.folders if Path(folder).is_dir()]


def _device(name: str) -> Path:
    return Path("/sys/class/net", name)


def records() -> list[Record]:
    """Records in the runtime folder."""
    found = []
    for path in sorted((runtime_dir() / "runs").glob("*.json")):
        with contextlib.suppress(OSError, ValueError, TypeError):
            found.append(Record(**json.loads(path.read_text(encoding="utf-8"))))
    return found


def remove_abandoned() -> list[str]:
    """Remove the objects of ended processes, including registered algorithms, and return their names."""
    from elephan.backends.kernel import bpf

    removed = []
    for record in records():
        if started_of(record.pid) != record.started:
            removed += record.remove()
    removed += [f"congestion control {name}" for name in bpf.unregister_recorded()]
    return removed


def _end_processes_in(namespace: str) -> None:
    """Kill the programs that still run in a namespace of the record: these programs would keep the namespace alive
    after its name is removed."""
    found = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    for pid in found.stdout.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def _ip(*arguments: str) -> None:
    to_its_end("ip", *arguments)


def to_its_end(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a short program that changes the host, and wait for the end of the program even if a signal arrives.

    Python raises a signal's exception in the main thread only. An exception while the main thread starts a program
    would leave the program running, and the program's objects would remain after the cleanup. Therefore another thread
    starts the program. An exception while the main thread starts this thread cancels the program, or waits for its end
    if the program runs already.
    """
    outcome: Future[subprocess.CompletedProcess[str]] = Future()

    def work() -> None:
        if outcome.set_running_or_notify_cancel():
            try:
                outcome.set_result(subprocess.run(arguments, capture_output=True, text=True, check=False))
            except BaseException as error:  # noqa: BLE001  (the caller raises it)
                outcome.set_exception(error)

    try:
        threading.Thread(target=work, name="elephan-command").start()
        return outcome.result()
    finally:
        if not outcome.cancel():
            wait([outcome])
