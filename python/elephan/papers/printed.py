"""Numbers that a paper prints: about a figure, to draw them in our version of it, and in tables, beside our numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from elephan.evaluation.conditions import Value
from elephan.evaluation.wording import text_of
from elephan.papers.claims import Claim, ClaimSet
from elephan.papers.judging import Judgment
from elephan.papers.schema import ExperimentTable
from elephan.report.charts import DataTable

_PRINTED = ("approx", "identity")
Row = tuple[str, tuple[tuple[str, Value], ...]]
"""A subject and its conditions."""


# ---- figures ----


def along(claims: ClaimSet, section: str, metric: str, parameter: str) -> dict[str, dict[float, float]]:
    """The printed numbers of a figure, by subject and by the point along a parameter.

    A claim with conditions that differ from those of the figure's experiment is left out, since it is about other runs.
    """
    found: dict[str, dict[float, float]] = {}
    for claim in _printed(claims, section, metric):
        where = claim.conditions or {}
        other = {key: value for key, value in where.items() if key != parameter}
        if parameter in where and _within(other, claims.experiments[claim.experiment]):
            found.setdefault(claim.subject, {})[float(where[parameter])] = claim.limit
    return found


def single(claims: ClaimSet, section: str, metric: str) -> dict[str, float]:
    """The printed numbers of a figure that have no conditions, by subject."""
    return {claim.subject: claim.limit for claim in _printed(claims, section, metric) if not claim.conditions}


def _printed(claims: ClaimSet, section: str, metric: str) -> list[Claim]:
    return [
        claim
        for claim in claims.claims
        if (claim.section, claim.metric, claim.relation) == (section, metric, "approx") and claim.basis != "derived"
    ]


def _within(where: Mapping[str, object], experiment: ExperimentTable) -> bool:
    # The first runs are those that the figure shows; others are for comparison.
    return all(runs.fixed.get(key) == value for runs in experiment.runs[:1] for key, value in where.items())


# ---- tables ----


@dataclass(frozen=True)
class _Cell:
    """A published number with our result."""

    judgment: Judgment

    @property
    def texts(self) -> tuple[str, str]:
        """The published number, then ours."""
        return f"{self.judgment.claim.limit:.7g}", self.judgment.measured_text or "–"

    @property
    def state(self) -> str:
        """The verdict's mark for a page."""
        return "weak" if self.judgment.weak else self.judgment.verdict


def tables(judgments: Sequence[Judgment], experiments: Mapping[str, ExperimentTable]) -> Iterator[DataTable]:
    """A table for each of the paper's tables, from the claims with a single printed number."""
    sections = dict.fromkeys(j.claim.section for j in judgments if j.claim.section.startswith("Table"))
    for section in sections:
        mine = [j for j in judgments if j.claim.section == section and j.claim.relation in _PRINTED]
        if len({_row(judgment) for judgment in mine}) > 1:
            known = experiments.get(mine[0].claim.experiment)
            yield _table(section, section if known is None else f"{section}: {known.title}", mine)


def _row(judgment: Judgment) -> Row:
    return judgment.claim.subject, tuple((judgment.claim.conditions or {}).items())


def _table(section: str, title: str, judgments: Sequence[Judgment]) -> DataTable:
    metrics = list(dict.fromkeys(judgment.claim.metric for judgment in judgments))
    cells: dict[Row, dict[str, _Cell]] = {}
    for judgment in judgments:
        cells.setdefault(_row(judgment), {})[judgment.claim.metric] = _Cell(judgment)
    keys = _telling(list(cells))
    rows, marks = [], {}
    for i, (row, found) in enumerate(cells.items()):
        subject, where = row
        texts = [subject, *(text_of(dict(where).get(key, "")) for key in keys)]
        for metric in metrics:
            if metric in found:
                marks[i, len(texts) + 1] = found[metric].state
            texts += found[metric].texts if metric in found else ("", "")
        rows.append(tuple(texts))
    return DataTable(
        id="".join(letter for letter in section.lower() if letter.isalnum()),
        title=title,
        caption="Each number as the paper prints it, and ours: the median over seeds. Green is reproduced, red "
        "differs, and yellow is weak: the tolerance is wider than the published value.",
        header=("of whom", *keys, *(("published", "ours") * len(metrics))),
        rows=tuple(rows),
        groups=(("", 1 + len(keys)), *((metric, 2) for metric in metrics)),
        marks=marks,
    )


def _telling(rows: Sequence[Row]) -> list[str]:
    """The conditions that distinguish rows of one subject, without conditions that other conditions imply."""
    keys = list(dict.fromkeys(key for _, where in rows for key, _ in where))
    for key in reversed(list(keys)):
        others = [other for other in keys if other != key]
        left = {(subject, *(dict(where).get(other) for other in others)) for subject, where in rows}
        if len(left) == len(rows):
            keys = others
    return keys
