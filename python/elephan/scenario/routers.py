"""Cautions about algorithms that need assistance by routers, and about paths without the required routers."""

from __future__ import annotations

from elephan.scenario import catalog
from elephan.scenario.canonical import flow_name, source_name
from elephan.scenario.graph import Graph
from elephan.scenario.schema import ScenarioTable
from elephan.scenario.units import format_rate, format_time, parse_positive_time

_T_RHO = "t_rho"


def router_cautions(scenario: ScenarioTable, graph: Graph) -> list[str]:
    """Cautions about links with routers and about flows that need routers; one sentence each.

    A link causes a caution if other algorithms share the link, or if its rate changes. A flow causes a caution if it
    crosses a queue without the required router.
    """
    senders = [(flow_name(flow, i), flow.algorithm, flow.datagrams is None) for i, flow in enumerate(scenario.flow)]
    senders += [(source_name(source, i), source.algorithm, True) for i, source in enumerate(scenario.traffic)]
    needs = [catalog.router(algorithm) if listens else None for _, algorithm, listens in senders]
    found = []
    for position, link in enumerate(graph.links):
        users = graph.data_users(position)
        helped = [i for i in users if needs[i] is not None]
        if link.queue in catalog.routers():
            strangers = ", ".join(senders[i][0] for i in users if needs[i] != link.queue)
            its = f"{link.name}: its {link.queue} router"
            if strangers:
                found.append(f"{its} says nothing to {strangers}, which share its buffer")
            if link.impairments.changes_rate:
                found.append(f"{its} uses its rate at the start, {format_rate(link.rate_bps)}")
        elif helped and not link.buffer.unlimited:
            found.extend(
                f"{senders[i][0]}: hears nothing of {link.name}, which has a queue but no {needs[i]} router"
                for i in helped
            )
    return found + _other_intervals(scenario, graph)


def _other_intervals(scenario: ScenarioTable, graph: Graph) -> list[str]:
    """Caution about VCP senders whose intervals differ from the intervals of the routers on their path."""
    found = []
    declared_s = catalog.default(catalog.queues()["vcp"], _T_RHO)
    for i, flow in enumerate(scenario.flow):
        if flow.datagrams is not None or catalog.router(flow.algorithm) != "vcp":
            continue
        own_s = float(flow.parameters.get(_T_RHO, declared_s))
        for position in graph.routes[i].forward:
            link = graph.links[position]
            given = link.queue_parameters.get(_T_RHO)
            theirs_s = declared_s if given is None else parse_positive_time(given) * 1e-12
            if link.queue == "vcp" and abs(theirs_s - own_s) > 1e-9:
                own, theirs = (format_time(round(interval_s * 1e12)) for interval_s in (own_s, theirs_s))
                found.append(
                    f"{flow_name(flow, i)}: reckons with routers that measure every {own}, and {link.name} does "
                    f"every {theirs}"
                )
    return found
