"""Detection of equal replicates: distinct outcomes of several seeds, and mirror images among them.

A deterministic system may enter one of a few cycles with every seed. A confidence interval over replicates in a few
cycles does not measure uncertainty; the interval only shows the frequency of each cycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

if TYPE_CHECKING:
    from elephan.runs import Run
    from elephan.scenario.form import FlowSpec, LinkSpec, Spec

EQUAL = 1e-6
"""Relative difference up to which two numbers of two runs are equal."""
NEAR = 1e-3
"""Relative difference up to which two runs are the same outcome, if different outcomes are at least ``APART`` apart. If
a start moves by 10 ms, a few segments in a minute are delivered by one flow instead of the other."""
APART = 1e-2
"""Smallest relative difference between distinct outcomes."""
_MOST_FLOWS = 256
FLOW_FIELDS = ("goodput_mbps",)
LINK_FIELDS = ("queue_mean_packets",)


def distinct_outcomes(values: Sequence[Sequence[float]]) -> int:
    """The number of distinct outcomes among replicates.

    Replicates whose numbers all agree up to 0.1 % are one outcome, if there are several outcomes and they are at least
    1 % apart. The gap between 0.1 % and 1 % is a factor of ten; a spread without structure does not have such a gap.
    Without a gap of a factor of ten, only replicates that are equal (up to 1e-6) count as one outcome. Two undefined
    numbers count as equal, and so do two infinite numbers.

    Args:
        values: the numbers of each replicate, in the same order for all.

    Raises:
        ValueError: the replicates have different numbers of values.
    """
    return _count(values, _tolerance(values))


def _tolerance(values: Sequence[Sequence[float]]) -> float:
    near = _count(values, NEAR)
    return NEAR if near > 1 and near == _count(values, APART) else EQUAL


def _count(values: Sequence[Sequence[float]], tolerance: float) -> int:
    """Number of replicates that differ from all earlier replicates."""
    rows = np.array([[float(number) for number in replicate] for replicate in values], dtype=np.float64)
    if not rows.size:
        return min(len(rows), 1)
    kept = rows[:0]
    for row in rows:
        if not np.isclose(kept, row, rtol=tolerance, atol=0.0, equal_nan=True).all(axis=1).any():
            kept = np.vstack([kept, row])
    return len(kept)


@dataclass(frozen=True)
class Outcomes:
    """Distinct outcomes of the replicates of one scenario.

    Attributes:
        seeds: number of replicates.
        distinct: number of outcomes.
        unordered: number of outcomes if mirror images, in which equal flows are exchanged, count as one.
        alike: size of the largest group of equal flows.
    """

    seeds: int
    distinct: int
    unordered: int
    alike: int = 1

    @property
    def few(self) -> bool:
        """True if outcomes occur at least twice on average."""
        return self.seeds > 1 and 2 * self.unordered <= self.seeds

    @property
    def sentence(self) -> str:
        """Warning that there are few distinct outcomes, in one sentence; empty if there are enough."""
        if not self.few:
            return ""
        if self.distinct == 1:
            return f"{self.seeds} seeds, 1 distinct outcome: no goodput and no queue depends on the seed"
        counted = f"{self.seeds} seeds, {self.distinct} distinct outcomes"
        if self.unordered == 1:
            flows = "two flows" if self.alike == 2 else f"{self.alike} flows"
            return f"{counted}, mirror images: the interval describes the order of {flows}"
        mirrored = f" ({self.unordered} without mirror images)" if self.unordered < self.distinct else ""
        return f"{counted}{mirrored}: the interval describes how often each came"

    def to_json(self) -> dict[str, Any]:
        """Entry in the document of several seeds."""
        return {
            "seeds": self.seeds, "distinct": self.distinct, "unordered": self.unordered, "text": self.sentence or None,
        }  # fmt: skip


def outcomes(runs: Sequence[Run]) -> Outcomes:
    """Count the distinct outcomes of several seeds of one scenario, by each flow's goodput and each link's queue."""
    groups = alike_flows(runs[0].form) if runs else {}
    ordered, unordered = [], []
    for run in runs:
        summary = run.summary()
        flows = [_numbers(row, FLOW_FIELDS) for row in summary["flows"]]
        links = [number for row in summary["links"] for number in _numbers(row, LINK_FIELDS)]
        ordered.append([*(number for row in flows for number in row), *links])
        by_group: dict[int, list[list[float]]] = {}
        for row, numbers in zip(summary["flows"], flows, strict=True):
            by_group.setdefault(groups[row["name"]], []).append(numbers)
        unordered.append([number for rows in by_group.values() for row in sorted(rows) for number in row] + links)
    sizes = Counter(groups.values()).values()
    tolerance = _tolerance(ordered)
    return Outcomes(len(runs), _count(ordered, tolerance), _count(unordered, tolerance), max(sizes, default=1))


def _numbers(row: dict[str, Any], fields: Sequence[str]) -> list[float]:
    """Numbers of a row. Infinity replaces a missing number, since infinity can be sorted and NaN cannot."""
    return [float("inf") if row.get(field) is None else float(row[field]) for field in fields]


def alike_flows(form: Spec) -> dict[str, int]:
    """Groups of interchangeable flows: the number of each flow's group, by name.

    Flows are interchangeable if they differ only in name: they have the same algorithm, times, endpoints, shared links,
    and rates and delays of their own links. More than 256 flows are not examined.
    """
    if len(form.flows) > _MOST_FLOWS:
        return {flow.name: number for number, flow in enumerate(form.flows)}
    crossed: dict[int, int] = {}
    for flow in form.flows:
        for link in {*flow.path, *flow.reverse_path}:
            crossed[link] = crossed.get(link, 0) + 1
    numbers: dict[bytes, int] = {}
    return {flow.name: numbers.setdefault(_kind(form, flow, crossed), len(numbers)) for flow in form.flows}


def _kind(form: Spec, flow: FlowSpec, crossed: dict[int, int]) -> bytes:
    def link(position: int) -> int | LinkSpec:
        return position if crossed[position] > 1 else msgspec.structs.replace(form.links[position], name="")

    plain = msgspec.structs.replace(flow, name="", path=(), reverse_path=())
    return msgspec.json.encode([plain, *map(link, flow.path), None, *map(link, flow.reverse_path)])
