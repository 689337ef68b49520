"""A question beyond weigle2006: the paper's grid of ordered pairs with all end-to-end algorithms, as one figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.papers.paper import Beyond
from elephan.papers.weigle2006.setup import LATE_S, PROTOCOLS, Pair, Setup, label
from elephan.report.figures import Figure
from elephan.report.matrix import Matrix
from elephan.scenario import Scenario
from elephan.scenario.catalog import OF_THE_USER, algorithms

EXPERIMENT = "weigle2006.beyond"
# Smallest |A| with a winner; below this value, each share is between 45 % and 55 %.
EVEN = 0.1
Grid = Mapping[Pair, float]


def names() -> tuple[str, ...]:
    """Every TCP algorithm without requirements on the path: first the paper's six algorithms, then the others by
    name."""
    others = sorted(name for name, entry in algorithms().items() if _needs_nothing(name, entry))
    return PROTOCOLS + tuple(name for name in others if name not in PROTOCOLS)


def _needs_nothing(name: str, entry: Mapping[str, Any]) -> bool:
    """True for an algorithm that needs no special routers or marks and has a congestion control."""
    return name not in OF_THE_USER and entry["router"] is None and not entry["signals"][0].startswith("ECN")


def open_question(setup: Setup) -> Beyond:
    """The question and its runs, without jitter of the flows and with one seed."""
    everyone = names()
    scenarios = scenarios_of(setup, everyone)
    experiment = Experiment(EXPERIMENT, "all ordered pairs of all algorithms, 20 % of the BDP", "beyond", scenarios)
    return Beyond(
        question=f"Which algorithm wins among all {len(everyone)} end-to-end algorithms on the paper's path?",
        why="The paper has six protocols of 2006, and finds that the order of the starts decides. These runs have "
        f"the same path, buffer and times, with every algorithm first and every algorithm {LATE_S} s later, and "
        "one seed for each pair.",
        experiments={EXPERIMENT: experiment},
        figures=partial(figures, scenarios=scenarios, everyone=everyone),
        answer=partial(answer, scenarios=scenarios, everyone=everyone),
    )


def scenarios_of(setup: Setup, everyone: Sequence[str]) -> dict[str, Scenario]:
    """The scenario of each ordered pair, by its label."""
    return {label(pair): setup.scenario(pair) for pair in _pairs(everyone)}


def _pairs(everyone: Sequence[str]) -> list[Pair]:
    return [(first, second) for first in everyone for second in everyone]


def grid(runs: Evidence, scenarios: Mapping[str, Scenario], everyone: Sequence[str]) -> Grid:
    """The asymmetry of each ordered pair; pairs whose run is missing are left out."""
    found = runs.of_each({pair: scenarios[label(pair)] for pair in _pairs(everyone)}, "asymmetry")
    return {pair: one.value() for pair, one in found.items()}


def figures(runs: Evidence, scenarios: Mapping[str, Scenario], everyone: Sequence[str]) -> Sequence[Figure]:
    """The grid as a matrix."""
    found = grid(runs, scenarios, everyone)
    if not found:
        return []
    values = tuple(tuple(found.get((first, second), math.nan) for second in everyone) for first in everyone)
    caption = (
        "Asymmetry A = (x1 - x2)/(x1 + x2) of the mean throughputs: 1 (blue) if the first flow has all of the "
        f"throughput, -1 (orange) if the flow that starts {LATE_S} s later has all. The pairs of the paper are in the "
        "upper left corner."
    )
    return [
        Matrix(
            "beyond-grid", "Asymmetry of every ordered pair", caption, tuple(everyone), tuple(everyone), values,
            "asymmetry (1)", (-1.0, 1.0), "flow 1", "flow 2",
        )
    ]  # fmt: skip


def answer(runs: Evidence, scenarios: Mapping[str, Scenario], everyone: Sequence[str]) -> Sequence[str]:
    """Sentences on the largest shares, the pairs decided by the order of arrival, and unfairness between flows of one
    algorithm."""
    found = grid(runs, scenarios, everyone)
    if not found:
        return []
    shares = {name: _share(found, name) for name in everyone}
    ranked = sorted(shares, key=lambda name: -shares[name])
    mixed = {pair for pair in found if pair[0] != pair[1]}
    both = [(a, b) for a, b in mixed if a < b and (b, a) in mixed]
    first = sum(found[pair] > EVEN and found[pair[::-1]] > EVEN for pair in both)
    late = sum(found[pair] < -EVEN and found[pair[::-1]] < -EVEN for pair in both)
    one = sum(found[pair] * found[pair[::-1]] < 0 and min(_sizes(found, pair)) > EVEN for pair in both)
    even = sum(max(_sizes(found, pair)) <= EVEN for pair in both)
    alike = [name for name in everyone if (name, name) in found]
    own = [name for name in alike if abs(found[name, name]) > EVEN]
    return [
        f"Mean share of the link over all rivals and both orders: most {_listed(ranked[:5], shares)}; least "
        f"{_listed(ranked[:-6:-1], shares)}.",
        f"Of {len(both)} pairs of different algorithms, one algorithm wins in both orders in {one}, the first flow in "
        f"{first}, and the late-starting flow in {late}; {even} are even in both orders (|A| up to {EVEN:g}), and the "
        "others are even in one order.",
        f"Two flows of one algorithm share evenly in {len(alike) - len(own)} of {len(alike)} cases; the exceptions "
        f"are {', '.join(own) or 'none'}.",
    ]


def _sizes(found: Grid, pair: Pair) -> tuple[float, float]:
    return abs(found[pair]), abs(found[pair[::-1]])


def _share(found: Grid, name: str) -> float:
    """Mean share of an algorithm in the two flows' throughput, over its pairs with other algorithms; 0.5 is an even
    share."""
    first = [(1 + value) / 2 for (a, b), value in found.items() if a == name != b]
    second = [(1 - value) / 2 for (a, b), value in found.items() if b == name != a]
    return fmean([*first, *second]) if first or second else math.nan


def _listed(ranked: Sequence[str], shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * shares[name]:.0f} %" for name in ranked)
