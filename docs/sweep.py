"""Draws the figure of docs/sweeps.md from the page's own example: run it when the engine's results have changed."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl

FOLDER = Path(__file__).parent
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Run the page's blocks of code up to its figure, and save the figure as SVG."""
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "elephan", "svg.fonttype": "none", "font.size": 9})
    names: dict[str, object] = {}
    for block in _BLOCK.findall((FOLDER / "sweeps.md").read_text(encoding="utf-8")):
        drawn = "savefig" in block
        exec(
            compile("\n".join(line for line in block.splitlines() if "savefig" not in line), "sweeps.md", "exec"), names
        )
        if drawn:
            break
    names["figure"].savefig(FOLDER / "sweep.svg", metadata={"Date": None})  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
