"""Conversion of a queue's limit and parameters from a user's text to the engine's units.

The engine declares, checks and completes the parameters; this module parses texts with a unit.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from elephan.scenario import catalog, units
from elephan.scenario.errors import ScenarioError, join_path
from elephan.scenario.graph import Graph
from elephan.scenario.units import PS_PER_S, Buffer


def limits(graph: Graph, position: int, buffer: Buffer) -> tuple[int | None, int | None]:
    """Limit of a queue in packets and in bytes; a fraction of the BDP is the nearest number of full data packets."""
    if buffer.bdp_share is None:
        return buffer.packets, buffer.octets
    users = graph.users(position)
    if not users:
        # If no flow crosses the link, there is no RTT for the product, and no packet can be queued.
        return None, None
    longest_ps = max(graph.rtt_ps(flow) for flow in users)
    wire_bits = 8 * max(graph.stacks[flow].wire_bytes for flow in users)
    bdp = Decimal(graph.links[position].rate_bps) * longest_ps / (PS_PER_S * wire_bits)
    return int((bdp * buffer.bdp_share).to_integral_value(ROUND_HALF_UP)), None


def queue_parameters(graph: Graph, position: int, kind: str) -> dict[str, bool | int | float | None]:
    """Every parameter of a link's discipline in the engine's units: packets, bytes, ps, numbers and switches.

    Raises:
        ScenarioError: a parameter is unknown or missing, or a value is not allowed.
    """
    link = graph.links[position]
    types: dict[str, str] = {}
    if link.queue_parameters:
        types = {parameter["name"]: parameter["type"] for parameter in catalog.all_queues()[kind]["parameters"]}
    given = {}
    for name, value in link.queue_parameters.items():
        read = _READERS.get(types.get(name, ""))
        try:
            given[name] = value if read is None else read(graph, position, value)
        except ScenarioError as error:
            raise error.located(path=join_path(link.field, "queue_parameters", name)) from None
    packet_bytes = max((graph.stacks[flow].wire_bytes for flow in graph.data_users(position)), default=1500)
    try:
        return catalog.queue_form(kind, given, link.rate_bps, packet_bytes)
    except ScenarioError as error:
        raise error.located(path=link.field) from None


def _duration(_graph: Graph, _position: int, value: Any) -> int:
    return units.parse_positive_time(value)


def _amount(graph: Graph, position: int, value: Any) -> tuple[int | None, int | None]:
    """Packets and bytes."""
    buffer = units.parse_buffer(value)
    if buffer.unlimited:
        raise ScenarioError("'unlimited' is not an amount; write for example \"20 packets\"")
    packets, octets = limits(graph, position, buffer)
    if packets is None and octets is None:
        raise ScenarioError(
            f"'{buffer}' has no meaning on a link that no flow crosses; write for example \"20 packets\""
        )
    return packets, octets


def _packets(graph: Graph, position: int, value: Any) -> float:
    packets, _ = _amount(graph, position, value)
    if packets is None:
        raise ScenarioError(f"'{value}' is not in packets; write for example \"30 packets\"")
    return float(packets)


def _rate(_graph: Graph, _position: int, value: Any) -> int:
    return units.parse_rate(value)


def _size(graph: Graph, position: int, value: Any) -> int:
    """Bytes, at least those of a packet: a smaller bucket would let no packet through."""
    size = units.parse_size(value)
    largest = max((graph.stacks[flow].wire_bytes for flow in graph.users(position)), default=1)
    if size < largest:
        raise ScenarioError(f"'{units.format_size(size)}' is less than one packet of {largest} B")
    return size


_READERS: dict[str, Callable[[Graph, int, Any], Any]] = {
    "duration": _duration, "amount": _amount, "packets": _packets, "rate": _rate, "size": _size,
}  # fmt: skip
"""Parsers by the type of a parameter; values of other types are passed to the engine unchanged."""
