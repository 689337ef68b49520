"""Files of an evaluation for other programs, Markdown for pull requests and JUnit for CI systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from elephan.suites.result import Evaluation, Outcome
from elephan.suites.sides import sides
from elephan.suites.words import paragraph, said_of
from elephan.writing import whole_file


def markdown(found: Sequence[Evaluation]) -> str:
    """Evaluations as Markdown: the differences between backends, then for each evaluation its paragraph and a line for
    each section."""
    parts = [_plain(said_of(one)) for one in sides(found)]
    for one in found:
        rows = ["| § | section | verdict |" + (" against |" if one.against else "") + " why |"]
        rows.append("| --- " * (5 if one.against else 4) + "|")
        for section in one.sections:
            changed = [(section.comparison or "–").replace("_", " ")] if one.against else []
            cells = [section.name, section.title, section.verdict.replace("_", " "), *changed, section.why]
            rows.append("| " + " | ".join(_escaped(cell) for cell in cells) + " |")
        notes = [f"*{note}*" for note in one.notes]
        title = f"## {one.name}: {one.suite.table.title}"
        parts.append("\n\n".join([title, _plain(paragraph(one)), "\n".join(rows), *notes]))
    return "\n\n".join(parts) + "\n"


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
                why = f"{outcome.verdict.replace('_', ' ')}: {outcome.said}"
                ElementTree.SubElement(case, "failure", message=why).text = f"{criterion.text} ({criterion.reason})"
            elif outcome in skipped:
                ElementTree.SubElement(case, "skipped", message=f"{outcome.verdict.replace('_', ' ')}: {outcome.said}")
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


def write(path: str | Path, text: str) -> Path:
    """Write a file atomically, and return its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as place:
        place.write_text(text, encoding="utf-8")
    return target
