"""W. Xu, Z. Zhou, D. T. Pham, C. Ji, M. Yang, Q. Liu: Hybrid congestion control for high-speed networks (JNCA 2011).

HCC TCP and eight other protocols over 200 Mbit/s: one flow alone with several buffer sizes and random loss rates, flows
of one protocol with equal and unequal RTTs, flows beside TCP Reno, and flows with traffic on the reverse path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from elephan.evaluation.experiments import Experiment
from elephan.evaluation.measuring import Chosen
from elephan.papers.claims import load_claims, load_explanations
from elephan.papers.hcc2011.assumptions import ASSUMPTIONS, QUICK_NOTE
from elephan.papers.hcc2011.beyond import beyond
from elephan.papers.hcc2011.figures import figures
from elephan.papers.hcc2011.measure import measurer
from elephan.papers.hcc2011.published import Published
from elephan.papers.hcc2011.setup import (
    ALL_SETTINGS,
    BUFFERS,
    FRIENDLY_BUFFERS,
    HIGH_SPEED,
    LOSSES,
    PROTOCOLS,
    QUICK_SCALE,
    RATIO_RTTS_MS,
    REVERSE,
    SETTINGS,
    Setup,
)
from elephan.papers.hcc2011.variants import variants
from elephan.papers.index import INDEX
from elephan.papers.paper import Paper
from elephan.scenario import Scenario

HERE = Path(__file__).parent
SEEDS = {"F6": 1, "F7": 1, "F15": 1, "F19": 1, "ALG": 1}
"""Number of seeds by experiment, if it is not :data:`SHARED_SEEDS`. A lone flow needs fewer seeds, since it has no
phase relative to other flows."""
SHARED_SEEDS = 3
"""Number of seeds of the other experiments. With random losses (Figs 8a, 8b) the runs differ by seed, but five seeds
gave the same verdicts as three."""


def paper(quick: bool = False) -> Paper:
    """The paper with its claims and scenarios. With ``quick``, the scenarios have a tenth of the rate."""
    title, reference = INDEX["hcc2011"]
    claims = load_claims(HERE / "claims.toml")
    published = Published(claims)
    setup = Setup(scale=QUICK_SCALE if quick else 1)

    def measuring(of: Setup) -> partial[Chosen]:
        return partial(measurer, setup=of, published=published, experiments=claims.experiments)

    return Paper(
        id="hcc2011",
        title=title,
        reference=reference,
        claims=claims,
        experiments={experiment.id: experiment for experiment in _experiments(setup, quick=quick)},
        measurer=measuring(setup),
        figures=partial(figures, setup=setup, claims=claims),
        quick=quick,
        quick_note=QUICK_NOTE if quick else "",
        assumptions=ASSUMPTIONS,
        variants=tuple(variants(setup, measuring)),
        explanations=load_explanations(HERE / "explanations.toml", claims),
        beyond=beyond(setup.scale),
    )


def _experiments(setup: Setup, *, quick: bool) -> Iterable[Experiment]:
    for name, (title, figure, scenarios) in _rows(setup).items():
        yield Experiment(f"hcc2011.{name}", title, figure, scenarios, 1 if quick else SEEDS.get(name, SHARED_SEEDS))


Row = tuple[str, str, dict[str, Scenario]]


def _rows(setup: Setup) -> Mapping[str, Row]:
    """Title, figure and scenarios of every experiment, by name. Figures with the same runs share the scenarios."""
    alone = {f"{p}, {b} packets": setup.lone(p, b) for p in PROTOCOLS for b in BUFFERS}
    lossy = {
        buffer: {f"{p}, loss {loss:g}": setup.lone(p, buffer, loss) for p in PROTOCOLS for loss in LOSSES}
        for buffer in (200, 2000)
    }
    # Reno's square-root law is compared with a run at the RTT at which the law is evaluated.
    lossy[2000] |= {f"reno, loss {loss:g}, 40 ms": setup.lone("reno", 2000, loss, 40) for loss in LOSSES}
    rows: dict[str, Row] = {
        "T2a": ("two flows, RTT ratios 1.5, 2 and 6, 600 packets", "Table 2(a)", _ratios(setup, 600)),
        "T2b": ("two flows, RTT ratios 1.5, 2 and 6, 2000 packets", "Table 2(b)", _ratios(setup, 2000)),
        "ALG": ("HCC's rules: two packets lost", "Table 1", {"two losses": setup.two_losses()}),
        "F6": ("one flow, throughput against buffer", "Fig 6", alone),
        "F7": ("one flow, mean queue against buffer", "Fig 7", alone),
        "F8a": ("one flow, random losses, 200 packets", "Fig 8(a)", lossy[200]),
        "F8b": ("one flow, random losses, 2000 packets", "Fig 8(b)", lossy[2000]),
        "F9a": ("HCC over time, 200 packets", "Fig 9(a)", {"hcc": setup.lone("hcc", 200)}),
        "F9b": ("HCC over time, 600 packets", "Fig 9(b)", {"hcc": setup.lone("hcc", 600)}),
        "F10a": ("three equal flows, 600 packets", "Fig 10(a)", {p: setup.equal(p, 600) for p in HIGH_SPEED}),
        "F10b": ("three equal flows, 2000 packets", "Fig 10(b)", {p: setup.equal(p, 2000) for p in HIGH_SPEED}),
        "F11a": ("two equal HCC flows, 600 packets", "Fig 11(a)", {"120 and 120 ms": setup.pair((120, 120))}),
        "F11b": ("two unequal HCC flows, 600 packets", "Fig 11(b)", {"60 and 120 ms": setup.pair((60, 120))}),
        "F12": ("three unequal HCC flows, 2000 packets", "Fig 12", {"200 Mbit/s": setup.three()}),
        "F13": ("three unequal HCC flows at 1 Gbit/s", "Fig 13", {"1 Gbit/s": setup.three(gigabit=True)}),
    }
    for letter, (name, buffer) in zip("abcd", FRIENDLY_BUFFERS.items(), strict=True):
        title = f"two flows and two of TCP Reno, {buffer} packets"
        rows[name] = (title, f"Fig 14({letter})", {p: setup.friendly(p, buffer) for p in HIGH_SPEED})
    return rows | _with_reverse_traffic(setup)


def _ratios(setup: Setup, buffer: int) -> dict[str, Scenario]:
    return {f"{p}, ratio {ratio:g}": setup.ratio(p, ratio, buffer) for p in HIGH_SPEED for ratio in RATIO_RTTS_MS}


def _with_reverse_traffic(setup: Setup) -> dict[str, Row]:
    f15 = {
        f"{p}, {buffer} packets, on for {on:g}": setup.reverse(p, buffer, on)
        for p in REVERSE
        for on in SETTINGS
        for buffer in setup.reverse_buffers
    }
    full = {p: setup.reverse(p) for p in ("fast", "hcc")}
    f18 = {f"{p}, on for {on:g}": setup.reverse(p, setting=on) for p in REVERSE for on in ALL_SETTINGS}
    f19 = {f"{p}, {size} B": setup.reverse(p, size_bytes=size) for p in REVERSE for size in setup.sizes_bytes}
    return {
        "F15": ("throughput against buffer with reverse traffic", "Fig 15", f15),
        "F16": ("windows with reverse traffic", "Fig 16", full | {"fast alone": setup.lone("fast", 2000)}),
        "F17": ("rates with reverse traffic", "Fig 17", full),
        "F18": ("throughput against the reverse load", "Fig 18", f18),
        "F19": ("throughput against the reverse packets' size", "Fig 19", f19),
    }
