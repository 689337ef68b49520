"""A scenario in a notebook: its path as a drawing and a table, its flows, and its warnings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from elephan.notebooks import escape, heading, notes, svg, table
from elephan.scenario.form import (
    BernoulliLoss,
    FlowSpec,
    GilbertElliottLoss,
    IntervalLoss,
    IntervalsLoss,
    LinkSpec,
    LoadArrivals,
    LossSpec,
    NoneLoss,
    Spec,
    TimedStatesLoss,
)
from elephan.scenario.lookups import base_rtt_ps
from elephan.scenario.units import format_rate, format_size, format_time

_MOST_DRAWN = 4
_STEP, _SIDE, _HEIGHT = 170, 130, 92


def show(form: Spec, title: str, facts: Iterable[str], warnings: Iterable[str]) -> str:
    """HTML of a canonical form with groups, with ``facts`` below its title."""
    measured = f"measured {_time(form.measure.from_ps)} to {_time(form.measure.to_ps)}"
    links = [link for link in form.links if _may_queue(link)]
    parts = [
        heading(
            title, f"{_time(form.duration_ps)}, {measured}", *facts,
        ),
        _drawing(form),
        table(["link", "rate", "delay", "buffer", "queue", "random losses"], map(_link, links)),
        table(
            ["flow", "flows", "algorithm", "start", "base RTT", "sends"],
            [_flow(form, flow) for flow in form.flows],
        )
        if form.flows
        else "",
        table(
            ["source of transfers", "algorithm", "load", "base RTT"],
            [
                (source.flow.name, source.flow.algorithm, _load(source.arrivals), _time(base_rtt_ps(form, source.flow)))
                for source in form.traffic
            ],
        )
        if form.traffic
        else "",
        notes(warnings),
    ]  # fmt: skip
    return "\n".join(part for part in parts if part)


def _may_queue(link: LinkSpec) -> bool:
    return link.record or link.queue.limit_packets is not None or link.queue.limit_bytes is not None


def _link(link: LinkSpec) -> tuple[str, ...]:
    copies = f" ({link.copies} of them)" if link.copies > 1 else ""
    return (
        link.name + copies, _rate(link), _time(link.delay_ps), _buffer(link), link.queue.kind, _loss(link.loss),
    )  # fmt: skip


def _flow(form: Spec, flow: FlowSpec) -> tuple[Any, ...]:
    sends = "as much as it may"
    if flow.datagrams:
        sends = "datagrams"
    elif flow.application is not None:
        sends = f"{format_rate(flow.application.rate_bps)} from its application"
    elif flow.size_segments is not None:
        sends = f"{flow.size_segments:,} segments"
    start = _time(flow.start_ps)
    if flow.start_spread_ps:
        start += f" and the next {_time(flow.start_spread_ps)}"
    return flow.name, flow.count, flow.algorithm, start, _time(base_rtt_ps(form, flow)), sends


def _load(arrivals: object) -> str:
    return format_rate(arrivals.bps) if isinstance(arrivals, LoadArrivals) else "–"


def _rate(link: LinkSpec) -> str:
    return format_rate(link.rate_bps)


def _time(time_ps: int) -> str:
    return format_time(time_ps)


def _buffer(link: LinkSpec) -> str:
    if link.queue.limit_packets is not None:
        return f"{link.queue.limit_packets:,} packets"
    return "unlimited" if link.queue.limit_bytes is None else format_size(link.queue.limit_bytes)


def _loss(loss: LossSpec) -> str:
    match loss:
        case NoneLoss():
            return "none"
        case BernoulliLoss(p=p):
            return f"{100 * p:g}%"
        case IntervalLoss(p=p, from_ps=begin, to_ps=end):
            return f"{100 * p:g}% from {format_time(begin)} to {format_time(end)}"
        case IntervalsLoss(intervals=intervals):
            return f"in {len(intervals):,} intervals"
        case GilbertElliottLoss() | TimedStatesLoss():
            return "in bursts"
        case _:
            return "chosen packets"


# ---- the drawing ----


def _drawing(form: Spec) -> str:
    """Drawing of senders, a row of recorded links, and receivers; empty if the links do not form one row."""
    recorded = {i for i, link in enumerate(form.links) if link.record}
    senders = [*form.flows, *(source.flow for source in form.traffic)]
    forward = [flow for flow in senders if recorded.intersection(flow.path)]
    row = max(([i for i in flow.path if _may_queue(form.links[i])] for flow in forward), key=len, default=[])
    if not 0 < len(row) <= _MOST_DRAWN or set(row) != recorded:
        return ""
    x, middle, parts = _SIDE, _HEIGHT // 2, [_names(forward, 4, "start")]
    for i in row:
        parts.append(_queue(form.links[i], x, middle))
        x += _STEP
    arrow = f'<path d="M{x} {middle}h22m-6 -4l6 4l-6 4" fill="none" stroke="currentColor"/>'
    return svg(x + _SIDE, _HEIGHT, "".join(parts) + arrow + _names(forward, x + 28, "start", receivers=True))


def _names(flows: list[FlowSpec], x: int, anchor: str, *, receivers: bool = False) -> str:
    texts = [f"{flow.name} × {flow.count}" if flow.count > 1 else flow.name for flow in flows[:_MOST_DRAWN]]
    if len(flows) > _MOST_DRAWN:
        texts[-1] = f"and {len(flows) - _MOST_DRAWN + 1} more"
    if receivers:
        texts = ["receivers"]
    top = _HEIGHT // 2 - 7 * (len(texts) - 1) + 4
    return "".join(
        f'<text x="{x}" y="{top + 14 * i}" text-anchor="{anchor}">{escape(text[:18])}</text>'
        for i, text in enumerate(texts)
    )


def _queue(link: LinkSpec, x: int, middle: int) -> str:
    """A queue that is open to the left, and its link, with their limits."""
    bars = "".join(f'<path d="M{x + 34 + 7 * k} {middle - 9}v18" stroke="currentColor"/>' for k in range(4))
    return (
        f'<path d="M{x - 22} {middle}h30m-6 -4l6 4l-6 4" fill="none" stroke="currentColor"/>'
        f'<path d="M{x + 14} {middle - 11}h46v22h-46" fill="none" stroke="currentColor" stroke-width="1.5"/>{bars}'
        f'<circle cx="{x + 70}" cy="{middle}" r="8" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<path d="M{x + 78} {middle}h{_STEP - 78 - 22}" stroke="currentColor" stroke-width="2"/>'
        f'<text x="{x + 14}" y="{middle - 18}">{escape(link.name)}: {escape(_rate(link))}</text>'
        f'<text x="{x + 14}" y="{middle + 26}">{escape(_buffer(link))}, {escape(link.queue.kind)}</text>'
        f'<text x="{x + 14}" y="{middle + 40}">{escape(_time(link.delay_ps))} one way</text>'
    )
