"""Experiments as scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elephan.scenario import Scenario


@dataclass(frozen=True)
class Experiment:
    """A set of runs under one name.

    Attributes:
        id: the experiment's id in criteria.
        title: one line.
        figure: figure or section of the document.
        scenarios: scenarios, by label; one scenario may be in several experiments and is run once.
        seeds: number of replicates that the experiment's own settings ask for.
    """

    id: str
    title: str
    figure: str
    scenarios: Mapping[str, Scenario]
    seeds: int = 1
