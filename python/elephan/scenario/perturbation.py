"""Perturbation of replicates: small random delays, drawn from the seed, such as those between two runs on real hosts.

Random start times alone do not decorrelate a deterministic system: two CUBIC flows enter one of a few cycles for any
start times. Therefore each packet is also delayed at its sender, as on real hosts. The delays were measured on hosts
(docs/kernel.md): with 0.1 to 0.3 ms of send jitter, losses in the simulator have the pattern of Linux hosts.
"""

from __future__ import annotations

from typing import NamedTuple

from elephan.scenario.errors import ScenarioError
from elephan.scenario.graph import Graph
from elephan.scenario.schema import HOSTS, ScenarioTable
from elephan.scenario.units import MAX_TIME_PS, format_time

START_RTTS = 4
"""Longest delay of a flow's start, in units of the longest base RTT."""
SEND_JITTER_PS = 200_000_000
"""Longest delay of a packet at its sender: 0.2 ms, the middle of the range measured on hosts."""
RTTS_A_JITTER = 100
"""Smallest ratio of the base RTT to the send jitter: a delay of more than 1 % of the RTT would change the path."""
RULE = f"starts over {START_RTTS} of the longest RTT, packets up to 0.2 ms or 1 % of the shortest RTT late"
"""The perturbation of hosts as text, for any path."""


class Jitters(NamedTuple):
    """Longest random delays in ps: of a flow's start, and of a data packet at its sender."""

    start_ps: int
    send_ps: int


def jitters(scenario: ScenarioTable, graph: Graph) -> Jitters:
    """The jitters of a scenario; ``perturb`` sets the jitters that the scenario omits.

    Raises:
        ScenarioError: the number of RTTs exceeds the longest time of a scenario.
    """
    start_ps, send_ps = scenario.start_jitter, scenario.send_jitter
    if scenario.perturb is None:
        return Jitters(start_ps, send_ps)
    default = Jitters(0, 0)
    if scenario.perturb == HOSTS:
        shortest_ps, longest_ps = _base_rtts_ps(graph)
        default = Jitters(START_RTTS * longest_ps, min(SEND_JITTER_PS, shortest_ps // RTTS_A_JITTER))
    stated = scenario.model_fields_set
    found = Jitters(
        start_ps if "start_jitter" in stated else default.start_ps,
        send_ps if "send_jitter" in stated else default.send_ps,
    )
    if found.start_ps > MAX_TIME_PS:
        message = f"starts over {START_RTTS} RTTs would be over 53 days; write a start_jitter"
        raise ScenarioError(message, path="perturb")
    return found


def sentence(scenario: ScenarioTable, graph: Graph) -> str:
    """The perturbation in words, ``"starts over 400 ms, packets up to 0.2 ms late"``; empty if there is no
    perturbation."""
    start_ps, send_ps = jitters(scenario, graph)
    starts = f"starts over {format_time(start_ps)}" if start_ps else ""
    packets = f"packets up to {_milliseconds(send_ps)} late" if send_ps else ""
    return ", ".join(part for part in (starts, packets) if part)


def _milliseconds(time_ps: int) -> str:
    return f"{time_ps / 1e9:.4g} ms"


def _base_rtts_ps(graph: Graph) -> tuple[int, int]:
    """Shortest and longest base RTT of all flows and sources, each flow of a group included."""
    found = [graph.rtts_ps(route) for route in range(len(graph.routes))]
    return min(shortest for shortest, _ in found), max(longest for _, longest in found)
