"""Progress of a sweep: a bar in a terminal or a notebook, or a line every few seconds.

Nothing is shown for sweeps of less than two seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, ClassVar

PATIENCE_S = 2.0
"""Time before progress is first shown, s."""

LINES_S = 5.0
"""Time between two lines if there is no terminal, s."""

_REDRAW_S = 0.25


class Meter:
    """Progress callback of a sweep, called from any thread with the finished and the total work, and the finished and
    the total runs.

    The caller chooses the unit of work. The remaining time is estimated from the work done so far. The base class shows
    nothing.
    """

    patience_s: ClassVar[float] = PATIENCE_S

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._next_s = self._started_s + self.patience_s
        self._lock = Lock()
        self._shown = False

    def __call__(self, done: float, total: float, finished: int, runs: int) -> None:
        """Record the progress, and show it if it is due."""
        with self._lock:
            now_s = time.monotonic()
            if now_s < self._next_s or (not self._shown and finished >= runs):
                return
            self._shown = True
            passed_s = now_s - self._started_s
            left_s = passed_s * (total - done) / done if done > 0 else None
            self._next_s = now_s + self.show(done, total, f"{finished}/{runs} runs", passed_s, left_s)

    def show(self, done: float, total: float, runs: str, passed_s: float, left_s: float | None) -> float:
        """Show the state; returns the seconds until it should be shown again."""
        return PATIENCE_S

    def close(self) -> None:
        """Remove the display."""


class Bar(Meter):
    """A bar in a terminal, on stderr."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: Any = None
        self._task: Any = None

    def show(self, done: float, total: float, runs: str, passed_s: float, left_s: float | None) -> float:
        """Draw the bar."""
        if self._bar is None:
            self._open(total)
        self._bar.update(self._task, completed=done, total=total, runs=runs)
        return 0.0

    def _open(self, total: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.fields[runs]}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=total, runs="")

    def close(self) -> None:
        """Remove the bar."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None


class Lines(Meter):
    """A line on stderr every few seconds, for logs and pipes."""

    patience_s = LINES_S

    def show(self, done: float, total: float, runs: str, passed_s: float, left_s: float | None) -> float:
        """Write the line."""
        if sys.stderr is not None:
            print(_sentence(done, total, runs, passed_s, left_s), file=sys.stderr, flush=True)
        return LINES_S


class Cell(Meter):
    """A bar in the cell of a notebook. The bar needs only IPython, and not Jupyter's widgets."""

    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None

    def show(self, done: float, total: float, runs: str, passed_s: float, left_s: float | None) -> float:
        """Draw the bar in place of the previous bar."""
        from html import escape

        text = _sentence(done, total, runs, passed_s, left_s)
        self._draw(f'<progress value="{done:.6g}" max="{max(total, done):.6g}"></progress> {escape(text)}', text)
        return _REDRAW_S

    def _draw(self, html: str, text: str) -> None:
        from IPython.display import display

        data = {"text/html": html, "text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def close(self) -> None:
        """Show the elapsed time."""
        with self._lock:
            if self._handle is not None:
                took = f"{_clock(time.monotonic() - self._started_s)} for the sweep"
                self._draw(f"<small>{took}</small>", took)
                self._handle = None


def _sentence(done: float, total: float, runs: str, passed_s: float, left_s: float | None) -> str:
    fraction = min(1.0, done / total) if total > 0 else 1.0
    left = "" if left_s is None else f", about {_clock(left_s)} left"
    return f"{runs}, {100 * fraction:.0f} %, {_clock(passed_s)} passed{left}"


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def in_notebook() -> bool:
    """True in the kernel of a notebook; false for IPython in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def meter(show: bool | None = None) -> Iterator[Meter]:
    """Context with a progress callback that suits the output: terminal, notebook or log.

    ``True`` shows progress everywhere, ``None`` only in a notebook or a terminal, ``False`` nowhere.
    """
    made = _fit(show)
    try:
        yield made
    finally:
        made.close()


def _fit(show: bool | None) -> Meter:
    if show is False:
        return Meter()
    if in_notebook():
        return Cell()
    if sys.stderr is not None and sys.stderr.isatty():
        return Bar()
    return Lines() if show else Meter()
