"""Draws the figure of docs/channels.md: run it when a model of ``elephan.scenario.channels`` has changed."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from elephan.scenario import channels

FOLDER = Path(__file__).parent
DURATION_S = 60
BIN_S = 0.1
TITLES = {
    "leo": "leo: a satellite every 15 s",
    "lte": "lte, 12 dB",
    "sprout": "sprout",
    "wifi": "wifi, −65 dBm",
}


def main() -> None:
    """Draw each model's rate, averaged over 100 ms, with its long-term mean as a dashed line, and the delay of the
    satellite."""
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "elephan", "svg.fonttype": "none", "font.size": 8})
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(len(channels.MODELS) + 1, 1, figsize=(8, 7), sharex=True, layout="constrained")
    for axes, model in zip(panels, channels.MODELS, strict=False):
        drawn = channels.draw(model, 1, (), DURATION_S * channels.PS_PER_S)
        axes.stairs(mean_mbps(drawn), np.arange(0, DURATION_S + BIN_S / 2, BIN_S), linewidth=0.8, baseline=None)
        axes.axhline(channels.mean_bps(model) / 1e6, color="0.5", linewidth=0.8, linestyle="--")
        axes.set(title=TITLES[model], ylabel="Mbit/s", ylim=(0, None))
    delays = channels.draw("leo", 1, (), DURATION_S * channels.PS_PER_S).delays
    times = [at / channels.PS_PER_S for at, _ in delays]
    panels[-1].stairs([more / 1e9 for _, more in delays], [*times, max(DURATION_S, times[-1] + 1)], baseline=None)
    panels[-1].set(title="leo: delay added, one way", ylabel="ms", xlabel="time, s", xlim=(0, DURATION_S), ylim=(0, 4))
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / "channels.svg", metadata={"Date": None})


def mean_mbps(drawn: channels.Drawn) -> np.ndarray:
    """Mean rate in each bin, Mbit/s."""
    edges_s = np.arange(0, DURATION_S + BIN_S / 2, BIN_S)
    if drawn.opportunities_ms:
        counts, _ = np.histogram(np.array(drawn.opportunities_ms) / 1000, edges_s)
        return counts * channels.OPPORTUNITY_BITS / BIN_S / 1e6
    times_s = np.array([at for at, _ in drawn.rates] + [10**15]) / channels.PS_PER_S
    bits = np.concatenate([[0.0], np.cumsum(np.diff(times_s) * [rate for _, rate in drawn.rates])])
    return np.diff(np.interp(edges_s, times_s, bits)) / BIN_S / 1e6


if __name__ == "__main__":
    main()
