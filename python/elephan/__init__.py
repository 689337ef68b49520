"""Elephan: a laboratory for TCP congestion control on long fat networks.

A scenario in three lines, and a run of it::

    import elephan

    scenario = elephan.Scenario.dumbbell(flows=["cubic", "bic"], rate="622 Mbit/s", rtt="100 ms", buffer="20% BDP")
    run = elephan.run(scenario)
    run.samples  # a Polars table: flow x time

Importing this package is fast, since the module of a name is imported when the name is first used.
"""

from __future__ import annotations

# First, since a Ctrl-C while the other modules are imported would print a traceback.
from elephan import beginning

beginning.be_quiet()

from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from elephan import hooks  # noqa: E402
from elephan.version import __version__ as __version__  # noqa: E402

if TYPE_CHECKING:
    from elephan import design as design
    from elephan import evaluation as evaluation
    from elephan import explanation as explanation
    from elephan import export as export
    from elephan import metrics as metrics
    from elephan import models as models
    from elephan import papers as papers
    from elephan import report as report
    from elephan import runs as runs
    from elephan import scenario as scenario
    from elephan._engine import Ack as Ack
    from elephan._engine import Delivery as Delivery
    from elephan._engine import Lost as Lost
    from elephan._engine import Restart as Restart
    from elephan._engine import Sample as Sample
    from elephan._engine import Sent as Sent
    from elephan._engine import Signal as Signal
    from elephan._engine import Start as Start
    from elephan.algorithm import Algorithm as Algorithm
    from elephan.algorithm import AlgorithmError as AlgorithmError
    from elephan.backends import EngineDefectError as EngineDefectError
    from elephan.backends.kernel.libbpf import BpfError as BpfError
    from elephan.backends.kernel.records import LeftOverError as LeftOverError
    from elephan.backends.kernel.session import KernelError as KernelError
    from elephan.comparison import Comparison as Comparison
    from elephan.comparison import NothingObservedError as NothingObservedError
    from elephan.comparison import compare as compare
    from elephan.explanation import Explanation as Explanation
    from elephan.explanation import explain as explain
    from elephan.metrics import MetricError as MetricError
    from elephan.metrics.batch import batch as batch
    from elephan.runs import Cancelled as Cancelled
    from elephan.runs import DamagedRunError as DamagedRunError
    from elephan.runs import DamagedRunWarning as DamagedRunWarning
    from elephan.runs import Failure as Failure
    from elephan.runs import Grid as Grid
    from elephan.runs import Interrupted as Interrupted
    from elephan.runs import NotRepeatableError as NotRepeatableError
    from elephan.runs import ReplicateError as ReplicateError
    from elephan.runs import Run as Run
    from elephan.runs import RunError as RunError
    from elephan.runs import RunFailedError as RunFailedError
    from elephan.runs import RunMemoryError as RunMemoryError
    from elephan.runs import Store as Store
    from elephan.runs import Sweep as Sweep
    from elephan.runs import SweepError as SweepError
    from elephan.runs import TableError as TableError
    from elephan.runs import grid as grid
    from elephan.runs import run as run
    from elephan.runs import sweep as sweep
    from elephan.scenario import Scenario as Scenario
    from elephan.scenario import ScenarioError as ScenarioError
    from elephan.scenario.catalog import EngineMissingError as EngineMissingError
    from elephan.scenario.catalog import algorithms as algorithms
    from elephan.suites import evaluate as evaluate

hooks.register(
    {
        "comparison_report": "elephan.comparison.reporting:comparison_report",
        "metrics": "elephan.metrics.definitions:load",
        "summarize": "elephan.metrics.summary:summarize",
        "warnings_after": "elephan.metrics.cautions:warnings_after",
        "plot_one": "elephan.report.plots:plot_one",
        "plot_run": "elephan.report.plots:plot_run",
        "run_metric": "elephan.metrics.registry:of_run",
        "run_html": "elephan.report.notebook:run_html",
        "sweep_aggregate": "elephan.metrics.sweeps:aggregate",
        "sweep_frame": "elephan.metrics.sweeps:frame",
        "sweep_html": "elephan.report.sweeps:notebook",
        "sweep_plot": "elephan.report.sweeps:plot",
        "sweep_report": "elephan.report.sweeps:sweep_report",
    }
)

