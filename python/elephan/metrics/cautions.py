"""Warnings that follow from the result of a run: its numbers depend on something other than the algorithm."""

from __future__ import annotations

from elephan.metrics.windows import loss_events
from elephan.runs.result import Run
from elephan.scenario import catalog

RECEIVE_WINDOW_NOTICED = 0.01
EPOCHS_WANTED = 3


def warnings_after(run: Run) -> list[str]:
    """Warnings of flows that the receiver held back, and of too few congestion epochs to average over."""
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
    """True if an algorithm's cycle goes from loss to loss; one that listens to delay may have no cycle at all."""
    entry = catalog.algorithms().get(algorithm.partition(":")[0])
    return entry is not None and entry["kind"] == "loss"
