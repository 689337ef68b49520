"""No file imports a file that imports it, directly or around, and each Python package imports lower layers only."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.layers import python_imports, rust_imports
from tests.layers.graph import Imports, circles, of_packages, upward

ROOT = Path(__file__).parents[2]
CRATES = sorted(source.parent.name for source in ROOT.glob("crates/*/src"))

LEVELS = (
    (
        "_engine.pyi",
        "beginning.py",
        "hooks.py",
        "notebooks.py",
        "parts.py",
        "progress.py",
        "rates.py",
        "unhurried.py",
        "version.py",
        "writing.py",
    ),
    ("algorithm.py", "models/"),
    ("scenario/",),
    ("backends/memory.py",),
    ("backends/base.py",),
    ("backends/kernel/",),
    ("backends/",),
    ("benchmark/", "runs/", "web/"),
    ("export/", "metrics/"),
    ("report/",),
    ("evaluation/",),
    ("backend_comparison.py", "comparison/", "demo.py", "papers/", "suites/"),
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


def test_packages_import_each_other_in_no_circle(package: Imports) -> None:
    """Also of packages in which no two files are in a circle."""
    found = circles(of_packages(package))
    assert not found, "\n".join(["circles of packages:", *found])


LAZY = "def judge():\n    from elephan.papers import claims\n"
"""An import back, inside a function."""


@pytest.mark.parametrize("lower", ["evaluation", "report", "metrics", "runs"])
def test_an_import_back_from_papers_is_found(tmp_path: Path, lower: str) -> None:
    """No file is in a circle here: only the packages are, and one of the imports is lazy."""
    root = tmp_path / "elephan"
    files = {
        f"{lower}/judging.py": LAZY,
        f"{lower}/criteria.py": "",
        "papers/claims.py": f"from elephan.{lower} import criteria\n",
        "papers/judging.py": f"from elephan.{lower} import judging\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    imports = python_imports.read_imports(root)
    assert not circles(imports)
    assert len(circles(of_packages(imports))) == 1
    assert [line.partition(" ")[0] for line in upward(imports, LEVELS)] == [f"{lower}/judging.py:2"]


def test_each_layer_has_a_file(package: Imports) -> None:
    entries = {entry for entries in LEVELS for entry in entries}
    assert {entry for entry in entries if any(file.startswith(entry) for file in package)} == entries


@pytest.mark.parametrize("crate", CRATES)
def test_rust_files_import_each_other_in_no_circle(crate: str) -> None:
    imports = rust_imports.read_imports(ROOT / "crates" / crate / "src")
    assert imports, "no file was read"
    found = circles(imports)
    assert not found, "\n".join([f"circles of imports in crates/{crate}/src:", *found])
