"""Writes files atomically."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_READABLE = 0o644


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary file beside ``path``; at the end the file replaces ``path``, and after an exception the file is
    removed.

    A device or a pipe is written directly.

    Raises:
        OSError: the file cannot be written; the error has the file's name, which the operating system omits if a disk
            is full.
    """
    path = Path(path)
    with naming(path):
        if path.exists() and not path.is_file():
            yield path
            return
        # If the path is a symbolic link, the link remains and its target is replaced.
        target = Path(os.path.realpath(path))
        try:
            descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:200]}.")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        os.close(descriptor)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(_READABLE)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Within this context, add the file's name to an operating system's error that has no file name.

    Raises:
        OSError: the error that was raised within the context, with the file's name.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        # An error of Polars has a text and no error number.
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error
