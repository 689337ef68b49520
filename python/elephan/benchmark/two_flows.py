"""Benchmarks with two flows on one path: the engine, the upper bound of its speed, recovery, every algorithm, and an
algorithm written in Python.

The path has 622 Mbit/s, 100 ms, and a buffer of 20 % of the BDP in packets of 1040 bytes. The default stack is timed
first, then the stack of ns-2, which has such packets, SACK, and an ACK for every packet; the other workloads use it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from elephan.benchmark.timing import ROOT, median_run, speed, timed
from elephan.scenario import Scenario, catalog

# 1555 packets are 20 % of the BDP of 7775 packets of 1000 bytes.
RATE, RTT, BUFFER = "622 Mbit/s", "100 ms", "1555 packets"
ACCESS_RATE, ACCESS_DELAY = "1 Gbit/s", "1 ms"
WORKLOAD = f"two CUBIC flows, {RATE}, {RTT}, buffer {BUFFER}, sampled each 100 ms"
DEFAULT_STACK, STACK = "linux", "ns2"
STEADY_S = 200
# VCP needs half a minute to fill the path; until then the cost per segment includes idle steps of the engine.
ALGORITHMS_S, PYTHON_S = 60, 10
MY_RENO = ROOT / "examples" / "my_reno.py"
BOUND_SPARE_PACKETS = 300
# Recovery takes less than 2 ms of processor time. It is therefore timed in many pairs of runs, until the sum over all
# pairs reaches RECOVERY_S.
RECOVERY_S, FEWEST_PAIRS = 0.2, 40


def path(duration_s: float, algorithm: str, parameters: dict[str, Any], *, stack: str = STACK, **more: Any) -> Scenario:
    """The path of the benchmark with two flows of one algorithm."""
    flow = {"algorithm": algorithm, "parameters": parameters}
    return Scenario.dumbbell(
        [flow, flow],
        rate=RATE,
        rtt=RTT,
        buffer=BUFFER,
        access_rate=ACCESS_RATE,
        access_delay=ACCESS_DELAY,
        duration=f"{duration_s:.6f} s",
        stack=stack,
        **more,
    )


def time_stacks(repeat: int) -> dict[str, dict[str, float]]:
    """Measure the engine's cost for long-lived flows of the default stack and of ns-2's.

    The stacks take turns, so that a change of the host's speed affects both.
    """
    scenarios = {stack: path(STEADY_S, "cubic", {}, stack=stack) for stack in (DEFAULT_STACK, STACK)}
    runs = [{stack: timed(scenario) for stack, scenario in scenarios.items()} for _ in range(repeat)]
    return {
        stack: speed(runs[0][stack][1]["segments_delivered"], statistics.median(run[stack][0] for run in runs))
        for stack in scenarios
    }


def time_bound(repeat: int) -> dict[str, float]:
    """Measure the cost of links and endpoints alone, with a fixed window slightly above the BDP and with one sample."""
    graph = path(STEADY_S, "cubic", {}).graph
    window = (graph.bdp_packets(0) + BOUND_SPARE_PACKETS) // 2
    return median_run(path(STEADY_S, "fixed", {"window": window}, sample_period=f"{STEADY_S} s"), repeat)


def time_recovery(repeat: int) -> dict[str, float]:
    """Measure the cost of the first recovery.

    The wall time of a run that ends at the first drop is subtracted from the wall time of a run that ends with the
    recovery.
    """
    parameters = {"slow_start": "standard"}
    first_s, last_s = recovery_span(path(30, "cubic", parameters, sample_period="10 ms", start_jitter="0 s"))
    spans = [path(end_s, "cubic", parameters, start_jitter="0 s") for end_s in (first_s, last_s)]
    wall_s = statistics.median(difference(*spans) for _ in range(repeat))
    shorter, longer = (timed(scenario)[1]["segments_delivered"] for scenario in spans)
    return speed(longer - shorter, wall_s) | {"from_seconds": first_s, "to_seconds": last_s}


def difference(shorter: Scenario, longer: Scenario) -> float:
    """Wall time of a longer run minus the wall time of a shorter run, s: the median over pairs of runs.

    The two runs of a pair follow each other, so that a change of the host's speed affects both.
    """
    found: list[float] = []
    while len(found) < FEWEST_PAIRS or statistics.median(found) * len(found) < RECOVERY_S:
        shorter_s, longer_s = timed(shorter)[0], timed(longer)[0]
        found.append(longer_s - shorter_s)
    return statistics.median(found)


def recovery_span(scenario: Scenario) -> tuple[float, float]:
    """Simulated times of the first drop, and of the first retransmission after which no other retransmission follows
    within 200 ms, s."""
    import polars as pl

    result = catalog.engine().run(scenario.canonical_json(), None)
    links, samples = pl.DataFrame(result["links"]), pl.DataFrame(result["samples"])
    drops = links.filter(pl.col("link").cast(pl.String) == "bottleneck").filter(pl.col("dropped_packets") > 0)
    first_s = float(drops["time_s"].item(0))
    sent = (
        samples.group_by("time_s").agg(pl.col("retransmits").sum()).sort("time_s").filter(pl.col("time_s") >= first_s)
    )
    quiet = sent.with_columns(pl.col("retransmits").shift(-20).alias("later"))
    ended = quiet.filter((pl.col("retransmits") > 0) & (pl.col("retransmits") == pl.col("later")))
    return first_s, float(ended["time_s"].item(0))


def time_algorithms(repeat: int) -> dict[str, dict[str, float]]:
    """Measure the cost of every built-in algorithm that reacts to the path, for one minute of simulated time.

    An algorithm that needs support by routers runs with the routers' queue discipline in both directions.
    """
    rows = {}
    for name, entry in catalog.algorithms().items():
        helped = {} if entry["router"] is None else {"queue": entry["router"]}
        if name != "fixed":
            rows[name] = median_run(path(ALGORITHMS_S, name, {}, **helped), repeat)
    return rows


def time_python(repeat: int, warn: Callable[[str], None]) -> dict[str, Any] | None:
    """Measure the cost of Reno written in Python, and its additional cost per ACK compared with the built-in Reno.

    Warns and returns ``None`` if the examples are missing.
    """
    if not MY_RENO.is_file():
        warn(f"{MY_RENO} does not exist, so no algorithm in Python was timed")
        return None
    built_in = path(PYTHON_S, "reno", {})
    rows: dict[str, list[float]] = {"own": [], "built-in": []}
    summary: dict[str, Any] = {}
    for _ in range(repeat):
        for name, scenario in (("own", path(PYTHON_S, f"{MY_RENO}:MyReno", {})), ("built-in", built_in)):
            wall_s, summary = timed(scenario)
            rows[name].append(wall_s)
    own_s, built_in_s = (statistics.median(walls) for walls in rows.values())
    acks = summary["acks_delivered"]
    return speed(summary["segments_delivered"], own_s) | {
        "algorithm": f"{MY_RENO.name}:MyReno",
        "ns_per_ack": own_s / acks * 1e9,
        "built_in_ns_per_ack": built_in_s / acks * 1e9,
        "extra_ns_per_ack": (own_s - built_in_s) / acks * 1e9,
        "slowdown": own_s / built_in_s,
    }
