"""Warnings about a run's results that depend on more than the algorithm."""

from __future__ import annotations

from elephan.metrics.compiled import by_flow
from elephan.runs.result import Run
from elephan.scenario import catalog
from elephan.scenario.units import PS_PER_S

RECEIVE_WINDOW_NOTICED = 0.01
EPOCHS_WANTED = 3
_COLUMNS = (
    "name", "algorithm", "start_s", "timeouts", "loss_events", "ecn_events", "completion_s",
    "receive_window_limited_fraction",
)  # fmt: skip
MOST_SINGLY = 12
"""Largest number of flows whose warnings have separate lines."""


def warnings_after(run: Run) -> list[str]:
    """Warnings about flows that ended early or were limited by the receiver, and about too few congestion epochs for
    an average.

    A congestion event, by a loss or by an ECN mark, ends an epoch.
    """
    held_back: dict[str, float] = {}
    few: dict[str, float] = {}
    ended: dict[str, float] = {}
    from_s = run.canonical["measure"]["from_ps"] / PS_PER_S
    # Nothing inside a program is known.
    programs = {flow.name for flow in run.form.flows if flow.program is not None}
    rows = [row for row in run.rows("flows", _COLUMNS) if row["name"].partition("/")[0] not in programs]
    counted = [row["name"] for row in rows] if programs else None
    events = by_flow(run, "congestion_events", flows=counted) if rows else {}
    for row in rows:
        name, limited = row["name"], row["receive_window_limited_fraction"]
        if limited is not None and limited > RECEIVE_WINDOW_NOTICED:
            held_back[name] = limited
        if row["completion_s"] is not None and row["start_s"] + row["completion_s"] < from_s:
            ended[name] = row["start_s"] + row["completion_s"]
        ever = sum(row.get(name) or 0 for name in ("timeouts", "loss_events", "ecn_events"))
        cyclic = ever > 0 and _waits_for_loss(row["algorithm"])
        if cyclic and row["completion_s"] is None and events[name] < EPOCHS_WANTED:
            few[name] = events[name]
    return [
        *_hidden_losses(run),
        *_each_or_all(
            {
                name: f"ended at {end_s:.4g} s, before the measured part, which begins at {from_s:.4g} s"
                for name, end_s in ended.items()
            },
            f"they ended before the measured part, which begins at {from_s:.4g} s",
        ),
        *_each_or_all(
            {
                name: f"its receive window, not its algorithm, held it back for {share:.0%} of its time"
                for name, share in held_back.items()
            },
            "their receive windows, not their algorithms, held them back for up to "
            f"{max(held_back.values(), default=0):.0%} of their time",
        ),
        *_each_or_all(
            {
                name: f"{_events(count)} in the measured part, fewer than {EPOCHS_WANTED}: "
                "its means depend on where in its cycle the window lies"
                for name, count in few.items()
            },
            f"fewer than {EPOCHS_WANTED} congestion events each in the measured part: "
            "their means depend on where in their cycles the window lies",
        ),
    ]


def _events(count: float) -> str:
    return "1 congestion event" if count == 1 else f"{count:.0f} congestion events"


def _hidden_losses(run: Run) -> list[str]:
    """Links that lost packets and have no rows in the tables, such as a slow link that only ACKs cross."""
    rows = run.manifest.get("engine_summary", {}).get("unrecorded_losses", [])
    lines = {
        row[
            "name"
        ]: f"{row['gone'] / row['arrived']:.2%} of its packets were lost or dropped, and the table 'links' has "
        "no row for it; write record = true into its [[link]]"
        for row in rows
    }
    return _each_or_all(lines, "they lost packets, and the table 'links' has no rows for them", "links")


def _each_or_all(warnings: dict[str, str], together: str, noun: str = "flows") -> list[str]:
    """A line for each flow or link, or one line for all if they are many."""
    if len(warnings) <= MOST_SINGLY:
        return [f"{name}: {line}" for name, line in warnings.items()]
    return [f"{len(warnings):,} {noun}, {next(iter(warnings))} the first of them: {together}"]


def _waits_for_loss(algorithm: str) -> bool:
    """True if an algorithm's cycle goes from loss to loss; an algorithm that uses delay may have no cycle."""
    entry = catalog.algorithms().get(algorithm.partition(":")[0])
    return entry is not None and entry["kind"] == "loss"
