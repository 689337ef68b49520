"""Checks of a scenario as a whole: names must exist, times must fit together, and values must be physically
possible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from elephan.scenario import catalog, own, programs, transports
from elephan.scenario.canonical import flow_name, measure_window, source_name
from elephan.scenario.errors import ScenarioError, join_path
from elephan.scenario.fields import RECORD_ALL, RECORD_QUANTILES
from elephan.scenario.graph import Graph
from elephan.scenario.impairments import check_rate_steps
from elephan.scenario.schema import (
    DATAGRAMS,
    Application,
    Datagrams,
    Events,
    Flow,
    ScenarioTable,
    Traffic,
)
from elephan.scenario.stack_table import STACK_FIELDS
from elephan.scenario.stacks import is_udt
from elephan.scenario.traffic import check_round_trips
from elephan.scenario.units import PS_PER_S, format_rate, format_time

MAX_SAMPLES = 100_000_000
_ENGINE_PATH = re.compile(r"(?P<path>[a-z_]+(?:\[\d+\]|\.[A-Za-z_]+)*): (?P<message>.*)", re.DOTALL)


def check_with_engine(canonical_json: str, scenario: ScenarioTable, graph: Graph) -> None:
    """Check the rules that only the engine has, such as contradictions between parameters of an algorithm.

    Raises:
        ScenarioError: the engine rejects the scenario; the message has the field.
    """
    try:
        catalog.engine().check(canonical_json)
    except ValueError as error:
        named = _ENGINE_PATH.fullmatch(str(error))
        if named is None:
            raise ScenarioError(str(error)) from None
        raise ScenarioError(named["message"], path=written_path(named["path"], scenario, graph)) from None


_OF_FORM = re.compile(r"(?P<list>flows|traffic|links)\[(?P<position>\d+)\](?:\.(?P<rest>.+))?")
_UNIT = re.compile(r"_(?:ps|bps|ppb|bytes|packets|segments|ms)$")
_RENAMED = {
    "queue.limit": "buffer", "loss.p": "loss", "reorder.p": "reorder.share", "arrivals.bps": "load",
    "arrivals.per_second": "per_second", "arrivals.users": "users", "arrivals.think": "think",
}  # fmt: skip


def written_path(path: str, scenario: ScenarioTable, graph: Graph) -> str:
    """The field of the scenario that a field of the canonical form came from.

    ``links[0].rate_bps`` is ``link[0].rate``. The field of a dumbbell's links is ``dumbbell.rate``, since a scenario
    file does not list these links.
    """
    match = _OF_FORM.fullmatch(path)
    if match is None:
        return _UNIT.sub("", path)
    position, rest = int(match["position"]), match["rest"] or ""
    if not rest.startswith("parameters."):
        rest = _UNIT.sub("", rest.removeprefix("impairments.").removeprefix("flow."))
    rest = _RENAMED.get(rest, rest)
    if match["list"] == "links":
        return join_path(graph.links[position].field, rest.replace("queue.", "queue_parameters."))
    sender: Flow | Traffic = (scenario.flow if match["list"] == "flows" else scenario.traffic)[position]
    where = f"{match['list'].removesuffix('s')}[{position}]"
    if rest.startswith("arrivals."):
        # The list of a source's transfers is a field of its own.
        rest = "file" if isinstance(sender, Traffic) and sender.file is not None else "transfers"
    table, _, field = rest.partition(".")
    if table == "stack":
        field = next((ours for ours, theirs in STACK_FIELDS.items() if _UNIT.sub("", theirs) == field), field)
        rest = f"stack.{field}"
    own_stack = sender.stack is not None and getattr(sender.stack, field, None) is not None
    return rest if table == "stack" and not own_stack else join_path(where, rest)


def check_scenario(scenario: ScenarioTable, graph: Graph) -> None:
    """Reject scenarios that cannot be run or are meaningless.

    Raises:
        ScenarioError: the scenario is rejected; the message has the field and the allowed values.
    """
    check_times(scenario)
    names: dict[str, str] = {}
    for i, flow in enumerate(scenario.flow):
        _check_application(flow, f"flow[{i}]")
        programs.check(scenario, flow, f"flow[{i}]")
        if flow.datagrams is None and flow.program is None:
            _check_algorithm(flow, f"flow[{i}]")
            _check_udt(scenario, flow, f"flow[{i}]")
        _check_backend(scenario, flow, f"flow[{i}]")
        check_flow_times(scenario, flow, f"flow[{i}]")
        _check_group(flow, f"flow[{i}]")
        name = flow_name(flow, i)
        if name in names:
            raise ScenarioError(f"'{name}' is the name of {names[name]} too", path=f"flow[{i}].name")
        names[name] = f"flow[{i}]"
    _check_member_names(scenario, names)
    for i, source in enumerate(scenario.traffic):
        where = f"traffic[{i}]"
        if own.in_c(source.algorithm):
            raise ScenarioError(
                f"{own.label(source.algorithm)} is C for a Linux kernel, and transfers that come and go are simulated; "
                "they take a class in Python or one of 'elephan list algorithms'",
                path=join_path(where, "algorithm"),
            )
        _check_algorithm(source, where)
        if is_udt(source.algorithm):
            raise ScenarioError(
                f"'{source.algorithm}' has its own endpoints; transfers that come and go use TCP",
                path=join_path(where, "algorithm"),
            )
        check_flow_times(scenario, source, where)
        name = source_name(source, i)
        if name in names:
            raise ScenarioError(f"'{name}' is the name of {names[name]} too", path=f"{where}.name")
        names[name] = where
    for field, queue in queues_of(scenario):
        try:
            catalog.check_name(queue, catalog.all_queues(), "a queue discipline")
        except ScenarioError as error:
            raise error.located(path=field) from None
    places = [f"flow[{i}]" for i in range(len(scenario.flow))] + [f"traffic[{i}]" for i in range(len(scenario.traffic))]
    for i, where in enumerate(places):
        if graph.rtt_ps(i) == 0:
            raise ScenarioError("the path has no delay at all; give one of its links a delay", path=where)
    for i, source in enumerate(scenario.traffic):
        check_round_trips(source, f"traffic[{i}]", graph.rtt_ps(len(scenario.flow) + i))


def queues_of(scenario: ScenarioTable) -> list[tuple[str, str]]:
    """The fields of a scenario that name a queue discipline, and the names."""
    rows = [(f"link[{i}].queue", link.queue) for i, link in enumerate(scenario.link)]
    for name, path in (("dumbbell", scenario.dumbbell_), ("parking_lot", scenario.parking_lot)):
        if path is not None:
            rows.append((f"{name}.queue", path.queue))
    return rows


def check_times(scenario: ScenarioTable) -> None:
    """Check the simulated time, and what is recorded and measured in it.

    Raises:
        ScenarioError: something is outside of the run, or the run has too many samples.
    """
    duration = format_time(scenario.duration)
    if scenario.sample_period > scenario.duration:
        raise ScenarioError(
            f"'{format_time(scenario.sample_period)}' is longer than the run, {duration}", path="sample_period"
        )
    rows = scenario.duration // scenario.sample_period * max(1, _rows_a_sample(scenario))
    if rows > MAX_SAMPLES:
        raise ScenarioError(
            f"'{format_time(scenario.sample_period)}' would record {rows:.1e} samples; the limit is {MAX_SAMPLES:.0e}",
            path="sample_period",
        )
    _check_record(scenario)
    if scenario.events is not None:
        _check_events(scenario, scenario.events)
    if scenario.internals and not scenario.flow:
        raise ScenarioError(
            "there is nothing to record: transfers that come and go do not show their algorithms; leave it out, or "
            "write a [[flow]]",
            path="internals",
        )
    from_ps, to_ps = measure_window(scenario)
    if from_ps >= scenario.duration:
        raise ScenarioError(
            f"'{format_time(from_ps)}' is not before the end of the run, {duration}", path="measure.from"
        )
    if to_ps > scenario.duration:
        raise ScenarioError(f"'{format_time(to_ps)}' is after the end of the run, {duration}", path="measure.to")
    if from_ps >= to_ps:
        wrong = "measure.from" if scenario.measure.from_ is not None else "measure.to"
        raise ScenarioError(
            f"the measured part would go from {format_time(from_ps)} to {format_time(to_ps)}; "
            "it must end after it begins",
            path=wrong,
        )


def _rows_a_sample(scenario: ScenarioTable) -> int:
    """Number of rows that the flows add to the tables at each sample time."""
    if scenario.record == RECORD_ALL:
        return sum(flow.count for flow in scenario.flow)
    wanted = scenario.record if isinstance(scenario.record, int) else 0
    return sum(min(flow.count, wanted) + len(catalog.engine().quantiles()) for flow in scenario.flow)


def _check_record(scenario: ScenarioTable) -> None:
    if scenario.record == RECORD_ALL:
        return
    if not scenario.flow:
        raise ScenarioError(
            "there is no flow whose samples could be left out; leave it out, or write a [[flow]]", path="record"
        )
    if scenario.internals and scenario.record == RECORD_QUANTILES:
        raise ScenarioError(
            f'of the flows that are recorded, and with "{RECORD_QUANTILES}" none is; write record = 1, or leave '
            "internals out",
            path="internals",
        )


def _check_events(scenario: ScenarioTable, events: Events) -> None:
    if not scenario.flow:
        raise ScenarioError(
            "there is nothing to write down: packets of transfers that come and go are not in the event log; leave it "
            "out, or write a [[flow]] with a size for a transfer whose packets matter",
            path="events",
        )
    if events.from_ >= scenario.duration:
        raise ScenarioError(
            f"'{format_time(events.from_)}' is not before the end of the run, {format_time(scenario.duration)}",
            path="events.from",
        )
    if events.to is not None and events.to <= events.from_:
        raise ScenarioError(
            f"'{format_time(events.to)}' is not after the start, {format_time(events.from_)}", path="events.to"
        )


def check_flow_times(scenario: ScenarioTable, flow: Flow | Traffic, where: str) -> None:
    """Check the start and the end of a flow or a source against the simulated time.

    Raises:
        ScenarioError: the run, or the flow, would be over before it begins.
    """
    if flow.start >= scenario.duration:
        raise ScenarioError(
            f"'{format_time(flow.start)}' is not before the end of the run, {format_time(scenario.duration)}",
            path=join_path(where, "start"),
        )
    if isinstance(flow, Flow) and flow.start + flow.start_spread > scenario.duration:
        raise ScenarioError(
            f"'{format_time(flow.start_spread)}' after {format_time(flow.start)} is after the end of the run, "
            f"{format_time(scenario.duration)}",
            path=join_path(where, "start_spread"),
        )
    if flow.stop is not None and flow.stop <= flow.start:
        raise ScenarioError(
            f"'{format_time(flow.stop)}' is not after the flow's start, {format_time(flow.start)}",
            path=join_path(where, "stop"),
        )


def _check_group(flow: Flow, where: str) -> None:
    """Reject fields that only apply to several flows, or that are set twice."""

    def refuse(field: str, message: str) -> None:
        raise ScenarioError(message, path=join_path(where, field))

    for field in ("start_spread", "rtts"):
        if flow.count == 1 and "count" not in flow.model_fields_set and getattr(flow, field):
            refuse(field, "has a meaning for a group of flows only; write its count")
    if flow.rtt is not None and flow.rtts is not None:
        refuse("rtts", "the round-trip time is stated twice; leave out rtt or rtts")
    last = flow.start + flow.start_spread
    if flow.start_spread and flow.stop is not None and flow.stop <= last:
        refuse("stop", f"'{format_time(flow.stop)}' is not after the start of the last flow, {format_time(last)}")


def _check_member_names(scenario: ScenarioTable, names: Mapping[str, str]) -> None:
    """Reject a flow with the name of a flow of a group."""
    groups = {flow_name(flow, i): flow.count for i, flow in enumerate(scenario.flow) if flow.count > 1}
    if not groups:
        return
    for name, where in names.items():
        group, _, number = name.rpartition("-")
        if number.isdecimal() and not number.startswith("0") and int(number) <= groups.get(group, 0):
            raise ScenarioError(f"'{name}' is the name of one of {names[group]}'s flows too", path=f"{where}.name")


def _check_application(flow: Flow, where: str) -> None:
    """Reject an application with missing fields, and a flow of datagrams with fields of TCP."""
    if flow.datagrams is not None:
        if flow.algorithm != DATAGRAMS:
            raise ScenarioError(
                f"'{flow.algorithm}' has no meaning for datagrams, which nothing controls; leave it out",
                path=join_path(where, "algorithm"),
            )
        for field in ("application", "stack", "parameters", "sender_clock", "receiver_clock", "base_rtt_error"):
            if getattr(flow, field):
                raise ScenarioError("has no meaning for datagrams; leave it out", path=join_path(where, field))
    if flow.application is not None:
        _check_writes(flow, flow.application, where)
    for field, given in (("application", flow.application), ("datagrams", flow.datagrams)):
        if given is None or not given.rate:
            continue
        if (given.on is None) != (given.off is None):
            missing = "off" if given.off is None else "on"
            raise ScenarioError(
                "missing; a flow with on and off times needs the mean of both", path=join_path(where, field, missing)
            )
        _check_frames(given, join_path(where, field))
        for name in ("times", "shape") if given.on is None else ():
            if name in given.model_fields_set:
                raise ScenarioError("has no meaning without on and off", path=join_path(where, field, name))


def _check_writes(flow: Flow, application: Application, where: str) -> None:
    """Reject an application without data, and one with writes and other sizes or times."""
    if not application.writes:
        if application.rate is None:
            raise ScenarioError(
                'missing; write for example rate = "8 Mbit/s", or writes', path=join_path(where, "application", "rate")
            )
        return
    for name in ("rate", "arrivals", "frames", "frame_shape", "rate_steps", "on", "off", "times", "shape"):
        if name in application.model_fields_set:
            raise ScenarioError(
                "there are writes too; write one of the two", path=join_path(where, "application", name)
            )
    if flow.size is not None:
        raise ScenarioError("the writes have sizes already; leave it out", path=join_path(where, "size"))
    if is_udt(flow.algorithm):
        raise ScenarioError("UDT has no writes; TCP has", path=join_path(where, "application", "writes"))


def _check_frames(given: Application | Datagrams, where: str) -> None:
    if given.frames is not None and given.arrivals == "poisson":
        raise ScenarioError(
            "contradicts arrivals, which already determine the times of segments", path=join_path(where, "frames")
        )
    if given.frames is None:
        for name in ("frame_shape", "rate_steps"):
            if name in given.model_fields_set and getattr(given, name):
                raise ScenarioError("has no meaning without frames", path=join_path(where, name))
        return
    if given.rate_steps and given.on is not None:
        raise ScenarioError("contradicts on and off; a rate of 0 bit/s is a pause", path=join_path(where, "rate_steps"))
    check_rate_steps(given.rate_steps, join_path(where, "rate_steps"))
    slowest = min(rate for rate in (given.rate or 0, *(step.rate for step in given.rate_steps)) if rate > 0)
    if slowest * given.frames < 8 * PS_PER_S:
        raise ScenarioError(
            f"'{format_time(given.frames)}' at {format_rate(slowest)} is less than a byte; a frame has at "
            "least 1 byte on average",
            path=join_path(where, "frames"),
        )


def _check_backend(scenario: ScenarioTable, flow: Flow, where: str) -> None:
    """Reject a flow with ``backend`` whose transport the backend does not have, and records that backends other than
    the engine do not make."""
    if flow.backend is None:
        return
    other = transports.backend_of(flow.algorithm) not in (None, flow.backend)
    if flow.backend == transports.SIMULATOR:
        if other:
            raise ScenarioError(
                f"'{flow.backend}' has no {flow.algorithm}; leave it out", path=join_path(where, "backend")
            )
        return
    if flow.datagrams is not None or is_udt(flow.algorithm) or other:
        has = transports.TRANSPORTS[flow.backend]
        raise ScenarioError(
            f"'{flow.backend}' has {has} alone, and this flow is of {flow.algorithm.partition(':')[0]}; leave it out",
            path=join_path(where, "backend"),
        )
    if scenario.events is not None:
        raise ScenarioError(f"'{flow.backend}' ({where}) has no event log; leave it out", path="events")
    if scenario.record != RECORD_ALL:
        raise ScenarioError(
            f"'{flow.backend}' ({where}) records every flow; write record = \"all\", or leave it out", path="record"
        )


def _check_udt(scenario: ScenarioTable, flow: Flow, where: str) -> None:
    """Reject fields of TCP on a flow of UDT; the flow's stack is checked when it is built."""
    if not is_udt(flow.algorithm):
        return
    for field in ("sender_clock", "receiver_clock", "base_rtt_error"):
        if getattr(flow, field):
            raise ScenarioError("has no effect for UDT; omit it", path=join_path(where, field))
    if scenario.events is not None:
        raise ScenarioError(
            f"UDT's packets are not TCP's and have no event log; leave it out, or {where} with '{flow.algorithm}'",
            path="events",
        )


def _check_algorithm(flow: Flow | Traffic, where: str) -> None:
    if own.pinned(flow.algorithm):
        try:
            own.check_parameters(flow.algorithm, flow.parameters)
        except ScenarioError as error:
            raise error.located(path=join_path(where, "parameters" if error.path else "algorithm")) from error
        return
    try:
        catalog.check_name(flow.algorithm, catalog.algorithms(), "an algorithm")
    except ScenarioError as error:
        module, colon, name = flow.algorithm.partition(":")
        if colon and Path(f"{module}.py").is_file():
            meant = f"'{flow.algorithm}' is not an algorithm; did you mean './{module}.py:{name}'?"
            raise ScenarioError(meant, path=join_path(where, "algorithm")) from None
        raise error.located(path=join_path(where, "algorithm")) from None
    try:
        catalog.check_parameters(flow.algorithm, flow.parameters)
    except ScenarioError as error:
        raise error.located(path=where) from None
    if transports.backend_of(flow.algorithm) is not None and isinstance(flow, Traffic):
        raise ScenarioError("transfers of a source are TCP's; write flows instead", path=f"{where}.algorithm")
