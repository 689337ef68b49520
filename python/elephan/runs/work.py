"""Estimates of the work that a scenario is for the engine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from elephan import backends
from elephan.runs.saved import run_id
from elephan.runs.store import Store
from elephan.scenario import Scenario

_TRANSFERS_COST = 2.5
"""A segment of a short transfer takes the engine about as long as this many of a long flow (``elephan bench``)."""

_LINKS_COST = 0.2
"""Fraction of a segment's cost that each link with a bounded buffer adds beyond the two of a dumbbell."""


def _segment_cost(sender: dict[str, Any], links: Sequence[dict[str, Any]], cost: float) -> float:
    """Returns the cost of a segment that passes a sender's links; one over a dumbbell costs ``cost``."""
    bounds = ("limit_packets", "limit_bytes")
    queues = (links[i]["queue"] for i in (*sender["path"], *sender["reverse_path"]))
    bounded = sum(any(queue.get(bound) is not None for bound in bounds) for queue in queues)
    return cost * (1.0 + _LINKS_COST * max(bounded - 2, 0))


@lru_cache(maxsize=4096)
def work(scenario: Scenario) -> float:
    """Estimates how long the engine takes for a scenario, in segments of a long flow over a dumbbell.

    Of each path the narrowest link, of several the one that most senders cross, is taken to be full, limited sources to
    send at their own rate, and transfers to bring their load. Only for what runs first and how far a sweep is.
    """
    form = scenario.canonical()
    links = form["links"]
    senders = [(entry, entry, 1.0) for entry in form["flows"]]
    senders += [(entry, entry["flow"], _TRANSFERS_COST) for entry in form.get("traffic", ())]
    crossed = Counter(i for _, sender, _ in senders for i in set(sender["path"]))
    limited_per_s = 0.0
    loads: dict[int, list[tuple[float, float]]] = defaultdict(list)
    filling: dict[int, float] = defaultdict(float)
    for entry, sender, base in senders:
        narrowest = min(sender["path"], key=lambda i: (links[i]["rate_bps"], -crossed[i]))
        stack = sender["stack"]
        cost_per_bit = _segment_cost(sender, links, base) / (8 * (stack["payload_bytes"] + stack["header_bytes"]))
        if "rate_bps" in sender.get("application", {}):
            limited_per_s += cost_per_bit * min(sender["application"]["rate_bps"], links[narrowest]["rate_bps"])
        elif "bps" in entry.get("arrivals", {}):
            loads[narrowest].append((entry["arrivals"]["bps"], cost_per_bit))
        else:
            filling[narrowest] = max(filling[narrowest], cost_per_bit)
    per_s = limited_per_s
    for link in loads.keys() | filling.keys():
        rate_bps = links[link]["rate_bps"]
        offered_bps = sum(bps for bps, _ in loads[link])
        carried = min(1.0, rate_bps / offered_bps) if offered_bps else 1.0
        per_s += sum(bps * carried * cost for bps, cost in loads[link])
        per_s += filling[link] * (rate_bps - offered_bps * carried)
    return per_s * float(form["duration_ps"]) / 1e12


def unsaved_work(jobs: Iterable[tuple[Scenario, int]], store: Store, on: str = "sim") -> float:
    """The work of the jobs whose results are not in a store."""
    engine = backends.get(on).version()
    wanted = {run_id(scenario.hash, on, seed): scenario for scenario, seed in jobs}
    return sum(work(scenario) for name, scenario in wanted.items() if store.find(name, engine=engine) is None)
