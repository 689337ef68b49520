"""Draws the cost of a delivered segment against the number of flows, from the output of `elephan bench --json`.

    .venv/bin/elephan bench --json > docs/bench.json && .venv/bin/python docs/crowds.py

Writes docs/crowds.svg with the cost in the engine, the cost in ns-2 if the document has it, and the budgets. Measure on
an otherwise idle machine. With ns-2, the measurement takes ten minutes on one core.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update(
    {"svg.hashsalt": "elephan", "svg.fonttype": "none", "font.size": 9, "font.sans-serif": ["DejaVu Sans"],
     "axes.spines.top": False, "axes.spines.right": False}
)  # fmt: skip
import matplotlib.pyplot as plt  # noqa: E402

FOLDER = Path(__file__).parent
OURS, OTHER, LIGHT = "#1f5fa8", "#c03a2b", "#999999"
BUDGETS = (2, 3, 5)
"""Budgets: multiples of the time of a segment with two flows."""


def draw(document: dict[str, Any], path: Path) -> None:
    """Write the figure of a document of ``elephan bench``: the cost of a segment over the number of flows."""
    crowds = document["crowds"]
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    flows = [row["flows"] for row in crowds]
    axes.plot(flows, [row["ns_per_segment"] for row in crowds], "o-", color=OURS, markersize=4, label="Elephan")
    in_ns2 = [(row["flows"], row["ns2"]["ns_per_segment"]) for row in crowds if row.get("ns2")]
    if in_ns2:
        axes.plot(*zip(*in_ns2, strict=True), "s-", color=OTHER, markersize=4, label="ns-2")
    for times in BUDGETS:
        level = times * crowds[0]["ns_per_segment"]
        axes.axhline(level, color=LIGHT, linewidth=0.8, linestyle=":")
        axes.annotate(
            f"{times} × two flows", (1, level), (0, 2), xycoords=("axes fraction", "data"), ha="right", color=LIGHT,
            textcoords="offset points", fontsize=8,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="CUBIC flows over one bottleneck", ylabel="ns a delivered segment")
    axes.set_ylim(bottom=10)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(json.loads((FOLDER / "bench.json").read_text(encoding="utf-8")), FOLDER / "crowds.svg")
