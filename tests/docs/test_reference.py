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


def test_only_the_updated_rows_of_the_matrix_have_a_new_day(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = scripts.load("docs/rfc9743.py")
    rows = [{"algorithm": name, "measured": "2020-01-01"} for name in ("cubic", "reno")]
    monkeypatch.setattr(matrix, "load", lambda: {"measured": "2020-01-01", "algorithms": rows})
    document = {"algorithm": "reno", "answer": "", "sections": [], "criteria": []}
    kept, updated = matrix.measured("--update", [document])["algorithms"]
    assert (kept["measured"], updated["algorithm"]) == ("2020-01-01", "reno")
    assert updated["measured"] > "2025"
