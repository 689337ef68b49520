"""Warnings about settings that are allowed but give misleading numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from elephan.scenario import catalog, channels
from elephan.scenario.canonical import canonical_form, flow_name, measure_window, source_name
from elephan.scenario.form import (
    BernoulliLoss,
    GilbertElliottLoss,
    IntervalLoss,
    IntervalsLoss,
    LinkSpec,
    ListLoss,
    LossInterval,
    LossSpec,
    NoneLoss,
    QueueSpec,
    TimedStatesLoss,
)
from elephan.scenario.graph import Graph
from elephan.scenario.impairments import Impairments
from elephan.scenario.perturbation import jitters
from elephan.scenario.routers import router_cautions
from elephan.scenario.schema import HOSTS, Flow, Link, Path, ScenarioTable, Traffic
from elephan.scenario.stacks import Stack, is_udt
from elephan.scenario.traffic import rtt_quantiles
from elephan.scenario.units import OPPORTUNITY_BYTES, PS_PER_S, format_rate, format_time

EPOCHS_WANTED = 3
_SPACINGS = 10
"""Spread of samples, in packets' spacings, from which packets in order mostly wait for earlier ones."""
_CUBIC_C = 0.4
_CUBIC_KEEP = 0.7


def cautions(scenario: ScenarioTable, graph: Graph) -> list[str]:
    """One sentence for each caution about the results."""
    return [
        *_late_starts(scenario),
        *_starts_after_the_end(scenario, graph),
        *_short_run(scenario, graph),
        *_small_receive_window(scenario, graph),
        *_late_writes(scenario),
        *_changing_links(graph),
        *_token_rates(scenario, graph),
        *_samples_of_a_course(graph),
        *_short_round_trips(scenario, graph),
        *_unlogged_transfers(scenario),
        *_fields_without_effect(scenario, graph),
        *_overloads(scenario, graph),
        *router_cautions(scenario, graph),
    ]


def randomness(scenario: ScenarioTable, graph: Graph) -> bool:
    """True if anything in the scenario depends on the seed."""
    tables: list[Path | Link] = [*scenario.link]
    tables += [path for path in (scenario.dumbbell_, scenario.parking_lot) if path is not None]
    unsteady = any(table.loss.is_random or Impairments.of(table).is_random for table in tables)
    drawn = [flow.application or flow.datagrams for flow in scenario.flow]
    random = [
        given.arrivals == "poisson" or (given.on is not None and given.times != "constant") for given in drawn if given
    ]
    drawn_sources = any(source.file is None and source.transfers is None for source in scenario.traffic)
    return unsteady or any(random) or drawn_sources or any(jitters(scenario, graph))


def epoch_s(algorithm: str, window: float, rtt_s: float) -> float | None:
    """Seconds between two losses of a lone flow that peaks at ``window`` segments; ``None`` if this module has no
    closed form.

    Reno climbs from half the window to the window at one segment a round trip (RFC 5681). CUBIC takes K = cbrt(W (1 -
    0.7) / 0.4) seconds (RFC 9438 §4.2). In its Reno-friendly region, CUBIC takes Reno's time, which is shorter.
    """
    name = algorithm.partition(":")[0]
    reno_s = window / 2 * rtt_s
    if name == "reno":
        return reno_s
    if name == "cubic":
        k_s = float((window * (1 - _CUBIC_KEEP) / _CUBIC_C) ** (1 / 3))
        return min(k_s, reno_s)
    return None


def _links(scenario: ScenarioTable, graph: Graph) -> tuple[LinkSpec, ...]:
    """The links of the canonical form, which a scenario has computed; a table over time takes a while."""
    known = getattr(scenario, "compact_form", None)
    return (canonical_form(scenario, graph) if known is None else known).links


