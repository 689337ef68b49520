"""The event log of a run: the saved log, or the log of a repetition of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elephan import backends
from elephan.backends import Progress
from elephan.runs import Run, RunError, tables
from elephan.scenario import Scenario
from elephan.scenario.form import EventsSpec
from elephan.scenario.units import format_time

if TYPE_CHECKING:
    import polars as pl

PS_PER_S = 1e12


def events_of(run: Run, from_ps: int = 0, to_ps: int | None = None, progress: Progress | None = None) -> pl.DataFrame:
    """Events of each packet from ``from_ps`` until before ``to_ps``, in order of time.

    The events come from the run's own log if its scenario asked for a log. If the saved run has no log, the scenario is
    run again with a log, and the function checks that both runs are equal.

    Raises:
        RunError: the log does not cover the interval, or this version of the engine gives another result than the saved
            result.
        ScenarioError: there are more events than the log may hold, or the interval is outside the run.
    """
    if run.form.events is not None:
        return _part(run, run.form.events, from_ps, to_ps)
    part: dict[str, Any] = {"from": format_time(from_ps)} | ({} if to_ps is None else {"to": format_time(to_ps)})
    scenario = Scenario.from_dict(run.scenario.to_dict() | {"events": part})
    frames = tables.checked(backends.get(run.backend).run(scenario, run.seed, progress).tables)
    events = frames.pop(tables.EVENTS)
    check_same(run, frames)
    return tables.to_polars(events)


def check_same(run: Run, frames: dict[str, Any]) -> None:
    """Check that the tables of a repeated run equal the saved tables.

    Raises:
        RunError: the two runs differ.
    """
    made = tables.contents_digest(frames)
    if not tables.same_contents(
        run.manifest["tables_sha256"], made, [lambda: tables.contents_digest(run.tables()), lambda: made]
    ):
        engine = run.manifest.get("versions", {}).get("engine", "another version")
        raise RunError(
            f"the run {run.id} was made by the engine {engine}, and this one gives another result; "
            "make it again with elephan run --force"
        )


def _part(run: Run, kept: EventsSpec, from_ps: int, to_ps: int | None) -> pl.DataFrame:
    """The events of a saved log in an interval."""
    import polars as pl

    end_ps = run.form.duration_ps if kept.to_ps is None else kept.to_ps
    if (from_ps and from_ps < kept.from_ps) or (to_ps is not None and to_ps > end_ps):
        has = f"{format_time(kept.from_ps)} to {format_time(end_ps)}"
        raise RunError(f"the event log of the run {run.id} goes from {has}; ask for a part of that")
    last_ps = float("inf") if to_ps is None else to_ps
    return run.events.filter((pl.col("time_s") >= from_ps / PS_PER_S) & (pl.col("time_s") < last_ps / PS_PER_S))


def ack_departures(events: pl.DataFrame) -> pl.DataFrame:
    """The rows of ACKs that arrived, with the column ``left_s``, the time at which the receiver sent them.

    An ACK is identified by its acknowledgment number and its echoed time; ``left_s`` is null for an ACK that was sent
    before the log begins.
    """
    import polars as pl

    sacks = [f"sack_{block}_{edge}" for block in (1, 2, 3) for edge in ("first", "past")]
    # A null key differs from every other key.
    events = events.with_columns(pl.col(name).fill_null(0).alias(f"key_{name}") for name in sacks)
    said = ["flow", "segment", "stamp_s", *(f"key_{name}" for name in sacks)]
    left = events.filter(pl.col("kind") == "ack_sent").select(*said, pl.col("time_s"), pl.col("time_s").alias("left_s"))
    arrived = events.filter(pl.col("kind") == "acked")
    return arrived.join_asof(left, on="time_s", by=said, strategy="backward", check_sortedness=False).drop(said[3:])
