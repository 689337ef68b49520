"""Comparison of the queue disciplines with figures of their papers; writes docs/reference/aqm.md and its pictures.

    .venv/bin/python benches/aqm.py --ns2      # first: writes ns2.json in tests/reference/aqm (needs ns)
    .venv/bin/python benches/aqm.py            # measures; writes measured.json, the page and the pictures
    .venv/bin/python benches/aqm.py --page     # the page and the pictures from measured.json

Every scenario is run with Reno and CUBIC. The mean queue is a time average. Quantiles of CoDel's delay are over
packets: each packet has the same weight.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elephan import Scenario, rates
from elephan.backends import get
from elephan.runs.execute import compute

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "reference" / "aqm"
PAGES = ROOT / "docs" / "reference"
ALGORITHMS = ("reno", "cubic")
SEEDS = (1, 2, 3, 4, 5)
Row = dict[str, Any]


def run(scenario: Scenario, seed: int = 1) -> tuple[Any, Row]:
    """Runs a scenario; returns the run, and the bottleneck's samples as one array for each column."""
    result = compute(get("sim"), scenario, seed)
    links = result.links
    own = links.filter(links["link"].cast(str) == "bottleneck").sort("time_s")
    return result, {name: own[name].to_numpy() for name in own.columns if name != "link"}


# ---- RED: Floyd, Gummadi and Shenker 2001 ----------------------------------------------------------------------------

# Parts of the run: one part with two flows, and two parts of 10 s with twenty more flows.
RED_PARTS_S = ((10, 25), (30, 40), (40, 50))
# For each algorithm: sender in ns-2, and preset and stack in Elephan.
RED_SIDES = {"reno": ("sack1", "reno:linux-2.6", "ns2-sack1"), "cubic": ("cubic", "cubic:ns2", "ns2")}


def red(algorithm: str, *, adaptive: bool) -> Scenario:
    """ns-2's tests red2 and red2Adapt: two flows at 1.5 Mbit/s, and from 25 s on 20 more flows of 1000 packets each."""
    _, preset, stack = RED_SIDES[algorithm]

    def flow(start_s: float, window: int, **more: str) -> Row:
        own = {"base": stack, "receive_window": f"{window} segments"}
        return {"algorithm": preset, "start": f"{start_s:g} s", "stack": own, **more}

    flows = [flow(0, 15), flow(3, 15)] + [flow(25 + 0.1 * i, 20, size="1000 segments") for i in range(20)]
    plain = {"min": "5 packets", "max": "15 packets", "weight": 0.002}
    return Scenario.dumbbell(
        flows,
        rate="1.5 Mbit/s",
        rtt="53 ms",
        buffer="25 packets",
        queue="red",
        queue_parameters={"ecn": False} | ({"adaptive": True} if adaptive else plain),
        access_rate="10 Mbit/s",
        access_delay="3.25 ms",
        duration="50 s",
        sample_period="10 ms",
        stack=stack,
    )


def parts(time_s: Any, queue: Any, left: Any, dropped: Any) -> Row:
    """Mean queue in packets and fraction of packets dropped, for each part of the run (`RED_PARTS_S`)."""
    found: Row = {"queue": [], "drop_share": []}
    for from_s, to_s in RED_PARTS_S:
        inside = np.flatnonzero((time_s > from_s + 1e-9) & (time_s <= to_s + 1e-9))
        first, last = inside[0] - 1, inside[-1]
        gone = float(dropped[last]) - float(dropped[first])
        found["queue"].append(float(np.mean(queue[inside])))
        found["drop_share"].append(gone / (float(left[last]) - float(left[first]) + gone))
    return found


def mean_of(rows: Sequence[Row]) -> Row:
    """Mean over the seeds, for each quantity and each part of the run."""
    return {key: [round(float(x), 4) for x in np.mean([row[key] for row in rows], axis=0)] for key in rows[0]}


