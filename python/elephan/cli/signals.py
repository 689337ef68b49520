"""Ctrl-C and SIGTERM end a command within half a second: finished results are kept, and unfinished results are removed.

Both signals raise an exception in the main thread. The process is ended directly if the main thread is in a long call
of compiled code, or if a sweep's thread cannot be stopped, for example because a user's algorithm sleeps. Results are
written to temporary files and renamed, so no incomplete result remains.
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
    """SIGTERM arrived; it ends a command in the same way as Ctrl-C."""


_came = False


def terminated() -> bool:
    """True if SIGTERM arrived, even if its exception was caught."""
    return _came


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM raise :class:`Terminated` in the main thread within this context.

    Only the first signal raises the exception, since further signals would interrupt the cleanup. If the parent process
    ignores SIGTERM, the signal remains ignored.
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
    """Within this context, end the process soon after a signal that ends a command, even if the main thread does not
    handle the signal.

    Args:
        line: message for the number of a signal, printed if the main thread does not print a message.
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
    """Wait for a signal, and then for a short time for the command's end."""
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
