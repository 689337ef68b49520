"""The README shows what ``elephan demo`` prints and draws now."""

from __future__ import annotations

from pathlib import Path

from tests import scripts


def test_the_readme_shows_the_demo(tmp_path: Path) -> None:
    figure = scripts.load("docs/figure.py")
    readme = (scripts.ROOT / "README.md").read_text(encoding="utf-8")
    assert figure.printed(readme) == figure.shown(tmp_path), "run .venv/bin/python docs/figure.py"
    drawn = (scripts.ROOT / "docs" / figure.FIGURE).read_bytes()
    assert drawn == (tmp_path / figure.FIGURE).read_bytes(), "run .venv/bin/python docs/figure.py"
    assert f"](docs/{figure.FIGURE})" in readme
