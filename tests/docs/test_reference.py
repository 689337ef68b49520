"""The reference pages are what the program says now."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import scripts

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = scripts.load("docs/generate.py")
PAGES = scripts.load("docs/algorithm_pages.py")


@pytest.mark.parametrize("name", GENERATOR.pages())
def test_a_written_page_is_what_would_be_written_now(name: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert GENERATOR.render(name) == written, "run .venv/bin/python docs/generate.py"


def test_every_algorithm_has_its_picture() -> None:
    for name in [*PAGES.measured(), "response"]:
        picture = ROOT / "docs" / "algorithms" / f"{name}.svg"
        assert picture.exists(), f"run .venv/bin/python docs/pictures.py {name}"
        assert picture.stat().st_size <= 40_000
