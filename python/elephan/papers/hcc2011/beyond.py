"""A question beyond the paper: how HCC performs at 10 Gbit/s, on endpoints with the stack of current Linux, beside BBR,
BBR version 3 and CUBIC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.papers.hcc2011.setup import Setup
from elephan.papers.paper import Beyond
from elephan.report.charts import BarChart, BarPanel, Bars
from elephan.report.figures import Figure, Panel, Traces
from elephan.report.series import throughput_curve
from elephan.scenario import Scenario

ALGORITHMS = ("hcc", "cubic", "bbr", "bbr3")
TITLES = {"hcc": "HCC", "cubic": "CUBIC", "bbr": "BBR", "bbr3": "BBRv3"}
RIVALS = ALGORITHMS[1:]
BUFFERS = (20, 100)
"""Buffers of the bottleneck, percent of the BDP."""
RATE_GBPS = 10
RTT_MS = 100
DURATION_S = 60
LATE_S = 10
STEADY_S = (20.0, float(DURATION_S))
QUEUE_MS = 16
"""Queueing delay that corresponds to the paper's alpha, ms: 400 packets of 1000 B at 200 Mbit/s, 2000 at 1 Gbit/s."""
PACKET_BYTES = 9000
"""Jumbo frames, which hosts use at such rates; 52 bytes are headers."""


@dataclass(frozen=True)
class Today:
    """A path of 10 Gbit/s and 100 ms between endpoints with Linux's stack; ``scale`` divides the rate."""

    scale: int = 1

    @property
    def alpha(self) -> int:
        """HCC's alpha for a queueing delay of 16 ms, packets."""
        return round(RATE_GBPS * 1e9 / self.scale * QUEUE_MS / 1e3 / (8 * PACKET_BYTES))

    def scenario(self, title: str, flows: Sequence[Mapping[str, Any]], buffer: int) -> Scenario:
        """Flows over one bottleneck with a buffer in percent of the BDP."""
        return Scenario.dumbbell(
            flows,
            title=f"{title}, buffer {buffer} % of the BDP",
            rate=f"{RATE_GBPS * 1000 // self.scale} Mbit/s",
            rtt=f"{RTT_MS} ms",
            buffer=f"{buffer}% BDP",
            duration=f"{DURATION_S} s",
            measure={"from": f"{STEADY_S[0]:g} s", "to": f"{STEADY_S[1]:g} s"},
            stack={"base": "linux", "payload": f"{PACKET_BYTES - 52} B"},
            start_jitter="10 ms",
        )

    def flow(self, algorithm: str, position: int, start_s: int = 0) -> dict[str, Any]:
        """Table of one flow; HCC measures the propagation delay, as on a real host."""
        table: dict[str, Any] = {"name": f"{algorithm}-{position}", "algorithm": algorithm, "start": f"{start_s} s"}
        return table | ({"parameters": {"alpha": self.alpha}} if algorithm == "hcc" else {})

    def alone(self, algorithm: str, buffer: int) -> Scenario:
        """One flow."""
        return self.scenario(f"{TITLES[algorithm]} alone", [self.flow(algorithm, 1)], buffer)

    def against(self, rival: str, buffer: int) -> Scenario:
        """HCC and a rival that start together."""
        flows = [self.flow("hcc", 1), self.flow(rival, 2)]
        return self.scenario(f"HCC against {TITLES[rival]}", flows, buffer)

    def own_kind(self, algorithm: str) -> Scenario:
        """Two flows of one algorithm; the second starts 10 s later, when the first has filled its share of the
        queue."""
        flows = [self.flow(algorithm, 1), self.flow(algorithm, 2, LATE_S)]
        return self.scenario(f"two {TITLES[algorithm]}, one after the other", flows, 100)

    def reverse(self, algorithm: str) -> Scenario:
        """One flow whose ACKs are queued behind datagrams that fill the reverse path."""
        rate = f"{RATE_GBPS * 1000 // self.scale} Mbit/s"
        source = {"name": "back", "datagrams": {"rate": rate, "size": f"{PACKET_BYTES} B"}, "direction": "left"}
        return self.scenario(f"{TITLES[algorithm]} with a full reverse path", [self.flow(algorithm, 1), source], 100)


def beyond(setup: Setup) -> Beyond:
    """The question and its runs, at the scale of a set-up."""
    today = Today(setup.scale)
    groups = {
        "alone": ("one flow", {f"{a}, {b} %": today.alone(a, b) for b in BUFFERS for a in ALGORITHMS}),
        "rivals": ("HCC against others", {f"{r}, {b} %": today.against(r, b) for b in BUFFERS for r in RIVALS}),
        "own-kind": ("two of a kind", {a: today.own_kind(a) for a in ALGORITHMS}),
        "reverse": ("a full reverse path", {a: today.reverse(a) for a in ALGORITHMS}),
    }
    return Beyond(
        question="How does HCC perform at 10 Gbit/s and 100 ms, beside CUBIC, BBR and BBR version 3?",
        why=(
            "The paper stops at 1 Gbit/s and at the protocols of 2010, lets each flow know its propagation delay, "
            "and leaves a real environment to future work. Here packets are jumbo frames of 9000 B. HCC measures the "
            "propagation delay, and keeps a queue of 16 ms as in the paper."
        ),
        experiments={
            f"hcc2011.beyond.{name}": Experiment(f"hcc2011.beyond.{name}", f"beyond: {title}", "beyond", scenarios)
            for name, (title, scenarios) in groups.items()
        },
        figures=partial(_figures, today=today),
        answer=partial(_answer, today=today),
    )


