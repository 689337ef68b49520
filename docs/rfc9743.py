"""Turns documents of `elephan evaluate ALG --quick --json` into docs/rfc9743.json, from which the matrix is written.

`for a in reno cubic …; do elephan evaluate $a --quick --json > measured/$a.json; done`, then
`python docs/rfc9743.py measured/*.json`.
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


if __name__ == "__main__":
    documents = [json.loads(Path(name).read_text()) for name in sys.argv[1:]]
    titles = {row["section"]: row["title"] for row in documents[0]["sections"]}
    made = {
        "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "titles": titles,
        "algorithms": sorted((compact(found) for found in documents), key=lambda row: row["algorithm"]),
    }
    OUT.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
