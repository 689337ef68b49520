"""Work that signals must not interrupt, such as the removal of temporary changes to the host."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_count = 0


@contextmanager
def unhurried() -> Iterator[None]:
    """Within this context, defers signals that would end the process; they take effect at the end of the context."""
    global _count
    with _lock:
        _count += 1
    try:
        yield
    finally:
        with _lock:
            _count -= 1


def is_at_work() -> bool:
    """True while any thread is in a block that defers signals."""
    with _lock:
        return _count > 0
