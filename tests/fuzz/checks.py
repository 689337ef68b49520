"""Rules that the numbers of a run in the simulator must obey, for every scenario, besides those of every backend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from elephan.scenario.form import FlowSpec, LinkSpec
from elephan.metrics.ranges import POSITIVE
from elephan.metrics.registry import find
from elephan.runs import Run, invariants

_CLOCK_PS = 10**6
"""A tick of a host's clock."""
SLACK = 1e-9
"""Relative: rounding in sums of floating-point numbers."""
# Quantiles are the middle of a bucket of 0.2 %, so one may be half a bucket on the wrong side of an exact minimum.
BUCKET = 0.002
CUMULATIVE = {
    "samples": ("flow", ("delivered_segments", "wire_bytes", "retransmits", "loss_events")),
    "links": (
        "link",
        (
            "arrived_packets", "dropped_packets", "marked_packets", "reordered_packets", "duplicated_packets",
            "delivered_packets", "delivered_bytes", "queue_integral_packet_s",
        ),
    ),
    "sources": ("source", ("delivered_segments", "wire_bytes")),
}  # fmt: skip
IN_ORDER = (
    ("rtt_min_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms"),
    ("owd_min_ms", "owd_p50_ms", "owd_p95_ms", "owd_p99_ms"),
    ("min_queue_pkts", "p50_queue_pkts", "p95_queue_pkts", "p99_queue_pkts", "max_queue_pkts"),
    ("min_queue_pkts", "mean_queue_pkts", "max_queue_pkts"),
    ("queue_min_packets", "queue_mean_packets", "queue_max_packets"),
    ("goodput_mbps", "throughput_mbps"),
    ("cwnd_mean", "cwnd_max"),
    ("rtt_min_ms", "rtt_mean_ms"),
    ("owd_min_ms", "owd_mean_ms"),
)
SIGNED_VARIABLES = ("action", "base_s", "delay_min_s", "delay_max_s", "delay_s", "feedback", "g_max_s", "g_min_s",
                    "growth", "increase", "off_target", "per_segment", "queueing_s", "utility")  # fmt: skip
"""Internal variables that may be negative: a policy's action, gains, gradients, Adaptive Reno's increase, delays by two
clocks."""


def problems(run: Run) -> Iterator[str]:
    """Sentences on what is impossible in a run's tables and in its summary."""
    yield from invariants.problems(run)
    kinds = {flow.name: flow for flow in run.form.flows}
    for name, table in run.tables().items():
        yield from _possible(name, table)
    yield from _windows(run, {name for name, flow in kinds.items() if not flow.datagrams})
    for row in run.flows.iter_rows(named=True):
        yield from _flow(row, kinds[row["name"]], run.form.links)
    yield from _links(run)
    if not run.records_all:
        yield from _crowd(run)
    summary = run.summary()
    for row in summary["flows"]:
        yield from _numbers(f"flow {row['name']}", row)
    for row in summary.get("crowd", []):
        yield from _numbers(f"group {row['group']}", row)
    for row in summary["links"]:
        yield from _numbers(f"link {row['name']}", row)
    yield from _numbers("metrics", summary["metrics"])
    for row in summary.get("traffic", []):
        yield from _numbers(f"traffic {row['name']}", row)


def _possible(name: str, table: pl.DataFrame) -> Iterator[str]:
    """No NaN, nothing infinite, nothing negative; what is counted from the beginning never falls."""
    least = 0.0
    if name == "internals":
        least = -1e-9  # a mean of equal delays may differ from them by rounding
        table = table.filter(~pl.col("variable").cast(pl.String).is_in(SIGNED_VARIABLES))
    for column, dtype in table.schema.items():
        if not dtype.is_numeric() or table.is_empty():
            continue
        values = table[column].drop_nulls()
        if dtype.is_float() and not values.is_finite().all():
            yield f"{name}.{column} is not finite"
        # The event log has differences of clocks; everything else counts or measures.
        elif name != "events" and len(values) and values.min() < least:  # type: ignore[operator]
            yield f"{name}.{column} is negative: {values.min()!r}"
    key, columns = CUMULATIVE.get(name, ("", ()))
    for column in columns:
        signed = pl.Float64 if table.schema[column].is_float() else pl.Int64
        steps = table.select(pl.col(column).cast(signed).diff().over(pl.col(key).cast(pl.String)))[column].min()
        if isinstance(steps, int | float) and steps < 0:
            yield f"{name}.{column} falls by {-steps}"


