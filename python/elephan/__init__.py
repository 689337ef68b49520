"""Elephan: a laboratory for TCP congestion control on long fat networks.

A scenario in three lines, and a run of it::

    import elephan

    scenario = elephan.Scenario.dumbbell(flows=["cubic", "bic"], rate="622 Mbit/s", rtt="100 ms", buffer="20% BDP")
    run = elephan.run(scenario)
    run.samples  # a Polars table: flow x time

Importing this package is cheap: what a name needs is imported when the name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elephan.comparison import compare as compare
    from elephan.runs import Run as Run
    from elephan.runs import Store as Store
    from elephan.runs import run as run
    from elephan.runs import sweep as sweep
    from elephan.scenario import Scenario as Scenario
    from elephan.scenario import ScenarioError as ScenarioError
    from elephan.scenario.catalog import algorithms as algorithms

__version__ = "0.1.0"

_HOMES = {
    "Run": "elephan.runs",
    "Scenario": "elephan.scenario",
    "ScenarioError": "elephan.scenario",
    "Store": "elephan.runs",
    "algorithms": "elephan.scenario.catalog",
    "compare": "elephan.comparison",
    "run": "elephan.runs",
    "sweep": "elephan.runs",
}

__all__ = ["Run", "Scenario", "ScenarioError", "Store", "__version__", "algorithms", "compare", "run", "sweep"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'elephan' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
