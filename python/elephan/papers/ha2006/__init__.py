"""S. Ha, Y. Kim, L. Le, I. Rhee, L. Xu: A Step toward Realistic Performance Evaluation of High-Speed TCP Variants
(PFLDnet 2006).

Each of six high-speed protocols competes with TCP-SACK and with a second flow of its own protocol. The path has 400
Mbit/s, an RTT of 16 to 324 ms, and a buffer of 2 MB. The runs are made without and with background traffic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from elephan.evaluation.experiments import Experiment
from elephan.papers.claims import load_claims, load_explanations
from elephan.papers.ha2006.assumptions import ASSUMPTIONS
from elephan.papers.ha2006.beyond import beyond
from elephan.papers.ha2006.figures import figures
from elephan.papers.ha2006.measure import measurer
from elephan.papers.ha2006.setup import (
    ALGORITHMS,
    OTHER_RTTS_MS,
    QUICK_PACE,
    QUICK_SCALE,
    RATE_MBPS,
    RTTS_MS,
    SLOW_RATE_MBPS,
    SLOW_VARIANTS,
    TITLES,
    Case,
    Kind,
    Setup,
)
from elephan.papers.index import INDEX
from elephan.papers.paper import Paper, Variant
from elephan.scenario import Scenario

HERE = Path(__file__).parent
QUICK_NOTE = (
    f"rates, the buffer and FAST's alpha are divided by {QUICK_SCALE}, and start times and durations by {QUICK_PACE}; "
    "one seed. The bins of 10 s for convergence and stability are unchanged, and times in claims are the paper's"
)
QUICK_SCALES = frozenset(("receive_window_bytes", "max_cwnd_pkts", "convergence_time_s"))
# The paper states no number of repetitions. The losses of two flows without background depend on random phases, and the
# phases change some verdicts. A run with background has thousands of losses, and costs five times as much.
SEEDS: Mapping[str, int] = {"ha2006.X2.nobg": 3, "ha2006.X3.nobg": 3}


def paper(quick: bool = False) -> Paper:
    """The paper with its claims and scenarios; with ``quick`` at a tenth of the rate and with shorter runs."""
    title, reference = INDEX["ha2006"]
    claims = load_claims(HERE / "claims.toml")
    setup = Setup(scale=QUICK_SCALE, pace=QUICK_PACE) if quick else Setup()
    return Paper(
        id="ha2006",
        title=title,
        reference=reference,
        claims=claims,
        experiments={experiment.id: experiment for experiment in _experiments(setup, {} if quick else SEEDS)},
        measurer=partial(measurer, setup=setup),
        figures=partial(figures, setup=setup),
        quick=quick,
        quick_note=QUICK_NOTE if quick else "",
        quick_scales=QUICK_SCALES,
        assumptions=ASSUMPTIONS,
        variants=tuple(_variants(setup)),
        explanations=load_explanations(HERE / "explanations.toml", claims),
        beyond=beyond(setup),
    )


def cases(at: Kind, algorithms: Iterable[str] = ALGORITHMS) -> dict[str, Case]:
    """The runs of an experiment, by label."""
    rtts = OTHER_RTTS_MS if at.experiment == "X3" else RTTS_MS
    return {f"{TITLES[name]}, {rtt} ms": at.case(name, rtt) for name in algorithms for rtt in rtts}


def _experiments(setup: Setup, seeds: Mapping[str, int]) -> Iterable[Experiment]:
    alone = {
        f"{rate} Mbit/s": setup.scenario(Case("", "", (0, 0), background=True, rate_mbps=rate))
        for rate in (RATE_MBPS, SLOW_RATE_MBPS)
    }
    yield Experiment("ha2006.X0.bgonly", "background alone", "§4.1", alone, seeds.get("ha2006.X0.bgonly", 1))
    rows = [
        ("X1", "nobg", "one flow of a variant and one of TCP-SACK", "Fig 2a, 7a"),
        ("X2", "nobg", "two flows of a variant", "Fig 4a, 5a, 8a, 9a"),
        ("X3", "nobg", "two flows of a variant with different RTTs", "Fig 6a"),
        ("X1", "bg", "a variant and TCP-SACK, with background", "Fig 2b, 7b"),
        ("X2", "bg", "two flows of a variant, with background", "Fig 3a, 4b, 5b, 8b, 9b"),
        ("X3", "bg", "different RTTs, with background", "Fig 3b, 6b"),
    ]
    for experiment, kind, title, figure in rows:
        name = f"ha2006.{experiment}.{kind}"
        scenarios = _scenarios(setup, cases(Kind(experiment, kind == "bg")))
        yield Experiment(name, title, figure, scenarios, seeds.get(name, 1))
    slow = [cases(Kind("X1", background, SLOW_RATE_MBPS), SLOW_VARIANTS) for background in (False, True)]
    scenarios = {
        f"{label}, {words}": scenario
        for part, words in zip(slow, ("alone", "with background"), strict=True)
        for label, scenario in _scenarios(setup, part).items()
    }
    name = "ha2006.X1.100M"
    yield Experiment(name, "a variant and TCP-SACK on 100 Mbit/s", "§4.5", scenarios, seeds.get(name, 1))


def _scenarios(setup: Setup, found: Mapping[str, Case]) -> dict[str, Scenario]:
    return {label: setup.scenario(case) for label, case in found.items()}


ALONE = ("X1.nobg", "X2.nobg", "X3.nobg")
SAME_RTT_BESIDE = ("X0.bgonly", "X1.bg", "X2.bg")
BESIDE = (*SAME_RTT_BESIDE, "X3.bg")
EVERY = (*ALONE, *BESIDE)
"""Experiments on 400 Mbit/s whose results a variant can change."""


def _variants(setup: Setup) -> Iterable[Variant]:
    """Variants of the paper's open values, each with the experiments that show its effect."""
    others: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
        ("published-rules", "the published rules instead of Linux 2.6's code", {"code": "papers"}, (*ALONE, "X2.bg")),
        ("fast-alpha-100", "FAST with alpha 100", {"fast_alpha": 100}, EVERY),
        ("fast-alpha-400", "FAST with alpha 400", {"fast_alpha": 400}, EVERY),
        (
            "fast-no-doubling",
            "FAST without doubling while the queue is short",
            {"fast_doubling": False},
            EVERY,
        ),
        ("fast-known-rtt", "FAST that knows the RTT of the empty path", {"fast_knows_rtt": True}, EVERY),
        ("htcp-halves", "HTCP halving on every loss", {"htcp_adapts": False}, EVERY),
        ("no-first-threshold", "BIC and CUBIC with an unlimited first slow start", {"first_threshold": 0}, EVERY),
        (
            "convergence-accumulated",
            "convergence by means since the second flow's start",
            {"convergence": "accumulated"},
            EVERY,
        ),
        ("modern-recovery", "today's recovery (RACK, PRR) for all flows", {"stack": "linux"}, (*ALONE, "X2.bg")),
        ("sack-first", "TCP-SACK starts before the variant", {"sack_first": True}, ("X1.nobg", "X1.bg")),
        ("rtts-tmix", "background RTTs of ns-2's Tmix trace, median 50 ms", {"rtts": "tmix"}, SAME_RTT_BESIDE),
        ("rtts-suite", "background RTTs of the IRTF suite, 5 to 200 ms", {"rtts": "suite"}, SAME_RTT_BESIDE),
        ("load-80", "four fifths of the background", {"load": 0.8}, BESIDE),
    ]
    for name, title, changed, experiments in others:
        other = replace(setup, **changed)
        # An experiment with background traffic also needs the runs without background traffic; the paper's own runs are
        # already saved.
        wanted = {f"ha2006.{kind}" for kind in (*experiments, *ALONE)}
        scenarios = [s for e in _experiments(other, {}) if e.id in wanted for s in e.scenarios.values()]
        yield Variant(name, title, tuple(scenarios), partial(measurer, setup=other))
