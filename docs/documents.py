"""Judges algorithms and stacks by the suites of today's documents, and writes the matrix of their verdicts.

    .venv/bin/python docs/documents.py              # what docs/documents.json does not have yet
    .venv/bin/python docs/documents.py bbr-draft    # this suite anew; saved runs are not run again

Each evaluation is kept as it is made, so an interrupted call continues with the missing ones. A subject whose backend
is missing on this machine stays out, and the page says so.
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

import elephan
from elephan.suites import Evaluation, load

HERE = Path(__file__).parent
FILE = HERE / "documents.json"
PAGE = HERE / "reference" / "documents.md"
Subject = tuple[str, str, dict[str, Any], str, int]
"""Its name in the matrix, its algorithm, parameters that differ from the preset, its backend, and replicates."""

FORMS = ("standard", "hystart", "hystart++", "search", "search-delivered", "rapid")


def on_sim(*algorithms: str) -> list[Subject]:
    """Algorithms in the simulator with eight replicates."""
    return [(algorithm, algorithm, {}, "sim", 8) for algorithm in algorithms]


SUBJECTS: dict[str, list[Subject]] = {
    "bbr-draft": [
        *on_sim("bbr3", "bbr", "cubic", "c4"),
        ("quinn:bbr", "quinn:bbr", {}, "quic", 4),
        ("bbr on Linux 6.12", "bbr", {}, "linux", 2),
        ("s2n:bbr", "s2n:bbr", {}, "quic", 4),
    ],
    "slow-start": [
        *[(f"cubic, {form}", "cubic", {"slow_start": form}, "sim", 8) for form in FORMS],
        *on_sim("bbr3", "c4"),
    ],
    "l4s": on_sim("prague", "dctcp", "c4", "bbr3", "cubic"),
    "completion": on_sim("cubic", "reno", "htcp", "bbr3", "c4"),
    "c4-test": on_sim("c4", "bbr3", "cubic", "prague"),
}
LETTERS = {"pass": "pass", "concern": "concern", "fail": "**fail**", "not_settled": "open", "not_judged": "–"}


def compact(found: Evaluation) -> dict[str, Any]:
    """The verdict, value and reason of each criterion."""
    return {outcome.criterion.id: [outcome.verdict, outcome.why] for outcome in found.outcomes}


def judge(again: set[str]) -> dict[str, Any]:
    """The matrix, with what was missing or is wanted anew."""
    matrix: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for suite, subjects in SUBJECTS.items():
        rows = matrix.setdefault(suite, {})
        for name, algorithm, parameters, backend, seeds in subjects:
            if name in rows and suite not in again:
                continue
            try:
                (found,) = elephan.evaluate(
                    [algorithm], suite=suite, parameters=parameters or None, on=backend, quick=True, seeds=seeds
                )
            except elephan.ScenarioError as error:
                print(f"{suite}, {name}: {error}", file=sys.stderr)
                continue
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            rows[name] = {"measured": today, "seeds": seeds, "criteria": compact(found)}
            FILE.write_text(json.dumps(matrix, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            print(f"{suite}, {name}: {found.totals}")
    return matrix


def table(suite: str, rows: dict[str, Any]) -> list[str]:
    """A line for each criterion, a column for each subject."""
    names = [name for name, *_ in SUBJECTS[suite] if name in rows]
    lines = [f"| criterion | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    for criterion in load(suite).table.criterion:
        verdicts = [rows[name]["criteria"].get(criterion.id, ["not_judged", ""])[0] for name in names]
        lines.append(f"| {criterion.id} | {' | '.join(LETTERS[verdict] for verdict in verdicts)} |")
    return lines


def write(matrix: dict[str, Any]) -> None:
    """Replace the tables of the page; the words between them are written by hand."""
    text = PAGE.read_text(encoding="utf-8")
    for suite, rows in matrix.items():
        before, _, rest = text.partition(f"<!-- {suite} -->\n")
        _, _, after = rest.partition(f"<!-- end of {suite} -->\n")
        missing = [name for name, *_ in SUBJECTS[suite] if name not in rows]
        days = sorted({row["measured"] for row in rows.values()})
        lines = [*table(suite, rows), "", f"Measured on {', '.join(days)}, quick cells."]
        if missing:
            lines.append(f"Not measured on that machine: {', '.join(missing)}.")
        text = f"{before}<!-- {suite} -->\n" + "\n".join(lines) + f"\n<!-- end of {suite} -->\n" + after
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(judge(set(sys.argv[1:])))
