"""Conversion of a scenario to a guest's plan. The error for an unsupported setting names the setting."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

import msgspec

from elephan.backends.base import unknown_fields
from elephan.backends.linux import accurate, programs, queues, twins
from elephan.backends.linux.buffers import BUFFER_MAX_BYTES, LEAST_QUICK_ACKS, READ_BYTES, Buffers
from elephan.backends.linux.modules import is_linux_own, module_of, parameters_of
from elephan.backends.linux.queues import UNLIMITED_PACKETS
from elephan.scenario import Scenario, ScenarioError, catalog, own, transports
from elephan.scenario.c_files import CFile
from elephan.scenario.document import write
from elephan.scenario.form import BernoulliLoss, FlowSpec, LinkSpec, NoneLoss, Spec, StackSpec
from elephan.scenario.lookups import base_rtt_ps, narrowest_link, queue_switch, wire_bytes
from elephan.scenario.stacks import STACKS
from elephan.scenario.units import format_time

# RFC 2544 sets these addresses apart for measurements.
_SENDERS, _RECEIVERS = IPv4Address("198.18.0.1"), IPv4Address("198.19.0.1")
_FLOWS_MAX = 100
_FLOW_FIELDS = {"source_sha256", "parameters", "stop_ps", "size_segments", "application", "backend", "foreign"}
_LINK_FIELDS = {"loss", "record"}
# Settings that a socket or a route accepts; the kernel determines all other fields of a stack.
_CAN_DIFFER = (
    "payload_bytes",
    "receive_window",
    "initial_window",
    "quick_acks",
    "pacing",
    "ecn",
    "accurate_ecn",
    "accurate_ecn_option",
    "receiver_ecn",
    "header_bytes",
    "hz",
    "reads_at_once",
)
_LINUX = STACKS["linux"]
_HEADER_BYTES = _LINUX.header_bytes
# Time in which a guest boots and configures its path.
_BOOT_NS = 8_000_000_000
ALIGNED_NS = 32_000_000_000
"""A whole number of the units in which Linux counts timers of up to 16 s (64 jiffies), for each usual HZ."""
STATED = "flows say where they run"
_LOOK_MIN_NS, _LOOK_MAX_NS, _LOOK_EACH_NS = 1_000_000, 20_000_000, 250_000
_LOOKS_A_ROUND_TRIP = 4
_MEMORY_BYTES, _NAMESPACE_BYTES = 96 << 20, 1 << 20
_PS_PER_S = 10**12
# Number of different draws of the simulator's random numbers.
_DRAWS = 2**53
_NS_PER_S = 10**9
_PS_PER_NS = 1000

SYSCTLS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/tcp_no_metrics_save": "1",
    # A flow is there until it ends, so neither end gives up: by default, six lost SYNs end it after two minutes, and a
    # receiver whose SYN-ACKs were all lost, or the ACK of each, resets it when data arrives.
    "net/ipv4/tcp_retries2": "255",
    "net/ipv4/tcp_rmem": f"4096 131072 {BUFFER_MAX_BYTES}",
    "net/ipv4/tcp_syn_retries": "127",
    "net/ipv4/tcp_synack_retries": "255",
    "net/ipv4/tcp_wmem": f"4096 16384 {BUFFER_MAX_BYTES}",
}
"""Settings of each network namespace of a guest."""
_OWN_BUFFERS = {"net/ipv4/tcp_rmem": "4096 131072 6291456"}
"""Linux's own sizes of receive buffers, for programs that read at once."""


class _NetemError(Exception):
    """netem inside the guest cannot emulate the path; the message has the reason."""


