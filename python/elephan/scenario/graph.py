"""Conversion of the user's topology (a dumbbell, a parking lot, or links) to directed links and a route for each
flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from msgspec import structs

from elephan.scenario.channels import TooManyChangesError
from elephan.scenario.errors import ScenarioError, join_path
from elephan.scenario.groups import member_rtts_ps
from elephan.scenario.impairments import STEADY, Impairments
from elephan.scenario.losses import Loss
from elephan.scenario.schema import (
    DATAGRAM_HEADER_BYTES,
    Datagrams,
    Flow,
    Link,
    ParkingLot,
    Path,
    ScenarioTable,
    Traffic,
)
from elephan.scenario.stacks import STACKS, UDT_HEADER_BYTES, UDT_LEAST_PAYLOAD_BYTES, Stack, is_udt, udt_stack
from elephan.scenario.traffic import rtt_quantiles
from elephan.scenario.units import MAX_RATE_BPS, PS_PER_S, Buffer, format_time
from elephan.scenario.words import hint

BOTTLENECK = "bottleneck"
ACCESS_RATE_FACTOR = 10
_REVERSE = "/reverse"


@dataclass(frozen=True)
class DirectedLink:
    """One direction of a link: queue, transmitter, delay line.

    Attributes:
        field: field of the link in the scenario, for messages.
        impairments: impairments of the link.
        copies: number of copies: one for each flow of a group.
        delays_ps: the delay of each copy; empty if all copies have the delay ``delay_ps``; otherwise ``delay_ps`` is
            the longest delay.
        source: node at which the link starts; ``target``: node at which it ends.
    """

    name: str
    source: str
    target: str
    rate_bps: int
    delay_ps: int
    buffer: Buffer
    queue: str
    queue_parameters: dict[str, Any]
    loss: Loss
    record: bool | None
    field: str
    impairments: Impairments = STEADY
    copies: int = 1
    delays_ps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Route:
    """The links of one flow: positions in :attr:`Graph.links`, in the order in which a packet crosses them."""

    forward: tuple[int, ...]
    backward: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """Directed links, with the route and the stack of each flow or group of flows, followed by the route and the stack
    of each source of transfers."""

    links: tuple[DirectedLink, ...]
    routes: tuple[Route, ...]
    stacks: tuple[Stack, ...]
    counts: tuple[int, ...]
    """Number of flows of each group: 1 for a single flow and for a source."""

    def rtt_ps(self, flow: int) -> int:
        """Two-way propagation delay of a flow, ps; for a group, the longest delay."""
        return sum(link.delay_ps for link in self._round(flow))

    def rtts_ps(self, flow: int) -> tuple[int, int]:
        """Shortest and longest two-way propagation delay of a flow or of the flows of a group, ps."""
        own = [link.delays_ps for link in self._round(flow) if link.delays_ps]
        fixed_ps = sum(link.delay_ps for link in self._round(flow) if not link.delays_ps)
        rtts_ps = [fixed_ps + sum(delays) for delays in zip(*own, strict=True)] or [fixed_ps]
        return min(rtts_ps), max(rtts_ps)

    def _round(self, flow: int) -> list[DirectedLink]:
        """The links of a round trip."""
        return [self.links[link] for link in (*self.routes[flow].forward, *self.routes[flow].backward)]

    def slowest(self, flow: int) -> int:
        """The first of the slowest links on a flow's forward path."""
        return min(self.routes[flow].forward, key=lambda link: self.links[link].rate_bps)

    def users(self, link: int) -> list[int]:
        """The flows whose data or ACKs cross a link."""
        return self._users[link]

    def data_users(self, link: int) -> list[int]:
        """The flows whose data cross a link."""
        return self._data_users[link]

    def sharing(self, link: int) -> int:
        """Number of flows whose data cross a link; each source of transfers counts as one."""
        return sum(self.counts[user] for user in self.data_users(link))

    # Computed once for all links; a loop over all flows for each link would take quadratic time.
    @cached_property
    def _users(self) -> list[list[int]]:
        return _by_link(len(self.links), [dict.fromkeys((*route.forward, *route.backward)) for route in self.routes])

    @cached_property
    def _data_users(self) -> list[list[int]]:
        return _by_link(len(self.links), [route.forward for route in self.routes])

    def bdp_packets(self, link: int) -> float:
        """Bandwidth-delay product of a link in full data packets; the RTT and the packet size are the largest among the
        link's flows."""
        users = self.users(link)
        longest_ps = max(self.rtt_ps(flow) for flow in users)
        wire_bytes = max(self.stacks[flow].wire_bytes for flow in users)
        return self.links[link].rate_bps * longest_ps / (8 * wire_bytes * PS_PER_S)


