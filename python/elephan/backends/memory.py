"""Limit on the memory of all runs of a sweep together.

A run declares the memory that it certainly needs (the engine's estimate) and receives a share of the limit. A run that
exceeds its share is stopped and repeated alone, with all of the memory.
"""

from __future__ import annotations

import math
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from elephan.scenario import ScenarioError
from elephan.scenario.units import parse_size

FREE_FRACTION = 0.8
"""The default limit, as a fraction of the memory that is free when the first run starts."""

HEADROOM = 1.5
"""The share that a run receives at least, as a multiple of the memory that it certainly needs."""

_LOOK_AGAIN_S = 0.1
"""Time after which the free memory is read again; short runs would otherwise spend a tenth of theirs on it."""


class RunMemoryError(Exception):
    """A run exceeded its memory limit; no result is saved."""


def free_bytes() -> int:
    """Memory that this process can still get, bytes: the smallest of the host's free memory, what is left of the limits
    of the process's cgroups (a container's limit), and what is left of its address space (``ulimit -v``)."""
    import psutil

    found = [int(psutil.virtual_memory().available), *_left_in_cgroups()]
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        found.append(most - int(psutil.Process().memory_info().vms))
    return max(0, min(found))


def _left_in_cgroups(root: Path = Path("/")) -> Iterator[int]:
    """Rest of the memory limit of each cgroup of this process, and of the cgroups that contain it, bytes. Both
    versions are read. Files that could be dropped from the cache count as free.

    Args:
        root: root of the file system.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return  # another system than Linux
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mounted, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            mounted = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # Within a container the path may be that of the host, and the container's cgroup is mounted at the root.
        inner = Path(path.lstrip("/"))
        for folder in (mounted / inner, *((mounted / inner).parents[: len(inner.parts)])):
            left = _left_in_cgroup(folder, *names)
            if left is not None:
                yield left


def _left_in_cgroup(folder: Path, limit: str, usage: str, droppable: str) -> int | None:
    """Rest of the limit of one cgroup; ``None`` if it has none."""
    try:
        most, used = int((folder / limit).read_text()), int((folder / usage).read_text())
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None  # no such cgroup here, or "max"
    return most - used + int(counts.get(droppable, 0))


class MemoryPool:
    """Memory shared by simultaneous runs.

    Attributes:
        limit: limit on all runs together, bytes; ``None`` for the fraction :data:`FREE_FRACTION` of the free memory.
        runs: number of simultaneous runs.
    """

    def __init__(self, limit: int | str | None = None, runs: int = 1) -> None:
        try:
            stated = parse_size(limit) if isinstance(limit, str) else limit
        except ScenarioError as error:
            raise error.located(source="memory") from None
        self.limit = None if stated is None else int(stated)
        self.runs = max(1, runs)
        self._taken = 0
        self._bytes, self._read_s = 0, -math.inf
        self._changed = threading.Condition()

    @property
    def stated(self) -> bool:
        """True if the caller stated the limit."""
        return self.limit is not None

    def all_bytes(self) -> int:
        """The limit, bytes. Free memory is read while no run is active."""
        with self._changed:
            return self._all()

    def _all(self) -> int:
        if self.limit is not None:
            return self.limit
        now_s = time.monotonic()
        if self._taken == 0 and now_s - self._read_s >= _LOOK_AGAIN_S:
            self._bytes, self._read_s = int(FREE_FRACTION * free_bytes()), now_s
        return self._bytes

    @contextmanager
    def share(self, certain: int, *, alone: bool, go_on: Callable[[], bool]) -> Iterator[int | None]:
        """Reserve a share of the memory, or all of it, for a run that certainly needs ``certain`` bytes; waits until
        enough memory is free.

        Yields ``None`` if ``go_on`` returns false during the wait.
        """
        with self._changed:
            while True:
                everything = self._all()
                wanted = everything if alone else min(everything, max(everything // self.runs, int(HEADROOM * certain)))
                if self._taken == 0 or self._taken + wanted <= everything:
                    break
                if not go_on():
                    yield None
                    return
                self._changed.wait(_LOOK_AGAIN_S)
            self._taken += wanted
        try:
            yield wanted
        finally:
            with self._changed:
                self._taken -= wanted
                self._changed.notify_all()


def needs_more(certain_bytes: int, memory: MemoryPool) -> ScenarioError:
    """The error of a run that certainly needs more memory than there is."""
    least = f"the run needs at least {certain_bytes >> 20} MiB"
    return ScenarioError(f"{least}; the limit is {_limit(memory)} (--memory)", path="memory")


def outgrown(message: str, memory: MemoryPool) -> RunMemoryError:
    """The error of a run that exceeded the limit on its memory."""
    return RunMemoryError(f"{message}; the limit is {_limit(memory)} (--memory)")


def _limit(memory: MemoryPool) -> str:
    limit = f"{memory.all_bytes() >> 20} MiB"
    return limit if memory.stated else f"{limit}, {FREE_FRACTION:.0%} of what is free"
