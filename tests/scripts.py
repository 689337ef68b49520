"""Programs of this repository that are no part of the package, as modules: those in docs, benches and scripts."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


@cache
def load(path: str) -> ModuleType:
    """The module of a file, whose path is relative to the repository's root; loaded once."""
    # A program finds its neighbors, as when it is started.
    sys.path.append(str((ROOT / path).parent))
    name = path.removesuffix(".py").replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
