"""Rules for the numbers of every run, of whatever backend: a run that breaks one of them is not saved.

The bounds have a tolerance of one packet of the flow: a segment may have left the bottleneck before the window in which
it arrives. A link's changes of delay, bursts and retransmissions move whole queues of packets into a window, so a path
with them has no bound on its rate here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from elephan.backends import EngineDefectError
from elephan.rates import rate_mbps
from elephan.runs import saved
from elephan.runs.tables import for_engine
from elephan.scenario.catalog import engine
from elephan.scenario.lookups import wire_bytes

if TYPE_CHECKING:
    from elephan.runs.result import Run
    from elephan.scenario.form import FlowSpec, LinkSpec, Spec

ROUNDING = 1e-9
"""Relative error of sums of floating-point numbers."""

REAL_TIME = 0.05
"""Relative tolerance of rates of the kernel backend: its path runs in real time, and a busy host delivers late."""

_FLOWS = (
    "name", "goodput_mbps", "throughput_mbps", "segments_delivered", "segments_sent", "rtt_min_ms", "rtt_mean_ms",
    "cwnd_mean", "cwnd_max", "completion_s",
)  # fmt: skip
_SIGNED = ("internals", "events")
"""Tables with values that may be negative."""


def check(run: Run) -> None:
    """Check the tables of a run.

    Raises:
        EngineDefectError: a number is impossible; the message has the quantity, its owner, the value and the bound.
    """
    broken = next(problems(run), None)
    if broken is not None:
        raise EngineDefectError(broken, f"{__name__}, on the backend '{run.backend}'")


def problems(run: Run) -> Iterator[str]:
    """One sentence on each number of a run that is impossible."""
    yield from _packets(run.manifest.get("conservation"))
    for name in saved.table_names(run.manifest):
        yield from _values(name, engine().extremes(for_engine(run.arrow(name))))
    flows = {flow.name: flow for flow in run.form.flows}
    for row in run.rows("flows", _FLOWS):
        yield from _flow(run, row, flows[row["name"]])
    yield from _queues(run)


def _packets(counts: dict[str, int] | None) -> Iterator[str]:
    if not counts:
        return
    made, ended = counts["sent"] + counts.get("duplicated", 0), counts["received"] + counts["dropped"]
    if made != ended + counts["under_way"]:
        yield f"{made} packets were sent or duplicated, {ended} ended, and {counts['under_way']} are under way"


def _values(table: str, columns: dict[str, tuple[float, float, bool]]) -> Iterator[str]:
    """Numbers are finite; what counts or measures is not negative; a count of 2⁶³ is a difference that wrapped."""
    for column, (least, most, finite) in columns.items():
        if not finite:
            yield f"a value of {table}.{column} is not a finite number"
        elif table not in _SIGNED and least < 0:
            yield f"{table}.{column} is {least:g}, below 0"
        elif most >= 2.0**63:
            yield f"{table}.{column} is {most:g}, a count below zero"


def _flow(run: Run, row: dict[str, Any], flow: FlowSpec) -> Iterator[str]:
    seconds = (run.form.measure.to_ps - run.form.measure.from_ps) * 1e-12
    packet_mbps = rate_mbps(wire_bytes(flow.stack), seconds)
    goodput, throughput = row["goodput_mbps"], row["throughput_mbps"]

    def above(quantity: str, value: float, bound: float, what: str, unit: str = "Mbit/s") -> str:
        return f"{quantity} of flow '{flow.name}' is {value:.6g} {unit}, above {what}, {bound:.6g} {unit}"

    if goodput > throughput * (1 + ROUNDING) + packet_mbps:
        yield above("goodput", goodput, throughput, "its throughput")
    capacity = capacity_bps(run.form, flow)
    if capacity is not None:
        slack = REAL_TIME if run.backend == "kernel" else ROUNDING
        if throughput > capacity / 1e6 * (1 + slack) + packet_mbps:
            yield above("throughput", throughput, capacity / 1e6, "the rate of its path")
    # The receiver of datagrams cannot tell a copy that a link made, and UDT counts what it sends in its own way.
    is_tcp = not flow.datagrams and flow.algorithm.partition(":")[0] != "udt"
    delivered = row["segments_delivered"]
    if is_tcp and delivered > row["segments_sent"]:
        yield above("segments_delivered", delivered, row["segments_sent"], "what it sent", "segments")
    if is_tcp and flow.size_segments is not None and delivered > flow.size_segments:
        yield above("segments_delivered", delivered, flow.size_segments, "its size", "segments")
    for less, more, slack in (("rtt_min_ms", "rtt_mean_ms", ROUNDING), ("cwnd_mean", "cwnd_max", 1e-6)):
        low, high = row.get(less), row.get(more)
        if low is not None and high is not None and low > high * (1 + slack) + ROUNDING:
            yield above(less, low, high, more, "ms" if less.startswith("rtt") else "segments")
    completion = row.get("completion_s")
    if completion is not None and capacity is not None and flow.size_segments is not None:
        least = (flow.size_segments - 1) * flow.stack.payload_bytes * 8 / capacity
        if completion < least * (1 - ROUNDING):
            what = f"below the time of its data on its path, {least:.6g} s"
            yield f"completion_s of flow '{flow.name}' is {completion:.6g} s, {what}"


def capacity_bps(form: Spec, flow: FlowSpec) -> float | None:
    """Most bit/s that can arrive at the end of a flow's path; ``None`` if a link may deliver many packets at once."""
    rates, copies = [], 1.0
    for link in (form.links[i] for i in flow.path):
        fastest = _fastest_bps(link)
        if fastest is None:
            return None
        copies *= 1 if link.impairments is None or link.impairments.duplicate == 0 else 2
        rates.append(fastest * copies)
    return min(rates, default=None)


def _fastest_bps(link: LinkSpec) -> float | None:
    changes = link.impairments
    if changes is None:
        return float(link.rate_bps)
    late = (changes.delay_steps, changes.jitter, changes.reorder, changes.retransmission, changes.aggregation)
    if any(late) or changes.rate_trace_ms:
        return None
    return float(max([link.rate_bps, *(step.rate_bps for step in changes.rate_steps)]))


def _queues(run: Run) -> Iterator[str]:
    """No queue is longer than its limit in packets."""
    limits = {link.name: link.queue.limit_packets for link in run.form.links if link.record}
    most: dict[str, int] = {}
    for row in run.rows("links", ("link", "queue_max")):
        most[row["link"]] = max(most.get(row["link"], 0), row["queue_max"])
    for name, longest in most.items():
        limit = limits.get(name)
        if limit is not None and longest > limit:
            yield f"queue_max of link '{name}' is {longest} packets, above its buffer, {limit} packets"