@dataclass
class _Graph:
    """Devices and routes of a guest. The senders are in the first network namespace, and the receivers in the
    second."""

    namespaces: int = 2
    devices: list[dict[str, Any]] = field(default_factory=list)
    routes: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)
    hosts: dict[tuple[int, int], int] = field(default_factory=dict)

    def device(
        self,
        origin: int,
        to: int,
        mtu: int,
        netem: dict[str, Any] | None,
        *,
        watched: bool = False,
        queue: dict[str, Any] | None = None,
    ) -> int:
        """Add a device."""
        host = netem is None and origin < 2
        made = {"from": origin, "to": to, "mtu": mtu, "netem": netem, "watched": watched, "host": host}
        self.devices.append(made | ({} if queue is None else {"queue": queue}))
        return len(self.devices) - 1

    def between(self, origin: int, to: int, mtu: int) -> int:
        """Add a device without delay between a host and the path."""
        if (origin, to) not in self.hosts:
            self.hosts[origin, to] = self.device(origin, to, mtu, None)
        return self.hosts[origin, to]

    def route(self, namespace: int, to: str, device: int, **more: Any) -> None:
        """Add a route.

        Raises:
            _NetemError: another route has the same destination.
        """
        made = {
            "namespace": namespace,
            "to": to,
            "device": device,
            "initial_window": None,
            "receive_window": None,
            "mtu": None,
            "ecn": False,
            **more,
        }
        if self.routes.setdefault((namespace, to), made) != made:
            raise _NetemError("a path that passes the same router twice")


