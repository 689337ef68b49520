"""Reads files named by a user: only regular files, up to a size limit."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import Any

from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import nearest

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CAPTURES = tuple(map(bytes.fromhex, ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a")))
"""First bytes of captures: pcap with times in us and ns in both byte orders, and pcapng."""
_KINDS = {
    stat.S_IFDIR: "a folder, not a file",
    stat.S_IFIFO: "a pipe, not a file; write its content into a file first",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
    stat.S_IFSOCK: "a socket, not a file",
}


def missing(path: Path, pattern: str = "*") -> str:
    """The message for a file that does not exist, with the nearest name of the files beside it that match a pattern."""
    beside = sorted(entry for entry in path.parent.glob(pattern) if entry.is_file())
    named = {entry.stem: entry for entry in beside} | {entry.name: entry for entry in beside}
    near = nearest(path.name, named)
    return f"{path}: no such file" + (f"; did you mean '{named[near]}'?" if near else "")


def check_regular(path: Path, limit_bytes: int) -> None:
    """Reject a path that is not a regular file of at most ``limit_bytes``; for a symbolic link, the target is checked.

    Raises:
        ScenarioError: the path is not a regular file, or the file is too large; the message has the reason.
        FileNotFoundError: there is no such file.
    """
    try:
        _check(os.stat(path), limit_bytes)  # noqa: PTH116  (Path.stat hides that a name is too long)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(error) from None


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """The content of a regular file of at most ``limit_bytes``.

    Raises:
        ScenarioError: the path is not a regular file, is too large, or unreadable; the message has the reason.
        FileNotFoundError: there is no such file.
    """
    check_regular(path, limit_bytes)
    try:
        # O_NONBLOCK: otherwise, if a pipe has replaced the file, opening it would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            _check(os.fstat(descriptor), limit_bytes)
            content = file.read(limit_bytes + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(error) from None
    if len(content) > limit_bytes:
        raise ScenarioError(f"more than {_shown(limit_bytes)}, the limit for such a file")
    return content


def read_text(path: Path, limit_bytes: int) -> str:
    """The text of a regular file in UTF-8, without its byte-order mark.

    Raises:
        ScenarioError, FileNotFoundError: the errors of :func:`read_bytes`; or the file is not text in UTF-8.
    """
    content = read_bytes(path, limit_bytes)
    if content.startswith(_UTF16):
        raise ScenarioError("text in UTF-16; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if content[:4] in _CAPTURES:
            raise ScenarioError("a packet capture (pcap) and not a text file; 'elephan explain' reads it") from None
        line = content.count(b"\n", 0, error.start) + 1
        raise ScenarioError(
            f"not text in UTF-8: line {line} has the byte 0x{content[error.start]:02x}; save it as UTF-8"
        ) from None


def read_table(path: Path, limit_bytes: int, most_rows: int) -> Any:
    """The data frame of a CSV or Parquet file; a file with another suffix counts as CSV.

    Raises:
        ScenarioError: the file is missing, is no table, or has more than ``most_rows`` rows; the message names the
            file.
    """
    import polars as pl

    try:
        check_regular(path, limit_bytes)
        lazy = pl.scan_parquet(path) if path.suffix == ".parquet" else pl.scan_csv(path)
        # A Parquet file of a few kB can hold more rows than fit into memory.
        table = lazy.head(most_rows + 1).collect()
    except FileNotFoundError:
        raise ScenarioError(f"'{path}': no such file") from None
    except ScenarioError as error:
        raise ScenarioError(f"'{path}': {error.message}") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ScenarioError(f"'{path}' is not a table: {said}") from None
    if table.height > most_rows:
        raise ScenarioError(f"'{path}' has more than {most_rows:,} rows")
    return table


def _check(status: os.stat_result, limit_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ScenarioError(_KINDS.get(stat.S_IFMT(status.st_mode), "not a file"))
    if status.st_size > limit_bytes:
        raise ScenarioError(f"{_shown(status.st_size)}, more than the limit for such a file, {_shown(limit_bytes)}")


def _shown(octets: int) -> str:
    return f"{octets / 1e6:,.1f} MB"


def _unreadable(error: OSError) -> ScenarioError:
    return ScenarioError((error.strerror or "cannot be read").lower())
