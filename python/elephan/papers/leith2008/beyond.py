"""A question that the paper left open: very high speeds. The paper's hosts were overloaded at 1 Gbit/s (§VIII.C).

Three experiments are repeated from 100 Mbit/s to 10 Gbit/s: one flow after an interruption (Figure 1), one flow alone
(Figure 3), and two flows, one of which starts later (Figures 4 and 5). The RTT is 100 ms, the buffer one
bandwidth-delay product, and the stack is current Linux with packets of 9000 B: the BDP at 10 Gbit/s is 13,889 packets.
With packets of 1500 B, algorithms that add a fixed number of packets in each round trip need six times as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.wording import number
from elephan.papers.leith2008.setup import Setup
from elephan.papers.paper import Beyond
from elephan.report.charts import LineChart, LinePanel, Points
from elephan.report.figures import Figure
from elephan.scenario import Scenario

ALGORITHMS = {
    "reno": ("reno:linux", "Reno"),
    "ctcp": ("compound", "Compound TCP"),
    "illinois": ("illinois:linux", "TCP Illinois"),
    "htcp": ("htcp:linux", "H-TCP"),
    "cubic": ("cubic:linux", "CUBIC"),
}
RATES_MBPS = (100, 1000, 10_000)
RTT_MS = 100
PACKET_BYTES = 9000
HURT_S, HURT_END_S = 60, 65
SECOND_S = 60
RUN_S = 400
ALONE_S = {100: 1600, 1000: 1600, 10_000: 600}
SEEDS = 2


def beyond(setup: Setup) -> Beyond:
    """The question and its runs, at the scale of a set-up."""
    scale = setup.scale
    return Beyond(
        question="How do recovery, congestion epochs, convergence and fairness change up to 10 Gbit/s?",
        why=(
            "the paper found irregular behavior of all algorithms at 1 Gbit/s, suspected its hosts as the cause, and "
            "asked its readers to extrapolate; a simulation has no such hosts"
        ),
        experiments={experiment.id: experiment for experiment in _experiments(scale)},
        figures=lambda runs: _figures(Answers(runs, scale)),
        answer=lambda runs: list(_answer(Answers(runs, scale))),
    )


def _experiments(scale: int) -> Iterator[Experiment]:
    rows = [("hurt", "after 5 s of datagrams", 1), ("alone", "one flow alone", 1), ("pair", "a second flow", SEEDS)]
    for kind, title, seeds in rows:
        scenarios = [scenario(kind, name, rate, scale) for rate in RATES_MBPS for name in ALGORITHMS]
        labelled = {str(one.title): one for one in scenarios}
        yield Experiment(
            f"leith2008.fast.{kind}", f"very high speeds: {title}", "beyond the paper", labelled,
            seeds if scale == 1 else 1,
        )  # fmt: skip


@lru_cache(maxsize=256)
def scenario(kind: str, algorithm: str, mbps: int, scale: int = 1) -> Scenario:
    """The scenario of one kind: one interrupted flow (``hurt``), one flow ``alone``, or a ``pair`` of flows, the second
    of which starts later."""
    preset, title = ALGORITHMS[algorithm]
    rate = f"{mbps / scale:g} Mbit/s"
    flows: list[dict[str, Any]] = [{"name": f"{algorithm}-1", "algorithm": preset}]
    if kind == "hurt":
        burst = {"rate": rate, "size": f"{PACKET_BYTES} B"}
        flows.append({"name": "udp", "start": f"{HURT_S} s", "stop": f"{HURT_END_S} s", "datagrams": burst})
    elif kind == "pair":
        flows.append({"name": f"{algorithm}-2", "algorithm": preset, "start": f"{SECOND_S} s"})
    return Scenario.dumbbell(
        flows,
        title=f"{title}, {_KINDS[kind]}, {rate}",
        rate=rate,
        rtt=f"{RTT_MS} ms",
        buffer="1 BDP",
        duration=f"{ALONE_S[mbps] if kind == 'alone' else RUN_S} s",
        measure={"from": f"{SECOND_S} s"},
        start_jitter="100 ms",
        stack={"base": "linux", "payload": f"{PACKET_BYTES - 52} B"},
    )


_KINDS = {"hurt": "interrupted", "alone": "alone", "pair": "two flows"}


# ---- measured ----


class Measure(NamedTuple):
    """A quantity of an algorithm at a rate: a median over seeds, ``None`` if nothing was measured.

    Attributes:
        kind: the kind of the scenario.
        metric: the metric, of the first flow or of the run.
        label: the quantity with its unit.
        words: the quantity in a sentence about how long it takes; empty for an index.
        of_flow: true for a metric of the first flow.
        window: measured time, s; by default the measurement window.
    """

    kind: str
    metric: str
    label: str
    words: str = ""
    of_flow: bool = False
    window: tuple[float, float] | None = None


RECOVERY = Measure(
    "hurt", "recovery_time_s", "recovery time (s)", "Recovery from an interruption", True, (float(HURT_S), float(RUN_S))
)
"""Time from the interruption until the link is full again; infinite if it never is during the run."""
EPOCH = Measure("alone", "epoch_duration_s", "congestion epoch (s)", "A congestion epoch", True)
CONVERGENCE = Measure("pair", "convergence_cwnd_time_s", "convergence time (s)", "Convergence of a second flow")
"""Time until the second flow's window is 80 % of the first flow's; infinite if this never happens during the run."""
FAIRNESS = Measure("pair", "jain_fi", "Jain's index of two flows")
"""From the start of the second flow on."""


@dataclass(frozen=True)
class Answers:
    """Measured values in the runs of a scale."""

    runs: Evidence
    scale: int

    def of(self, measure: Measure, algorithm: str) -> dict[int, float]:
        """The values of an algorithm by rate."""
        flow = f"{algorithm}-1" if measure.of_flow else None
        scenarios = {mbps: scenario(measure.kind, algorithm, mbps, self.scale) for mbps in RATES_MBPS}
        found = self.runs.of_each(scenarios, measure.metric, flow, measure.window)
        return {mbps: one.value() for mbps, one in found.items()}


def _figures(answers: Answers) -> Sequence[Figure]:
    panels = []
    for measure in (RECOVERY, EPOCH, CONVERGENCE, FAIRNESS):
        series = []
        for style, (name, (_, title)) in enumerate(ALGORITHMS.items()):
            known = {rate: value for rate, value in answers.of(measure, name).items() if math.isfinite(value)}
            if known:
                series.append(
                    Points(title, [rate / 1e3 / answers.scale for rate in known], list(known.values()), style=style)
                )
        if series:
            log_y = measure is not FAIRNESS
            panels.append(LinePanel("", "rate (Gbit/s)", measure.label, tuple(series), log_x=True, log_y=log_y))
    if not panels:
        return []
    caption = (
        f"RTT {RTT_MS} ms, a buffer of one BDP, packets of {PACKET_BYTES} B, today's Linux. A missing point takes "
        f"longer than its run: {RUN_S} s, for epochs {ALONE_S[1000]} s and at 10 Gbit/s {ALONE_S[10_000]} s."
    )
    return [LineChart("very-high-speeds", "Very high speeds: from 100 Mbit/s to 10 Gbit/s", caption, tuple(panels))]


# ---- sentences ----


def _answer(answers: Answers) -> Iterator[str]:
    top, low = RATES_MBPS[-1], RATES_MBPS[0]
    fast = _rate(top, answers.scale)
    for measure in (RECOVERY, EPOCH, CONVERGENCE):
        found = {title: answers.of(measure, name) for name, (_, title) in ALGORITHMS.items()}
        parts = [f"{title} {_said(values.get(top))}" for title, values in found.items()]
        yield f"{measure.words} at {fast} takes: {', '.join(parts)}."
        growth = []
        for title, values in found.items():
            before, after = values.get(low), values.get(low * 10)
            if before and after and math.isfinite(before) and math.isfinite(after):
                growth.append(f"{title} {number(after / before)} times as long")
        rates = f"{_rate(low * 10, answers.scale)} instead of {_rate(low, answers.scale)}"
        yield f"{measure.words} at ten times the rate, {rates}, takes: {', '.join(growth) or 'unknown'}."
    shares = {title: answers.of(FAIRNESS, name) for name, (_, title) in ALGORITHMS.items()}
    known = {title: values[top] for title, values in shares.items() if top in values}
    if known:
        parts = [f"{title} {number(known[title])}" for title in sorted(known, key=known.__getitem__, reverse=True)]
        yield f"Jain's index of two flows at {fast} from the second's start on: {', '.join(parts)}."


def _rate(mbps: int, scale: int) -> str:
    value = mbps / scale
    return f"{number(value / 1e3)} Gbit/s" if value >= 1000 else f"{number(value)} Mbit/s"


def _said(value: float | None) -> str:
    if value is None:
        return "longer than can be seen in its run"
    return f"{number(value)} s" if math.isfinite(value) else "not within the run"
