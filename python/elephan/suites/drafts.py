"""An evaluation as an appendix of an Internet-Draft, in the Markdown of kramdown-rfc, and its BibTeX entry."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from elephan.evaluation.wording import spoken
from elephan.export import bibtex
from elephan.report.provenance import command
from elephan.scenario.words import number_of
from elephan.suites import programs
from elephan.suites.result import Evaluation, Outcome
from elephan.suites.sides import sides
from elephan.suites.words import paragraph, said_of
from elephan.version import __version__

_WIDTH = 72
"""Longest line of the text form of a draft."""
_SIGNS = re.compile(r"([\\`*_{}\[\]<>|#$])")


def draft(found: Sequence[Evaluation]) -> str:
    """Evaluations as an appendix: what was done, for each evaluation its answer, the sections and the criteria, and how
    it is repeated. It belongs behind the line ``--- back`` of a draft."""
    first = found[0]
    parts = [
        _heading(1, "Evaluation of Congestion Control", "evaluation"),
        _text(
            f"This appendix was written by Elephan {__version__} from {_runs(found)} on the backend "
            f"{' and the backend '.join(dict.fromkeys(one.on for one in found))}. The criteria are those of the suite "
            f"{first.suite.id}, after: {first.suite.table.citation}. A verdict is the worst of the criterion's cells; "
            "values are means over seeds with their 95 % intervals."
        ),
    ]
    parts += [_text(said_of(one)) for one in sides(found)]
    for one in found:
        parts += _evaluation(one)
    obligations = first.suite.table.obligation
    if obligations:
        parts.append(_heading(2, "Requirements That Are Not Judged", "not-judged"))
        parts += [_defined(f"Section {row.section} ({row.force})", f"{row.text} Not judged: {row.reason}")
                  for row in obligations]  # fmt: skip
    parts += [_heading(2, "Repetition", "repetition"), _text("The command of this evaluation:"), _artwork(command())]
    return "\n\n".join(parts) + "\n"


def entry(found: Sequence[Evaluation]) -> str:
    """The BibTeX entries of evaluations."""
    return "\n".join(_entry(one) for one in found)


def _entry(one: Evaluation) -> str:
    created = max((str(m["created"]) for m in one.manifests if "created" in m), default="")
    engines = dict.fromkeys(str(m.get("versions", {}).get("engine", "")) for m in one.manifests)
    note = (
        f"suite {one.suite.id}, backend {one.on}, {number_of(len(one.manifests), 'run')}, "
        f"engine {', '.join(filter(None, engines))}"
    )
    key = f"elephan:{one.suite.id}:{one.name}"
    return bibtex.entry(key, f"{one.name}: {one.suite.table.title}", f"{note}. {paragraph(one)}", created)


def _runs(found: Sequence[Evaluation]) -> str:
    count = sum(len(one.manifests) for one in {one.on: one for one in found}.values())
    return f"{count} run{'s' * (count != 1)}"


def _evaluation(one: Evaluation) -> Iterator[str]:
    label = f"{one.name} by {one.suite.table.title}"
    anchor = re.sub(r"[^a-z0-9]+", "-", f"{one.suite.id}-{one.name}".lower()).strip("-")
    against = one.against is not None
    yield _heading(2, label, anchor)
    yield _text(paragraph(one))
    header = ["Section", "Subject", "Verdict", *([f"Against {one.against.label}"] if one.against else [])]
    yield _table(
        header, [s.row(against=against)[:-1] for s in one.sections], f"{label}: sections", f"{anchor}-sections"
    )
    for section in one.sections:
        for outcome in section.outcomes:
            yield _defined(f"{outcome.criterion.id} ({outcome.criterion.force})", _said(outcome))
    for name, told in programs.told(one.programs):
        yield _text(f"{name}: {told}")
    for note in one.notes:
        yield _text(note)


def _said(outcome: Outcome) -> str:
    compared = "" if outcome.comparison is None else f", {spoken(outcome.comparison)} than the baseline"
    text = outcome.criterion.text.rstrip(".")
    return f"{text}. Verdict: {spoken(outcome.verdict)}{compared}. {outcome.said[:1].upper()}{outcome.said[1:]}."


def _heading(level: int, text: str, anchor: str) -> str:
    return f"{'#' * level} {_escaped(text)} {{#elephan-{anchor}}}"


def _text(text: str) -> str:
    return _wrapped(_escaped(text))


def _defined(term: str, text: str) -> str:
    """A term with its definition."""
    return f"{_escaped(term)}:\n{_wrapped(_escaped(text), ': ', '  ')}"


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    lines = textwrap.wrap(
        " ".join(text.split()), _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    # A number or a dash at the beginning of a line would begin a list.
    return "\n".join([lines[0], *(re.sub(r"^(\s*)(\d+)\. ", r"\1\2\\. ", re.sub(r"^(\s*)([-+:~])", r"\1\\\2", line))
                                  for line in lines[1:])]) if lines else ""  # fmt: skip


def _artwork(text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH - 5, break_long_words=False, break_on_hyphens=False) or [""]
    body = " \\\n  ".join(line.replace("~~~", "~ ~ ~") for line in lines)
    return f"~~~ shell\n{body}\n~~~"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str, anchor: str) -> str:
    marks = "|" + " --- |" * len(header)
    cells = [f"| {' | '.join(_escaped(' '.join(cell.split())) for cell in row)} |" for row in (header, *rows)]
    # Braces and bars would end the list of attributes; there is no escape for them.
    quoted = " ".join(re.sub(r'[{}|"\\]', " ", title).split())
    return "\n".join([cells[0], marks, *cells[1:], f'{{: #elephan-{anchor} title="{quoted}"}}'])


def _escaped(text: str) -> str:
    """Text without signs that mean something to kramdown; the section sign is spelled, as in drafts."""
    return _SIGNS.sub(r"\\\1", text.replace("§", "Section ").replace("–", "-")).replace("&", "&amp;")
