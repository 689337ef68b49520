"""Draws the figure of docs/paths.md: run it when a path of ``elephan.scenario.named`` or an algorithm has changed."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import elephan
from elephan.rates import rate_mbps
from elephan.scenario import Scenario, courses, named
from elephan.scenario.units import PS_PER_S

FILE = Path(__file__).parent / "paths.svg"
DURATION_S = 60
BIN_S = 0.2
ALGORITHMS = {"cubic": "#1f5fa8", "bbr3": "#c03a2b"}
RATE = "#d8d8d8"


def main() -> None:
    """Draw, for each path, its rate, and the rate and the RTT of a flow of each algorithm."""
    mpl.use("svg")
    mpl.rcParams.update(
        {"svg.hashsalt": "elephan", "svg.fonttype": "none", "font.size": 8, "font.sans-serif": ["DejaVu Sans"],
         "axes.spines.top": False, "axes.spines.right": False}
    )  # fmt: skip
    import matplotlib.pyplot as plt

    paths = list(named.shipped())
    figure, rows = plt.subplots(len(paths), 2, figsize=(9, 8.5), sharex=True, layout="constrained")
    for (left, right), name in zip(rows, paths, strict=True):
        scenarios = {algorithm: scenario(name, algorithm) for algorithm in ALGORITHMS}
        draw_rate(left, scenarios["cubic"])
        for algorithm, color in ALGORITHMS.items():
            draw_flow(left, right, elephan.run(scenarios[algorithm]), algorithm, color)
        left.set(ylabel="Mbit/s", ylim=(0, None), xlim=(0, DURATION_S))
        left.set_title(name, loc="left")
        right.set(ylabel="RTT, ms", ylim=(0, None))
    rows[0][1].legend(frameon=False, ncols=2)
    for axes in rows[-1]:
        axes.set_xlabel("time, s")
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    short = re.sub(r"(\d+\.\d)\d+", r"\1", text.getvalue())
    FILE.write_text(re.sub(r"\n +", "\n", short), encoding="utf-8")


def scenario(name: str, algorithm: str) -> Scenario:
    """One flow of an algorithm on a path, downwards."""
    tables = {"duration": f"{DURATION_S} s", "path": name, "sample_period": f"{BIN_S} s"}
    return Scenario.from_dict(tables | {"flow": [{"algorithm": algorithm}]})


def draw_rate(axes: Any, found: Scenario) -> None:
    """Draw the rate of the path or of its policer as an area, averaged over the samples' interval."""
    link = next(link for link in found.form.links if link.name == named.FORWARD)
    steps = courses.rate_of(link, DURATION_S * PS_PER_S)
    edges = np.linspace(0, DURATION_S, round(DURATION_S / BIN_S) + 1)
    carried = np.concatenate([[0.0], np.cumsum(steps.values * steps.lengths)])
    means = np.diff(np.interp(edges, steps.times, carried)) / BIN_S
    policed_mbps = float(link.queue.parameters.get("rate_bps") or 0) / 1e6
    axes.stairs(np.minimum(means, policed_mbps) if policed_mbps else means, edges, fill=True, color=RATE)


def draw_flow(left: Any, right: Any, run: elephan.Run, algorithm: str, color: str) -> None:
    """Draw a flow's rate at the receiver and its RTT."""
    samples = run.samples.sort("time_s")
    edges = samples["time_s"].to_numpy()
    rates = rate_mbps(np.diff(samples["wire_bytes"].to_numpy()), np.diff(edges))
    left.stairs(rates, edges, linewidth=0.8, color=color, baseline=None)
    right.plot(samples["time_s"], samples["rtt_s"] * 1e3, linewidth=0.7, color=color, label=algorithm)


if __name__ == "__main__":
    main()
