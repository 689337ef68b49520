"""Work that a signal may not cut short: what is put into the host is taken back first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_count = 0


@contextmanager
def unhurried() -> Iterator[None]:
    """For this time nothing ends the process but the end of the work itself."""
    global _count
    with _lock:
        _count += 1
    try:
        yield
    finally:
        with _lock:
            _count -= 1


def is_at_work() -> bool:
    """True while such work is under way in any thread."""
    with _lock:
        return _count > 0
