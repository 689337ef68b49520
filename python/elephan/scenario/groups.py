"""Groups of equal flows (``count``): the names, the start times and the round-trip times of their flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from elephan.scenario.form import FlowSpec, LinkSpec, Spec

PS_PER_US = 10**6
_GOLDEN = (5**0.5 - 1) / 2


def member_name(group: str, position: int) -> str:
    """The name of a group's flow, by its position from 0."""
    return f"{group}-{position + 1}"


def member_start_ps(start_ps: int, spread_ps: int, position: int, count: int) -> int:
    """Start of a flow of a group; starts are equally spaced over the spread."""
    return start_ps + spread_ps * position // count


def member_rtts_ps(quantiles: Sequence[tuple[float, int]], count: int) -> list[int]:
    """Round-trip times of ``count`` flows with the given distribution, whole microseconds in ps.

    The values are evenly spaced quantiles, so that a small group also has the distribution. The round-trip times are
    ordered by multiples of the golden ratio, so that the RTTs of the first flows are neither all short nor all long.
    Between two given quantiles the logarithm is interpolated, as for transfers.
    """
    order = sorted(range(count), key=lambda i: (i * _GOLDEN) % 1.0)
    times = [0] * count
    at = 0
    for rank, i in enumerate(order):
        share = (rank + 0.5) / count
        while quantiles[at + 1][0] < share:
            at += 1
        (low, low_ps), (high, high_ps) = quantiles[at], quantiles[at + 1]
        exact_ps = low_ps * (high_ps / low_ps) ** ((share - low) / (high - low))
        # Round, since the last digits of a power differ between computers.
        times[i] = round(exact_ps / PS_PER_US) * PS_PER_US
    return times


@dataclass(frozen=True)
class Group:
    """The flows of one ``[[flow]]`` table.

    Attributes:
        name: name of the table.
        algorithm: algorithm of the flows.
        members: names of the flows, in order.
        recorded: names of the flows whose samples are recorded.
    """

    name: str
    algorithm: str
    members: tuple[str, ...]
    recorded: tuple[str, ...]


def groups_of(form: Spec) -> tuple[Group, ...]:
    """The groups of a canonical form that lists them; a single flow is a group with one flow."""
    found = []
    for flow in form.flows:
        names = [member_name(flow.name, i) for i in range(flow.count)] if flow.count > 1 else [flow.name]
        kept = tuple(names[i] for i in recorded_positions(flow.count, form.record_flows))
        found.append(Group(flow.name, flow.algorithm, tuple(names), kept))
    return tuple(found)


def recorded_positions(count: int, wanted: int | None) -> list[int]:
    """Positions of the n = ``wanted`` recorded flows in a group of ``count``: ⌊j count / n⌋ for j from 0 to n - 1."""
    recorded = count if wanted is None else min(wanted, count)
    return [j * count // recorded for j in range(recorded)]


def without_groups(form: Spec) -> Spec:
    """The same canonical form with each flow of a group listed separately, as the engine runs it.

    Flow ``i`` of a group crosses copy ``i`` of each link that has copies.
    """
    if all(flow.count == 1 for flow in form.flows):
        return form
    firsts: list[int] = []
    links: list[LinkSpec] = []
    for link in form.links:
        firsts.append(len(links))
        links.extend(_copies(link))

    def walk(path: Sequence[int], position: int) -> tuple[int, ...]:
        return tuple(firsts[link] + (position if form.links[link].copies > 1 else 0) for link in path)

    def placed(flow: FlowSpec, position: int = 0, **changes: Any) -> FlowSpec:
        path, back = walk(flow.path, position), walk(flow.reverse_path, position)
        return msgspec.structs.replace(flow, path=path, reverse_path=back, **changes)

    def members(group: FlowSpec) -> Iterator[FlowSpec]:
        if group.count == 1:
            yield placed(group)
            return
        for i in range(group.count):
            start_ps = member_start_ps(group.start_ps, group.start_spread_ps, i, group.count)
            name = member_name(group.name, i)
            yield placed(group, i, name=name, start_ps=start_ps, count=1, start_spread_ps=0)

    flows = tuple(flow for group in form.flows for flow in members(group))
    traffic = tuple(msgspec.structs.replace(source, flow=placed(source.flow)) for source in form.traffic)
    return msgspec.structs.replace(form, links=tuple(links), flows=flows, traffic=traffic)


def _copies(link: LinkSpec) -> Iterator[LinkSpec]:
    if link.copies == 1:
        yield link
        return
    for i in range(link.copies):
        delay_ps = link.delays_ps[i] if link.delays_ps else link.delay_ps
        yield msgspec.structs.replace(link, name=member_name(link.name, i), delay_ps=delay_ps, copies=1, delays_ps=())
