"""Measures on which paths delay-based loops oscillate, and draws the results beside the models' predictions.

    .venv/bin/python docs/loops.py          # measures (three minutes on one core) and draws
    .venv/bin/python docs/loops.py --draw   # draws the saved measurements

Writes docs/loops.json and docs/loops.svg.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import elephan
from elephan.models import delay

mpl.use("svg")
mpl.rcParams.update(
    {"svg.hashsalt": "elephan", "svg.fonttype": "none", "font.size": 9, "font.sans-serif": ["DejaVu Sans"],
     "axes.spines.top": False, "axes.spines.right": False}
)  # fmt: skip
import matplotlib.pyplot as plt  # noqa: E402

FOLDER = Path(__file__).parent
RATES_MBPS, RTTS_MS, FLOWS = (50, 100, 400), (20, 40, 100), (1, 2, 4)
FILLS = (0.5, 0.8, 1.2, 1.6, 1.9, 2.2, 2.6, 3.2, 4.0, 6.0, 10.0)
DURATION_S, SETTLED_S = 60, 30
PAYLOAD = 1000
LEAST_ALPHA = 8.0
# The fluid model has no noise, so it needs fewer round trips than the engine. One rate is enough, since the model's
# steps are fractions of a round trip.
MODEL_ROUNDS, MODEL_MBPS, MODEL_FLOWS = 500, 50, (1, 2)
SWINGS = 0.05


def scenario(
    algorithm: str, mbps: int, rtt_ms: int, alpha: float, flows: int, duration_s: float = DURATION_S
) -> elephan.Scenario:
    """Scenario with flows that start within 5 ms, and a buffer that never overflows."""
    return elephan.Scenario.dumbbell(
        [{"algorithm": algorithm, "parameters": {"alpha": alpha}} for _ in range(flows)],
        rate=f"{mbps} Mbit/s",
        rtt=f"{rtt_ms} ms",
        buffer="100000 packets",
        duration=f"{duration_s:g} s",
        sample_period="10 ms",
        start_jitter="5 ms",
        stack={
            "base": "ns2", "payload": f"{PAYLOAD} B", "header": "0 B", "receive_window": "200000 segments",
            "initial_ssthresh": "200000 segments",
        },
    )  # fmt: skip


def measure() -> list[dict[str, Any]]:
    """Mean and standard deviation of the queue, as fractions of n alpha.

    Each point is measured over 30 s in the engine, and some points over 250 round trips in the fluid model.
    """
    points: list[dict[str, Any]] = []
    for algorithm, mbps, rtt_ms, flows, fill in product(("hcc", "fast"), RATES_MBPS, RTTS_MS, FLOWS, FILLS):
        alpha = mbps * 1e6 / 8 / PAYLOAD * rtt_ms / 1e3 / (fill * flows)
        if alpha >= LEAST_ALPHA:
            points.append({"algorithm": algorithm, "mbps": mbps, "rtt_ms": rtt_ms, "flows": flows, "alpha": alpha})
    add("sim", "", points)
    add("model", "model_", [p for p in points if p["mbps"] == MODEL_MBPS and p["flows"] in MODEL_FLOWS])
    return points


def add(backend: str, prefix: str, points: list[dict[str, Any]]) -> None:
    """Run points in a backend, and add the mean and the standard deviation of the queue to each point."""
    ends_s = [DURATION_S if backend == "sim" else MODEL_ROUNDS * p["rtt_ms"] / 1e3 for p in points]
    wanted = [
        scenario(p["algorithm"], p["mbps"], p["rtt_ms"], p["alpha"], p["flows"], end_s)
        for p, end_s in zip(points, ends_s, strict=True)
    ]
    for point, end_s, run in zip(points, ends_s, elephan.sweep(wanted, on=backend), strict=True):
        settled_s = end_s * SETTLED_S / DURATION_S
        waiting = run.links.filter(run.links["time_s"] > settled_s)["queue_packets"].to_numpy()
        target = point["flows"] * point["alpha"]
        point[f"{prefix}mean"] = round(float(waiting.mean() / target), 4)
        point[f"{prefix}deviation"] = round(float(waiting.std() / target), 4)


def fill_of(point: dict[str, Any]) -> float:
    """The parameter b of a point: BDP / (n alpha)."""
    rate = point["mbps"] * 1e6 / 8 / PAYLOAD
    return float(delay.fill(rate, point["rtt_ms"] / 1e3, point["alpha"], point["flows"]))


def draw(points: list[dict[str, Any]]) -> None:
    """Draws the standard deviation of the queue against b, and the paths on which the queue oscillates."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=(5, 4))
    draw_swings(left, points)
    draw_plane(right, [point for point in points if point["algorithm"] == "hcc"])
    for axes in (left, right):
        axes.axvspan(2.0, 12.0, color="#c03a2b", alpha=0.08, linewidth=0)
        axes.set_xscale("log")
        axes.set_xlim(0.45, 11)
        axes.set_xticks([0.5, 1, 2, 4, 10], ["0.5", "1", "2", "4", "10"])
        axes.set_xlabel("b = C T / (n α): how many times what waits fits into the pipe")
    figure.savefig(FOLDER / "loops.svg", metadata={"Date": None})


