"""Draws the README's figure and writes into it what ``elephan demo`` prints: run it when either has changed."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl

from elephan.cli.main import run_command

ROOT = Path(__file__).resolve().parents[1]
FIGURE = "demo.svg"
_OUTPUT = re.compile(r"(?<=^```text\n)A cubic flow.*?(?=^```$)", re.MULTILINE | re.DOTALL)


def shown(folder: Path) -> str:
    """Runs ``elephan demo`` in a folder, where it leaves the figure. Returns what it prints."""
    output = io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        # Other programs of this folder change Matplotlib's settings for the whole process.
        with mpl.rc_context(), contextlib.redirect_stdout(output):
            mpl.rcdefaults()
            status = run_command(["demo", "--store", str(folder / "runs")])
    finally:
        os.chdir(before)
    if status:
        raise SystemExit(status)
    return output.getvalue()


def printed(readme: str) -> str:
    """The output of ``elephan demo`` in the README.

    Raises:
        ValueError: the README has no such block.
    """
    found = _OUTPUT.search(readme)
    if found is None:
        raise ValueError("README.md has no block with the output of 'elephan demo'")
    return found[0]


def main() -> None:
    """Run the demonstration; keep its figure and its words."""
    readme = ROOT / "README.md"
    before = readme.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        after = before.replace(printed(before), shown(Path(name)))
        shutil.copy(Path(name) / FIGURE, ROOT / "docs" / FIGURE)
    readme.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
