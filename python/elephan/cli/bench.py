"""``elephan bench``: the engine's speed on this machine, beside what bounds it and beside ns-2.

All on one path: 622 Mbit/s, 100 ms, a buffer of 20 % of the BDP, 1040 bytes a packet, SACK, an ACK for every packet, as
ns-2 has it. Each is timed several times, one after another, and the median is given.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import click

import elephan
from elephan.backends.sim import own_objects
from elephan.cli import common
from elephan.scenario import Scenario, ScenarioError, catalog

# 1555 packets are 20 % of the BDP of 7775 packets of 1000 bytes.
RATE, RTT, BUFFER = "622 Mbit/s", "100 ms", "1555 packets"
ACCESS_RATE, ACCESS_DELAY = "1 Gbit/s", "1 ms"
WORKLOAD = f"two CUBIC flows, {RATE}, {RTT}, buffer {BUFFER}, 1040 B packets, an ACK for each, sampled each 100 ms"
STEADY_S = 200
SHORT_S, PYTHON_S = 20, 10
MY_RENO = Path(elephan.__file__).resolve().parents[2] / "examples" / "my_reno.py"
BOUND_SPARE_PACKETS = 300
NS2_TIMEOUT_S = 300
RECOVERY_RUNS = 40
# Transfers come and go: about 100,000 of them in 10 s, with sizes and round trips as the Internet has them.
TRANSFERS_S, TRANSFERS_RATE, TRANSFERS_LOAD = 10, "10 Gbit/s", "60%"
# Flows that share a bottleneck, its rate, and for how long. With less of the BDP for each they would only time out.
CROWDS = ((2, "10 Gbit/s", 10), (100, "10 Gbit/s", 10), (1000, "10 Gbit/s", 10), (10_000, "10 Gbit/s", 10),
          (100_000, "100 Gbit/s", 2))  # fmt: skip


@click.command("bench")
@click.option(
    "--repeat",
    type=common.Count(1, 99),
    metavar="N",
    default=3,
    show_default=True,
    help="Timings of each; the median counts.",
)
@click.option("--no-ns2", is_flag=True, help="Leave ns-2 out even where it is installed.")
@common.json_option
def command(repeat: int, no_ns2: bool, as_json: bool) -> None:
    """The engine's speed on this machine: delivered segments a second on one core.

    recovery: the same path while it recovers from the overshoot of slow start. bound: the same path with a fixed
    window, no algorithm and no probes. transfers: about 100,000 short transfers on 10 Gbit/s at a load of 60 %. ns2:
    the same workload in ns-2, where it is installed. slowest: the built-in algorithm that costs most. python: an
    algorithm written in Python. crowds: 2 to 100,000 CUBIC flows over one bottleneck of 10 Gbit/s (100 Gbit/s) and
    100 ms, and how long such a scenario takes to build.
    """
    document = measure(repeat, with_ns2=not no_ns2)
    if as_json:
        common.print_json(document)
        return
    rows = []
    for name in ("engine", "recovery", "bound", "transfers", "ns2", "slowest", "python"):
        row = document[name]
        if row is not None:
            rows.append([name, row["segments_per_second"] / 1e6, row["ns_per_segment"], row["segments_delivered"]])
    common.print_table(document["workload"], ["", "million segments/s", "ns a segment", "segments"], rows)
    crowds = [
        [
            row["flows"],
            row["rate"],
            row["ns_per_segment"],
            row["slowdown"],
            row["build_seconds"],
            row["segments_delivered"],
        ]
        for row in document["crowds"]
    ]
    header = ["flows", "bottleneck", "ns a segment", "times two flows'", "s to build", "segments"]
    common.print_table("CUBIC flows that share a bottleneck, 100 ms", header, crowds)
    say_algorithms(document)
    common.say(f"recovery is {document['recovery_slowdown']:.2f} times slower than the engine's steady state")
    common.say(f"the engine is {document['bound_slowdown']:.2f} times slower than its bound")
    common.say(f"a segment of a short transfer costs {document['transfers_slowdown']:.2f} times the engine's")
    if document["ratio_to_ns2"] is not None:
        common.say(f"the engine is {document['ratio_to_ns2']:.1f} times faster than ns-2")


def measure(repeat: int, *, with_ns2: bool) -> dict[str, Any]:
    """All the timings, as ``--json`` prints them."""
    steady, recovery, bound = time_steady(repeat), time_recovery(repeat), time_bound(repeat)
    transfers = time_transfers(repeat)
    ns2 = time_ns2(repeat) if with_ns2 else None
    algorithms = time_algorithms(repeat)
    slowest = max(algorithms, key=lambda name: algorithms[name]["ns_per_segment"])
    ratio = steady["segments_per_second"] / ns2["segments_per_second"] if ns2 else None
    return {
        "workload": WORKLOAD,
        "engine": steady,
        "recovery": recovery,
        "bound": bound,
        "transfers": transfers,
        "ns2": ns2,
        "ratio_to_ns2": ratio,
        "slowest": {"algorithm": slowest} | algorithms[slowest],
        "algorithms": {name: row["ns_per_segment"] for name, row in algorithms.items()},
        "python": time_python(repeat),
        "crowds": time_crowds(repeat),
        "recovery_slowdown": recovery["ns_per_segment"] / steady["ns_per_segment"],
        "transfers_slowdown": transfers["ns_per_segment"] / steady["ns_per_segment"],
        "bound_slowdown": steady["ns_per_segment"] / bound["ns_per_segment"],
        "repeat": repeat,
    }


def path(duration_s: float, algorithm: str, parameters: dict[str, Any], **more: Any) -> Scenario:
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
        stack="ns2",
        **more,
    )


def timed(scenario: Scenario) -> tuple[float, dict[str, Any]]:
    """Wall seconds of one run, conversion to tables and all, and its summary."""
    spec = scenario.canonical_json()
    engine = catalog.engine()
    started_s = time.perf_counter()
    result = engine.run(spec, None, own_objects(scenario))
    elapsed_s = time.perf_counter() - started_s
    return elapsed_s, json.loads(result["summary"])


def speed(segments: float, wall_s: float) -> dict[str, float]:
    """Segments and seconds as a rate and its inverse."""
    return {
        "segments_per_second": segments / wall_s,
        "ns_per_segment": wall_s / segments * 1e9,
        "segments_delivered": segments,
        "wall_seconds": wall_s,
    }


def median_run(scenario: Scenario, repeat: int) -> dict[str, float]:
    """The median of several timings of one scenario."""
    runs = [timed(scenario) for _ in range(repeat)]
    return speed(runs[0][1]["segments_delivered"], statistics.median(wall_s for wall_s, _ in runs))


def time_steady(repeat: int) -> dict[str, float]:
    """The engine on its workload."""
    return median_run(path(STEADY_S, "cubic", {}), repeat)


def time_bound(repeat: int) -> dict[str, float]:
    """The same path with a fixed window a little over the BDP, and one sample at the end: links and endpoints alone."""
    graph = path(STEADY_S, "cubic", {}).graph
    window = (graph.bdp_packets(0) + BOUND_SPARE_PACKETS) // 2
    return median_run(path(STEADY_S, "fixed", {"window": window}, sample_period=f"{STEADY_S} s"), repeat)


def time_recovery(repeat: int) -> dict[str, float]:
    """From the first drop to the end of the first recovery: a run to its end less a run to its beginning.

    Both are short, so that each timing is of many runs.
    """
    parameters = {"slow_start": "standard"}
    first_s, last_s = recovery_span(path(30, "cubic", parameters, sample_period="10 ms", start_jitter="0 s"))
    spans = [path(end_s, "cubic", parameters, start_jitter="0 s") for end_s in (first_s, last_s)]
    walls: list[float] = []
    for _ in range(repeat):
        medians = [statistics.median(timed(scenario)[0] for _ in range(RECOVERY_RUNS)) for scenario in spans]
        walls.append(medians[1] - medians[0])
    shorter, longer = (timed(scenario)[1]["segments_delivered"] for scenario in spans)
    return speed(longer - shorter, statistics.median(walls)) | {"from_seconds": first_s, "to_seconds": last_s}


def recovery_span(scenario: Scenario) -> tuple[float, float]:
    """Simulated seconds of the first drop, and of the retransmission after which 200 ms bring no other."""
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


def time_transfers(repeat: int) -> dict[str, float]:
    """Short transfers, and a flow of one segment, since a scenario has a flow.

    CUBIC with an ACK for each segment, as on the engine's workload; round trips as Aikat et al. measured them.
    """
    scenario = Scenario.dumbbell(
        [{"algorithm": "cubic", "size": "1 segment"}],
        rate=TRANSFERS_RATE,
        rtt="40 ms",
        buffer="6000 packets",
        duration=f"{TRANSFERS_S} s",
        stack={"base": "linux", "ack_every": 1},
        traffic=[{"algorithm": "cubic", "load": TRANSFERS_LOAD, "rtts": "aikat"}],
    )
    runs = [timed(scenario) for _ in range(repeat)]
    source = runs[0][1]["traffic"][0]
    delivered = speed(source["segments_delivered"], statistics.median(wall_s for wall_s, _ in runs))
    return delivered | {"transfers": source["transfers"]}


def crowd(flows: int, rate: str, duration_s: float) -> Scenario:
    """CUBIC flows that start within a second, on Linux's stack, sampled each second."""
    return Scenario.dumbbell(
        [{"algorithm": "cubic", "count": flows, "start_spread": "1 s"}],
        rate=rate,
        rtt="100 ms",
        buffer="50% BDP",
        duration=f"{duration_s} s",
        sample_period="1 s",
    )


