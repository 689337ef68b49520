"""D. J. Leith et al.: Experimental Evaluation of Delay/Loss-based TCP Congestion Control Algorithms (PFLDnet 2008).

TCP Illinois and Compound TCP on two testbeds: the time to fill a long path, with and without reverse traffic, the
length of congestion epochs, the convergence of competing flows, and the throughput left for Reno and for short
transfers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from elephan.evaluation.experiments import Experiment
from elephan.papers.claims import load_claims, load_explanations
from elephan.papers.index import INDEX
from elephan.papers.leith2008 import rules
from elephan.papers.leith2008 import setup as paths
from elephan.papers.leith2008.assumptions import ASSUMPTIONS
from elephan.papers.leith2008.beyond import beyond
from elephan.papers.leith2008.figures import figures
from elephan.papers.leith2008.measure import lone, measurer
from elephan.papers.leith2008.setup import Setup
from elephan.papers.paper import Paper, Variant
from elephan.scenario import Scenario

HERE = Path(__file__).parent
QUICK_SCALE = 10
QUICK_NOTE = (
    "a tenth of every rate, of every buffer and window in packets, and of the durations of Figures 3 and 4; a quarter "
    "of the measured time with cross traffic; one seed. Rates, and times in which a window grows by a number of "
    "packets, are multiplied by ten again before they are judged"
)
SEEDS = {
    "RESP": 2, "F1": 2, "F2a": 2, "F2b": 2, "F4": 8, "F5": 5, "F6": 5, "F7": 2, "F8a": 5, "F8b": 5, "F9a": 5, "F9b": 5,
    "F10": 1, "T1": 3, "F11": 3, "F12": 2, "F13": 2, "S8C": 2,
}  # fmt: skip


def paper(quick: bool = False) -> Paper:
    """The paper with its claims and scenarios. With ``quick``, the scenarios have a tenth of the rate."""
    title, reference = INDEX["leith2008"]
    claims = load_claims(HERE / "claims.toml")
    setup = Setup(scale=QUICK_SCALE if quick else 1)
    return Paper(
        id="leith2008",
        title=title,
        reference=reference,
        claims=claims,
        experiments={
            experiment.id: replace(experiment, seeds=1) if quick else experiment for experiment in experiments(setup)
        },
        measurer=partial(measurer, setup=setup),
        figures=partial(figures, setup=setup, claims=claims),
        quick=quick,
        quick_note=QUICK_NOTE if quick else "",
        assumptions=ASSUMPTIONS,
        variants=tuple(_variants(setup)),
        explanations=load_explanations(HERE / "explanations.toml", claims),
        beyond=beyond(setup.scale),
    )


def experiments(setup: Setup) -> Iterable[Experiment]:
    """All experiments that can be simulated, in the paper's order."""
    table: list[tuple[str, str, str, list[Scenario]]] = [
        ("F10", "a long flow with cross traffic and a reverse flow", "Fig 10", [
            paths.crossed(setup, name, case) for name in ("ctcp", "illinois", "cubic") for case in (1, 2, 3, 4)
        ]),
        ("T1", "throughput of the cross traffic", "Table I", [
            paths.crossed(setup, name, 2) for name in ("ctcp", "illinois", "reno", "cubic")
        ]),
        ("ALG", "the rules of Illinois and Compound, one by one", "§II", [
            *(rules.at_delay("illinois", fraction) for fraction in rules.FRACTIONS),
            *(rules.at_delay("ctcp", fraction) for fraction in (0.0, 1.0)),
            *(rules.at_window("ctcp", window) for window in rules.WINDOWS),
        ]),
        ("RESP", "response function under random losses", "§IV.A", [
            paths.response(setup, name, loss) for name in ("illinois", *paths.AIMD) for loss in paths.LOSS_RATES
        ]),
        ("F1", "recovery after 5 s of datagrams", "Fig 1", [
            paths.recovery(setup, name) for name in ("illinois", "ctcp", "reno")
        ]),
        ("F2a", "Illinois against on-off reverse traffic", "Fig 2(a)", [
            *(paths.reverse(setup, name) for name in ("illinois", "reno")),
            paths.reverse(setup, "illinois", traffic=False),
        ]),
        ("F2b", "Compound against on-off reverse traffic", "Fig 2(b)", [
            *(paths.reverse(setup, name) for name in ("ctcp", "illinois", "reno")),
            paths.reverse(setup, "ctcp", traffic=False),
        ]),
        ("F3", "congestion epochs at several rates", "Fig 3", [
            *(lone(setup, "reno", paths.with_rate(paths.F5, mbps)) for mbps in paths.RENO_MBPS),
        ]),
        ("F3a", "Illinois alone at 10 Mbit/s", "Fig 3(a)", [lone(setup, "illinois", paths.F3A)]),
        ("F3b", "Illinois alone at 250 Mbit/s", "Fig 3(b)", [
            lone(setup, "illinois", paths.F3B), lone(setup, "illinois", paths.F3A), lone(setup, "reno", paths.F3B),
        ]),
        ("F4", "a second Illinois flow", "Fig 4", [
            paths.newcomer(setup, "illinois", paths.F3B, *paths.late(setup)),
        ]),
        ("F5", "a second Compound flow", "Fig 5", [
            *(paths.newcomer(setup, "ctcp", paths.with_rate(paths.F5, m), *paths.F5_TIMES_S) for m in paths.F5_MBPS),
            paths.newcomer(setup, "reno", paths.F5, *paths.F5_TIMES_S),
        ]),
        ("F6", "two Compound flows in a shallow buffer", "Fig 6", [
            paths.newcomer(setup, "ctcp", paths.F6, *paths.F6_TIMES_S),
        ]),
        ("F7", "flows with different RTTs", "Fig 7", [
            paths.rtt_pair(setup, name, rtt, buffer)
            for buffer in paths.F7_BUFFERS for name in ("reno", "ctcp", "illinois") for rtt in paths.F7_RTTS_MS
        ]),
        ("F8a", "Illinois and Reno, 30 ms", "Fig 8(a)", [
            *(paths.against_reno(setup, "illinois", "F8a", overestimate=wrong) for wrong in (True, False)),
            paths.against_reno(setup, "ctcp", "F9a"),
        ]),
        ("F8b", "Illinois and Reno, 100 ms", "Fig 8(b)", [paths.against_reno(setup, "illinois", "F8b")]),
        ("F9a", "Compound and Reno, 30 ms", "Fig 9(a)", [paths.against_reno(setup, "ctcp", "F9a")]),
        ("F9b", "Compound and Reno, 100 ms", "Fig 9(b)", [paths.against_reno(setup, "ctcp", "F9b")]),
        ("F11", "a base RTT that is too long", "Fig 11", [paths.misled(setup, name) for name in ("ctcp", "illinois")]),
        ("F12", "Illinois with too large a largest RTT", "Fig 12", [
            *(paths.against_reno(setup, "illinois", "F12", overestimate=wrong) for wrong in (True, False)),
            *(paths.on_slow_host(setup, name) for name in ("illinois", "illinois_stock")),
        ]),
        ("F13", "two Compound flows in a deep buffer", "Fig 13", [
            paths.newcomer(setup, "ctcp", paths.F13, *paths.F5_TIMES_S),
        ]),
        ("S8C", "1 Gbit/s with Pareto traffic both ways", "§VIII.C", [
            paths.gigabit(setup, name) for name in ("ctcp", "illinois")
        ]),
    ]  # fmt: skip
    for name, title, figure, scenarios in table:
        labelled = {str(scenario.title): scenario for scenario in scenarios}
        yield Experiment(f"leith2008.{name}", title, figure, labelled, SEEDS.get(name, 1))


