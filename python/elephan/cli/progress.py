"""A progress bar with an ETA on stderr, for what takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from elephan.cli.common import console

PATIENCE_S = 2.0


class Meter:
    """Shows how far a sweep is, once it has taken longer than people wait without asking."""

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._lock = Lock()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, done_s: float, total_s: float, finished: int, runs: int) -> None:
        """Simulated seconds done and in all, runs finished and in all; may be called from any thread."""
        with self._lock:
            if self._bar is None and time.monotonic() - self._started_s > PATIENCE_S and finished < runs:
                self._open(total_s)
            if self._bar is not None:
                self._bar.update(self._task, completed=done_s, total=total_s, runs=f"{finished}/{runs} runs")

    def _open(self, total_s: float) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.fields[runs]}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=console(err=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=total_s, runs="")

    def close(self) -> None:
        """Take the bar away."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None


class _Silent:
    def __call__(self, done_s: float, total_s: float, finished: int, runs: int) -> None:
        """Nobody looks: stderr is not a terminal."""


@contextmanager
def meter() -> Iterator[Meter | _Silent]:
    """A progress callback for the time of a sweep; silent where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield _Silent()
        return
    bar = Meter()
    try:
        yield bar
    finally:
        bar.close()