def _by_link(links: int, crossed: Iterable[Iterable[int]]) -> list[list[int]]:
    """The flows that cross each link, from the links that each flow crosses."""
    users: list[list[int]] = [[] for _ in range(links)]
    for flow, path in enumerate(crossed):
        for link in path:
            users[link].append(flow)
    return users


def build_graph(scenario: ScenarioTable) -> Graph:
    """The graph of a scenario.

    Raises:
        ScenarioError: there is not exactly one topology, a path has a gap, or a delay does not fit the RTT.
    """
    topologies = {"dumbbell": scenario.dumbbell_, "parking_lot": scenario.parking_lot, "link": scenario.link}
    named = [name for name, written in topologies.items() if written]
    if not named:
        raise ScenarioError("there is no path; write path with a name, or one of [dumbbell], [parking_lot] or [[link]]")
    if len(named) > 1:
        raise ScenarioError(f"[{named[0]}] and [{named[1]}] are both there; write one of dumbbell, parking_lot or link")
    if not scenario.flow and not scenario.traffic:
        raise ScenarioError(
            "there is no flow; write at least one [[flow]] or [[traffic]] with an algorithm", path="flow"
        )
    stacks = tuple(flow_stacks(scenario))
    for where, flow in _senders(scenario):
        _check_topology_fields(flow, where, named[0])
    if scenario.dumbbell_:
        return _row_graph(scenario, scenario.dumbbell_, "dumbbell", 1, stacks)
    if scenario.parking_lot:
        return _row_graph(scenario, scenario.parking_lot, "parking_lot", scenario.parking_lot.hops, stacks)
    return _link_graph(scenario, stacks)


def flow_stacks(scenario: ScenarioTable) -> Iterator[Stack]:
    """The complete stack of each flow, in order.

    Raises:
        ScenarioError: the fields of a stack contradict each other.
    """
    try:
        shared = scenario.stack.resolve(STACKS["linux"])
    except ScenarioError as error:
        raise error.located(path="stack") from None
    for i, flow in enumerate(scenario.flow):
        try:
            own = flow.stack.resolve(shared) if flow.stack else shared
        except ScenarioError as error:
            raise error.located(path=join_path("flow", i, "stack")) from None
        if flow.datagrams:
            yield _datagram_stack(shared, flow.datagrams, join_path("flow", i))
        elif is_udt(flow.algorithm):
            yield _udt_stack(shared, flow, join_path("flow", i))
        else:
            yield own
    for i, source in enumerate(scenario.traffic):
        try:
            yield source.stack.resolve(shared) if source.stack else shared
        except ScenarioError as error:
            raise error.located(path=join_path("traffic", i, "stack")) from None


def _senders(scenario: ScenarioTable) -> list[tuple[str, Flow | Traffic]]:
    """Flows and sources with their fields in the scenario, in the order of :attr:`Graph.routes`."""
    flows: list[tuple[str, Flow | Traffic]] = [(f"flow[{i}]", flow) for i, flow in enumerate(scenario.flow)]
    return flows + [(f"traffic[{i}]", source) for i, source in enumerate(scenario.traffic)]