def _variants(setup: Setup) -> Iterable[Variant]:
    """Variants of the paper's open values, each with its experiments."""
    half = tuple((name, factor / 2) for name, factor in setup.outlier)
    twice = tuple((name, factor * 2) for name, factor in setup.outlier)
    beside = ("F8a", "F8b", "F9a", "F9b")
    compound = ("F1", "F2b", "F5", "F6", "F9a", "F9b", "F11", "F13", "T1")
    others = [
        ("acks-counted", "Reno and Compound count ACKs, as Linux 2.6.23 does by default",
         replace(setup, acks_counted=True), (*compound, "F2a", "F3", "F3b", "F8a", "F8b")),
        ("compound-from-dwnd", "Compound's delay-based window grows by its own size alone, as in drafts -00 and -01",
         replace(setup, grow_from_dwnd=True), compound),
        ("compound-mean-rtt", "Compound uses the mean RTT of a round trip instead of the smallest RTT",
         replace(setup, compound_rtt="mean"), compound),
        ("no-burst", "no datagrams reduce the windows of Figure 2 before 25 s", replace(setup, burst=False),
         ("F2a", "F2b")),
        ("outlier-half", "the outlier of Figures 8(a) and 12 half as large", replace(setup, outlier=half),
         ("F8a", "F12")),
        ("outlier-twice", "the outlier of Figures 8(a) and 12 twice as large", replace(setup, outlier=twice),
         ("F8a", "F12")),
        ("slow-host-100ns", "hosts that need 0.1 us for each outstanding segment, instead of the outlier",
         replace(setup, scan_ns=100), ("F8a", "F12")),
        ("slow-host-400ns", "hosts that need 0.4 us for each outstanding segment, instead of the outlier",
         replace(setup, scan_ns=400), ("F8a", "F12")),
        ("every-packet-acknowledged", "no delayed ACKs, and therefore no timer of 40 ms in RTT samples",
         replace(setup, delayed_acks=False), ("F7", "F8a", "F8b")),
        ("no-framing", "no Ethernet framing on the links of Figures 8 and 9",
         replace(setup, framing_bytes=0), beside),
        ("reverse-6MB", "the reverse flows of Figure 2 with a window of 6 MB, contrary to the paper's text",
         replace(setup, reverse_window=6_000_000), ("F2a", "F2b")),
        ("no-jitter", "starts and departures exactly in time", replace(setup, jitter=False),
         (*beside, "F5", "F6", "F11", "F13")),
    ]  # fmt: skip
    own = {s.hash for e in experiments(setup) for s in e.scenarios.values()}
    for name, title, other, about in others:
        wanted = {f"leith2008.{number}" for number in about}
        listed = {
            scenario.hash: scenario
            for experiment in experiments(other)
            for scenario in experiment.scenarios.values()
            if experiment.id in wanted
        }
        changed = tuple(scenario for digest, scenario in listed.items() if digest not in own)
        yield Variant(name, title, changed, partial(measurer, setup=other))
