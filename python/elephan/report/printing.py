"""Figures as files beside a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elephan.report.figures import Figure

KINDS = ("svg", "pdf")


def saved(figure: Figure, folder: Path) -> dict[str, Any]:
    """Write a figure as SVG and PDF into a folder, and return the page's entry for it.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [f"{figure.id}.{kind}" for kind in KINDS]
    for name in files:
        figure.draw().savefig(folder / name)
    return {"id": figure.id, "title": figure.title, "caption": figure.caption, "files": files}
