"""The simulator's endpoint beside Linux itself in virtual time: runs both, and writes docs/reference/linux.md.

    .venv/bin/python benches/linux_agreement.py            # runs what is not measured yet, then writes the page
    .venv/bin/python benches/linux_agreement.py --page     # the page from tests/reference/linux/measured.json

Every module of Linux that Elephan knows, on the paths below, one flow and five seeds or fewer. The first seeds come
first, so that a run that is cut short has all cells. A cell is measured once for each version of the two backends.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from elephan import Scenario
from elephan.backends import get
from elephan.backends.linux.modules import MODULES
from elephan.scenario.catalog import algorithms

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "tests" / "reference" / "linux" / "measured.json"
PAGE = ROOT / "docs" / "reference" / "linux.md"
PATHS: dict[str, dict[str, Any]] = {
    "100 Mbit/s × 40 ms, 333 packets": {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "333 packets"},
    "10 Mbit/s × 100 ms, 1 BDP": {"rate": "10 Mbit/s", "rtt": "100 ms", "buffer": "1 BDP"},
    "20 Mbit/s × 20 ms, 1e-4 lost": {"rate": "20 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "loss": 1e-4},
}
DURATION = "120 s"
FROM = "20 s"
QUANTITIES = ("goodput_mbps", "cwnd_mean", "retransmits", "loss_events", "timeouts")
SMALL = 5
"""Retransmissions that count as none: below, a fraction says nothing."""


def named(algorithm: str) -> str:
    """The preset that is Linux's own, where there is one."""
    presets = {preset["name"] for preset in algorithms()[algorithm]["presets"]}
    return f"{algorithm}:linux" if "linux" in presets else algorithm


def cell(algorithm: str, path: str, seed: int) -> dict[str, Any]:
    """Both backends on a path."""
    scenario = Scenario.dumbbell(
        [{"algorithm": named(algorithm)}], duration=DURATION, measure={"from": FROM}, seed=seed, **PATHS[path]
    )
    found: dict[str, Any] = {"algorithm": algorithm, "path": path, "seed": seed}
    for name in ("sim", "linux"):
        result = get(name).run(scenario)
        [row] = pl.DataFrame(result.tables["flows"]).to_dicts()
        found[name] = {quantity: row[quantity] for quantity in QUANTITIES}
        if name == "linux":
            found["processor_s"] = result.summary["linux"]["processor_s"]
            found["release"] = result.summary["linux"]["release"]
    return found


def measure(seeds: int, minutes: float) -> list[dict[str, Any]]:
    """Run what is missing, for so many minutes at most."""
    known: dict[str, Any] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    versions = f"sim {get('sim').version()}, linux {get('linux').version()}"
    if known.get("versions") != versions:
        known = {"versions": versions, "cells": []}
    cells: list[dict[str, Any]] = known["cells"]
    done = {(one["algorithm"], one["path"], one["seed"]) for one in cells}
    ends = time.monotonic() + 60 * minutes
    for seed in range(1, seeds + 1):
        for path in PATHS:
            for algorithm in MODULES:
                if (algorithm, path, seed) in done or time.monotonic() > ends:
                    continue
                cells.append(cell(algorithm, path, seed))
                MEASURED.parent.mkdir(parents=True, exist_ok=True)
                MEASURED.write_text(json.dumps(known, indent=1) + "\n")
                print(path, algorithm, seed, flush=True)
    return cells


def page(cells: list[dict[str, Any]]) -> str:
    """The page: a table for each path."""
    releases = ", ".join(sorted({one["release"] for one in cells}))
    lines = [
        "<!-- written by benches/linux_agreement.py from measured.json: run it again, not this page -->",
        "",
        "# The simulator beside Linux",
        "",
        "Each of Linux's congestion controls alone on a path for 120 s, in the simulator (stack and preset `linux`)",
        f"and in [Linux itself in virtual time](../linux.md) ({releases}, HZ=250), with the same seeds. Means are of",
        "the last 100 s; retransmissions and timeouts are of the whole run. A cell is marked with \\* where goodput or",
        "mean window differ by more than 2 %, or retransmissions by more than 5 % and 5 segments.",
    ]
    rows = [row for path in PATHS for row in _rows(cells, path)]
    agree = sum(not row[-1] for row in rows)
    lines += ["", f"{agree} of {len(rows)} cells agree within these bounds."]
    for path in PATHS:
        of_path = _rows(cells, path)
        if not of_path:
            continue
        lines += ["", f"## {path}", ""]
        header = [
            "algorithm",
            "seeds",
            "goodput Mbit/s",
            "mean window",
            "difference",
            "retransmissions",
            "timeouts",
            "",
        ]
        lines += ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
        lines += ["| " + " | ".join([*row[:-1], "\\*" if row[-1] else ""]) + " |" for row in of_path]
    return "\n".join(lines) + "\n"


def _rows(cells: list[dict[str, Any]], path: str) -> list[list[Any]]:
    rows = []
    for algorithm in MODULES:
        mine = [one for one in cells if (one["algorithm"], one["path"]) == (algorithm, path)]
        if not mine:
            continue
        sim, linux = (
            {quantity: fmean(one[name][quantity] for one in mine) for quantity in QUANTITIES}
            for name in ("sim", "linux")
        )
        window = linux["cwnd_mean"] / sim["cwnd_mean"] - 1
        goodput = linux["goodput_mbps"] / sim["goodput_mbps"] - 1
        again = abs(linux["retransmits"] - sim["retransmits"])
        differs = abs(window) > 0.02 or abs(goodput) > 0.02 or again > max(SMALL, 0.05 * sim["retransmits"])
        rows.append(
            [
                f"`{algorithm}`",
                str(len(mine)),
                f"{sim['goodput_mbps']:.2f} / {linux['goodput_mbps']:.2f}",
                f"{sim['cwnd_mean']:.1f} / {linux['cwnd_mean']:.1f}",
                f"{100 * window:+.1f} %",
                f"{sim['retransmits']:.0f} / {linux['retransmits']:.0f}",
                f"{sim['timeouts']:.1f} / {linux['timeouts']:.1f}",
                differs,
            ]
        )
    return rows


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write the page only")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=120, help="begin no further run after so long")
    options = parser.parse_args()
    cells = json.loads(MEASURED.read_text())["cells"] if options.page else measure(options.seeds, options.minutes)
    PAGE.write_text(page(cells))


if __name__ == "__main__":
    main()
