"""Provenance of a result: versions, host, command and times."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from elephan.version import __version__


def provenance(*, engine: str, wall_seconds: float) -> dict[str, Any]:
    """Versions, host, command and times, for the manifest."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "wall_seconds": wall_seconds,
        "versions": {
            "elephan": __version__,
            "engine": engine,
            "python": platform.python_version(),
        },
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else "",
        "host": {"cpu": cpu_name(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.release()}"},
    }


@lru_cache(maxsize=1)
def cpu_name() -> str:
    """The operating system's name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
