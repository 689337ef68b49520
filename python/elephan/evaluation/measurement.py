"""A measured number with its replicates, so that any function of the number has an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Literal

from elephan.metrics.ranges import REAL, Range
from elephan.metrics.statistics import Pick, resampled


class NotJudgedError(Exception):
    """The subject of a criterion was not measured; the message has the reason in one clause."""


@dataclass(frozen=True)
class Measurement:
    """One number: a statistic over the seeds of a value, or a function of several such numbers.

    Attributes:
        sample: the value of each replicate, for a plain value.
        statistic: the statistic of ``sample``.
        within: the range of the values of ``sample``.
        children: the inputs of the value, if it is not the metric itself.
        combine: function of the children's values.
        runs: ids of the measured runs.
        detail: the compared values, for a reader; empty if the subject names them.
    """

    sample: tuple[float, ...] = ()
    statistic: Literal["mean", "median"] = field(default="median", kw_only=True)
    within: Range = field(default=REAL, kw_only=True)
    children: tuple[Measurement, ...] = ()
    combine: Callable[[list[float]], float] = field(default=fmean, repr=False)
    runs: tuple[str, ...] = ()
    detail: str = ""

    def value(self, pick: Pick | None = None) -> float:
        """The measured number, or its value in one bootstrap draw."""
        if self.children:
            return self.combine([child.value(pick) for child in self.children])
        values = self.sample if pick is None else resampled(self.sample, pick)
        return median(values) if self.statistic == "median" else fmean(values)

    @property
    def replicates(self) -> int:
        """The largest number of seeds of the measurement's inputs."""
        return max([len(self.sample), *(child.replicates for child in self.children)])

    @property
    def sizes(self) -> frozenset[int]:
        """The number of seeds of each input of the measurement that has several seeds."""
        own = frozenset({len(self.sample)} - {0, 1})
        return own.union(*(child.sizes for child in self.children))

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Ids of all runs behind the measurement, without duplicates."""
        found = dict.fromkeys(self.runs)
        for child in self.children:
            found.update(dict.fromkeys(child.run_ids))
        return tuple(found)

    @property
    def reach(self) -> tuple[float, float, float]:
        """The value, and the smallest and the largest value of single seeds."""
        seeds = [self._of_seed(seed) for seed in range(self.replicates)]
        return self.value(), min(seeds), max(seeds)

    def _of_seed(self, seed: int) -> float:
        if self.children:
            return self.combine([child._of_seed(seed) for child in self.children])
        return self.sample[min(seed, len(self.sample) - 1)]

    def times(self, factor: float) -> Measurement:
        """This measurement multiplied by a number."""
        return Measurement(children=(self,), combine=lambda values: factor * values[0], detail=self.detail)


def constant(value: float, detail: str = "") -> Measurement:
    """A number that does not depend on seeds."""
    return Measurement(sample=(value,), detail=detail)


def combined(children: Iterable[Measurement], combine: Callable[[list[float]], float], detail: str = "") -> Measurement:
    """A number computed from several measurements.

    Raises:
        NotJudgedError: there are none.
    """
    parts = tuple(children)
    if not parts:
        raise NotJudgedError("none of its runs was made")
    return Measurement(children=parts, combine=combine, detail=detail)
