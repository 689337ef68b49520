"""Verdicts of a suite beside those of the same suite with runs twice as long.

    .venv/bin/python benches/doubled.py rfc9743 cubic reno bbr vegas --only 5.1.4 --only 5.2.1

Doubles the durations of the suite's cells, judges the algorithms by both with the quick sizes and eight seeds, and
prints each criterion whose verdict is another one. Exit status 1 if there is such a criterion.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from elephan.evaluation.tables import with_rows
from elephan.runs import Store
from elephan.scenario.toml import write_toml
from elephan.suites import evaluate
from elephan.suites.schema import CellTable

_SECONDS = re.compile(r"(\d+(?:\.\d+)?) s")


def doubled(suite: str, folder: Path) -> Path:
    """A copy of a suite in which each cell lasts twice as long."""
    tables = tomllib.loads((files("elephan.suites") / suite / "suite.toml").read_text(encoding="utf-8"))
    cells = tables.get("cells", {})
    longer = {name: list(map(_longer, with_rows(rows, CellTable, name))) for name, rows in cells.items()}
    (folder / suite).mkdir()
    (folder / suite / "suite.toml").write_text(write_toml(tables | {"cells": longer}), encoding="utf-8")
    return folder / suite


def _longer(cell: dict[str, Any]) -> dict[str, Any]:
    quick = {"quick": _longer(cell["quick"])} if isinstance(cell.get("quick"), dict) else {}
    found = _SECONDS.fullmatch(cell.get("duration", ""))
    return cell | quick | ({"duration": f"{2 * float(found[1]):g} s"} if found else {})


def main() -> int:
    """Judge by both suites."""
    parser = argparse.ArgumentParser(prog="benches/doubled.py", description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("algorithms", nargs="+")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args()
    count, changed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        store, longer = Store(Path(folder) / "store"), doubled(given.suite, Path(folder))
        for name in given.algorithms:
            options = {"only": given.only, "quick": True, "seeds": given.seeds, "jobs": given.jobs, "store": store}
            (short,), (long,) = (evaluate([name], suite, **options) for suite in (given.suite, longer))
            for before, after in zip(short.outcomes, long.outcomes, strict=True):
                count += 1
                if before.verdict != after.verdict:
                    changed += 1
                    print(f"{name} §{before.criterion.section} {before.criterion.id}: {before.verdict}, of runs twice "
                          f"as long {after.verdict}", flush=True)  # fmt: skip
                    print(f"  {before.why}\n  {after.why}", flush=True)
    print(f"{count} verdicts, {changed} changed")
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
