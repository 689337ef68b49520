"""The figures of ha2006 in its own layout: panels (a) without and (b) with background, with a line for each algorithm
over the RTT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import Measurement, NotJudgedError
from elephan.evaluation.measuring import Suite
from elephan.papers.ha2006.measure import measurer, value
from elephan.papers.ha2006.setup import (
    ALGORITHMS,
    FAR_MS,
    OTHER_RTTS_MS,
    RTTS_MS,
    SLOW_RATE_MBPS,
    SLOW_VARIANTS,
    TITLES,
    Kind,
    Setup,
)
from elephan.report.charts import LineChart, LinePanel, Points
from elephan.report.figures import Figure

RTT_LABEL = "RTT (ms)"
OTHER_RTT_LABEL = f"RTT of the other flow (ms); one flow has {FAR_MS} ms"


@dataclass(frozen=True)
class Plan:
    """Plan of a panel.

    Attributes:
        letter: letter of the panel, with its caption.
        metric: name of the metric in the claims.
        at: conditions of the runs.
        y_label: label of the y axis, with its unit.
        algorithms: algorithms, in the order of the legend.
    """

    letter: str
    metric: str
    at: Kind
    y_label: str
    algorithms: tuple[str, ...] = ALGORITHMS


def _two(metric: str, experiment: str, y_label: str, algorithms: tuple[str, ...] = ALGORITHMS) -> tuple[Plan, Plan]:
    """Panels (a) without and (b) with background."""
    return (
        Plan("(a) without background traffic", metric, Kind(experiment, False), y_label, algorithms),
        Plan("(b) with background traffic", metric, Kind(experiment, True), y_label, algorithms),
    )


UTILIZATION = "link utilization"
JAIN = "Jain's fairness index"
FIGURES: tuple[tuple[str, str, str, tuple[Plan, ...]], ...] = (
    ("figure2", "Figure 2: link utilization with one TCP-SACK and one flow of a variant",
     "In the paper all algorithms are below 65 % at 324 ms without background. With background, most are at 90 to 95 "
     "%, and HTCP, FAST and STCP are lower.", _two("utilization", "X1", UTILIZATION)),
    ("figure3", "Figure 3: link utilization with two flows of a variant and background traffic",
     "In the paper HTCP is generally the lowest, in (b) also at small RTTs.",
     (Plan("(a) the same RTT", "utilization", Kind("X2", True), UTILIZATION),
      Plan("(b) different RTTs", "utilization", Kind("X3", True), UTILIZATION))),
    ("figure4", "Figure 4: stability: coefficient of variation of the total throughput, 10 s bins",
     "In the paper HTCP, STCP and TCP-SACK vary most without background. With background all algorithms vary less; "
     "HTCP still varies much, and FAST varies more with a longer RTT.",
     _two("cov_total_throughput", "X2", "coefficient of variation")),
    ("figure5", "Figure 5: packet loss rate at the bottleneck",
     "In the paper HTCP has the highest loss rate from 80 ms on, STCP's loss rate grows with the RTT, and FAST has "
     "the lowest.",
     _two("loss_rate", "X2", "packet loss rate")),
    ("figure6", "Figure 6: RTT fairness",
     "In the paper FAST is at 1 without background, CUBIC a little lower, HTCP near HSTCP, and HSTCP above BIC above "
     "STCP; background changes FAST's index most.", _two("jain_fi", "X3", JAIN)),
    ("figure7", "Figure 7: TCP friendliness: Jain's index of a variant and TCP-SACK",
     "In the paper HTCP is the friendliest at 16 ms, and its index falls with the RTT; all algorithms except FAST "
     "are friendlier with background.",
     _two("jain_fi", "X1", JAIN)),
    ("figure8", "Figure 8: intra-protocol fairness",
     "In the paper HSTCP, TCP-SACK and STCP are the least fair without background; with background, all algorithms "
     "except FAST are very fair.",
     _two("jain_fi", "X2", JAIN)),
    ("figure9", "Figure 9: convergence time",
     "Time until the second flow's throughput reaches 80 % of the first flow's throughput; 1070 s if this does not "
     "happen in the run. In the paper BIC and CUBIC need up to 150 s without background, HSTCP mostly never reaches "
     "80 %, and FAST needs longer with background.",
     _two("convergence_time_s", "X2", "convergence time (s)")),
    ("figure7slow", "Section 4.5: TCP friendliness on 100 Mbit/s",
     "The paper has no figure; its text says that the effects are as in Figure 7 but stronger, most of all for "
     "HSTCP, CUBIC and BIC.",
     (Plan("(a) without background traffic", "jain_fi", Kind("X1", False, SLOW_RATE_MBPS), JAIN, SLOW_VARIANTS),
      Plan("(b) with background traffic", "jain_fi", Kind("X1", True, SLOW_RATE_MBPS), JAIN, SLOW_VARIANTS))),
)  # fmt: skip


def figures(runs: RunSet, setup: Setup) -> Sequence[Figure]:
    """Every figure whose runs exist."""
    suite = measurer(runs, setup)
    found: list[Figure] = []
    for name, title, caption, plans in FIGURES:
        panels = tuple(panel for plan in plans if (panel := _panel(suite, plan)).series)
        if panels:
            found.append(LineChart(name, title, caption, panels))
    return found


def _panel(suite: Suite, plan: Plan) -> LinePanel:
    label = OTHER_RTT_LABEL if plan.at.experiment == "X3" else RTT_LABEL
    return LinePanel(plan.letter, label, plan.y_label, tuple(_lines(suite, plan)))


def _lines(suite: Suite, plan: Plan) -> Iterator[Points]:
    rtts = OTHER_RTTS_MS if plan.at.experiment == "X3" else RTTS_MS
    for style, algorithm in enumerate(plan.algorithms):
        found: dict[int, Measurement] = {}
        for rtt in rtts:
            try:
                found[rtt] = value(suite, plan.metric, suite.setup.scenario(plan.at.case(algorithm, rtt)))
            except NotJudgedError:
                continue
        if found:
            yield points(TITLES[algorithm], found, style)


def points(name: str, found: dict[int, Measurement], style: int) -> Points:
    """A line through medians, with whiskers from the smallest to the largest value over seeds if there are several
    seeds."""
    several = max(len(item.sample) for item in found.values()) > 1
    return Points(
        name,
        list(found),
        [item.value() for item in found.values()],
        [min(item.sample) for item in found.values()] if several else (),
        [max(item.sample) for item in found.values()] if several else (),
        style,
    )
