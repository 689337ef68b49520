"""Files shared by several processes: locks that are released when their process ends, and folders that are written
atomically."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from elephan.scenario import long_json
from elephan.writing import naming

Entry = dict[str, Any]
_MOST_LAID_OUT = 2_000_000
"""Longest JSON text that has a line for each of its values, characters."""
_LOCK = ".lock"
_TEMPORARY = ".tmp-"


class Lock:
    """An exclusive lock on a file; the kernel releases it whenever the process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Lock | None:
        """The lock, or ``None`` when another holder has it."""
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(descriptor)
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                    return None
                raise
            # The previous holder may have removed the file between our open and our lock; the lock has no effect then.
            if _is_file_of(descriptor, path):
                return cls(path, descriptor)
            os.close(descriptor)

    def release(self) -> None:
        """Release the lock and remove the file."""
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        os.close(self._descriptor)


def _is_file_of(descriptor: int, path: Path) -> bool:
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    held = os.fstat(descriptor)
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


@contextlib.contextmanager
def temporary_folder(root: Path) -> Iterator[Path]:
    """A folder in ``root`` that is removed at the end unless it was renamed; after a crash, the next process that
    writes removes the folder."""
    while True:
        folder = root / f"{_TEMPORARY}{secrets.token_hex(8)}"
        lock = Lock.take(folder.with_name(folder.name + _LOCK))
        if lock is not None:
            break
    try:
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def remove_abandoned(root: Path) -> list[Path]:
    """Remove temporary folders whose process has ended, and return their paths; folders in use are kept."""
    removed = []
    for path in sorted(root.glob(f"{_TEMPORARY}*")):
        name = path.name.removesuffix(_LOCK)
        lock = Lock.take(root / (name + _LOCK))
        if lock is None:
            continue
        folder = root / name
        if folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
        lock.release()
    return removed


def remove_abandoned_locks(folder: Path) -> None:
    """Remove the lock files of killed processes."""
    for path in folder.iterdir():
        lock = Lock.take(path)
        if lock is not None:
            lock.release()


def write_json(path: Path, document: Any) -> Entry:
    """Write a JSON file, and return its entry; infinite and undefined numbers, which JSON lacks, are an error.

    Raises:
        ValueError: a number is infinite or NaN, which JSON does not have.
        OSError: the errors of :func:`write_bytes`.
    """
    text = long_json.dumps(document, ensure_ascii=False, allow_nan=False)
    try:
        # json.dumps with an indent takes twenty times as long, and a manifest may have ten thousand flows.
        # A line for each step of a recording would only make the file three times as large.
        laid_out = msgspec.json.format(text.encode(), indent=1) if len(text) < _MOST_LAID_OUT else text.encode()
    except UnicodeEncodeError:
        # A command with a file name that is not UTF-8 contains lone surrogates, which JSON can only contain as escapes.
        laid_out = json.dumps(document, ensure_ascii=False, indent=1).encode(errors="backslashreplace")
    return write_bytes(path, laid_out + b"\n")


def write_bytes(path: Path, content: bytes | memoryview) -> Entry:
    """Write a file with the given content, and return its entry in a manifest.

    Raises:
        OSError: the disk is full, or the folder cannot be written; the error names the file.
    """
    with naming(path):
        path.write_bytes(content)
    return entry(content)


def entry(content: bytes | memoryview) -> Entry:
    """The entry of a file with the given content in a manifest: its size and its SHA-256."""
    return {"bytes": memoryview(content).nbytes, "sha256": hashlib.sha256(content).hexdigest()}


def sync_one(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with naming(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move_into_place(folder: Path, target: Path) -> bool:
    """Rename a complete folder to its final name; ``False`` if a folder of that name exists; the existing folder is not
    changed.

    Only the rename is flushed to the disk. If the host loses its power before the files are on the disk too, their
    digests show it, and the result is made again; to flush each file takes longer than a short run.
    """
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise
    sync_one(target.parent)
    return True
