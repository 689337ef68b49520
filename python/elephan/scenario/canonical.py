"""The canonical form: a scenario with every default written out, every unit resolved and every name looked up.

Engines run the canonical form, and a scenario's hash is computed from the form. Two files with the same meaning have
the same form; a file with another form is another experiment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from elephan.scenario import catalog, long_json, own, programs, transports
from elephan.scenario.disciplines import limits, queue_parameters
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import RECORD_QUANTILES
from elephan.scenario.form import (
    ApplicationSpec,
    BernoulliLoss,
    ClockSpec,
    EventsSpec,
    FlowSpec,
    FramesSpec,
    GilbertElliottLoss,
    IntervalLoss,
    IntervalsLoss,
    LinkSpec,
    ListLoss,
    LossInterval,
    LossSpec,
    Measure,
    NoneLoss,
    QueueSpec,
    RateStep,
    SourceSpec,
    Spec,
    StackSpec,
    TimedStatesLoss,
    WriteSpec,
)
from elephan.scenario.graph import DirectedLink, Graph, build_graph
from elephan.scenario.impairments import impairments_form
from elephan.scenario.losses import WIRE, Bursts, Loss, TimedBursts
from elephan.scenario.perturbation import jitters
from elephan.scenario.schema import TRAINS, Application, Datagrams, Events, Flow, HostClock, ScenarioTable, Traffic
from elephan.scenario.stacks import Stack
from elephan.scenario.traffic import duration_form, source_form
from elephan.scenario.units import format_offset, format_time

FORMAT = 1
HASH_DIGITS = 16
NOT_HASHED = ("title", "seed")


def canonical_form(scenario: ScenarioTable, graph: Graph | None = None) -> Spec:
    """The canonical form: plain integers (ps, bit/s, bytes, packets, segments), numbers, strings, lists and tables.

    Raises:
        ScenarioError: the scenario as a whole is inconsistent.
    """
    graph = graph or build_graph(scenario)
    links = tuple(_link(graph, position, scenario.duration) for position in range(len(graph.links)))
    from_ps, to_ps = measure_window(scenario)
    start_jitter_ps, send_jitter_ps = jitters(scenario, graph)
    first = len(scenario.flow)
    return Spec(
        format=FORMAT,
        title=scenario.title,
        seed=scenario.seed,
        resolution=_resolution(scenario.resolution),
        duration_ps=scenario.duration,
        sample_period_ps=scenario.sample_period,
        start_jitter_ps=start_jitter_ps,
        send_jitter_ps=send_jitter_ps,
        measure=Measure(from_ps=from_ps, to_ps=to_ps),
        traffic=tuple(_source(graph, first + i, i, source) for i, source in enumerate(scenario.traffic)),
        links=links,
        flows=tuple(_flow(graph, links, i, flow) for i, flow in enumerate(scenario.flow)),
        events=None if scenario.events is None else _events(scenario.events),
        internals=scenario.internals,
        record_flows=_recorded(scenario.record),
    )


def _resolution(resolution: str) -> Literal["segment", "train"]:
    return "train" if resolution == TRAINS else "segment"


def _recorded(record: int | str) -> int | None:
    """Number of flows of each group whose samples are recorded; ``None`` for all."""
    if isinstance(record, int):
        return record
    return 0 if record == RECORD_QUANTILES else None


def canonical_json(form: dict[str, Any]) -> str:
    """The unique serialization of a canonical form: sorted keys, no spaces, no NaN."""
    return long_json.dumps(form, sort_keys=True, ensure_ascii=False, allow_nan=False)


def form_hash(form: dict[str, Any]) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a canonical form without its title and its seed."""
    hashed = {key: value for key, value in form.items() if key not in NOT_HASHED}
    return hashlib.sha256(canonical_json(hashed).encode()).hexdigest()[:HASH_DIGITS]


def measure_window(scenario: ScenarioTable) -> tuple[int, int]:
    """Start and end of the measurement window in ps; the second half of the run by default."""
    to_ps = scenario.measure.to if scenario.measure.to is not None else scenario.duration
    from_ps = scenario.measure.from_ if scenario.measure.from_ is not None else scenario.duration // 2
    return from_ps, to_ps


def flow_name(flow: Flow, position: int) -> str:
    """The name of a flow: its own name, or its algorithm and its position, from 1."""
    return flow.name or f"{own.short_label(flow.algorithm)}-{position + 1}"


