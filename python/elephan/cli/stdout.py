"""Standard output as a file with a name, so that an error about stdout names it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from elephan.writing import naming

NAME = "stdout"


class ReaderGoneError(Exception):
    """The pipe that stdout was is closed. Not an OSError, for which click and rich would exit with status 1."""


@contextmanager
def _explained() -> Iterator[None]:
    try:
        with naming(NAME):
            yield
    except BrokenPipeError as error:
        raise ReaderGoneError from error


class _Named:
    """A text stream whose errors name it; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or raise an OSError that names the stream."""
        with _explained():
            return self._stream.write(text)

    def flush(self) -> None:
        """Write what is buffered, or raise an OSError that names the stream."""
        with _explained():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def named() -> Iterator[None]:
    """For this time an error about ``sys.stdout`` names it; in the end everything is written.

    Raises:
        OSError: it cannot be written.
    """
    before, ours = sys.stdout, _Named(sys.stdout)
    sys.stdout = cast("TextIO", ours)
    try:
        yield
        ours.flush()
    finally:
        sys.stdout = before
