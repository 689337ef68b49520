"""The time-sequence diagram of a run with an event log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from elephan.report.charts import Drawn, LineChart, LinePanel, Points

if TYPE_CHECKING:
    from elephan.runs import Run

MOST_DOTS = 1500
"""Largest number of points of a series; of more, every n-th is drawn."""
MOST_FLOWS = 8
_SERIES: tuple[tuple[str, int, Drawn], ...] = (
    ("sent", 0, "dots"), ("acknowledged", 2, "line"), ("sent again", 1, "markers"),
    ("dropped or lost", 5, "markers"),
)  # fmt: skip


def time_sequence(run: Run) -> list[LineChart]:
    """Segments against time for each flow, from its event log; empty without one."""
    if not run.has_events:
        return []
    events = run.events
    order = {spec.name: place for place, spec in enumerate(run.form.flows)}
    names = events["flow"].cast(pl.String).unique(maintain_order=True).to_list()
    names.sort(key=lambda name: order.get(name, len(order)))
    panels = [panel for name in names[:MOST_FLOWS] if (panel := _panel(events, name)) is not None]
    if not panels:
        return []
    return [LineChart(
        "sequence", "Time and sequence, from the event log",
        "Segments from the first one that the log shows. The distance from a sent segment to the line of what is "
        f"acknowledged is a round trip to the right, and what is outstanding downwards.{_left_out(len(names))}",
        tuple(panels),
    )]  # fmt: skip


def _left_out(flows: int) -> str:
    """The limits of the diagram, in sentences."""
    first = f" It has the first {MOST_FLOWS} of {flows} flows." if flows > MOST_FLOWS else ""
    return f"{first} If a series has more than {MOST_DOTS:,} points, every n-th is drawn."


def _panel(events: pl.DataFrame, flow: str) -> LinePanel | None:
    of_flow = events.filter(pl.col("flow") == flow)
    kind, data = pl.col("kind").cast(pl.String), ~pl.col("ack")
    first = of_flow.filter(data)["segment"].min()
    if first is None:
        return None
    rows = of_flow.with_columns(pl.col("segment").cast(pl.Int64) - first)
    chosen = {
        "sent": rows.filter((kind == "sent") & ~pl.col("retransmit")),
        "acknowledged": rows.filter(kind == "acked"),
        "sent again": rows.filter((kind == "sent") & pl.col("retransmit")),
        "dropped or lost": rows.filter(data & kind.is_in(["dropped", "lost"])),
    }
    series = tuple(_points(name, chosen[name], style, drawn) for name, style, drawn in _SERIES if len(chosen[name]))
    return LinePanel(flow, "time (s)", "segments", series)


def _points(name: str, rows: pl.DataFrame, style: int, drawn: Drawn) -> Points:
    shown = rows.gather_every(max(1, -(-len(rows) // MOST_DOTS)))
    return Points(name, shown["time_s"].round(6).to_list(), shown["segment"].to_list(), style=style, drawn=drawn)
