"""The course of a link's rate and delay in a run, and its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elephan.rates import rate_mbps
from elephan.scenario.form import LinkSpec
from elephan.scenario.units import OPPORTUNITY_BYTES, PS_PER_S

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

_BIN_PS = PS_PER_S // 100
"""Interval over which opportunities are counted as a rate, 10 ms."""


@dataclass(frozen=True)
class Steps:
    """A quantity that is constant between changes.

    Attributes:
        times: times of the changes, s, from 0, and the end.
        values: values from each time on, one fewer than times.
    """

    times: Array
    values: Array

    @property
    def lengths(self) -> Array:
        """Lengths of the constant parts, s."""
        import numpy as np

        return np.diff(self.times)

    def mean(self) -> float:
        """Mean over time."""
        return float(self.values @ self.lengths / self.lengths.sum())

    def quantile(self, share: float) -> float:
        """The smallest value that is not exceeded for this fraction of the time."""
        import numpy as np

        order = np.argsort(self.values, kind="stable")
        reached = np.cumsum(self.lengths[order])
        at = int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-12)))
        return float(self.values[order][min(at, self.values.size - 1)])

    def deviation(self) -> float:
        """Standard deviation over time."""
        mean = self.mean()
        return float((((self.values - mean) ** 2) @ self.lengths / self.lengths.sum()) ** 0.5)

    def longest(self, value: float) -> float:
        """Longest time in which the quantity has a value, s."""
        import numpy as np

        there = self.values == value
        # Parts in a row with the same value are one; changes without effect are not.
        edges = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]])))
        return max((float(self.times[end] - self.times[begin]) for begin, end in edges.reshape(-1, 2)), default=0.0)


def rate_of(link: LinkSpec, duration_ps: int) -> Steps:
    """The rate of a link, Mbit/s; opportunities are counted over 10 ms."""
    import numpy as np

    changes = link.impairments
    if changes is not None and changes.rate_trace_ms:
        return _counted(np.array(changes.rate_trace_ms, dtype=np.int64) * (PS_PER_S // 1000), duration_ps)
    steps = () if changes is None else changes.rate_steps
    return _steps([(step.at_ps, step.rate_bps) for step in steps], link.rate_bps, duration_ps, 1e6)


def delay_of(link: LinkSpec, duration_ps: int) -> Steps:
    """The one-way delay of a link, ms."""
    steps = () if link.impairments is None else link.impairments.delay_steps
    return _steps([(step.at_ps, step.delay_ps) for step in steps], link.delay_ps, duration_ps, PS_PER_S / 1000)


def statistics(link: LinkSpec, duration_ps: int) -> Mapping[str, Any]:
    """Numbers about a link's rate in Mbit/s and its one-way delay in ms, over a run."""
    rate, delay = rate_of(link, duration_ps), delay_of(link, duration_ps)
    mean = rate.mean()
    return {
        "rate_mean_mbps": mean,
        "rate_p5_mbps": rate.quantile(0.05),
        "rate_p50_mbps": rate.quantile(0.5),
        "rate_p95_mbps": rate.quantile(0.95),
        "rate_cov": rate.deviation() / mean if mean else None,
        "rate_changes_per_s": (rate.values.size - 1) * PS_PER_S / duration_ps,
        "outage_fraction": float(rate.lengths[rate.values == 0].sum() / rate.lengths.sum()),
        "outage_longest_s": rate.longest(0.0),
        "delay_min_ms": float(delay.values.min()),
        "delay_p50_ms": delay.quantile(0.5),
        "delay_p95_ms": delay.quantile(0.95),
        "delay_max_ms": float(delay.values.max()),
    }


def _counted(times_ps: npt.NDArray[np.int64], duration_ps: int) -> Steps:
    """The rate of opportunities that repeat after the last."""
    import numpy as np

    period = int(times_ps[-1])
    rounds = -(-duration_ps // period)
    found = np.concatenate([times_ps + turn * period for turn in range(rounds)])
    bins = -(-duration_ps // _BIN_PS)
    counts = np.bincount(np.minimum(found[found < duration_ps] // _BIN_PS, bins - 1), minlength=bins)
    rates = rate_mbps(counts.astype(np.float64) * OPPORTUNITY_BYTES, _BIN_PS / PS_PER_S)
    return Steps(np.minimum(np.arange(bins + 1) * _BIN_PS, duration_ps) / PS_PER_S, rates)


def _steps(changes: list[tuple[int, int]], first: int, duration_ps: int, unit: float) -> Steps:
    import numpy as np

    rows = [row for row in changes if row[0] < duration_ps]
    if not rows or rows[0][0] > 0:
        rows.insert(0, (0, first))
    times = np.array([at for at, _ in rows] + [duration_ps]) / PS_PER_S
    return Steps(times, np.array([value for _, value in rows]) / unit)
