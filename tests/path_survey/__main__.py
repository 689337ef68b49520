"""Settled answers of ``elephan compare`` on random paths, beside runs ten times as long with eight other seeds.

    python -m tests.path_survey --paths 30 --rows survey.jsonl

One line a path. An answer holds if the long runs recommend the same algorithm, or find the recommended one within the
margin of the best; an interval holds if it contains the mean of the long runs. Finished paths are kept in the file of
rows, and not asked again with the same engine.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import elephan
from elephan import Comparison, backends
from elephan.comparison.horizon import SAME
from elephan.runs import Store

ALGORITHMS = ("cubic", "reno", "bbr", "bbr3", "htcp", "vegas", "illinois", "copa", "compound", "hcc")
LONGER, OTHER_SEED = 10, 1001
LEAST_HELD, LEAST_COVERED, MOST_COVERED = 0.95, 0.90, 0.98
CHECKED = ("goodput_mbps", "share", "queueing_delay_ms", "harm", "excess_harm", "late_share")
"""Numbers that depend on the horizon, and whose intervals are checked."""


def draw(number: int) -> dict[str, Any]:
    """Arguments of one comparison: a path from 1 Mbit/s to 1 Gbit/s and from 2 to 200 ms, and three algorithms."""
    generator = np.random.default_rng([2026, number])
    rate = 10 ** generator.uniform(6, 9)
    rtt_ms = 10 ** generator.uniform(math.log10(2), math.log10(200))
    bdp_packets = rate * rtt_ms / 1e3 / 12_000
    buffer = max(4, round(bdp_packets * 10 ** generator.uniform(-1, math.log10(4))))
    names = generator.choice(ALGORITHMS, 3, replace=False)
    found: dict[str, Any] = {"algorithms": [str(name) for name in names], "rate": f"{rate / 1e6:.4g} Mbit/s"}
    found |= {"rtt": f"{rtt_ms:.3g} ms", "buffer": f"{buffer} packets"}
    if generator.random() < 0.5:
        found["loss"] = f"{100 * 10 ** generator.uniform(-6, -2):.2g}%"
    return found


def survey(number: int, budget_s: float, most_s: float, jobs: int | None) -> dict[str, Any]:
    """The row of one path: the answer, and how it compares with the long runs."""
    asked = draw(number)
    with tempfile.TemporaryDirectory() as folder:
        began_s = time.monotonic()
        found = elephan.compare(**asked, budget=f"{budget_s:g} s", jobs=jobs, store=Store(folder))
        spent_s = time.monotonic() - began_s
    answer, duration_s = found.answer, found.evidence.duration_s
    row: dict[str, Any] = {"path": number, "asked": asked, "spent_s": round(spent_s), "text": answer.text}
    row |= {"settled": answer.settled, "algorithm": answer.algorithm, "duration_s": duration_s}
    if not answer.settled:
        return row
    needed_s = LONGER * sum(float(run.manifest.get("wall_seconds") or 0.0) for run in found.runs)
    if needed_s > most_s:
        return row | {"unchecked": f"the long runs take {needed_s:.0f} s of processor time"}
    with tempfile.TemporaryDirectory() as folder:
        long = elephan.compare(
            **asked, budget="10 h", duration=f"{LONGER * duration_s:g} s", seeds=8, seed=OTHER_SEED, jobs=jobs,
            store=Store(folder),
        )  # fmt: skip
        return row | judged(found, long)


def judged(found: Comparison, long: Comparison) -> dict[str, Any]:
    """Judgement of an answer and of its intervals by the long runs."""
    objectives = {row["algorithm"]: row["mean"] for row in long.rows if row["metric"] == "objective"}
    best = max(objectives, key=lambda name: objectives[name])
    behind = objectives[best] - objectives[str(found.answer.algorithm)]
    means = {(row["algorithm"], row["against"], row["metric"]): row["mean"] for row in long.rows}
    covered, missed = 0, []
    for row in found.rows:
        key = row["algorithm"], row["against"], row["metric"]
        if row["low"] is None or row["metric"] not in CHECKED or key not in means:
            continue
        if row["low"] <= means[key] <= row["high"]:
            covered += 1
        else:
            missed.append([*key, row["low"], row["high"], means[key]])
    return {"long": best, "behind": behind, "holds": behind <= SAME, "covered": covered, "missed": missed}


def kept(path: Path | None, engine: str) -> dict[int, dict[str, Any]]:
    """Rows of earlier calls with the same engine; a line that was cut off is asked again."""
    rows: dict[int, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row.get("engine") == engine:
            rows[row["path"]] = row
    return rows


def report(rows: list[dict[str, Any]]) -> int:
    """Print the counts; 1 if they are out of bounds."""
    checked = [row for row in rows if "holds" in row]
    held = sum(row["holds"] for row in checked)
    covered = sum(row["covered"] for row in checked)
    intervals = covered + sum(len(row["missed"]) for row in checked)
    settled = sum(row["settled"] for row in rows)
    print(f"{len(rows)} paths, {settled} settled, {len(checked)} checked by runs ten times as long")
    if not checked:
        return 0
    print(f"recommendations that hold: {held} of {len(checked)} ({held / len(checked):.1%})")
    print(f"intervals that contain the long run's mean: {covered} of {intervals} ({covered / intervals:.1%})")
    good = held >= LEAST_HELD * len(checked) and LEAST_COVERED <= covered / intervals <= MOST_COVERED
    return 0 if good else 1


def main() -> int:
    """Survey the paths."""
    parser = argparse.ArgumentParser(prog="python -m tests.path_survey", description=__doc__)
    parser.add_argument("--paths", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--budget", type=float, default=300.0, help="seconds an answer")
    parser.add_argument("--most", type=float, default=3600.0, help="processor seconds of the long runs of one path")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--rows", type=Path, help="file of finished paths")
    given = parser.parse_args()
    engine = backends.get("sim").version()
    rows = kept(given.rows, engine)
    wanted = range(given.first, given.first + given.paths)
    for number in wanted:
        if number in rows:
            continue
        rows[number] = survey(number, given.budget, given.most, given.jobs) | {"engine": engine}
        print(json.dumps(rows[number]), flush=True)
        if given.rows:
            given.rows.parent.mkdir(parents=True, exist_ok=True)
            with given.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[number]) + "\n")
    return report([rows[number] for number in wanted if number in rows])


if __name__ == "__main__":
    sys.exit(main())
