"""The page over all papers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elephan.report import pages


def scoreboard(papers: Sequence[Mapping[str, Any]], out: str | Path) -> Path:
    """Write ``index.html`` into a folder: one line for each paper, from the documents of ``elephan paper --json``.

    Each document also has a ``title``. Links are relative, so that the folder can be moved.
    """
    folder = Path(out)
    rows = []
    for paper in papers:
        report = paper.get("report")
        link = os.path.relpath(report, folder) if report else None
        rows.append({**paper, "link": Path(link).as_posix() if link else None})
    return pages.write(folder / "index.html", pages.render("board.html.j2", {}, plotly=False, papers=rows))
