"""Draws the README's figure from examples/late_flow.toml: run it when the engine's results have changed."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

import elephan

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Run the example, and save every tenth sample of its congestion windows as SVG."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "elephan"
    import matplotlib.pyplot as plt

    run = elephan.run(elephan.Scenario.load(ROOT / "examples" / "late_flow.toml"))
    figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
    for (name,), samples in run.samples.sort("time_s").group_by("flow", maintain_order=True):
        thinned = samples.gather_every(10)
        axes.plot(thinned["time_s"], thinned["cwnd"], linewidth=1, label=f"{name}: {_algorithm(run, str(name))}")
    axes.set_xlabel("time, s")
    axes.set_ylabel("congestion window, segments")
    axes.set_xlim(0, 300)
    axes.set_ylim(0, 10_000)
    axes.legend(loc="center right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs" / "late_flow.svg", metadata={"Date": None})


def _algorithm(run: elephan.Run, flow: str) -> str:
    return str(run.flows.filter(run.flows["name"] == flow)["algorithm"].item())


if __name__ == "__main__":
    main()
