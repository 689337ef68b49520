"""J. Katto et al.: Simple Model Analysis and Performance Tuning of Hybrid TCP Congestion Control (2008).

Closed-form predictions for Compound, Adaptive Reno, YeAH and Fusion under random losses, alone and beside a Reno flow,
are compared with simulations. The effect of other constants is also examined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from elephan.evaluation.experiments import Experiment
from elephan.papers.claims import load_claims, load_explanations
from elephan.papers.index import INDEX
from elephan.papers.katto2008 import windows
from elephan.papers.katto2008.assumptions import ASSUMPTIONS
from elephan.papers.katto2008.beyond import open_question
from elephan.papers.katto2008.figures import figures
from elephan.papers.katto2008.measure import measurer
from elephan.papers.katto2008.setup import (
    CANDIDATES,
    GRID,
    PROTOCOLS,
    QUICK_TIME,
    SHORT_MEAN_BYTES,
    TUNED,
    Setup,
    response_scenarios,
)
from elephan.papers.paper import Paper, Variant
from elephan.scenario import Scenario

HERE = Path(__file__).parent
FUSION = ("fusion",)
CTCP = ("ctcp_1/2", "ctcp_7/8")
ARENO = ("areno",)
SEEDS = {"F7a": 3, "F7b": 3, "S3B": 3, "F8": 5}
QUICK_NOTE = (
    "runs of Figures 7 and 9 and of the tuning last a tenth of the time; one seed; no variants unless requested"
)


def paper(quick: bool = False) -> Paper:
    """The paper with its claims and scenarios. With ``quick``, the scenarios last a tenth of the time."""
    title, reference = INDEX["katto2008"]
    claims = load_claims(HERE / "claims.toml")
    setup = Setup(time=QUICK_TIME if quick else 1)
    return Paper(
        id="katto2008",
        title=title,
        reference=reference,
        claims=claims,
        experiments={experiment.id: experiment for experiment in _experiments(setup, quick)},
        measurer=partial(measurer, setup=setup),
        figures=partial(figures, setup=setup),
        quick=quick,
        quick_note=QUICK_NOTE if quick else "",
        assumptions=ASSUMPTIONS,
        variants=tuple(_variants(setup)),
        variants_by_default=not quick,
        explanations=load_explanations(HERE / "explanations.toml", claims),
        beyond=open_question(setup),
    )


def _users(setup: Setup, mean_bytes: int) -> Setup:
    return replace(setup, short_users=mean_bytes, short_rate="window")


def _sweep(setup: Setup, protocols: Iterable[str], flows: int) -> dict[str, Scenario]:
    return {f"{name}, p = {p:.3g}": setup.sweep(name, p, flows) for name in protocols for p in GRID}


def _experiments(setup: Setup, quick: bool) -> Iterable[Experiment]:
    """The experiments; the main experiment, Figure 7, is first."""
    tuned = {f"{label} alone": scenario for label, scenario in _sweep(setup, TUNED, 1).items()}
    tuned |= {f"{label} beside TCP-Reno": scenario for label, scenario in _sweep(setup, TUNED, 2).items()}
    rows: list[tuple[str, str, str, dict[str, Scenario]]] = [
        ("F7a", "throughput over the loss rate, one flow", "Fig 7(a)", _sweep(setup, PROTOCOLS, 1)),
        ("F7b", "throughput over the loss rate, beside TCP-Reno", "Fig 7(b)", _sweep(setup, PROTOCOLS, 2)),
        ("S3B", "throughput over the loss rate, tuned YeAH and CTCP", "§III.B", tuned),
        ("F8", "a long flow and 100 short ones", "Fig 8", {name: setup.short(name) for name in CANDIDATES}),
    ]
    for name, title, figure, scenarios in rows:
        yield Experiment(f"katto2008.{name}", title, figure, scenarios, 1 if quick else SEEDS[name])
    for name, title, figure in (
        ("M1", "windows in the model of one flow", "Fig 2"),
        ("M2", "windows in the model of two flows", "Fig 4"),
    ):
        flows = int(name[1])
        yield Experiment(f"katto2008.{name}", title, figure, windows.scenarios(setup, flows, ideal=True))
    hybrids = {
        f"{label}{beside}": scenario
        for flows, beside in ((1, ""), (2, ", beside TCP-Reno"))
        for label, scenario in windows.scenarios(setup, flows, ideal=False).items()
    }
    yield Experiment("katto2008.M3", "the abstracted hybrids", "Figs 5 and 6", hybrids)
    yield Experiment("katto2008.F9", "response functions", "Fig 9", response_scenarios(setup))


def _variants(setup: Setup) -> Iterable[Variant]:
    """Variants of the paper's open values; each repeats only the runs that it changes."""
    others: list[tuple[str, str, Setup, tuple[str, ...], tuple[str, ...]]] = [
        ("fast-alpha-30", "FAST with alpha 30", replace(setup, fast_alpha=30), ("fast",), ()),
        (
            "fusion-1ms",
            "Fusion growing by the rate times 1 ms",
            replace(setup, fusion_dmin_ms=1.0),
            ("fusion",),
            FUSION,
        ),
        (
            "ctcp-draft",
            "CTCP whose growth depends on dwnd alone",
            replace(setup, compound="compound:draft-00"),
            ("ctcp",),
            CTCP,
        ),
        ("rtt-1ms", "ARENO with RTTs rounded to 1 ms", replace(setup, dead_zone_ms=1.0), ARENO, ARENO),
        ("short-50kB", "short flows of 50 kB each", replace(setup, short_size=50_000), (), CANDIDATES),
        ("short-users", "100 users instead of 100 flows", _users(setup, SHORT_MEAN_BYTES), (), CANDIDATES),
        ("short-users-100kB", "100 users with transfers of 100 kB", _users(setup, 100_000), (), CANDIDATES),
        (
            "short-in-window",
            "throughput of short flows by the bits that arrive in the window",
            replace(setup, short_rate="window"),
            (),
            (),
        ),
        ("tcp-linux", "TCP/Linux as the base", replace(setup, base="ns2"), (*PROTOCOLS, *TUNED), CANDIDATES),
    ]
    for name, title, other, swept, short in others:
        scenarios = [other.sweep(protocol, p, flows) for protocol in swept for flows in (1, 2) for p in GRID]
        scenarios += [other.short(protocol) for protocol in short]
        yield Variant(name, title, tuple(scenarios), partial(measurer, setup=other))