def source_name(source: Traffic, position: int) -> str:
    """The name of a source of transfers: its own name, or its position, from 1."""
    return source.name or f"traffic-{position + 1}"


def _source(graph: Graph, route: int, position: int, source: Traffic) -> SourceSpec:
    flow = FlowSpec(
        name=source_name(source, position),
        **_algorithm(source),
        start_ps=source.start,
        stop_ps=source.stop,
        path=tuple(graph.routes[route].forward),
        reverse_path=tuple(graph.routes[route].backward),
        stack=_stack(graph.stacks[route], source.algorithm, source.parameters),
    )
    slowest_bps = graph.links[graph.slowest(route)].rate_bps
    return source_form(flow, source, f"traffic[{position}]", slowest_bps)


def _events(events: Events) -> EventsSpec:
    return EventsSpec(limit=events.limit, from_ps=events.from_, to_ps=events.to)


def _link(graph: Graph, position: int, duration_ps: int) -> LinkSpec:
    link = graph.links[position]
    carries_data = bool(graph.data_users(position))
    return LinkSpec(
        name=link.name,
        rate_bps=link.rate_bps,
        delay_ps=link.delay_ps,
        loss=_loss(link.loss),
        loss_on_wire=link.loss.at == WIRE,
        queue=_queue(graph, position),
        record=link.record if link.record is not None else carries_data and not link.buffer.unlimited,
        impairments=impairments_form(link.impairments, link.delay_ps, duration_ps, link.field),
        copies=link.copies,
        delays_ps=link.delays_ps,
    )


def _loss(loss: Loss) -> LossSpec:
    if loss.packets:
        # Scenario files count packets from 1, the engine from 0.
        return ListLoss(packets=tuple(position - 1 for position in loss.packets))
    match loss.bursts:
        case Bursts(to_bad=to_bad, to_good=to_good, in_good=in_good, in_bad=in_bad):
            return GilbertElliottLoss(to_bad=to_bad, to_good=to_good, in_good=in_good, in_bad=in_bad)
        case TimedBursts(good=good_ps, bad=bad_ps, in_good=in_good, in_bad=in_bad):
            return TimedStatesLoss(good_ps=good_ps, bad_ps=bad_ps, in_good=in_good, in_bad=in_bad)
    intervals = [LossInterval(p=p, from_ps=from_ps, to_ps=to_ps) for p, from_ps, to_ps in loss.intervals]
    if len(intervals) == 1:
        return IntervalLoss(p=intervals[0].p, from_ps=intervals[0].from_ps, to_ps=intervals[0].to_ps)
    if intervals:
        return IntervalsLoss(intervals=tuple(intervals))
    if loss.probability > 0:
        return BernoulliLoss(p=loss.probability)
    return NoneLoss()


def _queue(graph: Graph, position: int) -> QueueSpec:
    link = graph.links[position]
    kind, preset = catalog.queue_of(link.queue)
    packets, octets = limits(graph, position, link.buffer)
    below = _below_limit(kind, preset)
    packets = None if packets is None else packets - below
    octets = None if octets is None else octets - below
    if packets == 0 or (octets is not None and octets < _largest_packet(graph, position)):
        raise ScenarioError(_too_small(link, below), path=f"{link.field}.buffer")
    parameters = queue_parameters(graph, position, kind)
    return QueueSpec(kind=kind, limit_packets=packets, limit_bytes=octets, parameters=parameters)


def _below_limit(kind: str, preset: str) -> int:
    """Difference between a queue's limit and the largest possible queue, packets or bytes; 0 for most presets."""
    return sum(entry["below_limit"] for entry in catalog.all_queues()[kind]["presets"] if entry["name"] == preset)


def _too_small(link: DirectedLink, below: int) -> str:
    why = f" ({link.queue} holds {below} less than its limit)" if below else ""
    return f"'{link.buffer}' is less than one packet{why}; the smallest buffer is 1 packet"


def _largest_packet(graph: Graph, position: int) -> int:
    return max((graph.stacks[flow].wire_bytes for flow in graph.data_users(position)), default=1)


