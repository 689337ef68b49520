"""Writes files that appear whole or not at all."""

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
    """A file beside ``path`` to write to; in the end it takes the place of ``path``, after an exception it is removed.

    A device or a pipe is written to as it is.

    Raises:
        OSError: it cannot be written; with the file's name, which the system leaves out where a disk is full.
    """
    path = Path(path)
    with naming(path):
        if path.exists() and not path.is_file():
            yield path
            return
        # A link stays a link, and what it leads to is written.
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
    """Name the file in an error of the system that does not.

    Raises:
        OSError: what was raised inside, with a name.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        # Polars gives a text alone.
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error
