"""The sections of a report that show runs and their scenarios."""

from __future__ import annotations

from dataclasses import dataclass

from elephan.report.figures import Curve


@dataclass(frozen=True)
class RunView:
    """One run that the page shows.

    Attributes:
        experiment: group under which the page lists the run.
        label: label in the list.
        title: title over the plot.
        windows: congestion windows.
        queue: queue of the bottleneck.
    """

    experiment: str
    label: str
    title: str
    windows: tuple[Curve, ...]
    queue: tuple[Curve, ...]


@dataclass(frozen=True)
class ScenarioRow:
    """One scenario, for copying from the page."""

    key: str
    label: str
    hash: str
    seeds: str
    wall: str
    toml: str


@dataclass(frozen=True)
class ScenarioGroup:
    """The scenarios of one experiment."""

    title: str
    rows: tuple[ScenarioRow, ...]