def measure_red(algorithm: str, *, adaptive: bool) -> Row:
    """Results of the engine: means over the seeds for each part of the run, and the first seed's queue over time."""
    rows, curve = [], []
    for seed in SEEDS:
        _, link = run(red(algorithm, adaptive=adaptive), seed)
        rows.append(parts(link["time_s"], link["queue_mean"], link["delivered_packets"], link["dropped_packets"]))
        curve = curve or [round(float(x), 2) for x in smooth(link["queue_mean"][1:], 50)]
    return mean_of(rows) | {"curve": curve}


def smooth(values: Any, count: int) -> Any:
    """Means of consecutive groups of `count` values."""
    whole = len(values) // count * count
    return np.asarray(values[:whole], dtype=float).reshape(-1, count).mean(axis=1)


def measure_ns2() -> Row:
    """Results of ns-2 in the form that `measure_red` returns, with RED's option wait_ on (1, ns-2's default) and off
    (0)."""
    found: Row = {}
    for algorithm, (kind, _, _) in RED_SIDES.items():
        for adaptive in (1, 0):
            for wait in (1, 0):
                rows, curve = [], []
                for seed in SEEDS:
                    command = ["ns", "benches/ns2/red.tcl", str(adaptive), kind, str(wait), str(seed)]
                    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
                    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("q ")]
                    time_s, queue, left, dropped = np.array(lines, dtype=float).T
                    rows.append(parts(time_s, queue, left, dropped))
                    curve = curve or [round(float(x), 2) for x in smooth(queue, 50)]
                found[red_name(algorithm, adaptive=bool(adaptive), wait=wait)] = mean_of(rows) | {"curve": curve}
    return found


def red_name(algorithm: str, *, adaptive: bool, wait: int) -> str:
    return f"{algorithm} {'adaptive' if adaptive else 'plain'} wait {wait}"


# ---- CoDel: Nichols and Jacobson 2012 --------------------------------------------------------------------------------

CODEL_STEPS = ((0, 100), (50, 10), (100, 1), (150, 50), (200, 1), (250, 100))
CODEL_WEB = {"web": 5.0, "no web": 0.0}
PACKET_BITS = 12_000


def dynamic(queue: str, algorithm: str, *, buffer: str = "830 packets", web: float = 5.0) -> Scenario:
    """Figure 7: four long flows, and `web` transfers per second, over a link whose rate changes every 50 s."""
    return Scenario.dumbbell(
        [algorithm] * 4,
        rate="100 Mbit/s",
        rtt="100 ms",
        buffer=buffer,
        queue=queue,
        queue_parameters={"ecn": False} if queue == "codel" else {},
        rate_steps=[{"at": f"{at} s", "rate": f"{rate} Mbit/s"} for at, rate in CODEL_STEPS[1:]],
        duration="300 s",
        sample_period="10 ms",
        traffic=[{"algorithm": "reno", "per_second": web}] if web else [],
    )


def measure_dynamic(scenario: Scenario, seed: int = 1) -> Row:
    """Quantiles of the queueing delay over packets and over time, ms, and the delivered data, MB."""
    _, link = run(scenario, seed)
    time_s = link["time_s"]
    rate = np.select([time_s <= at for at, _ in CODEL_STEPS[1:]], [r for _, r in CODEL_STEPS[:-1]], CODEL_STEPS[-1][1])
    delay_ms = link["queue_mean"].astype(float) * PACKET_BITS / rate / 1e3
    packets = np.diff(link["delivered_packets"].astype(float), prepend=0)
    carried = link["delivered_bytes"].astype(float) / 1e6
    return {
        "per_packet_ms": [round(quantile(delay_ms, packets, q), 2) for q in (0.5, 0.75, 0.95)],
        "over_time_ms": [round(float(np.quantile(delay_ms, q)), 2) for q in (0.5, 0.75, 0.95, 1)],
        "carried_mb": round(float(carried[-1]), 1),
        "curve_ms": [round(float(x), 2) for x in smooth(delay_ms[1:], 50)],
        "curve_mb": [round(float(x), 1) for x in carried[50::50]],
    }


