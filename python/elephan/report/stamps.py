"""Stamps of reports: they show if the report in a folder is still up to date."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from elephan.report import pages

NAME = "made-from.json"
_LIBRARIES = ("jinja2", "matplotlib", "numpy")
_COMPILED = {".pyc", ".so", ""}
"""Suffixes of files that the digest excludes: compiled files do not affect the drawing, and each run states its engine
version."""


def stamp(made_from: Any) -> str:
    """A digest of the inputs of a report, and of the code that writes it; ``made_from`` is JSON."""
    text = json.dumps([made_from, _code()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def is_current(folder: Path, stamp: str) -> bool:
    """True if a report with this stamp was written to the folder, and the lengths of all its files are unchanged."""
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return bool(found["stamp"] == stamp and found["files"] == _sizes(folder, found["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def put(folder: Path, stamp: str, names: Iterable[str]) -> None:
    """Record the inputs of a report's files in a folder; called after all files are written."""
    pages.write(folder / NAME, json.dumps({"stamp": stamp, "files": _sizes(folder, names)}, indent=1) + "\n")


def remove(folder: Path) -> None:
    """Remove the stamp before a report is written, since the folder is incomplete until the report is finished."""
    (folder / NAME).unlink(missing_ok=True)


def _sizes(folder: Path, names: Iterable[str]) -> dict[str, int]:
    return {name: (folder / name).stat().st_size for name in names}


@lru_cache(maxsize=1)
def _code() -> str:
    """Digest of the package's files and of the versions of the plotting libraries."""
    digest = hashlib.sha256(" ".join(map(version, _LIBRARIES)).encode())
    package = Path(str(files("elephan")))
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix not in _COMPILED:
            digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
