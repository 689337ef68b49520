"""Conversion of a scenario to the settings of real sockets and the emulated path. The error for an unsupported setting
names the setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

import msgspec

from elephan.backends.base import language, runner, unknown_fields
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.document import write
from elephan.scenario.form import FlowSpec, Spec, StackSpec
from elephan.scenario.lookups import base_rtt_ps, slowest_bps, wire_bytes
from elephan.scenario.stacks import STACKS
from elephan.scenario.words import hint

BUILT_IN = {"reno": "reno", "cubic": "cubic", "bbr": "bbr"}
"""Algorithms that Linux itself has, with their names in the kernel. Linux's modules have no parameters, and correspond
to our preset ``linux``."""

_AS_LINUX = ("", "linux")
# RFC 2544 sets these addresses apart for measurements.
_SENDERS, _RECEIVERS = IPv4Address("198.18.0.1"), IPv4Address("198.19.0.1")
_FLOWS_MAX = 250
_QUEUES = ("droptail", "red", "pie", "policer")
_FLOW_FIELDS = {"parameters", "stop_ps", "size_segments"}
_LINK_FIELDS = {"loss", "record"}
"""Optional fields of flows and of links that the kernel backend supports."""

# Settings that a socket or a route accepts; the kernel determines all other fields of a stack.
_CAN_DIFFER = ("payload_bytes", "receive_window", "initial_window", "pacing")
_HEADER_BYTES = STACKS["linux"].header_bytes
_BUFFER_MIN_BYTES = 1 << 20
_BUFFER_MAX_BYTES = 1 << 30
_DELAY_SPARE_S = 0.05
_PS_PER_S = 10**12
SPIN_RATE_MAX_BPS = 200_000_000
SPIN_US = 40
NAP_US = 20


@dataclass(frozen=True)
class Flow:
    """Settings of a flow's two sockets.

    Attributes:
        algorithm: the algorithm's name in the scenario.
        parameters: parameters of the algorithm.
        built_in: the kernel's own name of the algorithm; ``None`` if the kernel lacks it.
        sender: address of the sender; ``receiver``: address of the receiver.
        initial_window: initial window, segments.
        window_bytes: the largest amount of data in flight and in queues.
    """

    name: str
    algorithm: str
    parameters: dict[str, Any]
    built_in: str | None
    sender: str
    receiver: str
    initial_window: int
    window_bytes: int
    receive_window_bytes: int | None
    pacing: bool


@dataclass(frozen=True)
class Plan:
    """A scenario that the kernel can run.

    Attributes:
        form: the scenario's canonical form, with the seed of the run.
        largest_bytes: the largest packet.
        rate_bps: the largest rate of the flows' bottlenecks, bit/s.
        spin_us: time before a packet's departure during which the path waits actively instead of sleeping, µs.
    """

    form: Spec
    flows: list[Flow]
    largest_bytes: int
    rate_bps: int
    spin_us: int

    @classmethod
    def of(cls, scenario: Scenario, seed: int | None = None) -> Plan:
        """Read a scenario.

        Raises:
            ScenarioError: the kernel backend cannot run the scenario; the message has the reason.
        """
        if scenario.send_jitter:
            raise _refuse("send_jitter: real senders have their own", "send_jitter")
        # Real hosts have the perturbations that perturb = "hosts" simulates.
        own = scenario.form.seed if seed is None else seed
        form = msgspec.structs.replace(scenario.form, seed=own, send_jitter_ps=0)
        _only_plain(form)
        flows = [_flow(form, i, flow) for i, flow in enumerate(form.flows)]
        largest = max(flow.stack.payload_bytes for flow in form.flows) + _HEADER_BYTES
        rate_bps = max(slowest_bps(form, flow) for flow in form.flows)
        return cls(form, flows, largest, rate_bps, SPIN_US if rate_bps <= SPIN_RATE_MAX_BPS else 0)

    @property
    def duration_s(self) -> float:
        """Length of the run."""
        return self.form.duration_ps / _PS_PER_S

    @property
    def round_trips_s(self) -> list[float]:
        """The flows' base round-trip times, s."""
        return [base_rtt_ps(self.form, flow) / _PS_PER_S for flow in self.form.flows]

    def document(self, names: Mapping[int, str]) -> dict[str, Any]:
        """Document that the programs read; ``names`` are the kernel's names of the flows' algorithms."""
        return {
            "spec": write(self.form),
            "largest_bytes": self.largest_bytes,
            "spin_us": self.spin_us,
            "nap_us": 0 if self.spin_us else NAP_US,
            "flows": [
                {
                    "sender": flow.sender,
                    "receiver": flow.receiver,
                    "congestion": names[i],
                    "send_buffer_bytes": _buffer_bytes(flow.window_bytes),
                    "receive_buffer_bytes": _buffer_bytes(flow.window_bytes),
                    "initial_window": flow.initial_window,
                    "microseconds": flow.built_in is None,
                    "receive_window_bytes": flow.receive_window_bytes,
                    "pacing": flow.pacing,
                }
                for i, flow in enumerate(self.flows)
            ],
        }


def _buffer_bytes(window_bytes: int) -> int:
    """Value of a socket's buffer option, bytes; the kernel doubles this value for its own overhead."""
    return min(_BUFFER_MAX_BYTES, 2 * window_bytes + _BUFFER_MIN_BYTES)