def _short_run(scenario: ScenarioTable, graph: Graph) -> list[str]:
    links = _links(scenario, graph)
    from_ps, to_ps = measure_window(scenario)
    found = []
    for i, flow in enumerate(scenario.flow):
        link = graph.slowest(i)
        queue = links[link].queue
        limit_packets = queue.limit_packets
        if limit_packets is None and queue.limit_bytes is not None:
            limit_packets = queue.limit_bytes // graph.stacks[i].wire_bytes
        if limit_packets is None or flow.size is not None or flow.application or flow.datagrams:
            continue
        sharing = graph.sharing(link)
        wire_bits = 8 * graph.stacks[i].wire_bytes
        rtt_s = graph.rtt_ps(i) / PS_PER_S
        rate_bps = graph.links[link].rate_bps
        window = (rate_bps * rtt_s / wire_bits + limit_packets) / sharing
        receive_window = graph.stacks[i].receive_window
        if receive_window is not None and receive_window < window:
            continue  # the receive window prevents losses, so there are no epochs; another caution reports this
        measured_s = (to_ps - max(from_ps, flow.start)) / PS_PER_S
        packets = max(measured_s, 0) * rate_bps / wire_bits / sharing
        if not _only_a_full_queue_drops(
            [links[at] for at in graph.routes[i].forward], queue, packets, (from_ps, to_ps)
        ):
            continue
        loaded_rtt_s = rtt_s + limit_packets / 2 * wire_bits / rate_bps
        period_s = epoch_s(flow.algorithm, window, loaded_rtt_s)
        if period_s is not None and measured_s < EPOCHS_WANTED * period_s:
            found.append(
                f"{flow_name(flow, i)}: the {max(measured_s, 0):.4g} s that are measured are shorter than "
                f"{EPOCHS_WANTED} congestion epochs, about {period_s:.3g} s each"
            )
    return found


def _only_a_full_queue_drops(
    route: Sequence[LinkSpec], queue: QueueSpec, packets: float, measured_ps: tuple[int, int]
) -> bool:
    """True if the epochs of a flow with this many packets are those of a drop-tail queue that fills.

    An active queue, losses on the way, late packets and changes of the rate end epochs earlier; how often they do is
    known after the run, which counts the congestion events.
    """
    changes = [link.impairments for link in route if link.impairments is not None]
    steady = all(not (row.rate_steps or row.rate_trace_ms or row.reorder or row.retransmission) for row in changes)
    lost = sum(_lost_packets(link.loss, packets, measured_ps) for link in route)
    return queue.kind == "droptail" and steady and lost < EPOCHS_WANTED


def _lost_packets(loss: LossSpec, packets: float, measured_ps: tuple[int, int]) -> float:
    """Mean number of packets that a link loses of those that it gets in the measured part."""
    match loss:
        case NoneLoss():
            return 0.0
        case BernoulliLoss():
            return packets * loss.p
        case ListLoss():
            return float(len(loss.packets))
        case IntervalLoss():
            return packets * _part(loss, measured_ps)
        case IntervalsLoss():
            return packets * sum(_part(interval, measured_ps) for interval in loss.intervals)
        case GilbertElliottLoss():
            changing = loss.to_bad + loss.to_good
            bad = loss.to_bad / changing if changing > 0 else 0.0
        case TimedStatesLoss():
            bad = loss.bad_ps / (loss.good_ps + loss.bad_ps)
    return packets * (bad * loss.in_bad + (1 - bad) * loss.in_good)


def _part(interval: IntervalLoss | LossInterval, measured_ps: tuple[int, int]) -> float:
    """Fraction of the measured part's packets that are lost in an interval."""
    from_ps, to_ps = measured_ps
    inside_ps = min(to_ps, interval.to_ps) - max(from_ps, interval.from_ps)
    return interval.p * max(0, inside_ps) / max(1, to_ps - from_ps)


def _late_starts(scenario: ScenarioTable) -> list[str]:
    from_ps, _ = measure_window(scenario)
    return [
        f"{flow_name(flow, i)}: starts at {format_time(flow.start)}, inside the measured part, "
        f"which begins at {format_time(from_ps)}"
        for i, flow in enumerate(scenario.flow)
        if flow.start > from_ps and flow.size is None and flow.datagrams is None
    ]


def _starts_after_the_end(scenario: ScenarioTable, graph: Graph) -> list[str]:
    """Flows that their random delay may move past the end of the run."""
    start_ps = jitters(scenario, graph).start_ps
    if start_ps == 0:
        return []
    delayed = "perturb" if scenario.perturb == HOSTS else "start_jitter"
    return [
        f"{flow_name(flow, i)}: {delayed} moves its start by up to {format_time(start_ps)}, past the end of the run; "
        "write a longer duration, or another start_jitter"
        for i, flow in enumerate(scenario.flow)
        if flow.start + flow.start_spread + start_ps >= scenario.duration
    ]


