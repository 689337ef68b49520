"""Standard output as a named file, so that an error about stdout names stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from elephan.writing import naming

NAME = "stdout"


class ReaderGoneError(Exception):
    """Stdout is a closed pipe. This exception is not an OSError, since click and rich would exit with status 1 for an
    OSError."""


@contextmanager
def _explained() -> Iterator[None]:
    try:
        with naming(NAME):
            yield
    except BrokenPipeError as error:
        raise ReaderGoneError from error


class _Named:
    """A text stream whose errors name the stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, or raise an OSError that names the stream."""
        with _explained():
            return self._stream.write(text)

    def flush(self) -> None:
        """Write the buffered text, or raise an OSError that names the stream."""
        with _explained():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def named() -> Iterator[None]:
    """Within this context, errors about ``sys.stdout`` have the name of stdout. All output is written by the end of the
    context.

    Raises:
        OSError: the output cannot be written.
    """
    before, ours = sys.stdout, _Named(sys.stdout)
    sys.stdout = cast("TextIO", ours)
    try:
        yield
        ours.flush()
    finally:
        sys.stdout = before
