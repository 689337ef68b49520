"""The JSON document of an evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elephan.suites.result import Evaluation
from elephan.suites.words import paragraph


def document(found: Evaluation, report: str | Path | None = None) -> dict[str, Any]:
    """The document of ``--json``."""
    return {
        "suite": found.suite.id, "algorithm": found.subject.label,
        "against": None if found.against is None else found.against.label, "quick": found.quick, "backend": found.on,
        "answer": paragraph(found),
        "criteria": [outcome.to_json() for outcome in found.outcomes] + [
            {"id": None, "section": row.section, "force": row.force, "text": row.text, "metric": None,
             "value": None, "low": None, "high": None, "limit": None, "verdict": "not_judged", "evidence": [],
             "weak": False, "comparison": None, "why": row.reason}
            for row in found.suite.table.obligation
        ],
        "sections": [
            {"section": s.name, "title": s.title, "verdict": s.verdict, "comparison": s.comparison, "why": s.why}
            for s in found.sections
        ],
        "trade_offs": [one.to_json() for one in found.trade_offs],
        "curves": [one.to_json() for one in found.curves],
        "totals": found.totals, "runs": len(found.manifests), "notes": list(found.notes),
        "wall_seconds": found.wall_seconds, "report": None if report is None else str(report),
    }  # fmt: skip
