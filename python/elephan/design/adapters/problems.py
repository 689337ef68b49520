"""A problem folder of the kind that benchmarks of systems problems have (ADRS, Frontier-CS).

A solution is ``solution.py`` with a class ``Solution``, whose ``solve(spec_path)`` returns the text of a program, or
``{"code": text}`` or ``{"program_path": path}``. The program is a Python file with a class of
:class:`elephan.Algorithm`.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

from elephan.design.objective import WORST
from elephan.scenario.errors import ScenarioError

CUBIC_POINTS = 50.0
"""Points of CUBIC; the most are 100."""
_FOLDER = Path(__file__).resolve().parent / "problem"


def points(metrics: dict[str, Any]) -> dict[str, Any]:
    """Metrics with a score from 0 to 100, as such benchmarks expect: 50 · e^combined, so CUBIC has 50 and a failure 0.

    ``score_unbounded`` is the same without the upper limit.
    """
    combined = float(metrics["combined_score"])
    unbounded = 0.0 if combined <= WORST else CUBIC_POINTS * math.exp(combined)
    return {"score": min(100.0, unbounded), "score_unbounded": unbounded, **metrics}


def write_problem(folder: Path) -> list[Path]:
    """Write the problem into a new or empty folder.

    Raises:
        ScenarioError: the folder is not empty.
        OSError: a file cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ScenarioError(f"'{folder}' is there already, and is left alone; choose another folder")
    written = []
    for source in sorted(path for path in _FOLDER.rglob("*") if path.is_file()):
        target = folder / source.relative_to(_FOLDER).as_posix().removesuffix(".txt")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        written.append(target)
    return written
