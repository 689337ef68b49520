"""Failures of an algorithm that a search looks for, each with a number and the limit from which it is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from elephan.design.space import FIRST, PULSES, SECOND, Point, capacity_mbps
from elephan.scenario import ScenarioError
from elephan.scenario.words import hint

METRICS = ("goodput_mbps", "mean_queue_delay_ms", "loss_rate")
"""Metrics of which the numbers are made."""

Row = Mapping[str, float | None]
"""Metrics of a run by column."""


def _goodput(row: Row, flow: str) -> float:
    return row.get(f"goodput_mbps[{flow}]") or 0.0


def _starvation(row: Row, point: Point, baseline: Row | None) -> float:
    rates = sorted((_goodput(row, FIRST), _goodput(row, SECOND)))
    return min(1e6, rates[1] / rates[0]) if rates[0] > 0 else 1e6


def _late_start(row: Row, point: Point, baseline: Row | None) -> float:
    first, second = _goodput(row, FIRST), _goodput(row, SECOND)
    return min(1e6, second / first) if "late.start" in point and first > 0 and second > 0 else 1e-6


def _underuse(row: Row, point: Point, baseline: Row | None) -> float:
    left = max(1e-3, capacity_mbps(point) - _goodput(row, PULSES))
    return max(1e-6, 1 - (_goodput(row, FIRST) + _goodput(row, SECOND)) / left)


def _stall(row: Row, point: Point, baseline: Row | None) -> float:
    return max(1e-6, 1 - _goodput(row, FIRST) / capacity_mbps(point))


def _delay(row: Row, point: Point, baseline: Row | None) -> float:
    return max(1e-6, (row.get("mean_queue_delay_ms") or 0.0) / point["rtt"])


def _collapse(row: Row, point: Point, baseline: Row | None) -> float:
    return max(1e-6, row.get("loss_rate") or 0.0)


def _harm(row: Row, point: Point, baseline: Row | None) -> float:
    assert baseline is not None
    reference = _goodput(baseline, SECOND)
    return max(1e-6, 1 - _goodput(row, SECOND) / reference) if reference > 0 else 1e-6


@dataclass(frozen=True)
class Goal:
    """A kind of failure.

    Attributes:
        name: name for ``--for``.
        value: the number of a run; ``baseline`` is the run with the baseline in place of the algorithm.
        limit: the number from which a run is a failure.
        reason: reason of the limit.
        text: the number in words.
        beside: true if the second flow is the baseline's, not of the algorithm's own kind.
        alone: true if there is no second flow.
        over: ranges that differ from those of the space.
        without: factors that are left out, since they reach the number without the algorithm.
        events_until: fraction of a run after which its path does not change; the second half is measured.
    """

    name: str
    value: Callable[[Row, Point, Row | None], float]
    limit: float
    reason: str
    text: str
    beside: bool = False
    alone: bool = False
    over: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    events_until: float = 0.5

    def severity(self, value: float) -> float:
        """Logarithm of the number relative to its limit: a failure is at least 0."""
        return math.log(value / self.limit)


GOALS = {
    goal.name: goal
    for goal in (
        Goal(
            "harm", _harm, 0.5, "a flow of CUBIC loses half of what it has beside CUBIC",
            "fraction of goodput that a CUBIC flow loses", beside=True,
        ),
        Goal(
            "starvation", _starvation, 10.0, "Arun, Alizadeh and Balakrishnan (2022) report ratios from 9 to 13",
            "goodput of the faster of two flows of its kind, relative to the slower",
        ),
        Goal(
            "late-start", _late_start, 1.5, "Tan, Yuan and Zukerman (2005) derive 1.62 for two flows of FAST",
            "goodput of a late-starting flow of its kind, relative to the first flow",
            without=("far", "jitter", "dip", "route", "slower", "outage", "pulses"),
        ),
        Goal(
            "underuse", _underuse, 0.5, "half of the capacity stays unused",
            "fraction of the capacity that two flows of its kind leave unused",
        ),
        Goal(
            "stall", _stall, 0.8, "a fifth of the capacity or less is used, 10 s after the last change of the path",
            "fraction of the capacity that a flow leaves unused after the path has changed", alone=True,
            over=("rtt=1..200",), without=("loss", "late", "far", "jitter", "pulses"), events_until=1 / 6,
        ),
        Goal(
            "delay", _delay, 2.0, "packets wait for two base RTTs on average",
            "mean queueing delay in base RTTs", without=("pulses", "outage", "slower", "route"),
        ),
        Goal(
            "collapse", _collapse, 0.1, "a tenth of what is sent is lost, with the capacity that it took (RFC 2914)",
            "fraction of packets that the bottleneck drops", without=("pulses", "slower", "outage"),
        ),
    )
}  # fmt: skip


def goal(name: str, limit: float | None = None) -> Goal:
    """The goal with a name, and with another limit.

    Raises:
        ScenarioError: there is none, or the limit is not a positive number.
    """
    if name not in GOALS:
        raise ScenarioError(f"'{name}' is not a goal; {hint(name, list(GOALS))}", source="for")
    if limit is None:
        return GOALS[name]
    if not 0 < limit < math.inf:
        raise ScenarioError(f"{limit:g} is not a limit; it is a positive number", source="limit")
    return replace(GOALS[name], limit=limit, reason="stated by the user")
