"""Draws the cost of a delivered segment at both resolutions against the BDP, from the output of `elephan bench --json`.

    .venv/bin/elephan bench --json > docs/bench.json && .venv/bin/python docs/trains.py

Writes docs/trains.svg, with the cost in ns-2 on 622 Mbit/s and 100 ms if the document has it. Measure on an otherwise
idle machine.
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

from elephan.scenario.units import parse_rate, parse_time  # noqa: E402

FOLDER = Path(__file__).parent
OURS, TRAINS, OTHER = "#1f5fa8", "#2b8a3e", "#c03a2b"
PACKET_BITS = 12_000
OF_NS2 = ("622 Mbit/s", "100 ms")


def bdp(rate: str, rtt: str) -> float:
    """BDP in packets of 1500 bytes."""
    return parse_rate(rate) * parse_time(rtt) / 1e12 / PACKET_BITS


def draw(document: dict[str, Any], path: Path) -> None:
    """Write the figure of a document of ``elephan bench``."""
    rows = sorted(document["resolutions"], key=lambda row: bdp(row["rate"], row["rtt"]))
    places = [bdp(row["rate"], row["rtt"]) for row in rows]
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for name, color, label in (("segment", OURS, "single segments"), ("train", TRAINS, "trains")):
        axes.plot(places, [row[name]["ns_per_segment"] for row in rows], "o-", color=color, markersize=4, label=label)
    if document.get("ns2"):
        axes.plot(bdp(*OF_NS2), document["ns2"]["ns_per_segment"], "s", color=OTHER, markersize=5, label="ns-2")
    for row, place in zip(rows, places, strict=True):
        axes.annotate(
            f"{row['rate']}\n{row['rtt']}", (place, row["segment"]["ns_per_segment"]), (0, 6), ha="center", fontsize=7,
            textcoords="offset points",
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="BDP (packets of 1500 bytes)", ylabel="ns a delivered segment")
    axes.set_ylim(bottom=1)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(json.loads((FOLDER / "bench.json").read_text(encoding="utf-8")), FOLDER / "trains.svg")
