"""M. C. Weigle, P. Sharma, J. R. Freeman: Performance of Competing High-Speed TCP Flows (Networking 2006).

The paper measures the shares of two high-speed flows, one of which starts 50 s after the other. The runs are 36 ordered
pairs of six protocols over 622 Mbit/s and 100 ms, with three buffers. In 21 more pairs both flows start together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from elephan.evaluation.experiments import Experiment
from elephan.papers.claims import load_claims, load_explanations
from elephan.papers.index import INDEX
from elephan.papers.paper import Paper, Variant
from elephan.papers.weigle2006.beyond import open_question
from elephan.papers.weigle2006.figures import figures
from elephan.papers.weigle2006.measure import certain_regions, measurer
from elephan.papers.weigle2006.setup import (
    ASSUMPTIONS,
    BUFFER,
    FIGURE_PAIRS,
    LATE_S,
    MOVED,
    PAIRS,
    PROTOCOLS,
    TOGETHER,
    Pair,
    Setup,
    label,
)
from elephan.scenario import Scenario

HERE = Path(__file__).parent
SEEDS = {"weigle2006.F2s": 3, "weigle2006.F8": 5}
"""Number of seeds by experiment. Two S-TCP flows keep the ratio of their windows after slow start, so Figure 8 has more
seeds than the other experiments."""
QUICK_SCALE = 10
QUICK_NOTE = "62.2 Mbit/s instead of 622; buffers, receive window and FAST's alpha a tenth in packets; one seed"
QUICK_SCALES = frozenset(
    ("packets", "receive_window_mib", "mean_queue_pkts", "min_queue_pkts", "convergence_abs_time_s")
)
# Presets that correspond to implementations of about 2006; FAST has the preset of ns-2's module.
PERIOD = {
    "hstcp": "hstcp:linux-2.6",
    "stcp": "stcp:linux-2.6",
    "fast": "fast:ns2",
    "htcp": "htcp:linux-2.6",
    "bic": "bic:linux-2.6",
    "cubic": "cubic:ns2",
}


def paper(quick: bool = False) -> Paper:
    """The paper with its claims and scenarios. With ``quick``, the scenarios have a tenth of the rate."""
    title, reference = INDEX["weigle2006"]
    claims = load_claims(HERE / "claims.toml")
    setup = Setup(scale=QUICK_SCALE if quick else 1)
    placed = certain_regions(claims)
    return Paper(
        id="weigle2006",
        title=title,
        reference=reference,
        claims=claims,
        experiments={experiment.id: experiment for experiment in _experiments(setup, SEEDS if not quick else {})},
        measurer=partial(measurer, setup=setup, placed=placed),
        figures=partial(figures, setup=setup, claims=claims),
        quick=quick,
        quick_note=QUICK_NOTE if quick else "",
        quick_scales=QUICK_SCALES,
        assumptions=ASSUMPTIONS,
        variants=tuple(_variants(setup, placed)),
        explanations=load_explanations(HERE / "explanations.toml", claims),
        beyond=open_question(setup),
    )


def _scenarios(setup: Setup, pairs: Iterable[Pair], buffer: int = BUFFER, late_s: int = LATE_S) -> dict[str, Scenario]:
    return {label(pair): setup.scenario(pair, buffer, late_s) for pair in pairs}


def _experiments(setup: Setup, seeds: Mapping[str, int]) -> Iterable[Experiment]:
    """All experiments. The experiments of the figures reuse runs of the first experiment; Figure 8 also has flows that
    start together."""
    rows = [
        ("F2", "all ordered pairs, buffer 1555 packets (20 % of the BDP)", "Fig 2", _scenarios(setup, PAIRS)),
        ("F2s", "further seeds of the pairs whose asymmetry depends on the seed", "Fig 2", _scenarios(setup, MOVED)),
        ("B40", "the same with a buffer of 40 packets", "§4", _scenarios(setup, PAIRS, buffer=40)),
        ("B100", "the same with a buffer of 7775 packets (the BDP)", "§4", _scenarios(setup, PAIRS, buffer=7775)),
        ("S46", "pairs that start together, 1555 packets", "§4.6", _scenarios(setup, TOGETHER, late_s=0)),
    ]
    for name, title, figure, scenarios in rows:
        full = f"weigle2006.{name}"
        yield Experiment(full, title, figure, scenarios, seeds.get(full, 1))
    for full, pairs in FIGURE_PAIRS.items():
        number = full[-1]
        scenarios = _scenarios(setup, pairs)
        if full == "weigle2006.F8":
            scenarios |= {f"{name} together": s for name, s in _scenarios(setup, pairs, late_s=0).items()}
        yield Experiment(full, f"windows of Figure {number}", f"Fig {number}", scenarios, seeds.get(full, 1))


def _variants(setup: Setup, placed: Mapping[Pair, int]) -> Iterable[Variant]:
    """Variants of the paper's open values."""
    others = [
        ("fast-alpha-100", "FAST with alpha 100", replace(setup, fast_alpha=100)),
        ("fast-alpha-400", "FAST with alpha 400", replace(setup, fast_alpha=400)),
        ("fast-doubling", "FAST doubling whenever its queueing delay is small", replace(setup, fast_doubling=True)),
        ("tcp-linux", "TCP/Linux as the base", replace(setup, tcp_linux=True)),
        ("bic-linux", "BIC-TCP as Linux has it: keeps 0.8, S_max 16", _with(setup, "bic", "bic:linux")),
        ("wire-1000", "1000 bytes on the wire, headers included", replace(setup, header_bytes=0)),
        ("no-jitter", "starts and departures exactly in time", replace(setup, jitter=False)),
        ("period-code", "Linux 2.6.22's and ns-2's code instead of the papers' rules", _period(setup)),
        ("regions-by-fifths", "regions as equal fifths of |A|", replace(setup, regions="fifths")),
        ("bic-2.6.11", "BIC-TCP as Linux had it up to 2.6.11", _with(setup, "bic", "bic:linux-2.6.11")),
        ("bic-letter", "BIC-TCP's pseudo-code taken literally", _with(setup, "bic", "bic:2004")),
    ]
    for name, title, other in others:
        scenarios = tuple(other.scenario(pair) for pair in PAIRS)
        yield Variant(name, title, scenarios, partial(measurer, setup=other, placed=placed))


def _with(setup: Setup, protocol: str, algorithm: str) -> Setup:
    return replace(setup, algorithms=tuple((dict(setup.algorithms) | {protocol: algorithm}).items()))


def _period(setup: Setup) -> Setup:
    algorithms = tuple((name, PERIOD[name]) for name in PROTOCOLS)
    return replace(setup, algorithms=algorithms, fast_doubling=True, tcp_linux=True)
