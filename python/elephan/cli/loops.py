"""Progress of a search or a tuning, on stderr: one line on a terminal that is overwritten, or a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_LINE_S = 10.0


@contextmanager
def shown(*, quiet: bool) -> Iterator[Callable[[str], object]]:
    """Gives a function that shows a line of progress; with ``quiet`` it shows nothing."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    last = time.monotonic()

    def say(text: str) -> None:
        nonlocal last
        if quiet or (not terminal and time.monotonic() - last < _LINE_S):
            return
        last = time.monotonic()
        click.echo(f"\r{text}\033[K" if terminal else text, err=True, nl=not terminal)

    yield say
    if terminal and not quiet:
        click.echo("\r\033[K", err=True, nl=False)
