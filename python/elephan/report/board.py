"""The overview page of all papers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elephan.report import pages


def scoreboard(page: Mapping[str, Any], out: str | Path) -> Path:
    """Write ``index.html`` into a folder, from the values that ``board.html.j2`` shows."""
    return pages.write(Path(out) / "index.html", pages.render("board.html.j2", {}, plotly=False, page=page))
