"""Parts of Elephan that only some users need: the programs of three backends, and the page of ``elephan play``.

A wheel contains them all. A checkout builds a part when it is first used, so that its setup need not; one line on
standard error says so. ``make setup`` keeps the parts up to date that were built once.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parents[1]
_PROGRAMS = _PACKAGE / "bin"

PAGE = "the page of 'elephan play'"
_SECONDS = {
    "elephan-wire": 20,
    "elephan-quic": 60,
    "elephan-linux": 30,
    "elephan-guest": 10,
    "elephan-counter.so": 5,
    PAGE: 80,
}
"""Time that a build takes on two cores after the setup, s; measured in November 2026, for the reader of the line."""


def program(name: str, variable: str) -> Path | None:
    """A program of a backend: the environment variable's, or the package's; a checkout builds it if it is missing.

    ``None`` if there is no program, and none can be built; the reason is on standard error.
    """
    found = installed(name, variable)
    if found is None and variable not in os.environ and _build(name, _PROGRAMS / name, ("scripts/programs", name)):
        return installed(name, variable)
    return found


def installed(name: str, variable: str) -> Path | None:
    """A program of a backend, if it is built."""
    named = os.environ.get(variable)
    path = Path(named) if named else _PROGRAMS / name
    return path if path.is_file() and os.access(path, os.X_OK) else None


def build_page(engine: Path) -> bool:
    """Build the page, whose last file is ``engine``, in a checkout; true if it is there."""
    return engine.is_file() or _build(PAGE, engine, ("scripts/web",))


@lru_cache
def _build(part: str, result: Path, command: tuple[str, ...]) -> bool:
    """Build a part unless another process has built it meanwhile; a build that failed is not tried again."""
    script = _CHECKOUT / command[0]
    if not script.is_file() or shutil.which("cargo") is None:
        return False
    with (_CHECKOUT / "Makefile").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if result.is_file():
            return True
        print(f"building {part}, once in this checkout: about {_SECONDS[part]} s", file=sys.stderr, flush=True)
        # The standard streams of a notebook are no files, so the build's output is passed on here.
        done = subprocess.run(
            [script, *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", check=False,
        )  # fmt: skip
        if done.returncode != 0:
            print(done.stdout, file=sys.stderr, flush=True)
    return done.returncode == 0 and result.is_file()