def _flow(graph: Graph, links: Sequence[LinkSpec], position: int, flow: Flow) -> FlowSpec:
    stack = graph.stacks[position]
    size_segments = None
    if flow.size is not None:
        exact = flow.size.segments
        size_segments = exact if exact is not None else -(-(flow.size.octets or 0) // stack.payload_bytes)
    stack_form = _stack(stack, flow.algorithm, flow.parameters)
    application = flow.datagrams or flow.application
    return FlowSpec(
        name=flow_name(flow, position),
        **_algorithm(flow),
        count=flow.count,
        start_ps=flow.start,
        start_spread_ps=flow.start_spread,
        stop_ps=flow.stop,
        size_segments=size_segments,
        path=tuple(graph.routes[position].forward),
        reverse_path=tuple(graph.routes[position].backward),
        stack=stack_form,
        sender_clock=_clock(flow.sender_clock),
        receiver_clock=_clock(flow.receiver_clock),
        base_rtt_error_ps=_base_rtt_error(graph, links, position, flow),
        application=None if application is None else _application(application),
        datagrams=bool(flow.datagrams),
        foreign=transports.packets_of(flow.algorithm, flow.backend, stack_form),
        backend=flow.backend,
        program=None if flow.program is None else programs.spec(flow.program),
    )


def _algorithm(given: Flow | Traffic) -> dict[str, Any]:
    """The form of an algorithm with its parameters."""
    if not own.pinned(given.algorithm):
        return {"algorithm": given.algorithm, "parameters": parameters_form(given.parameters)}
    # A class in Python may distinguish 1 from 1.0.
    return {
        "algorithm": own.label(given.algorithm),
        "source_sha256": own.digest(given.algorithm),
        "parameters": dict(sorted(given.parameters.items())),
    }


def _application(given: Application | Datagrams) -> ApplicationSpec:
    """The application of a flow, if not all of its data is available at the start."""
    bursts = None
    if given.on is not None and given.off is not None:
        on, off = (duration_form(given.times, mean, given.shape) for mean in (given.on, given.off))
        bursts = on, off
    return ApplicationSpec(
        rate_bps=given.rate or 0,
        poisson=given.arrivals == "poisson",
        frames=None if given.frames is None else FramesSpec(interval_ps=given.frames, shape=given.frame_shape),
        bursts=bursts,
        rate_steps=tuple(RateStep(at_ps=step.at, rate_bps=step.rate) for step in given.rate_steps),
        writes=tuple(WriteSpec(at_ps=at, bytes=size) for at, size in getattr(given, "writes", ())),
    )


def _base_rtt_error(graph: Graph, links: Sequence[LinkSpec], position: int, flow: Flow) -> int:
    """Error of the propagation round-trip time that a flow's algorithm receives, ps."""
    if not flow.base_rtt_error:
        return 0
    route = graph.routes[position]
    falls = (_fall_ps(links[link]) for link in (*route.forward, *route.backward))
    shortest_ps = graph.rtts_ps(position)[0] - sum(falls)
    if flow.base_rtt_error + shortest_ps <= 0:
        raise ScenarioError(
            f"'{format_offset(flow.base_rtt_error)}' leaves nothing of the round trip, {format_time(shortest_ps)}",
            path=f"flow[{position}].base_rtt_error",
        )
    return flow.base_rtt_error


def _fall_ps(link: LinkSpec) -> int:
    """Time by which changes of a link's delay make it shorter, ps."""
    steps = () if link.impairments is None else link.impairments.delay_steps
    return link.delay_ps - min([link.delay_ps, *(step.delay_ps for step in steps)])


def _clock(clock: HostClock | None) -> ClockSpec:
    if clock is None:
        return ClockSpec()
    return ClockSpec(offset_ps=clock.offset, drift_ppb=clock.drift, resolution_ps=clock.resolution)


def parameters_form(given: Mapping[str, float | bool | str]) -> dict[str, float | bool | str]:
    """The parameters of an algorithm by name, with any number as a float, so that 1 and 1.0 give the same canonical
    form."""
    return {name: value if isinstance(value, bool | str) else float(value) for name, value in sorted(given.items())}


def _stack(stack: Stack, algorithm: str, parameters: Mapping[str, float | bool | str]) -> StackSpec:
    settings: dict[str, Any] = {name: getattr(stack, name) for name in StackSpec.__struct_fields__}
    # Included only if the algorithm or timers count in jiffies, so that the hashes of all other scenarios do not
    # change.
    counts = own.pinned(algorithm) or catalog.counts_jiffies(algorithm, parameters)
    if not (counts or stack.host == "linux"):
        del settings["hz"]
    settings["ack_bytes"] = stack.ack_bytes * stack.divide_acks
    settings["acks_counted"] = stack.divide_acks if stack.count_acks else 0
    return StackSpec(**settings)
