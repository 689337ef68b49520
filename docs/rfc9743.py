"""Converts outputs of `elephan evaluate ALG --quick --json` to the data of the matrix of verdicts.

Type `for a in reno cubic …; do elephan evaluate $a --quick --json > measured/$a.json; done`, and then
`python docs/rfc9743.py measured/*.json`. With `--update`, complete evaluations replace the old rows of the same
algorithms. With `--newer`, evaluations by newer criteria alone (`--only`) become a separate table.

The file has what the pages say of an algorithm, and of a criterion its section and force once; cells and runs are
those of the evaluation's report.
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "tests" / "reference" / "rfc9743" / "verdicts.json"


def load() -> dict[str, Any]:
    """The matrix, with the day of each row, and each criterion's section, force, verdict, value and reason by name."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    known = found["criteria"]

    def whole(criteria: dict[str, Any]) -> dict[str, Any]:
        return {
            name: {"section": known[name][0], "force": known[name][1], "verdict": verdict, "value": value, "why": why}
            for name, (verdict, value, why) in criteria.items()
        }

    for row in found["algorithms"]:
        row["criteria"] = whole(row["criteria"])
        row.setdefault("measured", found["measured"])
    for name, criteria in found.get("newer", {}).get("algorithms", {}).items():
        found["newer"]["algorithms"][name] = whole(criteria)
    return found


def save(matrix: dict[str, Any]) -> None:
    """Write the matrix, with one line for each criterion of an algorithm."""
    newer = matrix.get("newer", {}).get("algorithms", {})
    every = [row["criteria"] for row in matrix["algorithms"]] + [*newer.values()]
    known = {name: [one["section"], one["force"]] for criteria in every for name, one in criteria.items()}

    def short(criteria: dict[str, Any]) -> dict[str, Any]:
        return {name: [one["verdict"], _digits(one["value"]), one["why"]] for name, one in criteria.items()}

    rows = [row | {"criteria": short(row["criteria"])} for row in matrix["algorithms"]]
    made = matrix | {"criteria": known, "algorithms": rows}
    if newer:
        made["newer"] = matrix["newer"] | {"algorithms": {name: short(one) for name, one in newer.items()}}
    FILE.write_text(_lines(made, depth=4) + "\n", encoding="utf-8")


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _lines(value: Any, depth: int, indent: str = "") -> str:
    """JSON with a line for each value down to a depth."""
    if depth == 0 or not value or not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    more = indent + " "
    if isinstance(value, dict):
        inner = [f"{more}{json.dumps(name)}: {_lines(one, depth - 1, more)}" for name, one in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    return "[\n" + ",\n".join(more + _lines(one, depth - 1, more) for one in value) + f"\n{indent}]"


def compact(found: dict[str, Any]) -> dict[str, Any]:
    """Verdicts and values of one evaluation, without its cells and runs."""
    criteria = [row for row in found["criteria"] if row["id"] is not None]
    return {
        "algorithm": found["algorithm"],
        "answer": found["answer"],
        "sections": {row["section"]: row["verdict"] for row in found["sections"]},
        "criteria": {
            row["id"]: {key: row[key] for key in ("section", "force", "verdict", "value", "why")} for row in criteria
        },
    }


def measured(option: str | None, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """The matrix of all algorithms; with an option, the old matrix with changed rows or with newer criteria."""
    rows = {row["algorithm"]: row for row in map(compact, documents)}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    if option is None:
        titles = {row["section"]: row["title"] for row in documents[0]["sections"]}
        return {"measured": today, "titles": titles, "algorithms": [rows[name] for name in sorted(rows)]}
    before = load()
    if option == "--newer":
        criteria = {name: rows[name]["criteria"] for name in sorted(rows)}
        return before | {"newer": {"measured": today, "algorithms": criteria}}
    kept = {row["algorithm"]: row for row in before["algorithms"]}
    kept |= {name: row | {"measured": today} for name, row in rows.items()}
    return before | {"algorithms": [kept[name] for name in sorted(kept)]}


if __name__ == "__main__":
    option, *names = sys.argv[1:] if sys.argv[1] in ("--update", "--newer") else (None, *sys.argv[1:])
    save(measured(option, [json.loads(Path(name).read_text()) for name in names]))
