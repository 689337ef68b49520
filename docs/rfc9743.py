"""Converts outputs of `elephan evaluate ALG --quick --json` to docs/rfc9743.json, the data of the matrix.

Type `for a in reno cubic …; do elephan evaluate $a --quick --json > measured/$a.json; done`, and then
`python docs/rfc9743.py measured/*.json`. With `--update`, complete evaluations replace the old rows of the same
algorithms. With `--newer`, evaluations by newer criteria alone (`--only`) become a separate table.
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path

OUT = Path(__file__).with_suffix(".json")


def compact(found: dict) -> dict:
    """Verdicts and values of one evaluation, without its cells and runs."""
    criteria = [row for row in found["criteria"] if row["id"] is not None]
    return {
        "algorithm": found["algorithm"],
        "answer": found["answer"],
        "sections": {row["section"]: row["verdict"] for row in found["sections"]},
        "criteria": {
            row["id"]: {key: row[key] for key in ("section", "force", "verdict", "value", "weak", "why")}
            for row in criteria
        },
    }


def measured(option: str | None, documents: list[dict]) -> dict:
    """The matrix of all algorithms; with an option, the old matrix with changed rows or with newer criteria."""
    rows = {row["algorithm"]: row for row in map(compact, documents)}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    if option is None:
        titles = {row["section"]: row["title"] for row in documents[0]["sections"]}
        return {"measured": today, "titles": titles, "algorithms": [rows[name] for name in sorted(rows)]}
    before = json.loads(OUT.read_text(encoding="utf-8"))
    if option == "--newer":
        criteria = {name: rows[name]["criteria"] for name in sorted(rows)}
        return before | {"newer": {"measured": today, "algorithms": criteria}}
    kept = {row["algorithm"]: row for row in before["algorithms"]} | rows
    return before | {"algorithms": [kept[name] for name in sorted(kept)]}


if __name__ == "__main__":
    option, *names = sys.argv[1:] if sys.argv[1] in ("--update", "--newer") else (None, *sys.argv[1:])
    made = measured(option, [json.loads(Path(name).read_text()) for name in names])
    OUT.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