def _rate(runs: Evidence, scenario: Scenario, flow: str) -> float:
    """Rate of a flow in equilibrium, Mbit/s."""
    return runs.values(scenario, "throughput_mbps", flow).sample[0]


def _link(runs: Evidence, scenario: Scenario, metric: str) -> float:
    return runs.values(scenario, metric, link="bottleneck").sample[0]


def _figures(runs: Evidence, today: Today) -> Sequence[Figure]:
    return [_lone_chart(runs, today), _rival_chart(runs, today), _kind_traces(runs, today)]


def _lone_chart(runs: Evidence, today: Today) -> BarChart:
    names = tuple(TITLES.values())
    fill, wait = [], []
    for color, buffer in enumerate(BUFFERS):
        scenarios = [today.alone(a, buffer) for a in ALGORITHMS]
        label = f"buffer {buffer} % of the BDP"
        fill.append(Bars(label, tuple(100 * _link(runs, s, "utilization") for s in scenarios), color=color))
        wait.append(Bars(label, tuple(_link(runs, s, "mean_queue_delay_ms") for s in scenarios), color=color))
    back = tuple(100 * _link(runs, today.reverse(a), "utilization") for a in ALGORITHMS)
    fill.append(Bars("buffer 100 %, full reverse path", back, color=2))
    return BarChart(
        "beyond-alone",
        "One flow at 10 Gbit/s and 100 ms" if today.scale == 1 else "One flow at 1 Gbit/s and 100 ms",
        "Utilization of the link, and mean wait of packets, from 20 s on.",
        (
            BarPanel("use of the link", "utilization (%)", names, tuple(fill)),
            BarPanel("queue", "mean wait at the bottleneck (ms)", names, tuple(wait)),
        ),
    )


def _rival_chart(runs: Evidence, today: Today) -> BarChart:
    panels = []
    for buffer in BUFFERS:
        scenarios = {rival: today.against(rival, buffer) for rival in RIVALS}
        own = tuple(_rate(runs, s, "hcc-1") for s in scenarios.values())
        others = tuple(_rate(runs, s, f"{rival}-2") for rival, s in scenarios.items())
        groups = tuple(f"HCC and {TITLES[rival]}" for rival in RIVALS)
        title = f"buffer {buffer} % of the BDP"
        panels.append(
            BarPanel(title, "throughput (Mbit/s)", groups, (Bars("HCC", own), Bars("the other", others, color=1)))
        )
    return BarChart("beyond-rivals", "HCC beside one flow of another kind", "From 20 s on.", tuple(panels))


def _kind_traces(runs: Evidence, today: Today) -> Traces:
    panels = []
    for algorithm in ALGORITHMS:
        run = runs.first(today.own_kind(algorithm))
        if run is not None:
            flows = [f"{algorithm}-{n}" for n in (1, 2)]
            curves = tuple(throughput_curve(run, flow, flow, color) for color, flow in enumerate(flows))
            panels.append(Panel(f"two {TITLES[algorithm]} flows", "rate (Mbit/s)", curves))
    return Traces(
        "beyond-own-kind", "Two flows of one algorithm, the second 10 s later", "Rates in bins of 1 s.", tuple(panels)
    )


def _answer(runs: Evidence, today: Today) -> Sequence[str]:
    return [*_filling(runs, today), *_sharing(runs, today), *_own_kind(runs, today), *_on_the_way_back(runs, today)]


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{TITLES[name]} {text}" for name, text in values.items())


def _filling(runs: Evidence, today: Today) -> Sequence[str]:
    lines = []
    for buffer in BUFFERS:
        scenarios = {a: today.alone(a, buffer) for a in ALGORITHMS}
        use = {a: f"{100 * _link(runs, s, 'utilization'):.1f} %" for a, s in scenarios.items()}
        wait = {a: f"{_link(runs, s, 'mean_queue_delay_ms'):.1f} ms" for a, s in scenarios.items()}
        lines.append(
            f"Utilization of the link by a lone flow, with a buffer of {buffer} % of the BDP: {_listed(use)}; "
            f"mean wait of packets: {_listed(wait)}."
        )
    return lines


def _sharing(runs: Evidence, today: Today) -> Sequence[str]:
    lines = []
    for buffer in BUFFERS:
        shares = {}
        for rival in RIVALS:
            scenario = today.against(rival, buffer)
            own, other = _rate(runs, scenario, "hcc-1"), _rate(runs, scenario, f"{rival}-2")
            shares[rival] = f"{100 * own / (own + other):.0f} %"
        lines.append(
            f"HCC's share beside one other flow, with a buffer of {buffer} % of the BDP: beside {_listed(shares)}."
        )
    return lines


def _own_kind(runs: Evidence, today: Today) -> Sequence[str]:
    shares = {}
    for algorithm in ALGORITHMS:
        scenario = today.own_kind(algorithm)
        first, second = (_rate(runs, scenario, f"{algorithm}-{n}") for n in (1, 2))
        shares[algorithm] = f"{100 * second / (first + second):.0f} %"
    return [f"Share of the second of two flows of one algorithm, 10 s later, from 20 s on: {_listed(shares)}."]


def _on_the_way_back(runs: Evidence, today: Today) -> Sequence[str]:
    kept = {}
    for algorithm in ALGORITHMS:
        alone = _link(runs, today.alone(algorithm, 100), "utilization")
        kept[algorithm] = f"{100 * _link(runs, today.reverse(algorithm), 'utilization') / alone:.0f} %"
    return [f"Utilization with a reverse path full of datagrams, relative to that without: {_listed(kept)}."]