_HOMES = {
    "Ack": "elephan._engine",
    "Algorithm": "elephan.algorithm",
    "AlgorithmError": "elephan.algorithm",
    "BpfError": "elephan.backends.kernel.libbpf",
    "Cancelled": "elephan.runs",
    "Comparison": "elephan.comparison",
    "DamagedRunError": "elephan.runs",
    "DamagedRunWarning": "elephan.runs",
    "Delivery": "elephan._engine",
    "EngineDefectError": "elephan.backends",
    "EngineMissingError": "elephan.scenario.catalog",
    "Explanation": "elephan.explanation",
    "Failure": "elephan.runs",
    "Grid": "elephan.runs",
    "Interrupted": "elephan.runs",
    "KernelError": "elephan.backends.kernel.session",
    "LeftOverError": "elephan.backends.kernel.records",
    "Lost": "elephan._engine",
    "MetricError": "elephan.metrics",
    "NotRepeatableError": "elephan.runs",
    "NothingObservedError": "elephan.comparison",
    "ReplicateError": "elephan.runs",
    "Restart": "elephan._engine",
    "Run": "elephan.runs",
    "RunError": "elephan.runs",
    "RunFailedError": "elephan.runs",
    "RunMemoryError": "elephan.runs",
    "Sample": "elephan._engine",
    "Scenario": "elephan.scenario",
    "ScenarioError": "elephan.scenario",
    "Sent": "elephan._engine",
    "Signal": "elephan._engine",
    "Start": "elephan._engine",
    "Store": "elephan.runs",
    "Sweep": "elephan.runs",
    "SweepError": "elephan.runs",
    "TableError": "elephan.runs",
    "algorithms": "elephan.scenario.catalog",
    "batch": "elephan.metrics.batch",
    "compare": "elephan.comparison",
    "evaluate": "elephan.suites",
    "explain": "elephan.explanation",
    "grid": "elephan.runs",
    "run": "elephan.runs",
    "sweep": "elephan.runs",
}

_PACKAGES = {
    "design": "elephan.design",
    "evaluation": "elephan.evaluation",
    "explanation": "elephan.explanation",
    "export": "elephan.export",
    "metrics": "elephan.metrics",
    "models": "elephan.models",
    "papers": "elephan.papers",
    "report": "elephan.report",
    "runs": "elephan.runs",
    "scenario": "elephan.scenario",
}
"""Subpackages that are attributes of the package; each is imported when it is first used."""

__all__ = [
    "Ack",
    "Algorithm",
    "AlgorithmError",
    "BpfError",
    "Cancelled",
    "Comparison",
    "DamagedRunError",
    "DamagedRunWarning",
    "Delivery",
    "EngineDefectError",
    "EngineMissingError",
    "Explanation",
    "Failure",
    "Grid",
    "Interrupted",
    "KernelError",
    "LeftOverError",
    "Lost",
    "MetricError",
    "NotRepeatableError",
    "NothingObservedError",
    "ReplicateError",
    "Restart",
    "Run",
    "RunError",
    "RunFailedError",
    "RunMemoryError",
    "Sample",
    "Scenario",
    "ScenarioError",
    "Sent",
    "Signal",
    "Start",
    "Store",
    "Sweep",
    "SweepError",
    "TableError",
    "__version__",
    "algorithms",
    "batch",
    "compare",
    "design",
    "evaluate",
    "evaluation",
    "explain",
    "explanation",
    "export",
    "grid",
    "metrics",
    "models",
    "papers",
    "report",
    "run",
    "runs",
    "scenario",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(_PACKAGES[name])
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'elephan' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
