"""The memory that the runs of one sweep may take together.

A run declares beforehand the memory that it certainly needs (the engine's estimate), and gets a share. Any further need
is bounded while it runs. A run that outgrows its share is made again alone, with all there is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FREE_FRACTION = 0.8
"""The default limit, as a fraction of the memory that is free when the first run starts."""

_HEADROOM = 1.5
_LOOK_AGAIN_S = 0.1


def free_bytes() -> int:
    """Memory that programs may still take, bytes."""
    import psutil

    return int(psutil.virtual_memory().available)


class MemoryPool:
    """Memory for several runs at a time.

    Attributes:
        limit: limit on all of them together, bytes; ``None`` is the fraction :data:`FREE_FRACTION` of the free memory.
        runs: how many are made at a time.
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
        """The limit, bytes. What is free is looked up while nothing runs."""
        with self._changed:
            return self._all()

    def _all(self) -> int:
        if self._taken == 0:
            self._bytes = self.limit if self.limit is not None else int(FREE_FRACTION * free_bytes())
        return self._bytes

    @contextmanager
    def share(self, certain: int, *, alone: bool, go_on: Callable[[], bool]) -> Iterator[int | None]:
        """A share of the memory for a run that is certain to need this many bytes, or all of it; waits until the share
        is free.

        Gives nothing where ``go_on`` says no meanwhile.
        """
        with self._changed:
            while True:
                everything = self._all()
                wanted = (
                    everything if alone else min(everything, max(everything // self.runs, int(_HEADROOM * certain)))
                )
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