@dataclass(frozen=True)
class Plan:
    """A scenario that a guest can run.

    Attributes:
        form: the scenario's canonical form, with the seed of the run.
        real: positions of the flows on Linux; programs are on Linux too, and the engine simulates the others.
        programs: positions of the programs.
        outside: reason why the engine simulates the path; empty if netem inside the guest emulates it.
        hz: timer interrupts a second of the kernel.
        modules: the kernel's name of the congestion control of each flow on Linux.
        arguments: arguments of the kernel's command line: the parameters of its modules.
        document: the guest's plan.
        watched: positions of the links whose queues are recorded, in the order of the devices.
        memory_bytes: memory of the guest.
        files: congestion controls in C that must be compiled into the kernel.
        ends: addresses of the sender and the receiver of each program, by the flow's position.
    """

    form: Spec
    real: list[int]
    programs: list[int]
    outside: str
    hz: int
    modules: list[str]
    arguments: list[str]
    document: dict[str, Any]
    watched: list[int]
    memory_bytes: int
    files: list[CFile] = field(default_factory=list)
    ends: dict[int, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, hz: int, seed: int | None = None) -> Plan:
        """Read a scenario.

        Raises:
            ScenarioError: the backend cannot run the scenario; the message has the reason.
        """
        own = scenario.form.seed if seed is None else seed
        form = msgspec.structs.replace(scenario.form, seed=own)
        hosted = on_linux(form)
        own_programs = programs.positions(form)
        real = [i for i in hosted if i not in own_programs]
        stated = any(flow.backend is not None for flow in form.flows)
        if len(hosted) == len(form.flows):
            if scenario.send_jitter:
                raise _refuse("send_jitter: real senders have their own", "send_jitter")
            form = msgspec.structs.replace(form, send_jitter_ps=0)
        _check(form, real, own_programs, hz)
        files = _files(scenario, form, real)
        modules = [module_of(form.flows[i], files[i], f"flow[{i}]") for i in real]
        arguments = parameters_of(form, files)
        buffers = Buffers(form)
        programs.check(form)
        ends = {i: addresses(i) for i in own_programs}
        graph, watched, outside = _path(form, buffers, real, ends, STATED if stated else "")
        document = _document(form, buffers, hosted, real, hz, modules, graph)
        document["host_sysctls"] = accurate.settings(form, hosted)
        if own_programs:
            document |= dict(
                zip(("programs", "addresses", "folders"), programs.planned(scenario, form, ends), strict=True)
            )
        document["zero_ns"] = _zero_ns(document)
        sockets = sum(
            flow["send_buffer_bytes"] + (flow["receive_buffer_bytes"] or 2 * buffers.window_bound_bytes(i))
            for i, flow in zip(real, document["flows"], strict=True)
        )
        memory = _MEMORY_BYTES + graph.namespaces * _NAMESPACE_BYTES + 2 * sockets
        memory += programs.MEMORY_BYTES if own_programs else 0
        mib = -(-memory // 2**20)
        pages = mib * 2**20 // 4096
        document["guest_sysctls"] = {"net/ipv4/tcp_mem": f"{pages} {pages} {pages}"}
        distinct = {file.unit: file for file in files.values() if file is not None}
        return cls(
            form, real, own_programs, outside, hz, modules, arguments, document, watched, mib * 2**20,
            list(distinct.values()), ends,
        )  # fmt: skip

    @property
    def clock(self) -> list[str]:
        """Arguments of the kernel by which time passes for programs that wait for the clock without sleeping."""
        return programs.CLOCK if self.programs else []

    @property
    def sample_times_ns(self) -> list[int]:
        """Sample times of the engine: the multiples of the sampling interval, and the bounds of the measured part."""
        form = self.form
        times = {form.measure.from_ps, form.measure.to_ps}
        if form.sample_period_ps:
            times |= set(range(0, form.duration_ps + 1, form.sample_period_ps))
        return sorted(time // _PS_PER_NS for time in times)

    @property
    def duration_s(self) -> float:
        """Length of the run."""
        return self.form.duration_ps / _PS_PER_S

    @property
    def engine_form(self) -> dict[str, Any]:
        """The canonical form for the engine that simulates the path, with the sizes of Linux's packets."""
        flows = list(self.form.flows)
        for i in self.real:
            flows[i] = msgspec.structs.replace(flows[i], foreign=transports.packets_of_linux(flows[i].stack))
        return write(msgspec.structs.replace(self.form, flows=tuple(flows)))


def on_linux(form: Spec) -> list[int]:
    """Positions of the flows on Linux."""
    return transports.on_backend(form, "linux")


def _files(scenario: Scenario, form: Spec, real: list[int]) -> dict[int, CFile | None]:
    """The C file of the algorithm of each flow on Linux, by the flow's position; ``None`` if Linux has the algorithm.

    Raises:
        ScenarioError: two files cannot be in one kernel, or a file has changed.
    """
    found: dict[int, CFile | None] = {}
    units: dict[str, CFile] = {}
    names: dict[str, CFile] = {}
    tables = [table for table, flow in enumerate(scenario.flow) for _ in range(flow.count)]
    for i in real:
        flow = scenario.flow[tables[i]]
        where = f"flow[{tables[i]}].algorithm"
        try:
            file = own.c_file(flow.algorithm) if own.in_c(flow.algorithm) else _twin(form.flows[i])
        except ScenarioError as error:
            raise error.located(path=where) from None
        found[i] = file
        if file is None:
            continue
        for known, key, what in (
            (units, file.unit, f"are called {file.label}"),
            (names, file.name, f"have the name '{file.name}'"),
        ):
            if known.setdefault(key, file).path != file.path:
                raise ScenarioError(f"{known[key].path} and {file.path} both {what}; rename one", path=where)
    return found


def _twin(flow: FlowSpec) -> CFile | None:
    """Elephan's own source of an algorithm that Linux lacks."""
    return None if is_linux_own(flow) else twins.file_of(flow)


def _refuse(what: str, path: str = "") -> ScenarioError:
    return ScenarioError(f"the backend 'linux' cannot do {what}; 'sim' can", path=path)


# ---- refusals ----


def _check(form: Spec, real: list[int], own_programs: list[int], hz: int) -> None:
    """Reject flows that are neither TCP flows on Linux nor flows that the engine simulates."""
    mixed = len(real) + len(own_programs) < len(form.flows)
    if form.traffic and real and not mixed and form.flows[real[0]].backend is None:
        raise ScenarioError(
            "the backend 'linux' simulates background traffic, and every flow of this scenario is on Linux; write "
            'backend = "linux" into those that should be',
            path="traffic",
        )
    if form.events is not None:
        raise _refuse("an event log", "events")
    if form.internals:
        raise _refuse("internals: modules of Linux do not show their variables", "internals")
    for name, time_ps in (("duration", form.duration_ps), ("sample_period", form.sample_period_ps)):
        if time_ps % _PS_PER_NS:
            raise ScenarioError(f"Linux counts whole ns; '{format_time(time_ps)}' is not", path=name)
    if form.resolution == "train":
        raise ScenarioError("the backend 'linux' sends single segments; leave it out", path="resolution")
    if form.record_flows is not None:
        raise ScenarioError(
            "the backend 'linux' records every flow; write record = \"all\", or leave it out", path="record"
        )
    if not 0 < len(real) + len(own_programs) <= _FLOWS_MAX:
        raise ScenarioError(f"the backend 'linux' has 1 to {_FLOWS_MAX} flows", path="flow")
    for i, flow in enumerate(form.flows):
        if flow.application is not None and flow.application.writes:
            raise _refuse("an application with writes", f"flow[{i}].application.writes")
        if i in own_programs:
            _check_stack(flow.stack, hz, f"flow[{i}].stack")
            continue
        if i not in real:
            _check_simulated(flow, f"flow[{i}]")
            continue
        if flow.datagrams or flow.algorithm == "datagrams":
            raise _refuse("datagrams", f"flow[{i}].datagrams")
        if flow.source_sha256 is not None and not flow.algorithm.endswith(".c"):
            raise ScenarioError(
                f"'{flow.algorithm}' is written in Python, which a kernel cannot run; 'sim' can",
                path=f"flow[{i}].algorithm",
            )
        if other := unknown_fields(flow, _FLOW_FIELDS):
            raise _refuse(f"a flow with {', '.join(other)}", f"flow[{i}]")
        _check_stack(flow.stack, hz, f"flow[{i}].stack")
    for i, source in enumerate(form.traffic):
        _check_simulated(source.flow, f"traffic[{i}]")


def _check_simulated(flow: FlowSpec, where: str) -> None:
    """Check a simulated flow in a scenario with flows on Linux: it must have one of the engine's own algorithms."""
    if flow.source_sha256 is None:
        return
    if flow.algorithm.endswith(".c"):
        raise ScenarioError(
            f'{flow.algorithm} is C for a Linux kernel, and this flow is simulated; write backend = "linux" into it',
            path=f"{where}.algorithm",
        )
    raise ScenarioError(
        f"'{flow.algorithm}' is written in Python, which cannot run beside flows on Linux; 'sim' can",
        path=f"{where}.algorithm",
    )


def _check_netem(link: LinkSpec) -> None:
    """Check that a link has only a drop-tail queue, random losses, and a constant rate and delay.

    Raises:
        _NetemError: the link has another property.
    """
    if other := unknown_fields(link, _LINK_FIELDS):
        raise _NetemError(f"a link with {', '.join(other)}")
    if link.queue.kind != "droptail" and not queues.is_kernels(link.queue):
        raise _NetemError(f"a queue '{link.queue.kind}'")
    if not isinstance(link.loss, NoneLoss | BernoulliLoss):
        raise _NetemError("losses in bursts or of listed packets")
    if link.rate_bps % 8:
        raise _NetemError(f"a rate of {link.rate_bps} bit/s, which is no whole number of bytes a second")


def _check_stack(stack: StackSpec, hz: int, where: str) -> None:
    for name, value in msgspec.structs.asdict(stack).items():
        if name not in _CAN_DIFFER and value != getattr(_LINUX, name):
            raise ScenarioError(
                f"the backend 'linux' has Linux's own endpoints, which do not support {name} = {value}; "
                "'sim' can, or write stack = \"linux\"",
                path=where,
            )
    if stack.quick_acks < LEAST_QUICK_ACKS:
        raise ScenarioError(
            f"Linux acknowledges at least {LEAST_QUICK_ACKS} segments one by one, and this flow has "
            f"quick_acks = {stack.quick_acks}; 'sim' can have fewer",
            path=f"{where}.quick_acks",
        )
    if stack.hz not in (None, hz):
        raise ScenarioError(
            f"the kernel has HZ={hz}, and this flow has hz = {stack.hz}; "
            f"type 'elephan lab linux build --hz {stack.hz}', or write hz = {hz}",
            path=f"{where}.hz",
        )


# ---- the path ----


class _Nodes:
    """Nodes of the network: groups of link ends, merged by union-find."""

    def __init__(self) -> None:
        self._parents: dict[tuple[int, str], tuple[int, str]] = {}
        self._numbers: dict[tuple[int, str], int] = {}

    def _root(self, end: tuple[int, str]) -> tuple[int, str]:
        parent = self._parents.setdefault(end, end)
        return end if parent == end else self._root(parent)

    def join(self, one: tuple[int, str], other: tuple[int, str]) -> None:
        """Merge the nodes of two link ends."""
        self._parents[self._root(one)] = self._root(other)

    def number(self, end: tuple[int, str], graph: _Graph) -> int:
        """The namespace of a node."""
        root = self._root(end)
        if root not in self._numbers:
            self._numbers[root] = graph.namespaces
            graph.namespaces += 1
        return self._numbers[root]


def _path(
    form: Spec, buffers: Buffers, real: list[int], ends: dict[int, tuple[str, str]], outside: str
) -> tuple[_Graph, list[int], str]:
    """Devices and routes, the links whose queues the guest records, and the reason why the engine simulates the
    path."""
    if not outside:
        try:
            for link in form.links:
                _check_netem(link)
            graph, watched = _inside(form, buffers)
        except _NetemError as error:
            outside = str(error)
        else:
            return graph, watched, ""
    for i, link in enumerate(form.links):
        if queues.is_kernels(link.queue):
            raise ScenarioError(
                f"'{link.queue.kind}' of {link.name} is a queue inside the guest, and the path of this scenario is the "
                f"engine ({outside}); leave that out, or write '{link.queue.kind.partition(':')[2]}'",
                path=f"links[{i}].queue",
            )
    return _outside(form, buffers, real, ends), [], outside


def _outside(form: Spec, buffers: Buffers, real: list[int], ends: dict[int, tuple[str, str]]) -> _Graph:
    """A graph with the two devices that lead out of the guest: the senders' and the receivers'."""
    graph = _Graph()
    mtu = max(wire_bytes(form.flows[k].stack) for k in (*real, *ends))
    for side in (0, 1):
        graph.devices.append(
            {"from": side, "to": None, "mtu": mtu, "netem": None, "watched": False, "host": True}
        )  # fmt: skip
    for k in real:
        sender, receiver = addresses(k)
        own = _of_route(form.flows[k])
        graph.route(0, receiver, 0, **own)
        graph.route(1, sender, 1, **own, receive_window=buffers.stated_first_window(k))
    for k, (sender, receiver) in ends.items():
        own = _of_route(form.flows[k])
        graph.route(0, receiver, 0, **own, source=sender)
        graph.route(1, sender, 1, **own, source=receiver)
    return graph


def _of_route(flow: FlowSpec) -> dict[str, Any]:
    return {"initial_window": flow.stack.initial_window, "mtu": wire_bytes(flow.stack), "ecn": flow.stack.ecn}


def _inside(form: Spec, buffers: Buffers) -> tuple[_Graph, list[int]]:
    """Devices and routes of the scenario's links, and the links whose queues are recorded.

    Raises:
        _NetemError: netem does not support a link.
    """
    graph, nodes = _Graph(), _Nodes()
    for flow in form.flows:
        for path in (flow.path, flow.reverse_path):
            for one, other in itertools.pairwise(path):
                nodes.join((one, "out"), (other, "in"))
    mtu = max(wire_bytes(flow.stack) for flow in form.flows)
    stages: dict[int, list[tuple[int, int]]] = {}
    watched = []
    for i in _in_order_of_flows(form):
        stages[i] = _stages(form, i, nodes, graph, mtu)
        watched += [i] if form.links[i].record else []
    for k, flow in enumerate(form.flows):
        sender, receiver = addresses(k)
        own = _of_route(flow)
        _routed(graph, 0, 1, [stage for i in flow.path for stage in stages[i]], receiver, mtu, own)
        own["receive_window"] = buffers.stated_first_window(k)
        _routed(graph, 1, 0, [stage for i in flow.reverse_path for stage in stages[i]], sender, mtu, own)
    return graph, watched


def _in_order_of_flows(form: Spec) -> list[int]:
    """The links that flows use, in the order of the flows' names.

    Packets that arrive at a queue at the same time are in the order of their devices, and in the simulator in the order
    of the names.
    """
    used: dict[int, None] = {}
    for flow in sorted(form.flows, key=lambda flow: flow.name):
        used |= dict.fromkeys((*flow.path, *flow.reverse_path))
    return list(used)


def addresses(flow: int) -> tuple[str, str]:
    """Addresses of the sender and the receiver of a flow."""
    return str(_SENDERS + flow), str(_RECEIVERS + flow)


def _routed(
    graph: _Graph, origin: int, to: int, stages: list[tuple[int, int]], address: str, mtu: int, own: dict[str, Any]
) -> None:
    """Routes of one direction of a flow, from its host through the namespaces and devices of the stages."""
    graph.route(origin, address, graph.between(origin, stages[0][0], mtu), **own)
    for namespace, device in stages:
        graph.route(namespace, address, device)
    last = graph.devices[stages[-1][1]]["to"]
    graph.route(last, address, graph.between(last, to, mtu))


def _stages(form: Spec, i: int, nodes: _Nodes, graph: _Graph, mtu: int) -> list[tuple[int, int]]:
    """The devices of a link: one device, or two devices if packets in the link's delay must not count in its queue.

    The first of two devices has the link's rate and queue, and the second has the link's delay.
    """
    link = form.links[i]
    origin, to = nodes.number((i, "in"), graph), nodes.number((i, "out"), graph)
    if origin == to:
        raise _NetemError("a path that passes the same router twice")
    if queues.is_kernels(link.queue):
        return _behind_kernels_queue(form, i, (origin, to), graph, mtu)
    limit = _limit_packets(form, i)
    delay_ns = link.delay_ps // _PS_PER_NS
    loss = link.loss.p if isinstance(link.loss, BernoulliLoss) else 0.0
    netem = {
        "rate_bps": link.rate_bps,
        "delay_ns": delay_ns,
        "limit": UNLIMITED_PACKETS if limit is None else limit,
        "loss": math.ceil(loss * _DRAWS),
        "loss_key": catalog.engine().stream_key(form.seed, f"link {link.name} loss"),
    }
    if delay_ns == 0 or (limit is None and not link.record):
        return [(origin, graph.device(origin, to, mtu, netem, watched=link.record))]
    between = graph.namespaces
    graph.namespaces += 1
    first = graph.device(origin, between, mtu, netem | {"delay_ns": 0}, watched=link.record)
    delay = {"rate_bps": None, "delay_ns": delay_ns, "limit": UNLIMITED_PACKETS, "loss": 0, "loss_key": 0}
    return [(origin, first), (between, graph.device(between, to, mtu, delay))]


def _behind_kernels_queue(form: Spec, i: int, ends: tuple[int, int], graph: _Graph, mtu: int) -> list[tuple[int, int]]:
    """The two devices of a link with a queue of the kernel.

    The first device has the queue; a packet leaves it when the transmission of the previous packet ends. The second
    device adds the packet's own transmission time and the delay. The second device has no queue, since packets arrive
    at the link's rate.
    """
    link, (origin, to) = form.links[i], ends
    where = f"links[{i}].queue"
    if not isinstance(link.loss, NoneLoss):
        raise ScenarioError(
            f"a link with '{link.queue.kind}' has no random losses in a guest; give them to another link",
            path=f"links[{i}].loss",
        )
    limit = _limit_packets(form, i, in_service=0)
    between = graph.namespaces
    graph.namespaces += 1
    packet_bytes = max((wire_bytes(flow.stack) for flow in form.flows if i in flow.path), default=mtu)
    queue = queues.document(link, limit, packet_bytes, where)
    wire = {
        "rate_bps": link.rate_bps,
        "delay_ns": link.delay_ps // _PS_PER_NS,
        "limit": UNLIMITED_PACKETS,
        "loss": 0,
        "loss_key": 0,
    }
    first = graph.device(origin, between, mtu, None, watched=link.record, queue=queue)
    return [(origin, first), (between, graph.device(between, to, mtu, wire))]


def _limit_packets(form: Spec, i: int, in_service: int | None = None) -> int | None:
    """Limit of a device for a link's queue, packets, including the packet in transmission if the device counts it;
    ``None`` if unlimited."""
    link = form.links[i]
    limits = [] if link.queue.limit_packets is None else [link.queue.limit_packets]
    if link.queue.limit_bytes is not None:
        sizes = {wire_bytes(flow.stack) for flow in form.flows if i in flow.path}
        sizes |= {flow.stack.ack_bytes for flow in form.flows if i in flow.reverse_path}
        if len(sizes) > 1:
            raise _NetemError("a queue in bytes that packets of several sizes share")
        limits.append(link.queue.limit_bytes // max(sizes))
    if not limits:
        return None
    if in_service is None:
        in_service = 0 if queue_switch(link.queue, "count_in_service") else 1
    return max(1, min(limits) + in_service)


def phase_ns(seed: int, hz: int) -> int:
    """Time from a timer interrupt of the guest to the scenario's time zero, ns: from 0 to the interval of
    interrupts."""
    return int(catalog.engine().timer_phase_ns(seed, hz))


# ---- the document ----


def _document(
    form: Spec, buffers: Buffers, hosted: list[int], real: list[int], hz: int, modules: list[str], graph: _Graph
) -> dict[str, Any]:
    look_ns = _look_ns(form, hosted)
    return {
        "seed": form.seed,
        "duration_ns": form.duration_ps // _PS_PER_NS,
        "look_ns": look_ns,
        "more_looks_ns": sorted(
            {t // _PS_PER_NS for t in (form.measure.from_ps, form.measure.to_ps, form.duration_ps)}
        ),
        "start_jitter_ps": form.start_jitter_ps,
        "phase_ns": phase_ns(form.seed, hz),
        "namespaces": graph.namespaces,
        "sysctls": SYSCTLS | (_OWN_BUFFERS if any(form.flows[i].stack.reads_at_once for i in real) else {}),
        "devices": graph.devices,
        "routes": list(graph.routes.values()),
        "flows": [_flow(form, buffers, i, module) for i, module in zip(real, modules, strict=True)],
    }


def _zero_ns(document: dict[str, Any]) -> int:
    """The guest's time at the start of the run: a multiple of :data:`ALIGNED_NS` plus the phase."""
    return int(-(-_BOOT_NS // ALIGNED_NS) * ALIGNED_NS + document["phase_ns"])


def _look_ns(form: Spec, real: list[int]) -> int:
    """Interval of records, ns: an integer fraction of the sampling interval, close to a quarter of the shortest base
    RTT or to the time of a packet on the slowest link, between which nothing changes, within bounds."""
    shortest_ns = min(
        max(base_rtt_ps(form, flow) // _LOOKS_A_ROUND_TRIP, _packet_ps(form, flow)) // _PS_PER_NS
        for flow in (form.flows[i] for i in real)
    )
    wanted = min(_LOOK_MAX_NS, max(_LOOK_MIN_NS, shortest_ns, _LOOK_EACH_NS * len(real)))
    period = (form.sample_period_ps or form.duration_ps) // _PS_PER_NS
    least = max(1, -(-period // wanted))
    parts = next((k for k in range(least, 2 * least) if period % k == 0), None)
    if parts is None:
        raise _refuse(f"a sampling interval of {period} ns, which has no equal parts near {wanted} ns", "sample")
    return period // parts


def _packet_ps(form: Spec, flow: FlowSpec) -> int:
    """Transmission time of a full packet on the slowest link of a flow's path, ps; 0 if the link's rate changes."""
    link = form.links[narrowest_link(form, flow)]
    changes = link.impairments
    if changes is not None and (changes.rate_steps or changes.rate_trace_ms or changes.aggregation):
        return 0
    return wire_bytes(flow.stack) * 8 * _PS_PER_S // link.rate_bps


def _flow(form: Spec, buffers: Buffers, i: int, module: str) -> dict[str, Any]:
    flow = form.flows[i]
    sender, receiver = addresses(i)
    stack, buffer = flow.stack, buffers.send_buffer_bytes(i)
    window_bytes = buffers.window_bound_bytes(i)
    return {
        "name": flow.name,
        "sender": sender,
        "receiver": receiver,
        "congestion": module,
        # A receiver without DCTCP refuses ECN if the SYN can be marked (tcp_ecn_create_request).
        "receiver_congestion": module,
        "start_ps": flow.start_ps,
        "stop_ns": None if flow.stop_ps is None else flow.stop_ps // _PS_PER_NS,
        "size_segments": flow.size_segments,
        "payload_bytes": stack.payload_bytes,
        "application": write(form)["flows"][i].get("application"),
        "send_buffer_bytes": buffer,
        "receive_buffer_bytes": buffers.receive_buffer_bytes(i),
        "receive_window_bytes": None if stack.reads_at_once else window_bytes,
        # The low-water mark must not exceed the window, or the receiver would wait forever.
        "read_bytes": 1 if stack.reads_at_once else min(READ_BYTES, max(1, window_bytes // 4)),
        "pacing": stack.pacing,
    }
