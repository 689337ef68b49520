"""Simple functions of a canonical form that several packages use."""

from __future__ import annotations

from typing import TypeVar

from elephan.scenario.form import FlowSpec, LinkSpec, QueueSpec, Spec, StackSpec

T = TypeVar("T")


def has_option_in_segments(stack: StackSpec) -> bool:
    """True if data segments have the AccECN option: a Linux host sends it with every packet, others only with ACKs."""
    return stack.host == "linux" and stack.accurate_ecn_option and stack.receiver_ecn == "accurate"


def wire_bytes(stack: StackSpec) -> int:
    """Size of a full data packet on the wire, bytes."""
    return stack.payload_bytes + stack.header_bytes


def link_named(form: Spec, name: str) -> LinkSpec:
    """The link with a name.

    Raises:
        KeyError: there is no such link.
    """
    for link in form.links:
        if link.name == name:
            return link
    raise KeyError(name)


def narrowest_link(form: Spec, flow: FlowSpec) -> int:
    """Position of the slowest link on the path of a flow's data; the first of several equally slow links."""
    return min(flow.path, key=lambda i: form.links[i].rate_bps)


def slowest_bps(form: Spec, flow: FlowSpec) -> int:
    """Rate of the slowest link on the path of a flow's data, at the start of the run."""
    return form.links[narrowest_link(form, flow)].rate_bps


def base_rtt_ps(form: Spec, flow: FlowSpec) -> int:
    """Two-way propagation delay of a flow's path, at the start of the run."""
    return sum(form.links[i].delay_ps for i in (*flow.path, *flow.reverse_path))


def queue_number(queue: QueueSpec, name: str) -> float:
    """A numeric parameter of a queue discipline.

    Raises:
        KeyError: the discipline has no such parameter.
        TypeError: the parameter is not a number.
    """
    value = queue.parameters[name]
    if value is None or isinstance(value, bool):
        raise TypeError(f"{name} of {queue.kind} is {value} and no number")
    return float(value)


def queue_switch(queue: QueueSpec, name: str) -> bool:
    """A boolean parameter of a queue discipline.

    Raises:
        KeyError: the discipline has no such parameter.
        TypeError: the parameter is not a switch.
    """
    value = queue.parameters[name]
    if not isinstance(value, bool):
        raise TypeError(f"{name} of {queue.kind} is {value} and no switch")
    return value


def present(value: T | None) -> T:
    """An optional field that the caller knows to be present.

    Raises:
        ValueError: the field is absent.
    """
    if value is None:
        raise ValueError("a field of the canonical form is absent")
    return value
