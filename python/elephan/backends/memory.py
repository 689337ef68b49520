"""Limit on the memory of all runs of a sweep together.

A run declares the memory that it certainly needs (the engine's estimate) and receives a share of the limit. A run that
exceeds its share is stopped and repeated alone, with all of the memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FREE_FRACTION = 0.8
"""The default limit, as a fraction of the memory that is free when the first run starts."""

HEADROOM = 1.5
"""The share that a run receives at least, as a multiple of the memory that it certainly needs."""

_LOOK_AGAIN_S = 0.1


def free_bytes() -> int:
    """Free memory for programs, bytes."""
    import psutil

    return int(psutil.virtual_memory().available)


class MemoryPool:
    """Memory shared by simultaneous runs.

    Attributes:
        limit: limit on all runs together, bytes; ``None`` for the fraction :data:`FREE_FRACTION` of the free memory.
        runs: number of simultaneous runs.
    """

    def __init__(self, limit: int | None = None, runs: int = 1) -> None:
        self.limit = limit
        self.runs = max(1, runs)
        self._taken = 0
        self._bytes = 0
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
        if self._taken == 0:
            self._bytes = self.limit if self.limit is not None else int(FREE_FRACTION * free_bytes())
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
