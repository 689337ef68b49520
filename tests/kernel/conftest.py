"""Lets these tests import what they share, from wherever pytest is started; and they wait for no run but their own."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


@pytest.fixture(autouse=True, scope="session")
def runtime_dir() -> Iterator[None]:
    """The workers of one test run take turns; a long run of somebody else on this host is none of their business."""
    before = os.environ.get("ELEPHAN_RUNTIME_DIR")
    os.environ["ELEPHAN_RUNTIME_DIR"] = str(Path(tempfile.gettempdir(), f"elephan-tests-{os.geteuid()}"))
    yield
    if before is None:
        del os.environ["ELEPHAN_RUNTIME_DIR"]
    else:
        os.environ["ELEPHAN_RUNTIME_DIR"] = before


@pytest.fixture(autouse=True, scope="module")
def one_at_a_time() -> Iterator[None]:
    """The modules of this folder change the host and compare its state, so that only one of them runs."""
    with Path(tempfile.gettempdir(), f"elephan-tests-{os.geteuid()}.lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
