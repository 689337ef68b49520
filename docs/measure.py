"""Measures the response function of each algorithm by simulation, and writes docs/algorithms/response.json.

    .venv/bin/python docs/measure.py                 # every algorithm; saved runs are not run again
    .venv/bin/python docs/measure.py cubic htcp      # these algorithms

One flow runs alone on a path that is far faster than the flow, and each segment is lost with probability p. The window
is the number of payload segments delivered in a round trip. Endpoints are those of today's Linux with an ACK for every
segment and without bursts, as closed forms assume (UDT has its own endpoints). Each point is saved with its duration
and rate, so it can be run again.
"""

from __future__ import annotations

import json
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import elephan
from elephan.models import RESPONSES
from elephan.scenario import Scenario
from elephan.scenario.catalog import OF_THE_USER

FILE = Path(__file__).parent / "algorithms" / "response.json"
LOSSES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
RTT_S = 0.1
RTTS_S = (0.04, 0.08, 0.16)
RTT_LOSS = 1e-4
EVENTS = 700
SEGMENTS_MOST = 3.0e7
SEGMENT_BYTES = 1500
# Compound's window varies much: with 300 losses, the mean windows of two seeds differ by 7 %.
LONGER = {"compound": 4.0}
# Largest number of segments that the path can carry in a run (the engine's limit is 3.7 billion).
SEGMENTS_NUMBERED = 3.6e9
# A window above this fraction of the path's BDP is limited by the path and not by the losses.
FREE = 0.5
Point = dict[str, float]


def scenario(algorithm: str, parameters: dict[str, Any], point: Point) -> Scenario:
    """One flow, random losses, and a path with a buffer of one BDP."""
    return Scenario.dumbbell(
        [{"algorithm": algorithm, "parameters": parameters}],
        rate=f"{point['rate_mbps']:g} Mbit/s",
        rtt=f"{point['rtt_s'] * 1000:g} ms",
        buffer="100% BDP",
        loss=point["p"],
        duration=f"{point['duration_s']:.0f} s",
        measure={"from": f"{math.ceil(point['duration_s'] / 5):.0f} s"},
        # With rare losses, slow start would end at thousands of segments, with a long effect on the window.
        stack={"base": "linux", "ack_every": 1, "tso": False, "initial_ssthresh": "500 segments"},
        sample_period="1 s",
    )


def window(algorithm: str, parameters: dict[str, Any], point: Point) -> Point:
    """The point with its window: segments delivered in a round trip of the path."""
    stated = scenario(algorithm, parameters, point)
    flow = elephan.run(stated).summary()["flows"][0]
    rate = flow["goodput_mbps"] * 1e6 / 8 / stated.form.flows[0].stack.payload_bytes
    return {**point, "window": round(rate * point["rtt_s"], 4), "loss_events": flow["total_loss_events"]}


def path_window(point: Point) -> float:
    """The path's BDP, segments."""
    return point["rate_mbps"] * 1e6 / 8 / SEGMENT_BYTES * point["rtt_s"]


def measure(algorithm: str, parameters: dict[str, Any], p: float, rtt_s: float) -> Point:
    """One point: a short run measures the flow's rate, and a second run is long enough for many losses.

    With rare losses, the path has 10 Gbit/s instead of 1 Gbit/s, except for an algorithm that fills any path.
    """
    short: Point = {"p": p, "rtt_s": rtt_s, "rate_mbps": 1000.0, "duration_s": 100.0}
    first = window(algorithm, parameters, short)
    if p < 1e-4:
        faster = window(algorithm, parameters, {**short, "rate_mbps": 10_000.0, "duration_s": 30.0})
        if faster["window"] < FREE / 2 * path_window(faster):
            first = faster
    rate_mbps, per_second = first["rate_mbps"], max(first["window"], 1.0) / rtt_s
    short["rate_mbps"] = rate_mbps
    longest = SEGMENTS_NUMBERED / (rate_mbps * 1e6 / 8 / SEGMENT_BYTES)
    # If the path limits the window, a third of the segments is enough.
    most = SEGMENTS_MOST if first["window"] < FREE * path_window(first) else SEGMENTS_MOST / 3
    wanted = LONGER.get(algorithm, 1.0) * min(EVENTS / p, most) / per_second
    return window(algorithm, parameters, {**short, "duration_s": round(min(max(wanted, 60.0), longest, 20_000.0))})


def points(algorithm: str, parameters: dict[str, Any]) -> dict[str, list[Point]]:
    """Points of the response function at one RTT, and points with several RTTs at one loss probability."""
    asked = [(p, RTT_S) for p in LOSSES] + [(RTT_LOSS, rtt_s) for rtt_s in RTTS_S]
    with ThreadPoolExecutor(max_workers=2) as pool:
        found = list(pool.map(lambda at: measure(algorithm, parameters, *at), asked))
    return {"losses": found[: len(LOSSES)], "round_trips": found[len(LOSSES) :]}


def modeled(algorithm: str) -> str | None:
    """The name of the closed form in `elephan.models` for an algorithm's own rules; ``None`` if there is none."""
    if algorithm in RESPONSES:
        return algorithm
    return next((name for name in RESPONSES if name.startswith(f"{algorithm}:")), None)


def slope(found: list[Point], key: str, value: str) -> float | None:
    """The exponent b in value ~ key^b, by least squares on logarithms; None if the path, not p, limits the window."""
    free = [point for point in found if point["window"] < FREE * path_window(point)]
    if len(free) < 3:
        return None
    x = [math.log(point[key]) for point in free]
    y = [math.log(point[value] if value == "window" else point["window"] / point["rtt_s"]) for point in free]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    over = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return over / sum((a - mean_x) ** 2 for a in x)


def exponents(entry: dict[str, Any]) -> tuple[float | None, float | None]:
    """Exponent of p in the window, for p from 1e-5 to 1e-3, and exponent of the RTT in the rate, at p = 1e-4."""
    small = [point for point in entry["losses"] if point["p"] <= 1e-3]
    return slope(small, "p", "window"), slope(entry["round_trips"], "rtt_s", "rate")


def algorithm_names() -> list[str]:
    """All algorithms that respond to losses, except algorithms that need routers, since such algorithms have few
    losses."""
    known = elephan.algorithms().items()
    return [name for name, entry in known if name not in OF_THE_USER and entry["router"] is None]


def main() -> None:
    """Measure the named algorithms, or all of them, and save after each algorithm."""
    FILE.parent.mkdir(exist_ok=True)
    known = json.loads(FILE.read_text())["algorithms"] if FILE.exists() else {}
    for name in sys.argv[1:] or algorithm_names():
        form = modeled(name)
        entry: dict[str, Any] = points(name, {})
        if form is not None and not RESPONSES[form].marks and (form != name or RESPONSES[form].settings):
            settings = dict(RESPONSES[form].settings)
            entry["as_modeled"] = {"algorithm": form, "parameters": settings, **points(form, settings)}
        known[name] = entry
        save(known)
        print(name, [round(point["window"], 1) for point in entry["losses"]], exponents(entry), flush=True)


def save(known: dict[str, Any]) -> None:
    """Write the file with one line for each point."""
    head = {"made_by": ".venv/bin/python docs/measure.py", "elephan": elephan.__version__}
    lines = []
    for name in sorted(known):
        text = json.dumps(known[name])
        lines.append(f' "{name}": ' + text.replace("[{", "[\n  {").replace("}, {", "},\n  {"))
    body = json.dumps(head, indent=1)[:-2]
    FILE.write_text(f'{body},\n "algorithms": {{\n' + ",\n".join(lines) + "\n }\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