def _late_writes(scenario: ScenarioTable) -> list[str]:
    found = []
    for i, flow in enumerate(scenario.flow):
        writes = flow.application.writes if flow.application else ()
        late = sum(at >= min(flow.stop or scenario.duration, scenario.duration) for at, _ in writes)
        if late:
            found.append(f"{flow_name(flow, i)}: {late} of its {len(writes)} writes are not made before its end")
    return found


def _token_rates(scenario: ScenarioTable, graph: Graph) -> list[str]:
    """Links whose discipline limits their rate, so that their BDP and their utilization are of another rate."""
    found = []
    for position, link in enumerate(_links(scenario, graph)):
        stated = link.queue.parameters.get("rate_bps")
        token_bps = None if stated is None or not graph.data_users(position) else int(stated)
        if token_bps is not None and token_bps < link.rate_bps:
            found.append(
                f"{link.name}: its BDP and its utilization are those of its rate, {format_rate(link.rate_bps)}; its "
                f"{link.queue.kind} lets {format_rate(token_bps)} pass"
            )
        elif token_bps is not None and link.queue.kind == "tbf":
            found.append(
                f"{link.name}: its tbf delays no packet: {format_rate(token_bps)} are at least the link's rate, "
                f"{format_rate(link.rate_bps)}"
            )
    return found


def _changing_links(graph: Graph) -> list[str]:
    found = []
    for link in graph.links:
        changes = link.impairments
        if changes.rate_steps or changes.rate_table:
            found.append(f"{link.name}: its BDP is that of its rate at the beginning, {format_rate(link.rate_bps)}")
        if changes.rate_trace:
            bits = len(changes.rate_trace) * OPPORTUNITY_BYTES * 8
            mean_bps = bits * 1000 // changes.rate_trace[-1]
            if abs(mean_bps - link.rate_bps) > link.rate_bps / 10:
                found.append(
                    f"{link.name}: its BDP is that of its rate, {format_rate(link.rate_bps)}; "
                    f"its trace has {mean_bps / 1e6:.4g} Mbit/s on average"
                )
        if changes.channel and not changes.delays_only:
            mean_bps = round(channels.mean_bps(changes.channel.model, changes.channel.given))
            if abs(mean_bps - link.rate_bps) > link.rate_bps / 10:
                found.append(
                    f"{link.name}: its BDP is that of its rate, {format_rate(link.rate_bps)}; its channel "
                    f"{changes.channel.model} has {mean_bps / 1e6:.4g} Mbit/s on average"
                )
        if changes.delay_steps or changes.delay_table:
            found.append(
                f"{link.name}: RTTs without queues, and the BDP, are those of its delay at the beginning, "
                f"{format_time(link.delay_ps)}"
            )
    return found