def draw_swings(axes: Any, points: list[dict[str, Any]]) -> None:
    """Draws the points of the engine and of the fluid model, and the line of HCC's rule computed round by round."""
    axes.text(2.1, 0.1, "HCC's loop swings\n(model: b > 2)", fontsize=8, va="top")
    fills = np.geomspace(0.45, 11, 160)
    rounds = [delay.hcc_rounds(b, 100.0)[-100:].std() / 100.0 for b in fills]
    axes.plot(fills, rounds, color="#c03a2b", linewidth=1, label="HCC, rounds of the rule (model)")
    for algorithm, color, marker in (("hcc", "#1f5fa8", "o"), ("fast", "#2a9d5c", "^")):
        mine = [point for point in points if point["algorithm"] == algorithm]
        fills = [fill_of(point) for point in mine]
        axes.plot(
            fills, [point["deviation"] for point in mine], marker, markersize=3.5, color=color, alpha=0.6,
            label=f"{algorithm.upper()}, engine ({len(mine)} paths)",
        )  # fmt: skip
        fluid = [point for point in mine if "model_deviation" in point]
        axes.plot(
            [fill_of(point) for point in fluid], [point["model_deviation"] for point in fluid], "_", markersize=6,
            color="#222222" if algorithm == "hcc" else "#d08a1d", alpha=0.8,
            label=f"{algorithm.upper()}, fluid model ({len(fluid)})",
        )  # fmt: skip
    axes.set_ylabel("standard deviation of the queue, fractions of n α")
    axes.legend(loc="upper left", fontsize=8, frameon=False)


def draw_plane(axes: Any, points: list[dict[str, Any]]) -> None:
    """Draws a row for each rate, RTT and number of flows; a point is filled if the queue oscillates in the engine."""
    rows = list(product(RATES_MBPS, RTTS_MS, FLOWS))
    for swinging in (False, True):
        mine = [point for point in points if (point["deviation"] > SWINGS) == swinging]
        axes.plot(
            [fill_of(point) for point in mine],
            [rows.index((point["mbps"], point["rtt_ms"], point["flows"])) for point in mine],
            "o", color="#1f5fa8", markersize=4, fillstyle="full" if swinging else "none",
            label="HCC swings in the engine" if swinging else "it rests",
        )  # fmt: skip
    axes.axvline(2.0, color="#c03a2b", linewidth=1)
    axes.set_yticks(range(len(rows)), [f"{mbps} Mbit/s, {rtt_ms} ms, n = {n}" for mbps, rtt_ms, n in rows], fontsize=6)
    axes.set_ylim(-1, len(rows) + 4)
    axes.legend(loc="upper left", fontsize=8, frameon=False)


def main() -> None:
    """Measure, unless ``--draw`` is given, and draw."""
    path = FOLDER / "loops.json"
    if "--draw" not in sys.argv[1:]:
        path.write_text(json.dumps(measure(), indent=0) + "\n", encoding="utf-8")
    points = json.loads(path.read_text(encoding="utf-8"))
    draw(points)
    hcc = [point for point in points if point["algorithm"] == "hcc"]
    wrong = [p for p in hcc if (p["deviation"] > SWINGS) != bool(delay.swings(delay.hcc_loop(fill_of(p))))]
    both = [p for p in points if "model_deviation" in p]
    fluid = [p for p in both if (p["deviation"] > SWINGS) != (p["model_deviation"] > SWINGS)]
    print(f"{len(points)} points; of HCC's {len(hcc)}, {len(wrong)} not as the loop says: {wrong}")
    print(f"of {len(both)}, {len(fluid)} not as the fluid model says: {fluid}")
    resting = [p for p in both if p["deviation"] < SWINGS and p["model_deviation"] < SWINGS]
    off = [
        p for p in resting if abs(p["model_mean"] - p["mean"]) > max(0.03 * p["mean"], 1.01 / (p["flows"] * p["alpha"]))
    ]
    print(f"{len(resting)} at rest in both, {len(off)} apart by more than 3 % and a segment")


if __name__ == "__main__":
    main()
