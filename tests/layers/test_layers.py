"""No file imports a file that imports it, directly or around, and each Python package imports lower layers only.

The layers are those of ``[tool.importlinter]`` in ``pyproject.toml``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.layers import python_imports, rust_imports
from tests.layers.graph import circles

ROOT = Path(__file__).parents[2]
CRATES = sorted(source.parent.name for source in ROOT.glob("crates/*/src"))


def test_python_packages_import_lower_layers_only() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    if not program.exists():
        pytest.skip(python_imports.NEEDS)
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_python_files_import_each_other_in_no_circle() -> None:
    """Also by way of the ``__init__`` of their package, or of a string, which ``lint-imports`` does not see."""
    found = circles(python_imports.read_imports("elephan"))
    assert not found, "\n".join(["circles of imports:", *found])


@pytest.mark.parametrize("crate", CRATES)
def test_rust_files_import_each_other_in_no_circle(crate: str) -> None:
    imports = rust_imports.read_imports(ROOT / "crates" / crate / "src")
    assert imports, "no file was read"
    found = circles(imports)
    assert not found, "\n".join([f"circles of imports in crates/{crate}/src:", *found])
