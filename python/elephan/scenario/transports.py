"""Congestion controllers of other transports, which have their own endpoints and run on one backend only."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from elephan.scenario.commands import PROGRAM
from elephan.scenario.errors import ScenarioError
from elephan.scenario.form import ForeignSpec, Spec, StackSpec

QUINN = "quinn"
S2N = "s2n"
IP_UDP_BYTES = 28
"""Headers of IPv4 and UDP, bytes."""
LEAST_DATAGRAM_BYTES = 1200
"""UDP payload of the datagrams that begin a QUIC connection (RFC 9000 section 14.1)."""

_LEAST_IP_BYTES = 20
_LEAST_PACKET_BYTES = 48
_LEAST_TCP_BYTES = 40
_BACKENDS = {QUINN: "quic", S2N: "quic"}
SIMULATOR = "sim"
"""Backend of a flow that is simulated beside flows of another backend."""
TRANSPORTS = MappingProxyType({"linux": "TCP", "quic": "QUIC"})
"""The transport of each other backend of single flows."""
_LISTING: dict[str, dict[str, Any]] = {
    QUINN: {
        "name": QUINN,
        "kind": "transport",
        "title": "congestion controllers of quinn, a QUIC stack in Rust",
        "source": "quinn-proto 0.11, src/congestion",
        "doc": "The controllers that quinn has, over connections of quinn. Only the backend 'quic' runs them.",
        "signals": ["loss", "ECN"],
        "router": None,
        "hosted": False,
        "trains": "none",
        "needs_marks": False,
        "draws": False,
        "presets": [
            {"name": "cubic", "title": "quinn's CUBIC, after RFC 8312; quinn's default", "overrides": {}},
            {"name": "newreno", "title": "quinn's NewReno, after RFC 9002", "overrides": {}},
            {"name": "bbr", "title": "quinn's BBR, experimental", "overrides": {}},
        ],
        "parameters": [],
        "variables": [],
    },
    S2N: {
        "name": S2N,
        "kind": "transport",
        "title": "congestion controllers of s2n-quic, a QUIC stack in Rust",
        "source": "s2n-quic-core 0.83, src/recovery",
        "doc": "The controllers that s2n-quic has, over connections of quinn that obey their pacing. Only the backend "
        "'quic' runs them, after 'make s2n'.",
        "signals": ["loss", "ECN"],
        "router": None,
        "hosted": False,
        "trains": "none",
        "needs_marks": False,
        "draws": False,
        "presets": [
            {"name": "cubic", "title": "s2n-quic's CUBIC, after RFC 8312, with HyStart; its default", "overrides": {}},
            {"name": "bbr", "title": "s2n-quic's BBR, version 2", "overrides": {}},
        ],
        "parameters": [],
        "variables": [],
    },
}


def listing() -> dict[str, dict[str, Any]]:
    """Descriptors of the other transports by name, in the form of :func:`elephan.scenario.catalog.algorithms`."""
    return _LISTING


def backend_of(algorithm: str) -> str | None:
    """The only backend that runs an algorithm, or ``None`` if every backend can run it."""
    return _BACKENDS.get(algorithm.partition(":")[0])


def check_parameters(algorithm: str, parameters: Iterable[str]) -> None:
    """Reject parameters of another transport's controller, since these controllers have no parameters. The name of a
    transport without the name of a controller is rejected too.

    Raises:
        ScenarioError: a parameter or the name is rejected; the message has the field.
    """
    name = algorithm.partition(":")[0]
    if name == algorithm:
        known = ", ".join(f"{name}:{preset['name']}" for preset in _LISTING[name]["presets"])
        raise ScenarioError(f"'{algorithm}' has several controllers; write one of {known}", path="algorithm")
    for parameter in parameters:
        raise ScenarioError(f"{algorithm} has no parameters", path=f"parameters.{parameter}")


def on_backend(form: Spec, name: str) -> list[int]:
    """Positions of the flows of a backend of single flows; the other flows of a scenario are simulated beside them.

    If a flow names the backend, these are the flows that name it, and otherwise all flows that do not name the
    simulator.
    """
    stated = any(flow.backend == name for flow in form.flows)
    return [i for i, flow in enumerate(form.flows) if flow.backend == (name if stated else None)]


def packets_of(algorithm: str, backend: str | None, stack: StackSpec) -> ForeignSpec | None:
    """Sizes of the packets of a flow whose endpoints are not the engine's, bytes on the wire."""
    if algorithm == PROGRAM:
        return ForeignSpec(smallest_bytes=_LEAST_IP_BYTES, largest_bytes=stack.payload_bytes + stack.header_bytes)
    if backend == "linux":
        return packets_of_linux(stack)
    if backend in (None, SIMULATOR) and backend_of(algorithm) is None:
        return None
    wire = stack.payload_bytes + stack.header_bytes
    return ForeignSpec(smallest_bytes=min(_LEAST_PACKET_BYTES, wire), largest_bytes=wire)


def packets_of_linux(stack: StackSpec) -> ForeignSpec:
    """Sizes of the packets of Linux's TCP, bytes on the wire: the smallest has headers without options."""
    return ForeignSpec(smallest_bytes=_LEAST_TCP_BYTES, largest_bytes=stack.payload_bytes + stack.header_bytes)