def _datagram_stack(shared: Stack, datagrams: Datagrams, where: str) -> Stack:
    """A stack with the sizes of datagrams; datagrams use no other field of a stack."""
    payload_bytes = datagrams.size - DATAGRAM_HEADER_BYTES
    if not 0 < payload_bytes <= 65_535 - DATAGRAM_HEADER_BYTES:
        raise ScenarioError(
            f"'{datagrams.size} B' is not a datagram's size; it is from {DATAGRAM_HEADER_BYTES + 1} B, "
            f"{DATAGRAM_HEADER_BYTES} B of them headers, to 65535 B",
            path=join_path(where, "datagrams", "size"),
        )
    return structs.replace(shared, payload_bytes=payload_bytes, header_bytes=DATAGRAM_HEADER_BYTES)


def _udt_stack(shared: Stack, flow: Flow, where: str) -> Stack:
    """A stack for UDT, whose packets are as large as the scenario's full segments or have the payload that the flow
    states."""
    for field in flow.stack.model_fields_set if flow.stack else ():
        if field != "payload" and getattr(flow.stack, field) is not None:
            raise ScenarioError(
                "has no effect for UDT, which has its own endpoints; omit it",
                path=join_path(where, "stack", field),
            )
    stated = flow.stack.payload if flow.stack else None
    payload_bytes = shared.wire_bytes - UDT_HEADER_BYTES if stated is None else stated
    if not UDT_LEAST_PAYLOAD_BYTES <= payload_bytes <= 65_535 - UDT_HEADER_BYTES:
        raise ScenarioError(
            f"'{payload_bytes} B' is no payload of a UDT packet; it is from {UDT_LEAST_PAYLOAD_BYTES} B to "
            f"{65_535 - UDT_HEADER_BYTES} B, {UDT_HEADER_BYTES} B of headers come on top",
            path=join_path(where, "stack", "payload"),
        )
    return udt_stack(payload_bytes)


_ONLY_IN = {
    "rtt": ("dumbbell",),
    "rtts": ("dumbbell",),
    "direction": ("dumbbell", "parking_lot"),
    "hops": ("parking_lot",),
    "path": ("link",),
    "reverse_path": ("link",),
}


def _check_topology_fields(flow: Flow | Traffic, where: str, topology: str) -> None:
    for field, homes in _ONLY_IN.items():
        if field == "rtts" and isinstance(flow, Traffic):
            continue  # a source's transfers have their own round-trip times on every path
        if field in flow.model_fields_set and getattr(flow, field) is not None and topology not in homes:
            written = "a graph of links" if topology == "link" else f"a {topology}"
            wanted = " or ".join("links" if home == "link" else home for home in homes)
            raise ScenarioError(f"has no meaning on {written}; it belongs to {wanted}", path=join_path(where, field))


def _row_graph(scenario: ScenarioTable, path: Path, field: str, hops: int, stacks: tuple[Stack, ...]) -> Graph:
    """The graph of a row of equal bottlenecks with two separate access links for each flow."""
    middle_ps = path.rtt // 2 - 2 * path.access_delay
    if middle_ps < 0:
        least = format_time(4 * path.access_delay)
        raise ScenarioError(
            f"'{format_time(path.rtt)}' is shorter than the path; the access links alone take {least} there and back",
            path=f"{field}.rtt",
        )
    if path.rtt % 2 or middle_ps % hops:
        raise ScenarioError(
            f"'{format_time(path.rtt)}' does not divide into {2 * hops} equal delays", path=f"{field}.rtt"
        )
    links: list[DirectedLink] = []
    for hop in range(hops):
        there = DirectedLink(
            name=f"hop{hop + 1}" if isinstance(path, ParkingLot) else BOTTLENECK,
            source=f"router{hop}",
            target=f"router{hop + 1}",
            rate_bps=path.rate,
            delay_ps=middle_ps // hops,
            buffer=path.buffer,
            queue=path.queue,
            queue_parameters=path.queue_parameters,
            loss=path.loss,
            record=None,
            field=field,
            impairments=Impairments.of(path),
        )
        links += _both_ways(there)
    access_rate = path.access_rate or _access_rate(path, field, scenario.duration)
    routes = []
    for i, (where, flow) in enumerate(_senders(scenario)):
        first, last = flow.hops or (1, hops)
        if last > hops:
            raise ScenarioError(f"hop {last} is not there; the row has {hops}", path=join_path(where, "hops"))
        crossed = [2 * hop for hop in range(first - 1, last)]
        delays = _all_access_delays(flow, path, sum(links[link].delay_ps for link in crossed), where)
        ends = [
            _access_link(f"source{i + 1}", f"source{i + 1}", f"router{first - 1}", access_rate, where),
            _access_link(f"sink{i + 1}", f"router{last}", f"sink{i + 1}", access_rate, where),
        ]
        ends = [_with_delays(link, flow, [pair[end] for pair in delays]) for end, link in enumerate(ends)]
        if flow.direction == "left":
            # The sender is on the right: its data cross the row backwards, so both access links and the row are
            # reversed.
            ends = [
                replace(ends[0], source=f"source{i + 1}", target=f"router{last}"),
                replace(ends[1], source=f"router{first - 1}", target=f"sink{i + 1}"),
            ]
        base = len(links)
        links += [*_both_ways(ends[0]), *_both_ways(ends[1])]
        row = crossed if flow.direction == "right" else [link + 1 for link in reversed(crossed)]
        back = [link ^ 1 for link in reversed(row)]
        routes.append(Route((base, *row, base + 2), (base + 3, *back, base + 1)))
    return Graph(tuple(links), tuple(routes), stacks, _counts(scenario))


