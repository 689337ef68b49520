"""Ask ``elephan compare`` about random paths, each in a process of its own; one line a path, and a document at the end.

python -m tests.path_survey --paths 40 --budget 60 --longer 5 --out survey.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path as FilePath
from typing import Any

import numpy as np

ALGORITHMS = ("cubic", "reno", "bbr", "bbr3", "htcp", "vegas", "illinois", "copa", "compound", "hcc")
OVER_S = 0.5
"""Seconds beyond the budget that the interpreter and a busy host may take."""


def draw(number: int) -> list[str]:
    """Arguments of one comparison: a path from 1 Mbit/s to 100 Gbit/s and from 1 to 600 ms, and three algorithms."""
    generator = np.random.default_rng([2026, number])
    rate = 10 ** generator.uniform(6, 11)
    rtt_ms = 10 ** generator.uniform(0, np.log10(600))
    bdp_packets = rate * rtt_ms / 1e3 / 12_000
    buffer = max(4, round(bdp_packets * 10 ** generator.uniform(-1, np.log10(4))))
    names = generator.choice(ALGORITHMS, 3, replace=False)
    path = ["--rate", f"{rate / 1e6:.4g} Mbit/s", "--rtt", f"{rtt_ms:.3g} ms", "--buffer", f"{buffer} packets"]
    if generator.random() < 0.5:
        path += ["--loss", f"{100 * 10 ** generator.uniform(-6, -2):.2g}%"]
    return [*map(str, names), *path]


def ask(arguments: list[str], budget_s: float, store: str) -> dict[str, Any]:
    """The document of one comparison, with the wall time of its process."""
    started_s = time.monotonic()
    program = [sys.executable, "-m", "elephan", "compare", *arguments, "--budget", f"{budget_s:g} s", "--json"]
    made = subprocess.run([*program, "--store", store], capture_output=True, text=True, check=False)
    wall_s = time.monotonic() - started_s
    if made.returncode:
        return {"failed": made.stderr.strip(), "wall_s": wall_s}
    document: dict[str, Any] = json.loads(made.stdout)
    return document | {"wall_s": wall_s}


def contradicts(first: dict[str, Any], longer: dict[str, Any]) -> bool:
    """True if a longer look recommends another algorithm, and no interval of the two objectives overlaps in either."""
    names = first["answer"]["algorithm"], longer["answer"]["algorithm"]
    return names[0] != names[1] and all(_apart(document, *names) for document in (first, longer))


def _apart(document: dict[str, Any], *names: str) -> bool:
    found = {row["algorithm"]: row for row in document["rows"] if row["metric"] == "objective"}
    rows = sorted((found[name] for name in names), key=lambda row: row["mean"])
    if any(row["low"] is None for row in rows):
        return False
    return bool(rows[0]["high"] < rows[1]["low"])


def main() -> int:
    """Survey; exit status 1 if a budget was not kept, or an answer was contradicted."""
    parser = argparse.ArgumentParser(prog="python -m tests.path_survey", description=__doc__)
    parser.add_argument("--paths", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds a path")
    parser.add_argument("--longer", type=float, default=0.0, help="ask again with so many times the budget")
    parser.add_argument("--out", type=FilePath)
    given = parser.parse_args()
    rows = []
    for number in range(given.first, given.first + given.paths):
        arguments = draw(number)
        with tempfile.TemporaryDirectory() as store:
            found = ask(arguments, given.budget, store)
            row: dict[str, Any] = {"path": number, "arguments": arguments, "wall_s": round(found["wall_s"], 1)}
            if "failed" in found:
                row["failed"] = found["failed"]
            else:
                row |= {key: found["answer"][key] for key in ("algorithm", "settled", "seeds", "text")}
                row |= {"simulated_s": found["simulated_seconds"], "notes": found["answer"]["notes"]}
                if given.longer:
                    again = ask(arguments, given.longer * given.budget, store)
                    row["longer"] = again.get("answer", {}).get("algorithm", again.get("failed"))
                    row["contradicted"] = "answer" in again and contradicts(found, again)
        row["over"] = row["wall_s"] > given.budget + OVER_S
        rows.append(row)
        print(json.dumps(row), flush=True)
        if given.out:
            given.out.write_text(json.dumps(rows, indent=1) + "\n")
    over = [row["path"] for row in rows if row["over"]]
    failed = [row["path"] for row in rows if "failed" in row]
    contradicted = [row["path"] for row in rows if row.get("contradicted")]
    settled = sum(bool(row.get("settled")) for row in rows)
    print(f"{len(rows)} paths: {settled} settled, over budget {over}, failed {failed}, contradicted {contradicted}")
    return bool(over or failed or contradicted)


if __name__ == "__main__":
    sys.exit(main())
