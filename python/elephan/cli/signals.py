"""SIGTERM, which ends a command as Ctrl-C does: what is finished is kept, what was begun is removed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """SIGTERM came; whatever ends in order at Ctrl-C does so at this."""


_came = False


def terminated() -> bool:
    """Whether SIGTERM came, whatever was made of its exception on the way."""
    return _came


@contextmanager
def terminable() -> Iterator[None]:
    """For this time SIGTERM raises :class:`Terminated` in the main thread.

    Only the first does: those that follow would end the cleaning up. A SIGTERM that the parent process had ignored
    stays ignored.
    """
    global _came
    _came = False
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        global _came
        if not _came:
            _came = True
            raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
