"""Folder of the records of this host's objects, and a check that the process of a record still runs."""

from __future__ import annotations

import os
from pathlib import Path


def runtime_dir() -> Path:
    """The folder of records: ``$ELEPHAN_RUNTIME_DIR``, or ``/run/elephan``."""
    return Path(os.environ.get("ELEPHAN_RUNTIME_DIR", "/run/elephan"))


def started_of(pid: int) -> str:
    """Start time of a process, in the kernel's units; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
