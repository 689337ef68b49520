"""An evaluation for other programs: JSON, Markdown for pull requests, and JUnit for CI systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from elephan.evaluation.wording import spoken
from elephan.report.provenance import command
from elephan.scenario.words import number_of
from elephan.suites import programs
from elephan.suites.result import Evaluation, Outcome
from elephan.suites.sides import sides
from elephan.suites.words import paragraph, said_of
from elephan.version import __version__


def document(found: Evaluation, report: str | Path | None = None) -> dict[str, Any]:
    """The document of ``--json``."""
    return {
        "suite": found.suite.id, "algorithm": found.subject.label,
        "against": None if found.against is None else found.against.label, "quick": found.quick, "backend": found.on,
        "answer": paragraph(found),
        "programs": [
            {"name": one.label, "commands": programs.commands(one), "files": programs.digest(one)}
            for one in found.programs
        ],
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


def markdown(found: Sequence[Evaluation]) -> str:
    """Evaluations as Markdown: the differences between backends, then for each evaluation its paragraph, a line for
    each section, with a baseline one for each criterion, the commands of programs, and folded the evidence."""
    parts = [_plain(said_of(one)) for one in sides(found)]
    for one in found:
        beside = one.against
        compared = [f"against {beside.label}"] if beside is not None else []
        lines = [section.row(against=beside is not None) for section in one.sections]
        tables = [_table(["§", "section", "verdict", *compared, "why"], lines)]
        if beside is not None:
            rows = [[o.criterion.id, spoken(o.comparison or "–"), o.compared] for o in one.outcomes]
            tables.append(_table(["criterion", *compared, "by how much"], rows))
        ran = [f"- {_plain(name)}: {text}" for name, text in programs.told(one.programs)]
        notes = [f"*{note}*" for note in one.notes]
        title = f"## {one.name}: {one.suite.table.title}"
        parts += [title, _plain(paragraph(one)), *tables, *(["\n".join(ran)] if ran else []), *notes, *_evidence(one)]
    return "\n\n".join(parts) + "\n"


def _evidence(one: Evaluation) -> Iterator[str]:
    """The command, the versions and the runs, behind a fold."""
    engines = dict.fromkeys(str(m.get("versions", {}).get("engine", "unknown")) for m in one.manifests)
    seeds = sorted({int(m["seed"]) for m in one.manifests if "seed" in m})
    yield f"<details><summary>Evidence: {number_of(len(one.manifests), 'run')}</summary>"
    made = [
        ("command", f"`{command()}`"), ("elephan", __version__), ("engine", ", ".join(engines)),
        ("backend", one.on), ("seeds", ", ".join(map(str, seeds))),
    ]  # fmt: skip
    yield "\n".join(f"- {name}: {value}" for name, value in made if value)
    rows = [[o.criterion.id, str(len(o.runs)), o.runs[0] if o.runs else "–"] for o in one.outcomes]
    yield _table(["criterion", "runs", "first run of the deciding cell (`elephan show`)"], rows)
    yield "</details>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = "| --- " * len(header) + "|"
    return "\n".join(
        [f"| {' | '.join(map(_escaped, header))} |", marks, *(f"| {' | '.join(map(_escaped, row))} |" for row in rows)]
    )


def _plain(text: str) -> str:
    return text.replace("<", "\\<").replace("*", "\\*")


def _escaped(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("\n", " ")


def junit(found: Sequence[Evaluation], fail_on: str | None = None) -> str:
    """Evaluations as JUnit XML: one test suite for each evaluation, one test case for each criterion.

    A criterion that fails is a failure; with ``fail_on``, a criterion of concern, or a criterion that is worse than the
    baseline, is a failure too. Criteria that are not judged or not settled are skipped, with the reason.
    """
    root = ElementTree.Element("testsuites", name="elephan evaluate")
    for one in found:
        failures = [outcome for outcome in one.outcomes if _fails(outcome, fail_on)]
        skipped = [outcome for outcome in one.outcomes if outcome not in failures and _skipped(outcome)]
        extra = len(one.suite.table.obligation)
        suite = ElementTree.SubElement(
            root, "testsuite", name=f"{one.suite.id}: {one.name}", tests=str(len(one.outcomes) + extra),
            failures=str(len(failures)), errors="0", skipped=str(len(skipped) + extra), time=f"{one.wall_seconds:.3f}",
        )  # fmt: skip
        for outcome in one.outcomes:
            criterion = outcome.criterion
            case = _case(suite, one, criterion.section, criterion.id)
            if outcome in failures:
                why = f"{spoken(outcome.verdict)}: {outcome.said}"
                ElementTree.SubElement(case, "failure", message=why).text = f"{criterion.text} ({criterion.reason})"
            elif outcome in skipped:
                ElementTree.SubElement(case, "skipped", message=f"{spoken(outcome.verdict)}: {outcome.said}")
        for row in one.suite.table.obligation:
            case = _case(suite, one, row.section, row.text)
            ElementTree.SubElement(case, "skipped", message=f"not judged: {row.reason}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, one: Evaluation, section: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"{one.suite.id}.{section}", name=name)


def _fails(outcome: Outcome, fail_on: str | None) -> bool:
    if outcome.verdict == "fail" or (fail_on == "concern" and outcome.verdict == "concern"):
        return True
    return fail_on == "worse" and outcome.comparison == "worse"


def _skipped(outcome: Outcome) -> bool:
    return outcome.verdict in ("not_settled", "not_judged")