def time_crowds(repeat: int) -> list[dict[str, Any]]:
    """Long-lived flows in growing numbers: what a delivered segment costs, tables included, and as a multiple
    of what it costs with the first row's flows."""
    rows: list[dict[str, Any]] = []
    for flows, rate, duration_s in CROWDS:
        started_s = time.perf_counter()
        scenario = crowd(flows, rate, duration_s)
        built_s = time.perf_counter() - started_s
        row: dict[str, Any] = median_run(scenario, repeat) | {"flows": flows, "rate": rate, "build_seconds": built_s}
        rows.append(row | {"slowdown": row["ns_per_segment"] / (rows or [row])[0]["ns_per_segment"]})
    return rows


def time_algorithms(repeat: int) -> dict[str, dict[str, float]]:
    """Every built-in algorithm that answers to the path, on it for a short time."""
    rows = {}
    for name, entry in catalog.algorithms().items():
        helped = {} if entry["router"] is None else {"queue": entry["router"]}
        if name != "fixed":
            rows[name] = median_run(path(SHORT_S, name, {}, **helped), repeat)
    return rows


def time_python(repeat: int) -> dict[str, Any] | None:
    """Reno written in Python, and what it costs beyond the built-in one for each ACK; ``None``, with a note on stderr,
    where the examples are not there."""
    if not MY_RENO.is_file():
        common.warn(f"{MY_RENO} is not there, so no algorithm in Python was timed")
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


