"""The reference pages are what the program says now."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@lru_cache(maxsize=1)
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", generator().pages())
def test_a_written_page_is_what_would_be_written_now(name: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert generator().render(name) == written, "run .venv/bin/python docs/generate.py"


def test_every_algorithm_has_its_picture() -> None:
    for name in [*generator().measured(), "response"]:
        picture = ROOT / "docs" / "algorithms" / f"{name}.svg"
        assert picture.exists(), f"run .venv/bin/python docs/pictures.py {name}"
        assert picture.stat().st_size <= 40_000