def _access_rate(path: Path, field: str, duration_ps: int) -> int:
    """The rate of access links that never limit a flow: they follow the highest rate that the bottleneck has."""
    try:
        fastest_bps = Impairments.of(path).fastest_bps(path.rate, duration_ps)
    except TooManyChangesError as error:
        raise ScenarioError(str(error), path=f"{field}.channel") from None
    return min(ACCESS_RATE_FACTOR * fastest_bps, MAX_RATE_BPS)


def _counts(scenario: ScenarioTable) -> tuple[int, ...]:
    return (*(flow.count for flow in scenario.flow), *(1 for _ in scenario.traffic))


def _all_access_delays(flow: Flow | Traffic, path: Path, crossed_ps: int, where: str) -> list[tuple[int, int]]:
    """One-way delays of the first and the last link, ps: one pair for all flows, or one for each flow of a group."""
    # The round-trip times of a source's transfers are drawn; the transfers share the links.
    if isinstance(flow, Traffic):
        return [_access_delays(None, path, crossed_ps, where)]
    quantiles = rtt_quantiles(flow, where)
    if not quantiles:
        return [_access_delays(flow.rtt, path, crossed_ps, f"{where}.rtt")]
    rtts_ps = member_rtts_ps(quantiles, flow.count)
    return [_access_delays(max(rtt_ps, 2 * crossed_ps), path, crossed_ps, f"{where}.rtts") for rtt_ps in rtts_ps]


def _with_delays(link: DirectedLink, flow: Flow | Traffic, delays_ps: list[int]) -> DirectedLink:
    """An access link with its delay, or with the delay of each of its copies."""
    copies = flow.count if isinstance(flow, Flow) else 1
    own = tuple(delays_ps) if len(delays_ps) > 1 else ()
    return replace(link, delay_ps=max(delays_ps), copies=copies, delays_ps=own)


def _access_delays(rtt_ps: int | None, path: Path, crossed_ps: int, where: str) -> tuple[int, int]:
    """One-way delays of a flow's first and last link, in ps."""
    if rtt_ps is None:
        return path.access_delay, path.access_delay
    if rtt_ps % 2 or rtt_ps // 2 < crossed_ps:
        shortest = format_time(2 * crossed_ps)
        raise ScenarioError(f"'{format_time(rtt_ps)}' is shorter than the path, {shortest} there and back", path=where)
    spare_ps = rtt_ps // 2 - crossed_ps
    return spare_ps // 2, spare_ps - spare_ps // 2


def _access_link(name: str, source: str, target: str, rate_bps: int, field: str) -> DirectedLink:
    buffer = Buffer(unlimited=True)
    return DirectedLink(name, source, target, rate_bps, 0, buffer, "droptail", {}, Loss(), record=False, field=field)


