"""The quantity that a criterion judges, in words and with its unit.

The name of its metric is not enough, since a criterion may divide the metric, or compare it with a second run: 0.2 of
``goodput_mbps`` are a fifth of a goodput and not 0.2 Mbit/s.
"""

from __future__ import annotations

from elephan.evaluation.wording import Quantity, quantity_of
from elephan.suites.schema import BaselineTable, CriterionTable

_PERCENT = 100.0
_PER = {"rtt": "base RTTs", "rate": "of the rate"}


def quantity(criterion: CriterionTable) -> Quantity:
    """The quantity of a criterion's values, limit and margin."""
    metric = quantity_of(criterion.metric)
    flows = " and ".join(criterion.flows or ())
    name = f"{metric.name} of {flows}" if flows else metric.name
    unit = metric.unit if criterion.per is None else _PER[criterion.per]
    baseline = criterion.baseline
    if baseline is None:
        return Quantity(name, unit)
    if baseline.kind == "lost":
        return Quantity(f"{metric.name} lost by {flows}" if flows else f"{metric.name} lost", "%", _PERCENT)
    if baseline.kind == "gained":
        return Quantity(f"share added to the {name}", "%", _PERCENT)
    if baseline.kind == "ratio":
        return Quantity(f"{name} relative to {_other(baseline)}")
    return Quantity(f"{name} above that of {_other(baseline)}", unit)


def _other(baseline: BaselineTable) -> str:
    """The run or the flows with which a criterion compares."""
    if baseline.experiment is not None:
        return baseline.experiment
    if "{" not in baseline.algorithm:
        return baseline.algorithm
    return " and ".join(baseline.flows) if baseline.flows else "the baseline"