def _refuse(what: str, path: str = "") -> ScenarioError:
    return ScenarioError(f"the backend 'kernel' cannot do {what}; 'sim' can", path=path)


def _only_plain(form: Spec) -> None:
    """Reject anything other than TCP flows over links whose queues drop or mark packets on arrival."""
    if form.traffic:
        raise _refuse("background traffic", "traffic")
    if form.events is not None:
        raise _refuse("an event log", "events")
    if form.resolution == "train":
        raise ScenarioError("the backend 'kernel' sends single segments; leave it out", path="resolution")
    if form.record_flows is not None:
        raise ScenarioError(
            "the backend 'kernel' records every flow; write record = \"all\", or leave it out", path="record"
        )
    if not 0 < len(form.flows) <= _FLOWS_MAX:
        raise ScenarioError(f"the backend 'kernel' has 1 to {_FLOWS_MAX} flows", path="flow")
    for i, flow in enumerate(form.flows):
        if flow.algorithm == "datagrams":
            raise _refuse("datagrams", f"flow[{i}].datagrams")
        if flow.algorithm.partition(":")[0] == "udt":
            raise _refuse("UDT", f"flow[{i}].algorithm")
        if flow.source_sha256 is not None:
            raise ScenarioError(
                f"'{flow.algorithm}' is written in {language(flow)}, which this kernel cannot run; "
                f"'{runner(flow)}' can",
                path=f"flow[{i}].algorithm",
            )
        if other := unknown_fields(flow, _FLOW_FIELDS):
            raise _refuse(f"a flow with {', '.join(other)}", f"flow[{i}]")
        _check_stack(flow.stack, f"flow[{i}].stack")
    for link in form.links:
        where = f"link {link.name}"
        if other := unknown_fields(link, _LINK_FIELDS):
            raise _refuse(f"a link with {', '.join(other)}", where)
        if link.queue.kind not in _QUEUES:
            raise _refuse(f"a queue '{link.queue.kind}'", where)


def _check_stack(stack: StackSpec, where: str) -> None:
    """Reject settings of the stack that a socket does not accept, unless they equal Linux's."""
    linux = STACKS["linux"]
    for field, value in stated_settings(stack).items():
        if field not in _CAN_DIFFER and value != getattr(linux, field):
            raise ScenarioError(
                f"the backend 'kernel' has Linux's own endpoints, which do not support {field} = {value}; "
                "'sim' can, or write stack = \"linux\"",
                path=where,
            )


def stated_settings(stack: StackSpec) -> dict[str, Any]:
    """The settings of a stack by name; ``hz`` is left out if no algorithm counts in jiffies."""
    settings = msgspec.structs.asdict(stack)
    return {name: value for name, value in settings.items() if name != "hz" or value is not None}


def _flow(form: Spec, i: int, flow: FlowSpec) -> Flow:
    name, _, preset = flow.algorithm.partition(":")
    built_in = BUILT_IN.get(name) if preset in _AS_LINUX else None
    if built_in is not None and flow.parameters:
        given = ", ".join(sorted(flow.parameters))
        raise ScenarioError(
            f"Linux's own {name} has no parameter that could be set ({given}); 'sim' has", path=f"flow[{i}].parameters"
        )
    if built_in is not None and form.internals:
        raise ScenarioError(
            f"Linux's own {name} does not show its internal variables; 'sim' does, or leave internals out",
            path="internals",
        )
    if built_in is None:
        _check_bpf(name, flow, f"flow[{i}]")
    stack = flow.stack
    window = stack.receive_window
    return Flow(
        name=flow.name,
        algorithm=flow.algorithm,
        parameters=dict(flow.parameters),
        built_in=built_in,
        sender=str(_SENDERS + i),
        receiver=str(_RECEIVERS + i),
        initial_window=stack.initial_window,
        window_bytes=_window_bytes(form, flow),
        receive_window_bytes=None if window is None else window * stack.payload_bytes,
        pacing=stack.pacing,
    )


def _check_bpf(name: str, flow: FlowSpec, where: str) -> None:
    """True if an algorithm has an object in BPF for the kernel."""
    from elephan.backends.kernel import bpf

    algorithm, offered = flow.algorithm, bpf.available()
    there = f"{where}.algorithm"
    if name in BUILT_IN:
        raise ScenarioError(f"Linux has its own {name} and not '{algorithm}'; write '{name}'", path=there)
    if name not in offered:
        known = hint(name, {*BUILT_IN, *offered})
        raise ScenarioError(f"the backend 'kernel' has no '{algorithm}'; {known}", path=there)
    if offered[name]:
        raise ScenarioError(f"'{algorithm}' would have to be put into the kernel: {offered[name]}", path=there)
    try:
        bpf.check(algorithm, flow.parameters)
    except ScenarioError as error:
        raise error.located(path=where) from None


def _window_bytes(form: Spec, flow: FlowSpec) -> int:
    """Bytes that fit on the path of a flow and into its queues, with a margin for a receiver that reads late."""
    wire = wire_bytes(flow.stack)
    propagation_s = base_rtt_ps(form, flow) / _PS_PER_S
    waiting = 0
    for i in flow.path:
        queue = form.links[i].queue
        limits = [queue.limit_packets * wire] if queue.limit_packets is not None else []
        limits += [queue.limit_bytes] if queue.limit_bytes is not None else []
        waiting += min(limits, default=0)
    return int(slowest_bps(form, flow) / 8 * (propagation_s + _DELAY_SPARE_S)) + waiting