def _windows(run: Run, names: set[str]) -> Iterator[str]:
    starts = run.flows.select(pl.col("name").alias("flow"), "start_s")
    rows = run.samples.with_columns(pl.col("flow").cast(pl.String)).join(starts, on="flow")
    # Before a flow begins it has no window, and its samples say zero.
    rows = rows.filter(pl.col("flow").is_in(names) & (pl.col("time_s") > pl.col("start_s")))
    least = rows["cwnd"].min()
    if isinstance(least, float) and least < 1 - SLACK:
        yield f"samples.cwnd is {least}"
    if rows["cwnd"].null_count():
        yield "samples.cwnd is not finite"
    for row in run.flows.filter(pl.col("name").is_in(names)).iter_rows(named=True):
        for column in ("cwnd_mean", "cwnd_max"):
            began = row["start_s"] <= run.canonical["measure"]["from_ps"] * 1e-12
            if began and row[column] is not None and row[column] < 1 - 1e-6:
                yield f"{row['name']}: {column} is {row[column]}"


def _shortest_ps(link: LinkSpec) -> int:
    """The link's shortest delay over the run."""
    steps = link.impairments.delay_steps if link.impairments else ()
    return min(link.delay_ps, *(step.delay_ps for step in steps)) if steps else link.delay_ps


def _flow(row: dict[str, Any], spec: FlowSpec, links: Sequence[LinkSpec]) -> Iterator[str]:
    where = f"flow {row['name']}"
    # A link may make two of a datagram, and nothing tells its receiver; UDT counts what it sends in its own way.
    tcp = not spec.datagrams and not spec.algorithm.startswith("udt")
    delivered, again, sent = (row[name] for name in ("segments_delivered", "retransmits", "segments_sent"))
    if tcp and delivered + again > sent:
        yield f"{where}: {delivered} delivered and {again} repeated of {sent} sent"
    # A host's clock counts microseconds, so a shorter round trip is 0.
    shortest_ps = sum(_shortest_ps(links[link]) for link in (*spec.path, *spec.reverse_path))
    rtt_ms = row["rtt_min_ms"]
    if rtt_ms is not None and (rtt_ms < 0 or (rtt_ms == 0 and shortest_ps >= _CLOCK_PS)):
        yield f"{where}: rtt_min_ms is {row['rtt_min_ms']}"


def _crowd(run: Run) -> Iterator[str]:
    """Quantiles rise, no group has more active flows than flows, and the recorded flows are those asked for."""
    crowd = run.crowd.with_columns(pl.col("group").cast(pl.String))
    for column in ("cwnd_segments", "srtt_s", "in_flight_segments", "goodput_mbps"):
        # Times may be equal to the last digit and the samples not.
        rises = pl.col("quantile").diff().over("group") > 0
        least = crowd.select(pl.col(column).diff().over("group").filter(rises).min()).item()
        if least is not None and least < 0:
            yield f"crowd.{column} falls by {-least} from a quantile to the next"
    sizes = {group.name: len(group.members) for group in run.groups}
    for name, most in crowd.group_by("group").agg(pl.col("active_flows").max()).iter_rows():
        if most > sizes[name]:
            yield f"{most} of the {sizes[name]} flows of {name} are active"
    kept = {name for group in run.groups for name in group.recorded}
    if set(run.samples["flow"].cast(pl.String).unique()) != kept:
        yield f"samples of other flows than the {len(kept)} recorded ones"


def _links(run: Run) -> Iterator[str]:
    for name in [link["name"] for link in run.canonical["links"]]:
        rows = run.links.filter(pl.col("link").cast(pl.String) == name)
        if rows.is_empty():
            continue
        last = rows.sort("time_s").tail(1).to_dicts()[0]
        gone = last["delivered_packets"] + last["dropped_packets"]
        if gone > last["arrived_packets"] + last["duplicated_packets"]:
            yield f"{name}: {gone} packets left of {last['arrived_packets']} that arrived"
        means = rows.filter(pl.col("queue_mean").is_not_null())
        slack = SLACK * (1 + means["queue_max"].cast(pl.Float64))
        below = (means["queue_mean"] < means["queue_min"].cast(pl.Float64) - slack).any()
        if below or (means["queue_mean"] > means["queue_max"].cast(pl.Float64) + slack).any():
            yield f"{name}: queue_mean is outside queue_min and queue_max"


def _numbers(where: str, row: dict[str, Any]) -> Iterator[str]:
    numbers = {
        name: value for name, value in row.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }
    for name, value in numbers.items():
        known = find(name)
        least, most = POSITIVE if known is None else known.within
        # A full link may exceed its rate by a packet.
        most = inf if name == "utilization" else most + SLACK
        if not least <= value <= most or not isfinite(value):
            yield f"{where}: {name} is {value}"
    for names in IN_ORDER:
        values = [(name, numbers[name]) for name in names if name in numbers]
        slack = BUCKET if names[0].startswith(("rtt_", "owd_")) else SLACK
        for (low, less), (high, more) in pairwise(values):
            if less > more * (1 + slack) + 1e-9 * (slack == SLACK):
                yield f"{where}: {low} is {less}, above {high}, {more}"
