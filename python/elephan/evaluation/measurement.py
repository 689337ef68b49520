"""A measured number that remembers its replicates, so that an interval can be given for whatever is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import fmean, median

from elephan.metrics.statistics import Pick, resampled


class NotJudgedError(Exception):
    """The subject of a criterion was not measured; the message says why, in one clause."""


@dataclass(frozen=True)
class Measurement:
    """One number: the median over the seeds of a value, or a function of such medians.

    Attributes:
        sample: the value of each replicate, when this is a plain value.
        children: the inputs of the value, if it is not the metric itself.
        combine: how the children's values give this one.
        runs: ids of the runs behind it.
        detail: the values that were compared, for a reader; empty when the subject names them.
    """

    sample: tuple[float, ...] = ()
    children: tuple[Measurement, ...] = ()
    combine: Callable[[list[float]], float] = field(default=fmean, repr=False)
    runs: tuple[str, ...] = ()
    detail: str = ""

    def value(self, pick: Pick | None = None) -> float:
        """The number itself, or its value in one bootstrap draw."""
        if self.children:
            return self.combine([child.value(pick) for child in self.children])
        if pick is None:
            return median(self.sample)
        return median(resampled(self.sample, pick))

    @property
    def replicates(self) -> int:
        """The largest number of seeds of anything behind it."""
        return max([len(self.sample), *(child.replicates for child in self.children)])

    @property
    def sizes(self) -> frozenset[int]:
        """The numbers of seeds of everything behind it, where there are several."""
        own = frozenset({len(self.sample)} - {0, 1})
        return own.union(*(child.sizes for child in self.children))

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Ids of all runs behind it, each once."""
        found = dict.fromkeys(self.runs)
        for child in self.children:
            found.update(dict.fromkeys(child.run_ids))
        return tuple(found)

    def times(self, factor: float) -> Measurement:
        """This measurement multiplied by a number."""
        return Measurement(children=(self,), combine=lambda values: factor * values[0], detail=self.detail)


def constant(value: float, detail: str = "") -> Measurement:
    """A number that no seed changes."""
    return Measurement(sample=(value,), detail=detail)


def combined(children: Iterable[Measurement], combine: Callable[[list[float]], float], detail: str = "") -> Measurement:
    """A number made of several measurements.

    Raises:
        NotJudgedError: there are none.
    """
    parts = tuple(children)
    if not parts:
        raise NotJudgedError("nothing that it speaks of was run")
    return Measurement(children=parts, combine=combine, detail=detail)