def quantile(values: Any, weights: Any, q: float) -> float:
    """Weighted quantile: the smallest value such that values up to it have the fraction `q` of the total weight."""
    order = np.argsort(values, kind="stable")
    return float(values[order][np.searchsorted(np.cumsum(weights[order]), q * weights.sum())])


def static(algorithm: str, rate_mbps: int, flows: int) -> Scenario:
    """Figure 5: long flows over a link with a constant rate, an RTT of 100 ms, and a buffer of eight BDP."""
    return Scenario.dumbbell(
        [algorithm] * flows,
        rate=f"{rate_mbps} Mbit/s",
        rtt="100 ms",
        buffer="800% BDP",
        queue="codel",
        queue_parameters={"ecn": False},
        duration="120 s",
        measure={"from": "20 s", "to": "120 s"},
        sample_period="10 ms",
        start_jitter="1 s",
    )


STATIC = [(rate, flows) for rate in (3, 10, 45, 100) for flows in (1, 5, 20)]


def measure_static(algorithm: str, rate_mbps: int, flows: int) -> Row:
    """Median over packets of the queueing delay, ms, and utilization of the link, both from 20 s on."""
    _, link = run(static(algorithm, rate_mbps, flows))
    late = link["time_s"] >= 20
    packets = np.diff(link["delivered_packets"].astype(float), prepend=0)[late]
    delay_ms = link["queue_mean"].astype(float)[late] * PACKET_BITS / rate_mbps / 1e3
    carried = link["delivered_bytes"].astype(float)[late]
    used = rates.rate_mbps(carried[-1] - carried[0], 100) / rate_mbps
    return {"median_ms": round(quantile(delay_ms, packets, 0.5), 2), "utilization": round(float(used), 3)}


# ---- PIE: Pan et al. 2013 --------------------------------------------------------------------------------------------

PIE_LOADS = {"5 flows": (5, 0), "50 flows": (50, 0), "5 flows and 2 × 6 Mbit/s of datagrams": (5, 2)}
PIE_FROM_S = 20


def pie(algorithm: str, flows: int, datagrams: int) -> Scenario:
    """Figures 6 to 8: 10 Mbit/s, 100 ms, a buffer of 200 packets of 1000 bytes, and the paper's parameters of PIE."""
    constant = {"datagrams": {"rate": "6 Mbit/s", "size": "1000 B"}}
    return Scenario.dumbbell(
        [algorithm] * flows + [constant] * datagrams,
        rate="10 Mbit/s",
        rtt="100 ms",
        buffer="200 packets",
        queue="pie",
        queue_parameters={"target": "20 ms", "update": "30 ms", "alpha": 0.125, "beta": 1.25, "burst": "100 ms"},
        duration="100 s",
        sample_period="10 ms",
        stack={"base": "ns2", "payload": "960 B"},
    )


def measure_pie(algorithm: str, flows: int, datagrams: int) -> Row:
    """Mean queueing delay and its 5 % and 95 % quantiles over time, ms, and utilization of the link, from 20 s on."""
    _, link = run(pie(algorithm, flows, datagrams))
    late = link["time_s"] >= PIE_FROM_S
    delay_ms = link["queue_mean"].astype(float) * 8000 / 10e3
    carried = link["delivered_bytes"].astype(float)[late]
    return {
        "mean_ms": round(float(delay_ms[late].mean()), 2),
        "spread_ms": [round(float(np.quantile(delay_ms[late], q)), 1) for q in (0.05, 0.95)],
        "utilization": round(rates.rate_mbps(float(carried[-1] - carried[0]), 100 - PIE_FROM_S) / 10, 3),
        "curve_ms": [round(float(x), 2) for x in smooth(delay_ms[1:], 50)],
    }


# ---- DualPI2: the L4S team's own runs, 2020 --------------------------------------------------------------------------

# Output of iperf3: goodput of the receiver over 40 s, and mean RTT of the sender.
DUAL_PUBLISHED = {
    "prague": {"goodput_mbps": 65.764242, "rtt_mean_ms": 20.317, "retransmits": 0},
    "cubic": {"goodput_mbps": 29.682713, "rtt_mean_ms": 33.717, "retransmits": 31},
}


