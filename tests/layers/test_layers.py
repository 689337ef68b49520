"""No file imports a file that imports it, directly or around, and each Python package imports lower layers only."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.layers import python_imports, rust_imports
from tests.layers.graph import Imports, circles, upward

ROOT = Path(__file__).parents[2]
CRATES = sorted(source.parent.name for source in ROOT.glob("crates/*/src"))

LEVELS = (
    ("_engine.pyi", "hooks.py", "unhurried.py", "version.py", "writing.py"),
    ("algorithm.py", "models/"),
    ("scenario/",),
    ("backends/memory.py",),
    ("backends/base.py",),
    ("backends/kernel/",),
    ("backends/",),
    ("benchmark/", "runs/"),
    ("export/", "metrics/"),
    ("comparison.py", "report/"),
    ("backend_comparison.py", "papers/"),
    ("__init__.py",),
    ("cli/",),
    ("__main__.py",),
)
"""Layers of the package ``elephan``, lowest first; a file imports its own entry and lower levels."""


@pytest.fixture(scope="module")
def package() -> Imports:
    return python_imports.read_imports(ROOT / "python" / "elephan")


def test_python_files_import_each_other_in_no_circle(package: Imports) -> None:
    found = circles(package)
    assert not found, "\n".join(["circles of imports:", *found])


def test_python_files_import_lower_layers_only(package: Imports) -> None:
    found = upward(package, LEVELS)
    assert not found, "\n".join(["imports against the order of the layers:", *found])


def test_each_layer_has_a_file(package: Imports) -> None:
    entries = {entry for entries in LEVELS for entry in entries}
    assert {entry for entry in entries if any(file.startswith(entry) for file in package)} == entries


@pytest.mark.parametrize("crate", CRATES)
def test_rust_files_import_each_other_in_no_circle(crate: str) -> None:
    imports = rust_imports.read_imports(ROOT / "crates" / crate / "src")
    assert imports, "no file was read"
    found = circles(imports)
    assert not found, "\n".join([f"circles of imports in crates/{crate}/src:", *found])
