"""The report of evaluations: the paragraph, the matrix of sections and algorithms, then evidence down to the runs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from elephan.evaluation.wording import number
from elephan.report import pages
from elephan.runs import Run, Store
from elephan.suites.result import Evaluation, Outcome
from elephan.suites.words import paragraph
from elephan.version import __version__


def evaluation_report(found: Sequence[Evaluation], out: str | Path, store: Store | None = None) -> Path:
    """Write ``report.html`` into a folder; its path. The runs of ``store`` that decided can be run again in it.

    Raises:
        OSError: the folder cannot be written.
    """
    first = found[0]
    page = {
        "title": f"{', '.join(one.subject.label for one in found)}: {first.suite.table.title}",
        "citation": first.suite.table.citation,
        "answers": [paragraph(one) for one in found],
        "notes": list(dict.fromkeys(note for one in found for note in one.notes)),
        "matrix": _matrix(found),
        "criteria": [_criteria(one) for one in found],
        "evidence": [(f"{one.subject.label}: {o.criterion.id}", _cells(o)) for one in found for o in one.outcomes],
        "obligations": [(f"§{row.section}: {row.text}", row.reason) for row in first.suite.table.obligation],
        "provenance": _provenance(found),
    }
    text = pages.render("evaluation.html.j2", {}, plotly=False, runs=_deciding(found, store), page=page)
    return pages.write(Path(out) / "report.html", text)


def _deciding(found: Sequence[Evaluation], store: Store | None) -> Iterator[Run]:
    """The first saved run behind each criterion."""
    ids = dict.fromkeys(outcome.runs[0] for one in found for outcome in one.outcomes if outcome.runs)
    saved = (store.find(run_id) for run_id in ids) if store is not None else ()
    return (run for run in saved if run is not None)


def _matrix(found: Sequence[Evaluation]) -> dict[str, Any]:
    rows = []
    for i, section in enumerate(found[0].sections):
        cells = [_said(one.sections[i].verdict, one.sections[i].comparison) for one in found]
        rows.append([section.name, section.title, *cells])
    header = ["§", "section", *(one.subject.label for one in found)]
    return {"title": "Sections and algorithms", "header": header, "numeric": [], "rows": rows}


def _said(verdict: str, change: str | None) -> str:
    said = verdict.replace("_", " ")
    return said if change is None else f"{said}, {change.replace('_', ' ')}"


def _criteria(one: Evaluation) -> dict[str, Any]:
    rows = []
    for outcome in one.outcomes:
        criterion = outcome.criterion
        verdict = _said(outcome.verdict, outcome.comparison) + (" (weak)" if outcome.weak else "")
        limit = f"{criterion.metric} {outcome.limit_text}"
        rows.append([criterion.section, criterion.id, criterion.force, criterion.text, limit, verdict, outcome.why])
    header = ["§", "criterion", "force", "statement", "allowed", "verdict", "why"]
    return {"title": f"Criteria: {one.subject.label}", "header": header, "numeric": [], "rows": rows}


def _cells(outcome: Outcome) -> dict[str, Any]:
    rows = []
    for cell in outcome.cells:
        judged, compared = cell.judged, cell.compared
        if judged is None:
            rows.append([cell.case.cell.name, "–", "–", "–", "–", "not judged", cell.why, " ".join(cell.runs)])
            continue
        found = judged.found
        ends = [number(found.low), number(found.high)] if found.known else ["–", "–"]
        said = judged.verdict.replace("_", " ")
        why = judged.why if compared is None else f"{judged.why}; {compared.change.replace('_', ' ')}: {compared.why}"
        row = [cell.case.cell.name, number(found.value), *ends, str(judged.seeds), said, why, " ".join(cell.runs)]
        rows.append(row)
    header = ["cell", "value", "low", "high", "seeds", "verdict", "why", "runs"]
    title = f"{outcome.criterion.id}: {outcome.criterion.reason}"
    return {"title": title, "header": header, "numeric": [1, 2, 3, 4], "rows": rows}


def _provenance(found: Sequence[Evaluation]) -> list[tuple[str, str]]:
    first = found[0]
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""
    created = sorted(str(m["created"]) for m in first.manifests if "created" in m)
    rows = [
        ("elephan", __version__),
        ("suite", f"{first.suite.id} ({first.suite.file})"),
        ("backend", first.on),
        ("runs", str(len(first.manifests))),
        ("time of the runs", f"{first.run_seconds:.1f} s"),
        ("computed", f"{created[0]} to {created[-1]}" if created else ""),
        ("one run again", "elephan show RUN has its scenario; elephan run makes it again"),
        ("command", command),
    ]
    return [(name, value) for name, value in rows if value]