def _samples_of_a_course(graph: Graph) -> list[str]:
    """Links whose jitter draws from samples that differ by far more than the packets' spacing: since packets stay in
    order, a packet waits for the latest of those before it, and most packets have nearly the largest delay."""
    found = []
    for position, link in enumerate(graph.links):
        samples = sorted(link.impairments.jitter.samples or ()) if link.impairments.jitter else []
        users = graph.users(position)
        if not samples or not users:
            continue
        wire_bits = 8 * max(graph.stacks[flow].wire_bytes for flow in users)
        spacing_ps = wire_bits * PS_PER_S // link.rate_bps
        if samples[-1] - samples[len(samples) // 2] > _SPACINGS * spacing_ps:
            found.append(
                f"{link.name}: jitter.samples are drawn anew for each packet and packets stay in order, so at full "
                f"rate, with a packet each {format_time(_rounded(spacing_ps))}, delays stay near the largest sample, "
                f"{format_time(samples[-1])}; write delays that were recorded over time as delay_table"
            )
    return found


def _rounded(time_ps: int) -> int:
    """A time with three digits, for a message."""
    return int(float(f"{time_ps:.3g}"))


def _short_round_trips(scenario: ScenarioTable, graph: Graph) -> list[str]:
    found = []
    for i, flow in enumerate(scenario.flow):
        path_ps = 2 * sum(graph.links[link].delay_ps for link in graph.routes[i].forward[1:-1])
        share = _share_below(rtt_quantiles(flow, f"flow[{i}]"), path_ps)
        if share > 0:
            found.append(
                f"{flow_name(flow, i)}: {_percent(share)} of its round-trip times are shorter than the path's "
                f"{format_time(path_ps)}; those flows have the path's"
            )
    for i, source in enumerate(scenario.traffic):
        quantiles = rtt_quantiles(source, f"traffic[{i}]")
        path_ps = graph.rtt_ps(len(scenario.flow) + i)
        share = _share_below(quantiles, path_ps)
        if share > 0:
            found.append(
                f"{source_name(source, i)}: {_percent(share)} of its round-trip times are shorter than the path's "
                f"{format_time(path_ps)}; those transfers have the path's"
            )
    return found


def _share_below(quantiles: Sequence[tuple[float, int]], least_ps: int) -> float:
    """Fraction of the RTTs of a distribution that are below a time; between two quantiles, the logarithm of the RTT is
    interpolated as it is when RTTs are drawn."""
    for (low, low_ps), (high, high_ps) in pairwise(quantiles):
        if low_ps < least_ps <= high_ps:
            return low + (high - low) * math.log(least_ps / low_ps) / math.log(high_ps / low_ps)
    return 1.0 if quantiles and quantiles[-1][1] < least_ps else 0.0


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 else "less than 1%"


def _unlogged_transfers(scenario: ScenarioTable) -> list[str]:
    return [
        f"{source_name(source, i)}: the packets of its transfers are not in the event log; those of flows are"
        for i, source in enumerate(scenario.traffic)
        if scenario.events is not None
    ]


def _fields_without_effect(scenario: ScenarioTable, graph: Graph) -> list[str]:
    """Fields of a stack that another field of the same stack makes irrelevant, where the scenario states them."""
    found: dict[str, None] = {}
    senders: list[Flow | Traffic] = [*scenario.flow, *scenario.traffic]
    for sender, stack in zip(senders, graph.stacks, strict=True):
        for where, table in (("stack", scenario.stack), ("stack of a flow", sender.stack)):
            stated = table.model_fields_set if table is not None else set()
            for field, why in _idle(stack).items():
                if field in stated:
                    found[f"{where}: {field} has no effect: {why}"] = None
    return list(found)


def _idle(stack: Stack) -> dict[str, str]:
    """Fields of a stack that change nothing, each with the reason."""
    idle = {}
    if stack.min_rto_ps <= stack.rto_granularity_ps:
        idle["min_rto"] = (
            f"rto_granularity already adds at least {format_time(stack.rto_granularity_ps)} to the smoothed RTT; "
            "set rto_granularity"
        )
    if stack.ack_every == 1 and not stack.quick_acks:
        idle["delayed_ack"] = "ack_every = 1 acknowledges each segment at once"
    if stack.send_buffer_bytes is not None and not stack.tso and stack.receive_window is not None:
        idle["send_buffer"] = "it shapes only the bursts of tso, which is off, and the default receive window"
    return idle


def _overloads(scenario: ScenarioTable, graph: Graph) -> list[str]:
    """Sources that offer as much as their slowest link carries, or more."""
    found = []
    for i, source in enumerate(scenario.traffic):
        if source.load is None:
            continue
        rate_bps = graph.links[graph.slowest(len(scenario.flow) + i)].rate_bps
        load = source.load if isinstance(source.load, float) else source.load / rate_bps
        if load >= 1:
            found.append(
                f"{source_name(source, i)}: its load of {100 * load:.4g} % is at least the rate of its slowest link: "
                "unfinished transfers accumulate during the whole run, so every number depends on the "
                "duration"
            )
    return found


def _flow_window(flow: Flow) -> int:
    """UDT's limit on unacknowledged packets."""
    return int(flow.parameters.get("flow_window", catalog.default(catalog.algorithms()["udt"], "flow_window")))


def _small_receive_window(scenario: ScenarioTable, graph: Graph) -> list[str]:
    found = []
    for i, flow in enumerate(scenario.flow):
        window = graph.stacks[i].receive_window
        kind = "receive"
        if is_udt(flow.algorithm):
            window, kind = _flow_window(flow), "flow"
        link = graph.slowest(i)
        bdp = graph.links[link].rate_bps * graph.rtt_ps(i) / (8 * graph.stacks[i].wire_bytes * PS_PER_S)
        if flow.datagrams is None and window is not None and window < bdp / graph.sharing(link):
            found.append(
                f"{flow_name(flow, i)}: its {kind} window of {window} segments is less than its share of the path's "
                f"{bdp:.0f}, so the receiver and not the algorithm sets its rate"
            )
    return found
