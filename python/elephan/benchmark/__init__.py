"""Measurements of ``elephan bench``: the engine's speed, the upper bound of this speed, and ns-2's speed.

Each measurement is repeated, and the result is the median.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from elephan.benchmark import long_paths, many_flows, ns2, two_flows


def measure(repeat: int, warn: Callable[[str], None], *, with_ns2: bool) -> dict[str, Any]:
    """All measurements, in the form that ``--json`` prints; ``warn`` is called for each measurement that is not
    possible."""
    stacks = two_flows.time_stacks(repeat)
    default, steady = stacks[two_flows.DEFAULT_STACK], stacks[two_flows.STACK]
    recovery = two_flows.time_recovery(repeat)
    bound = two_flows.time_bound(repeat)
    transfers = many_flows.time_transfers(repeat)
    in_ns2 = ns2.time_two_flows(repeat, warn) if with_ns2 else None
    algorithms = two_flows.time_algorithms(repeat)
    slowest = max(algorithms, key=lambda name: algorithms[name]["ns_per_segment"])
    python = two_flows.time_python(repeat, warn)
    crowds = many_flows.time_crowds(repeat)
    resolutions = long_paths.time_resolutions(repeat)
    if in_ns2 is not None:
        many_flows.add_ns2(crowds, repeat, warn)
    return {
        "workload": two_flows.WORKLOAD,
        "linux": default,
        "engine": steady,
        "recovery": recovery,
        "bound": bound,
        "transfers": transfers,
        "ns2": in_ns2,
        "ratio_to_ns2": steady["segments_per_second"] / in_ns2["segments_per_second"] if in_ns2 else None,
        "slowest": {"algorithm": slowest} | algorithms[slowest],
        "algorithms": {name: row["ns_per_segment"] for name, row in algorithms.items()},
        "algorithms_slowdown": {
            name: row["ns_per_segment"] / algorithms["reno"]["ns_per_segment"] for name, row in algorithms.items()
        },
        "python": python,
        "crowds": crowds,
        "resolutions": resolutions,
        "linux_slowdown": default["ns_per_segment"] / steady["ns_per_segment"],
        "recovery_slowdown": recovery["ns_per_segment"] / steady["ns_per_segment"],
        "transfers_slowdown": transfers["ns_per_segment"] / steady["ns_per_segment"],
        "bound_slowdown": steady["ns_per_segment"] / bound["ns_per_segment"],
        "repeat": repeat,
    }