def say_algorithms(document: dict[str, Any]) -> None:
    """What the rows about single algorithms mean."""
    slowest, python = document["slowest"], document["python"]
    common.say(f"the slowest built-in algorithm is {slowest['algorithm']}")
    if python is not None:
        common.say(
            f"Reno in Python is {python['slowdown']:.1f} times slower than the built-in one: "
            f"{python['extra_ns_per_ack']:.0f} ns more for each ACK"
        )


def time_ns2(repeat: int) -> dict[str, float] | None:
    """ns-2 on the same workload; ``None``, with a note on stderr, where it is not installed."""
    script = Path(elephan.__file__).resolve().parents[2] / "benches" / "ns2" / "speed.tcl"
    ns = shutil.which("ns")
    if ns is None or not script.is_file():
        what = "ns-2 is not installed" if ns is None else f"{script} is not there"
        common.warn(f"{what}, so there is no ratio to it")
        return None
    rows = []
    for _ in range(repeat):
        done = subprocess.run([ns, str(script)], capture_output=True, text=True, timeout=NS2_TIMEOUT_S, check=False)
        if done.returncode != 0:
            common.warn(f"ns-2 failed, so there is no ratio to it: {(done.stderr or done.stdout).strip()[:200]}")
            return None
        rows.append(ns2_answer(done.stdout))
    median_s = statistics.median(row["wall_seconds"] for row in rows)
    return speed(rows[0]["segments_delivered"], median_s)


def ns2_answer(output: str) -> dict[str, Any]:
    """The one line of its output that is JSON; TCP/Linux prints lines of its own around it.

    Raises:
        ScenarioError: there is no such line.
    """
    for line in output.splitlines():
        if line.startswith("{"):
            answer: dict[str, Any] = json.loads(line)
            return answer
    raise ScenarioError("the ns-2 script printed no answer")
