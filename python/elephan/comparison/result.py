"""`Comparison`: the answer, with its numbers and its runs."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from elephan.comparison.answer import Answer
from elephan.comparison.decision import Decision
from elephan.comparison.evidence import Evidence, Key
from elephan.comparison.measures import Observation
from elephan.comparison.paths import Path
from elephan.comparison.preferences import Preference
from elephan.comparison.situations import ALONE, LATE, Cast
from elephan.hooks import hook
from elephan.metrics.statistics import interval

if TYPE_CHECKING:
    import polars as pl

    from elephan.runs import Run

METRICS: dict[str, str] = {
    "goodput_mbps": "goodput of the algorithm's flows together, Mbit/s",
    "other_goodput_mbps": "goodput of the others together, Mbit/s",
    "share": "share of the algorithm's flows in the total goodput",
    "jain": "Jain's index of all flows' goodputs",
    "queueing_delay_ms": "mean queueing delay at the bottleneck, ms",
    "rtt_p99_ms": "largest 99th percentile of the round-trip times of the algorithm's flows, ms",
    "loss_rate": "packets dropped at the bottleneck over packets that left it or were dropped",
    "utilization": "bits that left the bottleneck over bits that its rate allowed",
    "harm": "fraction of goodput that the others lose, relative to their goodput alone (Ware et al. 2019)",
    "excess_harm": "fraction of goodput that the others lose, relative to that beside as many flows of their kind",
    "late_share": "share of late-starting flows in the goodput of these flows and as many earlier flows",
    "convergence_s": "time until a late-starting flow has 80 % of the first flow's rate, s (median; infinite if never)",
    "background_mbps": "background transfers that arrived, on the wire, Mbit/s",
    "background_mean_slowdown": "mean slowdown of the background transfers",
    "background_flow_duration_p50_ms": "median duration of a background transfer, ms",
    "background_flow_duration_p99_ms": "99th percentile of the durations of the background transfers, ms",
    "objective": "objective of the comparison (a natural logarithm: 0.01 is 1 %)",
}
"""Definition of each metric of a comparison, by its name in ``rows``."""


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
    evidence: Evidence
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
        ``high``, ``seeds``, and ``why`` if there is no interval.

        Means have 95 % intervals by Student's t over the seeds; ``convergence_s`` has the median with a bootstrap
        interval. :data:`METRICS` defines each metric.
        """
        return [row for key in self._keys() for row in self._rows_of(key)]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """:attr:`rows` as a Polars table."""
        import polars as pl

        kinds = {"algorithm": pl.String, "against": pl.String, "metric": pl.String, "mean": pl.Float64}
        more = {"low": pl.Float64, "high": pl.Float64, "seeds": pl.Int64, "why": pl.String}
        return pl.DataFrame(self.rows, schema=kinds | more)

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
        row = {"algorithm": name, "objective": _finite(self.decision.values[name].value)}
        if other is None:
            return row | {"verdict": "best", "difference": None, "low": None, "high": None}
        ends = {"low": _finite(other.difference.low), "high": _finite(other.difference.high)}
        return row | {"verdict": other.verdict, "difference": _finite(other.difference.value), **ends}

    def _keys(self) -> Iterator[Key]:
        for name in self.decision.order:
            yield name, ALONE
            for rival in self.cast.rivals:
                yield name, rival
            yield name, LATE
        for rival in self.cast.rivals:
            if rival not in self.cast.wanted:
                yield rival, ALONE
                yield rival, rival

    def _rows_of(self, key: Key) -> Iterator[dict[str, Any]]:
        algorithm, against = key
        for name, value in _VALUES.items():
            yield from _row(key, name, self.evidence.sample(key, value))
        if against in self.cast.rivals:
            yield from _row(key, "harm", self.evidence.harm(algorithm, against))
            yield from _row(key, "excess_harm", self.evidence.excess_harm(algorithm, against))
        if against == LATE:
            times = [o.values["convergence_s"] for o in self.evidence.of(*key).values()]
            yield from _row(key, "convergence_s", [t for t in times if t is not None], median=True)
        if against == ALONE and algorithm in self.cast.wanted:
            yield from _row(key, "objective", list(self.evidence.objective(algorithm, self.preference).values()))

    def __repr__(self) -> str:
        return f"<Comparison {self.path.title}: {self.answer.text}>"

    def _repr_html_(self) -> str:
        """The answer and the table of means, for a notebook."""
        return f"<p><b>{html.escape(self.answer.text)}</b></p>{self.table()._repr_html_()}"


_VALUES: dict[str, Callable[[Observation], float | None]] = {
    "goodput_mbps": lambda o: o.goodput_mbps,
    "other_goodput_mbps": lambda o: o.other_mbps,
    "share": lambda o: o.values["share"] if o.other_mbps is not None else None,
    "jain": lambda o: o.values["jain"],
    "queueing_delay_ms": lambda o: o.queue_ms[0],
    "rtt_p99_ms": lambda o: o.values["rtt_p99_ms"],
    "loss_rate": lambda o: o.values["loss_rate"],
    "utilization": lambda o: o.values["utilization"],
    "late_share": lambda o: o.values.get("late_share"),
    "background_mbps": lambda o: o.values.get("background_mbps"),
    "background_mean_slowdown": lambda o: o.values.get("background_mean_slowdown"),
    "background_flow_duration_p50_ms": lambda o: o.values.get("background_flow_duration_p50_ms"),
    "background_flow_duration_p99_ms": lambda o: o.values.get("background_flow_duration_p99_ms"),
}


def _row(key: Key, name: str, sample: list[float], *, median: bool = False) -> Iterator[dict[str, Any]]:
    if not sample:
        return
    found = interval(sample, statistic="median" if median else "mean")
    low, high = _finite(found.low), _finite(found.high)
    yield {
        "algorithm": key[0], "against": key[1], "metric": name, "mean": found.value, "low": low, "high": high,
        "seeds": len(sample), "why": found.reason or None,
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
