"""Draws the pictures of docs/algorithms: windows and response function of each algorithm, and all response functions.

    .venv/bin/python docs/pictures.py                # all pictures
    .venv/bin/python docs/pictures.py cubic htcp     # these two algorithms, and response.svg

Points are those of docs/algorithms/response.json. Windows are those of a run on the reference path; saved runs are not
run again.
"""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import measure
import numpy as np

import elephan
from elephan.models import RESPONSES, mean_window

mpl.use("svg")
mpl.rcParams.update(
    {"svg.hashsalt": "elephan", "svg.fonttype": "none", "path.simplify_threshold": 0.3, "font.size": 9,
     "font.sans-serif": ["DejaVu Sans"], "axes.spines.top": False, "axes.spines.right": False}
)  # fmt: skip
import matplotlib.pyplot as plt  # noqa: E402

FOLDER = Path(__file__).parent / "algorithms"
SECOND_S, DURATION_S = 60, 180
FORM, MEASURED, CHANCE = "#1f5fa8", "#c03a2b", "#8fb3dc"


def reference_path(algorithm: str) -> elephan.Scenario:
    """Two flows of an algorithm at 100 Mbit/s and 60 ms with a buffer of half a BDP; the second flow starts a minute
    later.

    If the algorithm counts ECN marks, the queue marks packets above a tenth of a BDP.
    """
    counts_marks = "ECN marks counted" in elephan.algorithms()[algorithm]["signals"]
    marking = {"queue": "threshold", "queue_parameters": {"mark": "10% BDP"}} if counts_marks else {}
    return elephan.Scenario.dumbbell(
        [algorithm, algorithm],
        rate="100 Mbit/s",
        rtt="60 ms",
        buffer="50% BDP",
        starts=["0 s", f"{SECOND_S} s"],
        duration=f"{DURATION_S} s",
        sample_period="100 ms",
        **marking,
    )


def draw_windows(axes: Any, algorithm: str) -> None:
    """Draw the congestion windows of both flows."""
    run = elephan.run(reference_path(algorithm))
    order = list(run.flows["name"])
    samples = run.samples.sort("time_s")
    for name, color in zip(order, (FORM, MEASURED), strict=True):
        own = samples.filter(samples["flow"] == name).gather_every(4)
        begun = own.filter(own["time_s"] >= (SECOND_S if name == order[1] else 0))
        axes.plot(begun["time_s"], begun["cwnd"], linewidth=0.9, color=color)
    axes.set_xlabel("time, s")
    axes.set_ylabel("congestion window, segments")
    axes.set_xlim(0, DURATION_S)
    axes.set_ylim(bottom=0, top=max(900.0, 1.05 * _typical_most(samples)))


def _typical_most(samples: Any) -> float:
    """The largest window after 10 s, that is, after the overshoot of slow start."""
    return float(samples.filter(samples["time_s"] > 10)["cwnd"].quantile(0.999))


def curve(form: str, losses: str = "even", count: int = 25) -> tuple[Any, Any]:
    """A response function over the measured range of p, as far as it is defined."""
    response = RESPONSES[form]
    p = np.geomspace(max(response.lowest_p, measure.LOSSES[0]), min(response.highest_p, measure.LOSSES[-1]), count)
    return p, mean_window(form, p, measure.RTT_S, losses)


def draw_response(axes: Any, algorithm: str, entry: dict[str, Any]) -> None:
    """Draw the measured points, the closed form, and the mean window under random losses."""
    form = measure.modeled(algorithm)
    if form is not None and not RESPONSES[form].marks:
        axes.plot(*curve(form), color=FORM, linewidth=1, label="closed form")
        axes.plot(*curve(form, "random", 9), color=FORM, linewidth=1, linestyle=(0, (2, 2)), label="random losses")
        if "as_modeled" in entry:
            points = entry["as_modeled"]["losses"]
            axes.plot(*_columns(points), "o", color=MEASURED, fillstyle="none", markersize=4.5, label="as modeled")
    axes.plot(*_columns(entry["losses"]), "o", color=MEASURED, markersize=3, label="measured")
    filled = [point for point in entry["losses"] if point["window"] > measure.FREE * measure.path_window(point)]
    if filled:
        axes.axhline(measure.path_window(filled[-1]), color="#999999", linewidth=0.8, linestyle=":", label="path")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("loss probability")
    axes.set_ylabel("mean window, segments")
    axes.legend(frameon=False, fontsize=8)


def _columns(points: list[dict[str, float]]) -> tuple[list[float], list[float]]:
    return [point["p"] for point in points], [point["window"] for point in points]


def save(figure: Any, path: Path) -> None:
    """Write a figure as SVG without indentation; coordinates are rounded to a tenth of a point."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    short = re.sub(r"(\d+\.\d)\d+", r"\1", text.getvalue())
    path.write_text(re.sub(r"\n +", "\n", short), encoding="utf-8")


def draw_one(algorithm: str, entry: dict[str, Any]) -> None:
    """Draw the two panels of an algorithm's page."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), width_ratios=(3, 2), layout="constrained")
    draw_windows(left, algorithm)
    draw_response(right, algorithm, entry)
    save(figure, FOLDER / f"{algorithm}.svg")


def draw_all(known: dict[str, Any]) -> None:
    """Draws every closed form, with the points that were measured under the assumptions of the form."""
    figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
    colors = plt.get_cmap("tab20").colors
    drawn = 0
    for form, response in RESPONSES.items():
        name = form.partition(":")[0]
        if response.marks or name not in known or (form != name and measure.modeled(name) != form):
            continue
        own = known[name].get("as_modeled", known[name])
        color, marker = colors[drawn % 20], "osv^D<>P*Xphd1"[drawn % 14]
        axes.plot(*curve(form, "random", 9), color=color, linewidth=1)
        axes.plot(*_columns(own["losses"]), marker, color=color, markersize=4, label=form)
        drawn += 1
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("loss probability")
    axes.set_ylabel("mean window, segments")
    axes.legend(frameon=False, ncols=2)
    save(figure, FOLDER / "response.svg")


def main() -> None:
    """Draw the pictures of the named algorithms, or all pictures."""
    known = json.loads(measure.FILE.read_text())["algorithms"]
    for name in sys.argv[1:] or sorted(known):
        draw_one(name, known[name])
    draw_all(known)


if __name__ == "__main__":
    main()
