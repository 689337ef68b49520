"""Measures Reno, HSTCP, STCP and H-TCP under random losses from 1e-6 to 1e-2, and draws the results beside the models.

    .venv/bin/python docs/losses.py          # measures (eight minutes on one core) and draws
    .venv/bin/python docs/losses.py --draw   # draws the saved measurements

Writes docs/losses.json and docs/losses.svg.

One flow runs alone on a path that holds ten times the flow's window, with Linux's endpoints and an ACK for every
segment. Each point has twelve runs. The number of segments that are lost by chance has a larger effect on the window
than the algorithm. So a point is drawn at the loss rate of its runs and not at the nominal loss rate. The interval of a
point is a jackknife interval over the runs.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from scipy import stats

import elephan
from elephan.models import RESPONSES, mean_window

mpl.use("svg")
mpl.rcParams.update(
    {"svg.hashsalt": "elephan", "svg.fonttype": "none", "font.size": 9, "font.sans-serif": ["DejaVu Sans"],
     "axes.spines.top": False, "axes.spines.right": False}
)  # fmt: skip
import matplotlib.pyplot as plt  # noqa: E402

FOLDER = Path(__file__).parent
ALGORITHMS = {"reno": "#1f5fa8", "hstcp": "#2a9d5c", "stcp": "#c03a2b", "htcp": "#8a5fb0"}
LOSSES = tuple(float(f"{10 ** (-6 + step / 2):.3g}") for step in range(9))
RTT_S = 0.1
RUNS = 12
# Number of losses in each run, for p below RARE, and for p of at least RARE.
EVENTS_RARE, EVENTS, RARE = 30, 100, 5e-6
# STCP's window is proportional to 1 / p and not to a root of 1 / p, so the window depends more on chance.
LONGER = {"stcp": 2}
WARM_UP = 1 / 6
ROOM = 10.0
SEGMENT_BITS = 12_000
Point = dict[str, Any]


def planned(algorithm: str, p: float) -> Point:
    """A point whose path holds ten times the model's window; its duration gives the wanted number of losses."""
    window = float(mean_window(algorithm, p, RTT_S, "random"))
    events = LONGER.get(algorithm, 1) * EVENTS_RARE if p < RARE else EVENTS
    return {
        "algorithm": algorithm,
        "p": p,
        "rate_mbps": 10.0 ** math.ceil(math.log10(ROOM * window * SEGMENT_BITS / RTT_S / 1e6)),
        "start_segments": max(2, round(window)),
        "duration_s": max(60, round(events / (p * window) * RTT_S / (1 - WARM_UP))),
    }


def scenario(point: Point) -> elephan.Scenario:
    """Scenario of a point; slow start ends at the model's window, so the warm-up can be short."""
    algorithm = point["algorithm"]
    return elephan.Scenario.dumbbell(
        [{"algorithm": algorithm, "parameters": dict(RESPONSES[algorithm].settings)}],
        rate=f"{point['rate_mbps']:g} Mbit/s",
        rtt=f"{RTT_S * 1000:g} ms",
        buffer="100% BDP",
        loss=point["p"],
        duration=f"{point['duration_s']} s",
        measure={"from": f"{round(point['duration_s'] * WARM_UP)} s"},
        stack={"base": "linux", "ack_every": 1, "initial_ssthresh": f"{point['start_segments']} segments"},
        sample_period="1 s",
    )


def replicates(point: Point, count: int) -> list[elephan.Scenario]:
    """Scenarios of a point with the first seeds; only losses and start times differ."""
    stated = scenario(point)
    return [stated.with_seed(stated.seed + i) for i in range(count)]


def measured(point: Point, runs: list[elephan.Run]) -> Point:
    """The point with the windows (segments delivered in a round trip of the path) and the loss rates of its runs."""
    payload = scenario(point).form.flows[0].stack.payload_bytes
    windows, rates = [], []
    for run in runs:
        summary = run.summary()
        windows.append(round(summary["flows"][0]["goodput_mbps"] * 1e6 / 8 / payload * RTT_S, 4))
        rates.append(float(f"{summary['links'][0]['loss_rate']:.6g}"))
    return {**point, "windows": windows, "loss_rates": rates}


def measure() -> list[Point]:
    """All points."""
    points = []
    for algorithm in ALGORITHMS:
        for p in LOSSES:
            point = planned(algorithm, p)
            points.append(measured(point, elephan.sweep(replicates(point, RUNS), jobs=1)))
            print(algorithm, p, compared(points[-1]), flush=True)
    return points


def compared(point: Point, losses: str = "random") -> tuple[float, float, float, float]:
    """Loss rate, mean window, ratio of this window to the model's, and half the width of the ratio's 95 % interval."""
    windows, rates = np.array(point["windows"]), np.array(point["loss_rates"])
    n = len(windows)
    # Each run's loss rate is weighted by the number of segments that the run sent, and this number is proportional to
    # the run's window.
    p, window = float(np.average(rates, weights=windows)), float(windows.mean())
    model, nearby = (float(mean_window(point["algorithm"], at, RTT_S, losses)) for at in (p, 1.1 * p))
    exponent = math.log(nearby / model) / math.log(1.1)
    without = []
    for i in range(n):
        others = np.arange(n) != i
        moved = float(np.average(rates[others], weights=windows[others])) / p
        without.append(float(windows[others].mean()) / (model * moved**exponent))
    error = math.sqrt((n - 1) / n * float(((np.array(without) - np.mean(without)) ** 2).sum()))
    return p, window, window / model, float(stats.t.ppf(0.975, n - 1)) * error


def draw(points: list[Point]) -> None:
    """Draws windows against loss rates, and the ratio of the engine's window to the model's."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(5, 4))
    p = np.geomspace(LOSSES[0], LOSSES[-1], 33)
    for algorithm, color in ALGORITHMS.items():
        mine = [compared(point) for point in points if point["algorithm"] == algorithm]
        at, windows, ratios, errors = (list(column) for column in zip(*mine, strict=True))
        left.plot(p, mean_window(algorithm, p, RTT_S, "random"), color=color, linewidth=1)
        left.plot(p, mean_window(algorithm, p, RTT_S), color=color, linewidth=0.8, linestyle=(0, (2, 2)))
        left.plot(at, windows, "o", color=color, markersize=3.5, label=algorithm)
        right.errorbar(
            at, ratios, yerr=errors, fmt="o", color=color, markersize=3.5, linewidth=0.9, capsize=2, label=algorithm
        )
    right.axhspan(0.9, 1.1, color="#999999", alpha=0.15, linewidth=0)
    right.axhline(1.0, color="#999999", linewidth=0.8)
    right.set_ylim(0.8, 1.2)
    right.set_ylabel("engine over the rules under random losses")
    left.set_yscale("log")
    left.set_ylabel("mean window, segments")
    left.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("loss probability of a segment")
    figure.savefig(FOLDER / "losses.svg", metadata={"Date": None})


def main() -> None:
    """Measure, unless ``--draw`` is given, and draw."""
    path = FOLDER / "losses.json"
    if "--draw" not in sys.argv[1:]:
        rows = ",\n".join(json.dumps(point) for point in measure())
        path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    points = json.loads(path.read_text(encoding="utf-8"))
    draw(points)
    found = [compared(point) for point in points]
    worst = max(abs(ratio - 1) for _, _, ratio, _ in found)
    print(f"{len(points)} points; at most {worst:.1%} from the model; intervals up to ±{max(f[3] for f in found):.1%}")


if __name__ == "__main__":
    main()
