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

from elephan import hooks
from elephan.version import __version__ as __version__

if TYPE_CHECKING:
    from elephan._engine import Ack as Ack
    from elephan._engine import Delivery as Delivery
    from elephan._engine import Lost as Lost
    from elephan._engine import Sent as Sent
    from elephan._engine import Signal as Signal
    from elephan._engine import Start as Start
    from elephan.algorithm import Algorithm as Algorithm
    from elephan.algorithm import AlgorithmError as AlgorithmError
    from elephan.comparison import compare as compare
    from elephan.runs import Run as Run
    from elephan.runs import Store as Store
    from elephan.runs import run as run
    from elephan.runs import sweep as sweep
    from elephan.scenario import Scenario as Scenario
    from elephan.scenario import ScenarioError as ScenarioError
    from elephan.scenario.catalog import algorithms as algorithms

hooks.register(
    {
        "summarize": "elephan.metrics.summary:summarize",
        "warnings_after": "elephan.metrics.cautions:warnings_after",
        "plot_cwnd": "elephan.report.plots:plot_cwnd",
        "plot_queue": "elephan.report.plots:plot_queue",
        "plot_rtt": "elephan.report.plots:plot_rtt",
        "plot_throughput": "elephan.report.plots:plot_throughput",
    }
)

_HOMES = {
    "Ack": "elephan._engine",
    "Algorithm": "elephan.algorithm",
    "AlgorithmError": "elephan.algorithm",
    "Delivery": "elephan._engine",
    "Lost": "elephan._engine",
    "Run": "elephan.runs",
    "Scenario": "elephan.scenario",
    "ScenarioError": "elephan.scenario",
    "Sent": "elephan._engine",
    "Signal": "elephan._engine",
    "Start": "elephan._engine",
    "Store": "elephan.runs",
    "algorithms": "elephan.scenario.catalog",
    "compare": "elephan.comparison",
    "run": "elephan.runs",
    "sweep": "elephan.runs",
}

__all__ = [
    "Ack",
    "Algorithm",
    "AlgorithmError",
    "Delivery",
    "Lost",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sent",
    "Signal",
    "Start",
    "Store",
    "__version__",
    "algorithms",
    "compare",
    "run",
    "sweep",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'elephan' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
