"""Estimates of the engine's work for a scenario, and of the time that a run takes; all budgets use these."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

from elephan import backends
from elephan.scenario import Scenario, own
from elephan.scenario.catalog import algorithms
from elephan.scenario.form import ArrivalsSpec, FlowSpec, LinkSpec, LoadArrivals, Spec
from elephan.scenario.lookups import base_rtt_ps, slowest_bps, wire_bytes
from elephan.scenario.units import PS_PER_S

_TRANSFERS_COST = 2.5
"""Cost of a segment of a short transfer, in segments of a long flow (measured by ``elephan bench``)."""

_LINKS_COST = 0.2
"""Additional cost of a segment for each link with a bounded buffer beyond two links, as a fraction of its cost."""


_SEGMENT_S = 2e-7
"""Processor time of the simulator for a segment, s; the estimate is rather too long than too short."""

_TRAINS_PER_WINDOW = 256
_TRAIN_COST = 8.0
_MOST_IN_TRAIN = 800.0
"""Trains of a window, the cost of a train in segments, and the longest train on average, single segments included."""

_GAIN_OF_BURSTS = 5.0
_GAIN_OF_EACH = 4.0
"""Speed of trains relative to single segments, of bursts of a host only, and with an algorithm that gets each ACK."""

_SINGLE_WINDOWS = 6.0
"""Segments that a run in trains sends singly, in slow start and while it repairs what this lost, in windows that fill
the path and its buffer."""

_OWN_SEGMENT_S = 6e-6
"""Processor time for a segment with an algorithm written in Python, s."""

_PROGRAM_SEGMENT_S = 4e-4
"""Processor time for a packet of a program in a guest, s, most of it for the program's system calls."""

PREPARATION_S = {"sim": 0.03, "linux": 1.5, "kernel": 2.0}
"""Time of a run in addition to its traffic, s: tables; booting a guest; namespaces, programs and connections."""

_BEHIND_ENGINE = 5.0
"""Cost of a segment between guests if the simulator's engine carries it, relative to one that netem carries."""


def takes_s(scenario: Scenario, on: str = "sim", longer: float = 1.0) -> float:
    """Estimated time of a run on one core, s, or of a run that is ``longer`` times as long.

    A run in real time takes its simulated time. An estimate is known before a run of the kind has ended; where one has,
    its own time is a better one.
    """
    form, fixed_s = scenario.form, PREPARATION_S.get(on, PREPARATION_S["sim"])
    if on == "kernel":
        return fixed_s + longer * float(form.duration_ps) / 1e12
    segment_s = _SEGMENT_S * backends.get(on).cost
    if on == "linux" and (form.traffic or any(flow.backend is not None for flow in form.flows)):
        segment_s *= _BEHIND_ENGINE
    if any(own.pinned(flow.algorithm) for flow in form.flows):
        segment_s = max(segment_s, _OWN_SEGMENT_S)
    if any(flow.program is not None for flow in form.flows):
        segment_s = max(segment_s, _PROGRAM_SEGMENT_S)
    segments = longer * work(scenario)
    if form.resolution == "train":
        single = min(segments, _SINGLE_WINDOWS * _filling(form))
        segments = single + (segments - single) * _in_trains(form)
    return fixed_s + segment_s * segments


def _in_trains(form: Spec) -> float:
    """Cost of a segment in trains, relative to a single one: the mean of the flows."""
    longest = max(1.0, min(_window(form) / _TRAINS_PER_WINDOW, _MOST_IN_TRAIN) / _TRAIN_COST)
    gains = {"none": 1.0, "bursts": min(longest, _GAIN_OF_BURSTS), "each": min(longest, _GAIN_OF_EACH), "any": longest}

    def gain(flow: FlowSpec) -> float:
        known = algorithms().get(flow.algorithm.partition(":")[0])
        return gains[known["trains"]] if known else 1.0

    flows = sum(flow.count for flow in form.flows)
    return sum(flow.count / gain(flow) for flow in form.flows) / flows if flows else 1.0


def _filling(form: Spec) -> float:
    """Segments that fill the path of a flow and its largest buffer, of the flow for which these are most."""

    def buffered(flow: FlowSpec) -> float:
        queues = [form.links[i].queue for i in flow.path]
        packets = [queue.limit_packets for queue in queues if queue.limit_packets is not None]
        by_bytes = [queue.limit_bytes / wire_bytes(flow.stack) for queue in queues if queue.limit_bytes is not None]
        return max([*packets, *by_bytes], default=0.0)

    return max(
        slowest_bps(form, flow) * base_rtt_ps(form, flow) / PS_PER_S / 8 / wire_bytes(flow.stack) + buffered(flow)
        for flow in form.flows
    )


def _window(form: Spec) -> float:
    """The BDP of the slowest flow's path for each flow, in segments."""
    return min(
        slowest_bps(form, flow) * base_rtt_ps(form, flow) / PS_PER_S / 8 / wire_bytes(flow.stack) for flow in form.flows
    ) / sum(flow.count for flow in form.flows)


def _segment_cost(sender: FlowSpec, links: Sequence[LinkSpec], cost: float) -> float:
    """Cost of a segment that crosses a sender's links, in the unit in which a segment on a dumbbell costs ``cost``."""
    queues = (links[i].queue for i in (*sender.path, *sender.reverse_path))
    bounded = sum(queue.limit_packets is not None or queue.limit_bytes is not None for queue in queues)
    return cost * (1.0 + _LINKS_COST * max(bounded - 2, 0))


@lru_cache(maxsize=4096)
def work(scenario: Scenario) -> float:
    """Estimates the engine's time for a scenario, in segments of a long flow over a dumbbell.

    The estimate assumes that the slowest link of each path is full, that limited sources send at their own rate, and
    that transfers offer their stated load. If several links of a path are equally slow, the link with the most senders
    counts as the slowest. The estimate only determines the order and the progress of a sweep.
    """
    form = scenario.form
    links = form.links
    senders: list[tuple[FlowSpec, ArrivalsSpec | None, float]] = [(flow, None, 1.0) for flow in form.flows]
    senders += [(source.flow, source.arrivals, _TRANSFERS_COST) for source in form.traffic]
    crossed = Counter(i for sender, _, _ in senders for i in set(sender.path))
    limited_per_s = 0.0
    loads: dict[int, list[tuple[float, float]]] = defaultdict(list)
    filling: dict[int, float] = defaultdict(float)
    for sender, arrivals, base in senders:
        narrowest = min(sender.path, key=lambda i: (links[i].rate_bps, -crossed[i]))
        cost_per_bit = _segment_cost(sender, links, base) / (8 * wire_bytes(sender.stack))
        if sender.application is not None:
            limited_per_s += cost_per_bit * min(sender.application.rate_bps, links[narrowest].rate_bps)
        elif isinstance(arrivals, LoadArrivals):
            loads[narrowest].append((arrivals.bps, cost_per_bit))
        else:
            filling[narrowest] = max(filling[narrowest], cost_per_bit)
    per_s = limited_per_s
    for link in loads.keys() | filling.keys():
        rate_bps = links[link].rate_bps
        offered_bps = sum(bps for bps, _ in loads[link])
        carried = min(1.0, rate_bps / offered_bps) if offered_bps else 1.0
        per_s += sum(bps * carried * cost for bps, cost in loads[link])
        per_s += filling[link] * (rate_bps - offered_bps * carried)
    return per_s * float(form.duration_ps) / 1e12
