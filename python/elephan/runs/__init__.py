"""Runs: the results of scenarios, their store, and their execution in parallel."""

from elephan.backends import Cancelled, RunMemoryError
from elephan.runs.errors import DamagedRunError, DamagedRunWarning, RunError
from elephan.runs.execute import run
from elephan.runs.failures import RunFailedError
from elephan.runs.grids import SEED, Grid, grid
from elephan.runs.plan import Interrupted, SweepProgress
from elephan.runs.repeat import NotRepeatableError
from elephan.runs.result import Run
from elephan.runs.saved import looks_like_run, run_id
from elephan.runs.store import Store
from elephan.runs.sweeps import Failure, ReplicateError, SweepError, sweep
from elephan.runs.swept import Sweep
from elephan.runs.tables import TableError

__all__ = [
    "SEED",
    "Cancelled",
    "DamagedRunError",
    "DamagedRunWarning",
    "Failure",
    "Grid",
    "Interrupted",
    "NotRepeatableError",
    "ReplicateError",
    "Run",
    "RunError",
    "RunFailedError",
    "RunMemoryError",
    "Store",
    "Sweep",
    "SweepError",
    "SweepProgress",
    "TableError",
    "grid",
    "looks_like_run",
    "run",
    "run_id",
    "sweep",
]
