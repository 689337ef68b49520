"""Where a result comes from, and what a reader of it should be warned of."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.scenario import catalog
from elephan.version import __version__

if TYPE_CHECKING:
    from elephan.runs.result import Run

RECEIVE_WINDOW_NOTICED = 0.01
EPOCHS_WANTED = 3


def provenance(*, engine: str, wall_seconds: float) -> dict[str, Any]:
    """Versions, host, command and times, for the manifest."""
    import polars

    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "wall_seconds": wall_seconds,
        "versions": {
            "elephan": __version__,
            "engine": engine,
            "python": platform.python_version(),
            "polars": polars.__version__,
        },
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else "",
        "host": {"cpu": cpu_name(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.release()}"},
    }


def cpu_name() -> str:
    """The processor, as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def warnings_after(run: Run) -> list[str]:
    """What only the result tells: flows that the receiver held back, and too few congestion epochs to average over."""
    # Metrics are a floor above runs; a warning needs this one number of theirs.
    from elephan.metrics.windows import loss_events

    found = []
    events = loss_events(run) if len(run.flows) else {}
    for row in run.flows.iter_rows(named=True):
        name, limited = row["name"], row["receive_window_limited_fraction"]
        if limited is not None and limited > RECEIVE_WINDOW_NOTICED:
            found.append(f"{name}: its receive window, not its algorithm, held it back for {limited:.0%} of its time")
        cyclic = (row["timeouts"] or 0) + row["loss_events"] > 0 and _waits_for_loss(row["algorithm"])
        if cyclic and row["completion_s"] is None and events[name] < EPOCHS_WANTED:
            found.append(
                f"{name}: {events[name]:.0f} loss events in the measured part, fewer than {EPOCHS_WANTED}: "
                "its means depend on where in its cycle the window lies"
            )
    return found


def _waits_for_loss(algorithm: str) -> bool:
    """Whether an algorithm's cycle goes from loss to loss; one that listens to delay may have no cycle at all."""
    entry = catalog.algorithms().get(algorithm.partition(":")[0])
    return entry is not None and entry["kind"] == "loss"
