"""Records of all that this program puts into a host, written beforehand, so that a crash leaves nothing unnoticed.

A record is a file in the runtime folder, named after the run. A record belongs to a process; :func:`remove_abandoned`
removes the objects of processes that are gone, and nothing else.
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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from elephan.backends.kernel.traces import runtime_dir, started_of

PREFIX = "elephan-"
NETNS = Path("/run/netns")


class LeftOverError(RuntimeError):
    """Something that was put into the host is still there; the sentence says what."""


@dataclass
class Record:
    """A run's traces on the host.

    Attributes:
        name: of the run; its namespaces begin with it.
        pid: of the process that it belongs to.
        started: when that process began, in the kernel's own count.
        namespaces: names of network namespaces.
        devices: names of devices outside of them.
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
        """A record of this process, with a name that is not taken."""
        pid = os.getpid()
        return cls(f"{PREFIX}{pid}-{secrets.token_hex(2)}", pid, started_of(pid))

    def folder(self) -> Path:
        """A temporary folder of its own, once it is :meth:`kept`."""
        path = Path(tempfile.gettempdir(), self.name)
        self.folders.append(str(path))
        return path

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Written down for this time; at the end everything that it names is removed.

        Folders are made; everything else is up to who asked.
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
                # Another Ctrl-C, or SIGTERM: nothing is left all the same.
                self.remove()
                raise

    @property
    def path(self) -> Path:
        """File of the record."""
        return runtime_dir() / "runs" / f"{self.name}.json"

    def write(self) -> None:
        """Put it into the runtime folder, whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".tmp")
        beside.write_text(json.dumps(asdict(self)), encoding="utf-8")
        beside.replace(self.path)

    def remove(self) -> list[str]:
        """Remove everything that it names and that still exists, then the record; returns the names of the removed
        objects.

        Raises:
            LeftOverError: something could not be removed; it stays written down.
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
        """Names of its objects that are on the host."""
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
    """Remove the leftovers of processes that are gone, registered algorithms too; returns their names."""
    from elephan.backends.kernel import bpf

    removed = []
    for record in records():
        if started_of(record.pid) != record.started:
            removed += record.remove()
    removed += [f"congestion control {name}" for name in bpf.unregister_recorded()]
    return removed


def _end_processes_in(namespace: str) -> None:
    """Kill the programs that still run in a namespace of ours: they would keep the namespace alive without its name."""
    found = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    for pid in found.stdout.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def _ip(*arguments: str) -> None:
    to_its_end("ip", *arguments)


def to_its_end(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a short program that changes the host, and wait for its end whatever signal comes meanwhile.

    The exception of a signal is raised in the main thread alone. While that thread starts a program, the exception
    would leave the program running, and what it makes would outlive the cleaning up.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="elephan-command") as other:
        return other.submit(lambda: subprocess.run(arguments, capture_output=True, text=True, check=False)).result()
