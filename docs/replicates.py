"""Draws the outcomes of two CUBIC flows with many seeds, and prints the table of the page on replicates.

    .venv/bin/python docs/replicates.py

Writes docs/replicates.svg: the goodput of the first flow with each seed, for three kinds of perturbation. Start times
differ within 10 ms, or within four round trips; the third kind is ``perturb = "hosts"``.
"""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path
from statistics import fmean

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update(
    {"svg.hashsalt": "elephan", "svg.fonttype": "none", "font.size": 9, "font.sans-serif": ["DejaVu Sans"],
     "axes.spines.top": False, "axes.spines.right": False}
)  # fmt: skip
import matplotlib.pyplot as plt  # noqa: E402

import elephan  # noqa: E402
from elephan.metrics import interval  # noqa: E402
from elephan.metrics.replication import distinct_outcomes  # noqa: E402

FOLDER = Path(__file__).parent
KINDS = {
    "starts over 10 ms": {"perturb": "none", "start_jitter": "10 ms"},
    "starts over 400 ms": {"perturb": "none", "start_jitter": "400 ms"},
    '`"hosts"`': {"perturb": "hosts"},
}
GROUP, GROUPS = 8, 26


def scenario() -> elephan.Scenario:
    """The first scenario of the page."""
    page = (FOLDER / "replicates.md").read_text(encoding="utf-8")
    return elephan.Scenario.from_dict(tomllib.loads(page.split("```toml\n")[1].split("```")[0]))


def measured(more: dict[str, str]) -> tuple[list[float], list[float]]:
    """Goodput of the first flow in Mbit/s, and mean queueing delay in ms, of each seed."""
    stated = scenario().with_overrides(more)
    with tempfile.TemporaryDirectory() as folder:
        runs = elephan.sweep(stated.replicates(GROUP * GROUPS), store=elephan.Store(folder))
        summaries = [run.summary() for run in runs]
    goodputs = [summary["flows"][0]["goodput_mbps"] for summary in summaries]
    return goodputs, [summary["metrics"]["mean_queue_delay_ms"] for summary in summaries]


def covered(values: list[float]) -> int:
    """Number of intervals, each over eight seeds, that contain the mean of all seeds."""
    found = [interval(values[at : at + GROUP]) for at in range(0, len(values), GROUP)]
    return sum(one.known and one.low <= fmean(values) <= one.high for one in found)


def distinct(values: list[float]) -> int:
    """Number of distinct outcomes among the values."""
    return distinct_outcomes([[value] for value in values])


def draw(goodputs: dict[str, list[float]], path: Path) -> None:
    """Writes the figure: a row for each perturbation, a point for each seed; the first eight seeds are larger."""
    figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
    for row, values in enumerate(goodputs.values()):
        heights = [row + 0.5 * (k / len(values) - 0.5) for k in range(len(values))]
        axes.plot(values[GROUP:], heights[GROUP:], "o", color="#1f5fa8", alpha=0.35, markersize=2.5, markeredgewidth=0)
        axes.plot(values[:GROUP], [row - 0.34] * GROUP, "^", color="#c03a2b", markersize=5)
    axes.set(xlabel="goodput of the first of two CUBIC flows, Mbit/s", yticks=range(len(goodputs)))
    axes.set_yticklabels([name.strip('`"') for name in goodputs])
    axes.set_ylim(len(goodputs) - 0.5, -0.6)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """Measure, draw, and print the table."""
    goodputs = {}
    for name, more in KINDS.items():
        goodputs[name], delays = measured(more)
        first = goodputs[name][:GROUP]
        cells = [name, distinct(first), distinct(goodputs[name]), covered(goodputs[name]), covered(delays)]
        print("| " + " | ".join(map(str, cells)) + " |")
    draw(goodputs, FOLDER / "replicates.svg")


if __name__ == "__main__":
    main()