def _both_ways(there: DirectedLink) -> list[DirectedLink]:
    """A link and its opposite direction, which has the same rate, delay, buffer and delays of a channel, but no other
    impairments."""
    back = replace(
        there,
        name=there.name + _REVERSE,
        source=there.target,
        target=there.source,
        loss=Loss(),
        impairments=there.impairments.reverse,
    )
    return [there, back]


def _link_graph(scenario: ScenarioTable, stacks: tuple[Stack, ...]) -> Graph:
    links: list[DirectedLink] = []
    for i, link in enumerate(scenario.link):
        _check_link(link, f"link[{i}]", [known.name for known in links])
        there = DirectedLink(
            link.name,
            link.from_,
            link.to,
            link.rate,
            link.delay,
            link.buffer,
            link.queue,
            link.queue_parameters,
            link.loss,
            link.record,
            f"link[{i}]",
            Impairments.of(link),
        )
        links += _both_ways(there) if link.duplex else [there]
    positions = {link.name: position for position, link in enumerate(links)}
    routes = []
    for where, flow in _senders(scenario):
        if not flow.path:
            raise ScenarioError(
                'missing; write the links that its data cross, for example ["west", "east"]', path=f"{where}.path"
            )
        forward = _walk(flow.path, links, positions, f"{where}.path")
        if flow.reverse_path is None:
            turned = [_other_direction(name) for name in reversed(flow.path)]
            one_way = [name for name in turned if name not in positions]
            if one_way:
                raise ScenarioError(
                    f"missing; '{_other_direction(one_way[0])}' is not duplex, so the reverse path must be written",
                    path=f"{where}.reverse_path",
                )
            backward = _walk(tuple(turned), links, positions, f"{where}.reverse_path")
        else:
            backward = _walk(flow.reverse_path, links, positions, f"{where}.reverse_path")
            _check_loop(
                links[forward[0]], links[forward[-1]], links[backward[0]], links[backward[-1]], f"{where}.reverse_path"
            )
        routes.append(Route(forward, backward))
    return Graph(tuple(links), tuple(routes), stacks, _counts(scenario))


def _other_direction(name: str) -> str:
    return name.removesuffix(_REVERSE) if name.endswith(_REVERSE) else name + _REVERSE


def _check_link(link: Link, where: str, known: list[str]) -> None:
    if link.name in known or link.name + _REVERSE in known:
        raise ScenarioError(f"'{link.name}' is the name of an earlier link", path=f"{where}.name")
    if link.name.endswith(_REVERSE):
        raise ScenarioError(
            f"'{link.name}': names that end in {_REVERSE} are those of duplex links' other directions",
            path=f"{where}.name",
        )
    if link.from_ == link.to:
        raise ScenarioError(f"'{link.to}' is where the link starts; a link joins two nodes", path=f"{where}.to")


def _walk(names: tuple[str, ...], links: list[DirectedLink], positions: dict[str, int], where: str) -> tuple[int, ...]:
    """The positions of the links of a path; the links must connect, and no link may occur twice.

    Raises:
        ScenarioError: a link is unknown or used twice, or the path has a gap.
    """
    path: list[int] = []
    for i, name in enumerate(names):
        place = f"{where}[{i}]"
        if name not in positions:
            raise ScenarioError(f"'{name}' is not a link; {hint(name, positions)}", path=place)
        here = positions[name]
        if here in path:
            raise ScenarioError(f"'{name}' is already on this path; a packet crosses a link once", path=place)
        if path and links[path[-1]].target != links[here].source:
            before = links[path[-1]]
            raise ScenarioError(
                f"'{name}' starts at '{links[here].source}', but '{before.name}' ends at '{before.target}'", path=place
            )
        path.append(here)
    if not path:
        raise ScenarioError("an empty path; write at least one link", path=where)
    return tuple(path)


def _check_loop(
    first: DirectedLink, last: DirectedLink, back_first: DirectedLink, back_last: DirectedLink, where: str
) -> None:
    if last.target != back_first.source:
        raise ScenarioError(f"starts at '{back_first.source}', but the data end at '{last.target}'", path=where)
    if back_last.target != first.source:
        raise ScenarioError(f"ends at '{back_last.target}', but the data start at '{first.source}'", path=where)
