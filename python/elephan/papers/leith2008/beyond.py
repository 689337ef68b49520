"""A question that the paper left open: very high speeds. The paper's hosts were overloaded at 1 Gbit/s (§VIII.C).

Three experiments are repeated from 100 Mbit/s to 10 Gbit/s: one flow after an interruption (Figure 1), one flow alone
(Figure 3), and two flows, one of which starts later (Figures 4 and 5). The RTT is 100 ms, the buffer one
bandwidth-delay product, and the stack is current Linux with packets of 9000 B: the BDP at 10 Gbit/s is 13,889 packets.
With packets of 1500 B, algorithms that add a fixed number of packets in each round trip need six times as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.measurement import NotJudgedError
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


class Answers:
    """Measured values by algorithm and rate: medians over seeds, ``None`` if nothing was measured."""

    def __init__(self, runs: Evidence, scale: int) -> None:
        self._runs = runs
        self.scale = scale

    def recovery_s(self, algorithm: str, mbps: int) -> float | None:
        """Time from the interruption until the link is full again, s; infinite if it is never full again during the
        run."""
        return self._median("hurt", algorithm, mbps, "recovery_time_s", True, (float(HURT_S), float(RUN_S)))

    def epoch_s(self, algorithm: str, mbps: int) -> float | None:
        """Mean congestion epoch of a lone flow, s; ``None`` if the run has too few epochs."""
        return self._median("alone", algorithm, mbps, "epoch_duration_s", True)

    def convergence_s(self, algorithm: str, mbps: int) -> float | None:
        """Time until the second flow's window is 80 % of the first flow's window, s; infinite if this never happens
        during the run."""
        return self._median("pair", algorithm, mbps, "convergence_cwnd_time_s", False)

    def fairness(self, algorithm: str, mbps: int) -> float | None:
        """Jain's index of the two flows from the start of the second flow on."""
        return self._median("pair", algorithm, mbps, "jain_fi", False)

    def _median(
        self,
        kind: str,
        algorithm: str,
        mbps: int,
        metric: str,
        of_flow: bool,
        window: tuple[float, float] | None = None,
    ) -> float | None:
        flow = f"{algorithm}-1" if of_flow else None
        try:
            return self._runs.values(scenario(kind, algorithm, mbps, self.scale), metric, flow, window).value()
        except NotJudgedError:
            return None


_MEASURED = (
    (Answers.recovery_s, "recovery time (s)"), (Answers.epoch_s, "congestion epoch (s)"),
    (Answers.convergence_s, "convergence time (s)"), (Answers.fairness, "Jain's index of two flows"),
)  # fmt: skip


def _figures(answers: Answers) -> Sequence[Figure]:
    panels = []
    for measure, label in _MEASURED:
        series = []
        for style, (name, (_, title)) in enumerate(ALGORITHMS.items()):
            found = {rate: measure(answers, name, rate) for rate in RATES_MBPS}
            known = {rate: value for rate, value in found.items() if value is not None and math.isfinite(value)}
            if known:
                series.append(
                    Points(title, [rate / 1e3 / answers.scale for rate in known], list(known.values()), style=style)
                )
        if series:
            log_y = measure is not Answers.fairness
            panels.append(LinePanel("", "rate (Gbit/s)", label, tuple(series), log_x=True, log_y=log_y))
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
    for measure, words in (
        (Answers.recovery_s, "Recovery from an interruption"), (Answers.epoch_s, "A congestion epoch"),
        (Answers.convergence_s, "Convergence of a second flow"),
    ):  # fmt: skip
        parts = [f"{title} {_said(measure(answers, name, top))}" for name, (_, title) in ALGORITHMS.items()]
        yield f"{words} at {fast} takes: {', '.join(parts)}."
        growth = []
        for name, (_, title) in ALGORITHMS.items():
            before, after = measure(answers, name, low), measure(answers, name, low * 10)
            if before and after and math.isfinite(before) and math.isfinite(after):
                growth.append(f"{title} {number(after / before)} times as long")
        rates = f"{_rate(low * 10, answers.scale)} instead of {_rate(low, answers.scale)}"
        yield f"{words} at ten times the rate, {rates}, takes: {', '.join(growth) or 'unknown'}."
    shares = {title: answers.fairness(name, top) for name, (_, title) in ALGORITHMS.items()}
    known = {title: value for title, value in shares.items() if value is not None}
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