def dualpi2(classic: str) -> Scenario:
    """One Prague flow and one flow without ECN over 100 Mbit/s and 20 ms, measured from 0 to 40 s."""
    # Prague limits its bursts to 250 µs, two segments here (draft-briscoe-iccrg-prague-congestion-control).
    prague = {"algorithm": "prague", "stack": {"base": "linux", "tso": False}}
    return Scenario.dumbbell(
        [prague, {"algorithm": classic, "stack": {"base": "linux", "ecn": False}}],
        rate="100 Mbit/s",
        rtt="20 ms",
        buffer="10000 packets",
        queue="dualpi2",
        duration="40 s",
        measure={"from": "0 s", "to": "40 s"},
        sample_period="100 ms",
    )


def measure_dualpi2(classic: str, seed: int = 1) -> Row:
    """Goodput, mean RTT and retransmissions of both flows, and their goodput over time."""
    result, _ = run(dualpi2(classic), seed)
    columns = ("goodput_mbps", "rtt_mean_ms", "retransmits")
    found = {str(row["algorithm"]): {c: round(float(row[c]), 3) for c in columns} for row in result.flows.to_dicts()}
    samples = result.samples.sort("time_s")
    for row in result.flows.to_dicts():
        own = samples.filter(samples["flow"].cast(str) == str(row["name"]))
        segments = np.diff(own["delivered_segments"].to_numpy().astype(float))
        found[str(row["algorithm"])]["curve_mbps"] = [
            round(float(x), 2) for x in smooth(rates.payload_rate_mbps(segments, 1448, 0.1), 5)
        ]
    return found


# ---- all of them -----------------------------------------------------------------------------------------------------


def measure_all() -> Row:
    """All measurements of the engine that the page shows."""
    found: Row = {"red": {}, "codel": {}, "static": {}, "pie": {}, "dualpi2": {}}
    for algorithm in ALGORITHMS:
        for adaptive in (True, False):
            name = f"{algorithm} {'adaptive' if adaptive else 'plain'}"
            found["red"][name] = measure_red(algorithm, adaptive=adaptive)
        for queue in ("codel", "droptail"):
            for name, web in CODEL_WEB.items():
                found["codel"][f"{queue} {algorithm} {name}"] = measure_dynamic(dynamic(queue, algorithm, web=web))
            short = dynamic(queue, algorithm, buffer="10 packets")
            found["codel"][f"{queue} {algorithm} 10 packets"] = measure_dynamic(short)
        for rate, flows in STATIC:
            found["static"][f"{algorithm} {rate} {flows}"] = measure_static(algorithm, rate, flows)
        for load, (flows, datagrams) in PIE_LOADS.items():
            found["pie"][f"{algorithm} {load}"] = measure_pie(algorithm, flows, datagrams)
        found["dualpi2"][algorithm] = measure_dualpi2(algorithm)
    return found


def load(name: str) -> Row:
    """Reads measured.json or ns2.json."""
    content: Row = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return content


def save(name: str, content: Row) -> None:
    """Writes measured.json or ns2.json, with one line for each innermost object."""

    def lines(entry: Row, indent: str) -> str:
        inner = indent + " "
        nested = any(isinstance(value, dict) for value in entry.values())
        if not nested:
            return json.dumps(entry, ensure_ascii=False)
        rows = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {lines(value, inner)}" for key, value in entry.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"

    (FOLDER / name).write_text(lines(content, "") + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ns2", action="store_true", help="run RED in ns-2, and nothing else")
    parser.add_argument("--page", action="store_true", help="write the page from what was measured before")
    options = parser.parse_args()
    if options.ns2:
        save("ns2.json", measure_ns2())
        return
    if not options.page:
        save("measured.json", measure_all())
    sys.path.insert(0, str(Path(__file__).parent))
    import aqm_page

    aqm_page.write(load("measured.json"), load("ns2.json"), DUAL_PUBLISHED, PAGES)


if __name__ == "__main__":
    main()
