"""Ctrl-C and SIGTERM end a command within half a second: what is finished is kept, what was begun is removed.

Both raise an exception in the main thread. Where that thread is in the middle of a long call of compiled code, or a
sweep's thread cannot be stopped (an own algorithm that sleeps), the process is ended all the same: results are written
beside their place and renamed, so nothing is left half written.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from elephan.unhurried import is_at_work

_PATIENCE_S = 0.45
_LOOK_AGAIN_S = 0.05


class Terminated(KeyboardInterrupt):
    """SIGTERM came; whatever ends in order at Ctrl-C does so at this."""


_came = False


def terminated() -> bool:
    """True if SIGTERM came, whatever was made of its exception on the way."""
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


@contextmanager
def watched(line: Callable[[int], str]) -> Iterator[None]:
    """For this time a signal that ends a command ends the process soon, even if the main thread does not come to it.

    Args:
        line: the words for the number of a signal, where nobody else is left to print them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(reader, ended, line), daemon=True, name="elephan-signals")
    thread.start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        os.close(writer)


def _watch(reader: int, ended: threading.Event, line: Callable[[int], str]) -> None:
    """Wait for a signal, and then for the command's end; not for long."""
    while numbers := os.read(reader, 1):
        if numbers[0] not in (signal.SIGINT, signal.SIGTERM):
            continue
        deadline_s = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline_s or is_at_work():
            if ended.wait(_LOOK_AGAIN_S):
                return
        os.write(2, f"elephan: {line(numbers[0])}\n".encode())
        os._exit(128 + numbers[0])
    os.close(reader)
