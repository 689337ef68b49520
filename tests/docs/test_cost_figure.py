"""The figure of docs/scale.md, drawn from a document of `elephan bench --json`."""

from __future__ import annotations

import json
from pathlib import Path

from tests import scripts


def test_the_figure_shows_both_engines_and_the_budgets(tmp_path: Path) -> None:
    crowds = scripts.load("docs/crowds.py")
    document = {
        "crowds": [
            {"flows": 2, "ns_per_segment": 40.0, "ns2": {"ns_per_segment": 2000.0}},
            {"flows": 10_000, "ns_per_segment": 120.0, "ns2": None},
        ]
    }
    crowds.draw(document, tmp_path / "drawn.svg")
    text = (tmp_path / "drawn.svg").read_text()
    assert all(f">{label}<" in text for label in ("Elephan", "ns-2", "2 × two flows", "5 × two flows"))


def test_the_figure_is_that_of_the_document(tmp_path: Path) -> None:
    crowds = scripts.load("docs/crowds.py")
    document = json.loads((scripts.ROOT / "docs" / "bench.json").read_text(encoding="utf-8"))
    crowds.draw(document, tmp_path / "drawn.svg")
    assert (tmp_path / "drawn.svg").read_bytes() == (scripts.ROOT / "docs" / "crowds.svg").read_bytes()
