"""The parameters of queue disciplines: from what a user wrote to what the engine runs, every default written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from elephan.scenario import catalog, units
from elephan.scenario.errors import ScenarioError
from elephan.scenario.graph import Graph
from elephan.scenario.units import PS_PER_S, Buffer
from elephan.scenario.words import hint

# Floyd, Gummadi and Shenker 2001, section 4: a target delay of 5 ms is twice the lower threshold.
_RED_HALF_TARGET_S = 0.0025
_RED_MIN_PACKETS = 5.0


def limits(graph: Graph, position: int, buffer: Buffer) -> tuple[int | None, int | None]:
    """The limit of a queue in packets and in bytes; a part of the BDP is the nearest number of full data packets."""
    if buffer.bdp_share is None:
        return buffer.packets, buffer.octets
    users = graph.users(position)
    if not users:
        # No flow crosses it: there is no RTT to take the product with, and nothing that could wait either.
        return None, None
    longest_ps = max(graph.rtt_ps(flow) for flow in users)
    wire_bits = 8 * max(graph.stacks[flow].wire_bytes for flow in users)
    bdp = Decimal(graph.links[position].rate_bps) * longest_ps / (PS_PER_S * wire_bits)
    return int((bdp * buffer.bdp_share).to_integral_value(ROUND_HALF_UP)), None


def queue_parameters(graph: Graph, position: int, kind: str) -> dict[str, bool | int | float | None]:
    """Every parameter of a link's discipline in the engine's units: packets, bytes, ps, numbers and switches.

    Raises:
        ScenarioError: a parameter that the discipline does not have, one that it needs, or a value that is not allowed.
    """
    link = graph.links[position]
    declared = {parameter["name"]: parameter for parameter in catalog.queues()[kind]["parameters"]}
    values: dict[str, Any] = {}
    for name in link.queue_parameters:
        if name not in declared:
            field = f"{link.field}.queue_parameters.{name}"
            allowed = hint(name, declared) if declared else "it has none"
            raise ScenarioError(f"not a parameter of {kind}; {allowed}", path=field)
    for name, parameter in declared.items():
        field = f"{link.field}.queue_parameters.{name}"
        try:
            values |= _parameter(graph, position, kind, parameter, link.queue_parameters.get(name))
        except ScenarioError as error:
            raise error.located(path=field) from None
    if kind == "red" and values["min"] >= values["max"]:
        raise ScenarioError(
            f"{values['max']:g} packets must be more than min, {values['min']:g}",
            path=f"{link.field}.queue_parameters.max",
        )
    return {_ENGINE_NAMES.get((kind, name), name): value for name, value in values.items()}


_ENGINE_NAMES = {("red", "min"): "min_packets", ("red", "max"): "max_packets"}
_WHOLE = ("queues", "quantum")


def _parameter(graph: Graph, position: int, kind: str, parameter: dict[str, Any], given: Any) -> dict[str, Any]:
    name, unit = parameter["name"], parameter["unit"]
    if given is None and parameter["required"]:
        raise ScenarioError(f'the queue {kind} needs it; write for example {name} = "20 packets"')
    if unit == "amount":
        packets, octets = limits(graph, position, _limited(units.parse_buffer(given)))
        return {f"{name}_packets": packets, f"{name}_bytes": octets}
    if unit == "s":
        time_ps = round(parameter["default"] * PS_PER_S) if given is None else units.parse_positive_time(given)
        return {f"{name}_ps": time_ps}
    if given is None:
        default = parameter["default"]
        return {name: _DERIVED[name](graph, position) if default is None else _number(name, default)}
    if unit == "packets":
        packets, _ = limits(graph, position, _limited(units.parse_buffer(given)))
        if packets is None:
            raise ScenarioError(f"'{given}' is not in packets; write for example \"30 packets\"")
        return {name: float(packets)}
    catalog.check_parameter({"name": kind, "parameters": [parameter]}, name, given)
    return {name: _number(name, given)}


def _number(name: str, value: float | bool) -> float | bool | int:
    if isinstance(value, bool):
        return value
    return int(value) if name in _WHOLE else float(value)


def _limited(buffer: Buffer) -> Buffer:
    if buffer.unlimited:
        raise ScenarioError("'unlimited' is not an amount; write for example \"20 packets\"")
    return buffer


def _packets_per_second(graph: Graph, position: int) -> float:
    """The link's rate in its largest data packets."""
    wire_bytes = max((graph.stacks[flow].wire_bytes for flow in graph.data_users(position)), default=1500)
    return graph.links[position].rate_bps / (8 * wire_bytes)


def _red_min(graph: Graph, position: int) -> float:
    given = graph.links[position].queue_parameters.get("max")
    derived = max(_RED_MIN_PACKETS, _RED_HALF_TARGET_S * _packets_per_second(graph, position))
    if given is None:
        return derived
    most, _ = limits(graph, position, _limited(units.parse_buffer(given)))
    return derived if most is None else min(derived, most / 3)


def _red_max(graph: Graph, position: int) -> float:
    given = graph.links[position].queue_parameters.get("min")
    if given is None:
        return 3 * _red_min(graph, position)
    least, _ = limits(graph, position, _limited(units.parse_buffer(given)))
    return 3.0 * (least or 0)


def _red_weight(graph: Graph, position: int) -> float:
    return 1 - math.exp(-1 / max(1.0, _packets_per_second(graph, position)))


_DERIVED: dict[str, Callable[[Graph, int], float]] = {"min": _red_min, "max": _red_max, "weight": _red_weight}
