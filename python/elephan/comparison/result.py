"""`Comparison`: the answer, with its numbers and its runs."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from elephan.comparison.answer import Answer
from elephan.comparison.decision import Decision
from elephan.comparison.numbers import DEFINITIONS, OBJECTIVE, Number, keys, number_of, objective_of
from elephan.comparison.observations import Key, Observations
from elephan.comparison.paths import Path
from elephan.comparison.preferences import Preference
from elephan.comparison.situations import ALONE, Cast
from elephan.hooks import hook
from elephan.metrics.statistics import finite

if TYPE_CHECKING:
    import polars as pl

    from elephan.runs import Run


@dataclass(frozen=True)
class Comparison:
    """Algorithms on one path.

    Attributes:
        answer: the answer in words, with its confidence.
        decision: the ranking by the objective.
        evidence: observations by situation and seed.
        cast: the algorithms and the rivals.
        path: the path of the comparison.
        preference: the objective.
        budget_s: allowed wall time.
        wall_seconds: used wall time.
    """

    answer: Answer
    decision: Decision
    evidence: Observations
    cast: Cast
    path: Path
    preference: Preference
    budget_s: float
    wall_seconds: float

    @property
    def runs(self) -> list[Run]:
        """Runs behind the answer, the runs of the first seed first."""
        return self.evidence.runs

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each algorithm, situation and metric: ``algorithm``, ``against``, ``metric``, ``mean``, ``low``,
        ``high``, ``seeds``, ``why`` if there is no interval, and ``from_s`` and ``to_s``, the time of which it is a
        mean.

        Intervals have a confidence of 95 %, stay within the range of the quantity, and contain what changes over time
        (:func:`~elephan.metrics.statistics.over_time`); times have the median with a bootstrap interval.
        :data:`METRICS` defines each metric.
        """
        return [row for key in keys(self.decision.order, self.evidence) for row in self._rows_of(key)]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """:attr:`rows` as a Polars table."""
        import polars as pl

        kinds: dict[str, type[pl.DataType]] = dict.fromkeys(("algorithm", "against", "metric"), pl.String)
        kinds |= dict.fromkeys(("mean", "low", "high"), pl.Float64)
        kinds |= {"seeds": pl.Int64, "why": pl.String, "from_s": pl.Float64, "to_s": pl.Float64}
        return pl.DataFrame(self.rows, schema=kinds)

    def table(self) -> pl.DataFrame:
        """One row for each algorithm and situation, one column for each metric: the means of :attr:`frame`."""
        return self.frame.pivot("metric", index=["algorithm", "against"], values="mean", aggregate_function="first")

    def report(self, out: str | FilePath) -> FilePath:
        """Write ``report.html`` into a folder: the answer, the trade-off, harm, time series, assumptions. Returns its
        path.

        Raises:
            OSError: the folder cannot be written.
        """
        written: FilePath = hook("comparison_report")(self, out)
        return written

    def to_json(self, report: FilePath | None = None) -> dict[str, Any]:
        """The document that ``elephan compare --json`` prints."""
        return {
            "path": self.path.title,
            "prefer": self.preference.name,
            "answer": self.answer.to_json(),
            "rows": self.rows,
            "ranking": [self._ranked(name) for name in self.decision.order],
            "runs": len(self.runs),
            "simulated_seconds": self.evidence.duration_s,
            "budget_seconds": self.budget_s,
            "wall_seconds": self.wall_seconds,
            "report": str(report) if report else None,
        }

    def _ranked(self, name: str) -> dict[str, Any]:
        """The objective of one algorithm, and the verdict of its comparison with the best algorithm.

        The verdict is ``best``, ``distinct``, ``same``, or ``open`` if the seeds do not distinguish the difference from
        zero.
        """
        other = self.decision.against(name)
        row = {"algorithm": name, "objective": finite(self.decision.values[name].value)}
        if other is None:
            return row | {"verdict": "best", "difference": None, "low": None, "high": None}
        ends = {"low": finite(other.difference.low), "high": finite(other.difference.high)}
        return row | {"verdict": other.verdict, "difference": finite(other.difference.value), **ends}

    def _rows_of(self, key: Key) -> Iterator[dict[str, Any]]:
        for name in DEFINITIONS:
            yield from self._row(key, name, number_of(self.evidence, key, name))
        if key[1] == ALONE and key[0] in self.cast.wanted:
            yield from self._row(key, OBJECTIVE, objective_of(self.evidence, key[0], self.preference))

    def _row(self, key: Key, name: str, number: Number | None) -> Iterator[dict[str, Any]]:
        if number is None:
            return
        low, high = finite(number.found.low), finite(number.found.high)
        from_s, to_s = self.evidence.range_s
        yield {
            "algorithm": key[0], "against": key[1], "metric": name, "mean": number.value, "low": low, "high": high,
            "seeds": number.seeds, "why": number.found.reason or None, "from_s": from_s, "to_s": to_s,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Comparison {self.path.title}: {self.answer.text}>"

    def _repr_html_(self) -> str:
        """The answer and the table of means, for a notebook."""
        return f"<p><b>{html.escape(self.answer.text)}</b></p>{self.table()._repr_html_()}"
