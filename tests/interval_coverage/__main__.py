"""``python -m tests.interval_coverage``: coverage of 95 % intervals of eight seeds on random paths.

With ``--rows FILE`` finished paths are kept there, and not run again with the same engine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path

from tests.interval_coverage import trial
from tests.interval_coverage.trial import OTHERS, PATHS, SEEDS, Row

from elephan import backends

WORST = 6
"""Paths of the lowest coverage that are printed."""
LEAST, MOST = 0.90, 0.98
"""Bounds of the coverage of 95 % intervals: what eight values of a skewed law may lack, and what would be too wide."""


def main(arguments: list[str] | None = None) -> int:
    """Run the paths, print the coverage, and say which intervals miss; 1 if a coverage is out of bounds."""
    options = _options(arguments)
    begun_s = time.monotonic()
    engine = backends.get("sim").version()
    found = _kept(options.rows, engine)
    known = {row.path for row in found}
    wanted = [number for number in range(options.first, options.first + options.paths) if number not in known]
    if options.rows is not None:
        options.rows.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        under_way = [pool.submit(trial.rows, number) for number in wanted]
        for done, future in enumerate(as_completed(under_way), 1):
            rows = future.result()
            found += rows
            if options.rows is not None:
                with options.rows.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps({"engine": engine}) + trial.to_line(row) + "\n" for row in rows)
            if done % 20 == 0:
                print(
                    f"{done} of {len(wanted)} paths in {time.monotonic() - begun_s:.0f} s", file=sys.stderr, flush=True
                )
    listed = sorted(
        (row for row in found if options.first <= row.path < options.first + options.paths),
        key=lambda row: (row.path, row.quantity),
    )
    return _report(listed, options.paths)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.interval_coverage", description=__doc__)
    parser.add_argument("--paths", type=int, default=PATHS)
    parser.add_argument("--first", type=int, default=1, help="number of the first path")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=Path, help="file of finished paths")
    return parser.parse_args(arguments)


def _kept(path: Path | None, engine: str) -> list[Row]:
    """Rows of an earlier command with the same engine; a line that was cut off is made again with its path."""
    if path is None or not path.exists():
        return []
    by_path: dict[int, list[Row]] = {}
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            head, end = decoder.raw_decode(line)
            row = trial.from_line(json.loads(line[end:]))
        except (ValueError, TypeError):
            continue
        if head.get("engine") == engine:
            by_path.setdefault(row.path, []).append(row)
    # A path with one flow has no share.
    whole = [rows for number, rows in by_path.items() if len(rows) == 2 + (len(trial.path(number).flow) > 1)]
    return [row for rows in whole for row in rows]


def _report(rows: list[Row], paths: int) -> int:
    print(f"{paths} paths, {SEEDS} seeds against {OTHERS} others, {datetime.now(UTC).date()}")
    print("| quantity | intervals | contain the mean | coverage | zero width | coverage of all groups of seeds |")
    print("| --- | --- | --- | --- | --- | --- |")
    told = trial.coverage(rows)
    for one in told:
        print(f"| {one.quantity} | {one.intervals} | {one.covered} | {one.fraction:.1%} | {one.without} | "
              f"{one.groups_fraction:.1%} of {one.groups:,} |")  # fmt: skip
    for row in rows:
        if row.covered is False:
            print(
                f"missed: {_named(row)}: {row.low:.6g} to {row.high:.6g}, mean {row.mean:.6g}, "
                f"{row.outcomes} distinct values of {OTHERS}"
            )
    several = [row for row in rows if row.groups > 1]
    for row in sorted(several, key=lambda row: row.groups_covered / row.groups)[:WORST]:
        print(f"lowest: {_named(row)}: {row.groups_covered} of {row.groups} groups")
    return 0 if all(LEAST <= one.fraction <= MOST for one in told) else 1


def _named(row: Row) -> str:
    path = trial.path(row.path)
    return f"path {row.path} ({', '.join(path.flow_names)}) {row.quantity}, skewness {row.skewness:.1f}"


if __name__ == "__main__":
    sys.exit(main())
