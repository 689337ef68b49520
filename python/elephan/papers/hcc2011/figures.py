"""The figures of hcc2011 in its own layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from statistics import median
from typing import Any

from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import NotJudgedError
from elephan.papers import printed
from elephan.papers.claims import ClaimSet
from elephan.papers.hcc2011.setup import (
    ALL_SETTINGS,
    BUFFERS,
    FRIENDLY_BUFFERS,
    HIGH_SPEED,
    LOSSES,
    PROTOCOLS,
    REVERSE,
    SETTINGS,
    TITLES,
    Setup,
    queue_links,
)
from elephan.papers.loading import along, claims
from elephan.report.charts import BarChart, BarPanel, Bars, LineChart, LinePanel, Points
from elephan.report.figures import Curve, Figure, Panel, Traces
from elephan.report.series import flow_curve, throughput_curve
from elephan.scenario import Scenario

THROUGHPUT = "average throughput (Mbit/s)"
RATE = "rate (Mbit/s)"
Sample = tuple[float, ...]


def figures(runs: RunSet, setup: Setup) -> Sequence[Figure]:
    """Every figure whose runs exist, in the paper's order."""
    return list(_figures(Drawing(runs, setup, claims("hcc2011"))))


def _figures(drawing: Drawing) -> Iterator[Figure]:
    for draw in (
        drawing.buffers, drawing.losses, drawing.alone_over_time, drawing.three_equal,
        drawing.pairs_over_time, drawing.three_over_time, drawing.friendliness, drawing.reverse_buffers,
        drawing.reverse_over_time, drawing.reverse_loads, drawing.reverse_sizes,
    ):  # fmt: skip
        try:
            yield from draw()
        except NotJudgedError:
            continue


class Drawing:
    """Draws from the runs of one setup; a figure with a missing run is not drawn."""

    def __init__(self, runs: RunSet, setup: Setup, claims: ClaimSet) -> None:
        self._runs = runs
        self._setup = setup
        self._claims = claims

    # ---- values ----

    def _sample(self, scenario: Scenario, metric: str, flow: str | None = None) -> Sample:
        """One value for each seed, at the paper's scale, in ascending order."""
        scale = 1 if metric == "jain_fi" else self._setup.scale
        found: list[Any] = []
        for run in self._runs.of(scenario):
            if metric == "mean_queue_pkts":
                found.append(sum(self._runs.metric(run, metric, link=link) for link in queue_links(scenario)))
            else:
                found.append(self._runs.metric(run, metric))
        return tuple(sorted(scale * float(value if flow is None else value[flow]) for value in found))

    def _throughput(self, scenario: Scenario, flow: str) -> Sample:
        return self._sample(scenario, "throughput_mbps", flow)

    def _points(
        self,
        protocol: str,
        x: Sequence[float],
        scenario: Callable[[Any], Scenario],
        metric: str = "throughput_mbps",
        name: str = "",
        style: int | None = None,
    ) -> Points:
        """A metric of a protocol's first flow over a parameter."""
        flow = None if metric == "mean_queue_pkts" else f"{protocol}-1"
        samples = [self._sample(scenario(value), metric, flow) for value in x]
        several = any(len(sample) > 1 for sample in samples)
        return Points(
            name or TITLES[protocol],
            tuple(x),
            tuple(_digits(median(sample)) for sample in samples),
            tuple(_digits(sample[0]) for sample in samples) if several else (),
            tuple(_digits(sample[-1]) for sample in samples) if several else (),
            PROTOCOLS.index(protocol) if style is None else style,
        )

    def _printed(self, section: str, metric: str, parameter: str) -> Iterator[Points]:
        """The numbers that the paper prints for a figure, drawn as stars."""
        for protocol, found in printed.along(self._claims, section, metric, parameter).items():
            style = PROTOCOLS.index(protocol)
            name = f"{TITLES[protocol]}, published"
            yield Points(name, tuple(found), tuple(found.values()), style=style, drawn="published")

    # ---- one flow ----

    def buffers(self) -> Iterator[Figure]:
        """Figs 6 and 7."""
        label = "buffer size (packets)"
        for number, metric, what in (
            (6, "throughput_mbps", THROUGHPUT),
            (7, "mean_queue_pkts", "mean queue (packets)"),
        ):
            series = tuple(self._points(p, BUFFERS, partial(self._setup.lone, p), metric) for p in PROTOCOLS)
            series += tuple(self._printed(f"Fig {number}", metric, "buffer_pkts"))
            name = "throughput" if number == 6 else "mean queue"
            yield LineChart(
                f"figure{number:02}",
                f"Figure {number}: {name} against buffer size",
                "One flow of 300 s. In the paper FAST's throughput falls with buffers below 400 packets, and HCC's "
                "is nearly constant."
                if number == 6
                else "One flow of 300 s; packets waiting along the path. In the paper the queue of the loss-based "
                "protocols grows with the buffer; a star is a number that the paper prints.",
                (LinePanel("", label, what, series),),
            )

    def losses(self) -> Iterator[Figure]:
        """Fig 8."""
        panels = []
        for letter, buffer in (("a", 200), ("b", 2000)):
            series = tuple(self._points(p, sorted(LOSSES), partial(self._setup.lone, p, buffer)) for p in PROTOCOLS)
            panels.append(LinePanel(f"({letter}) {buffer} packets", "packet loss probability", THROUGHPUT, series))
        yield LineChart(
            "figure08",
            "Figure 8: throughput against random losses",
            "One flow; medians over seeds, and the range over seeds. In the paper HCC keeps a high throughput, and "
            "FAST is far below the others with 200 packets.",
            tuple(panels),
        )

    def alone_over_time(self) -> Iterator[Figure]:
        """Fig 9."""
        panels = [
            self._rates(f"({letter}) {buffer} packets", self._setup.lone("hcc", buffer), {"hcc-1": TITLES["hcc"]})
            for letter, buffer in (("a", 200), ("b", 600))
        ]
        yield Traces("figure09", "Figure 9: rate of HCC TCP", "Rates in bins of 1 s.", tuple(panels))

    def _rates(self, title: str, scenario: Scenario, flows: dict[str, str], first_color: int = 0) -> Panel:
        run = self._runs.first(scenario)
        if run is None:
            raise NotJudgedError("the run is not part of this selection")
        curves = [throughput_curve(run, flow, name, first_color + i) for i, (flow, name) in enumerate(flows.items())]
        return Panel(title, RATE, tuple(_scaled(curve, self._setup.scale) for curve in curves))

    # ---- several flows ----

    def three_equal(self) -> Iterator[Figure]:
        """Fig 10."""
        panels = []
        for letter, buffer in (("a", 600), ("b", 2000)):
            panels.append(
                self._bars(
                    f"({letter}) {buffer} packets",
                    {p: self._setup.equal(p, buffer) for p in HIGH_SPEED},
                    {f"user {n}": "{}" + f"-{n}" for n in (1, 2, 3)},
                )
            )
        yield BarChart(
            "figure10",
            "Figure 10: throughput of three users with an RTT of 120 ms",
            "Medians over seeds, and the range over seeds. In the paper all protocols are fair with 2000 packets, "
            "and STCP, Illinois and FAST are not fair with 600 packets.",
            tuple(panels),
        )

    def _bars(self, title: str, scenarios: dict[str, Scenario], flows: dict[str, str]) -> BarPanel:
        series = []
        for color, (name, flow) in enumerate(flows.items()):
            samples = [self._throughput(scenario, flow.format(p)) for p, scenario in scenarios.items()]
            series.append(
                Bars(
                    name,
                    tuple(_digits(median(sample)) for sample in samples),
                    tuple(_digits(sample[0]) for sample in samples),
                    tuple(_digits(sample[-1]) for sample in samples),
                    color,
                )
            )
        return BarPanel(title, THROUGHPUT, tuple(TITLES[p] for p in scenarios), tuple(series))

    def pairs_over_time(self) -> Iterator[Figure]:
        """Fig 11."""
        panels = []
        for letter, rtts_ms in (("a", (120, 120)), ("b", (60, 120))):
            names = {f"hcc-{n}": f"user {n} ({rtt} ms)" for n, rtt in enumerate(rtts_ms, start=1)}
            panels.append(
                self._rates(f"({letter}) RTTs of {rtts_ms[0]} and {rtts_ms[1]} ms", self._setup.pair(*rtts_ms), names)
            )
        yield Traces(
            "figure11",
            "Figure 11: rates of two HCC users, 600 packets",
            "Rates in bins of 1 s. In the paper the flows with equal RTTs share evenly after 80 s; of the flows with "
            "different RTTs, the flow with the shorter RTT gets more.",
            tuple(panels),
        )

    def three_over_time(self) -> Iterator[Figure]:
        """Figs 12 and 13."""
        names = {f"hcc-{n}": f"user {n} ({rtt} ms)" for n, rtt in enumerate(self._setup.three_rtts_ms, start=1)}
        for number, gigabit in ((12, False), (13, True)):
            rate = "1 Gbit/s" if gigabit else "2000 packets"
            panel = self._rates("", self._setup.three(gigabit=gigabit), names)
            yield Traces(
                f"figure{number}",
                f"Figure {number}: rates of three HCC users, {rate}",
                "Rates in bins of 1 s.",
                (panel,),
            )

    def friendliness(self) -> Iterator[Figure]:
        """Fig 14."""
        flows = {
            "flow 1": "{}-1",
            "flow 2": "{}-2",
            "flow 3 (TCP Reno)": "reno-3",
            "flow 4 (TCP Reno)": "reno-4",
        }
        panels = tuple(
            self._bars(f"({letter}) {buffer} packets", {p: self._setup.friendly(p, buffer) for p in HIGH_SPEED}, flows)
            for letter, buffer in zip("abcd", FRIENDLY_BUFFERS.values(), strict=True)
        )
        yield BarChart(
            "figure14",
            "Figure 14: two flows of a protocol and two of TCP Reno",
            "Medians over seeds, and the range over seeds. In the paper Reno's throughput beside FAST and HCC grows "
            "with the buffer and equals theirs at 2000 packets, and Reno overtakes Illinois.",
            panels,
        )

    # ---- reverse traffic ----

    def reverse_buffers(self) -> Iterator[Figure]:
        """Fig 15."""
        setup, series = self._setup, []
        buffers = along("hcc2011", "F15", "buffer_pkts", quick=setup.scale > 1)
        for position, (protocol, on) in enumerate(product(REVERSE, SETTINGS)):
            scenario = partial(setup.reverse, protocol, on_off=on)
            name = f"{TITLES[protocol]}, {on:g}"
            series.append(self._points(protocol, buffers, scenario, name=name, style=position))
        yield LineChart(
            "figure15",
            "Figure 15: throughput against buffer size with reverse traffic",
            "The reverse source is on for 0.9 of the time, or always.",
            (LinePanel("", "buffer size (packets)", THROUGHPUT, tuple(series)),),
        )

    def reverse_over_time(self) -> Iterator[Figure]:
        """Figs 16 and 17."""
        setup = self._setup
        shown = (
            ("FAST TCP without reverse traffic", setup.lone("fast", 2000), "fast-1"),
            ("FAST TCP with reverse traffic", setup.reverse("fast"), "fast-1"),
            ("HCC TCP with reverse traffic", setup.reverse("hcc"), "hcc-1"),
        )
        windows = []
        for color, (name, scenario, flow) in enumerate(shown):
            run = self._runs.first(scenario)
            if run is None:
                raise NotJudgedError("the run is not part of this selection")
            windows.append(_scaled(flow_curve(run, flow, "cwnd", name, color), setup.scale))
        yield Traces(
            "figure16",
            "Figure 16: windows with and without reverse traffic",
            "Buffers of 2000 packets in both directions; the reverse source is always on.",
            (Panel("", "window (packets)", tuple(windows)),),
        )
        curves: list[Curve] = []
        for color, (name, scenario, flow) in enumerate(shown):
            if "without" not in name:
                curves += self._rates("", scenario, {flow: name}, color).curves
        panel = Panel("", RATE, tuple(curves))
        yield Traces("figure17", "Figure 17: rates with reverse traffic", "Rates in bins of 1 s.", (panel,))

    def reverse_loads(self) -> Iterator[Figure]:
        """Fig 18."""
        label = "ON-OFF setting (fraction of the time that the source is on)"
        setup = self._setup
        series = [self._points(p, ALL_SETTINGS, partial(setup.reverse, p, 2000)) for p in REVERSE]
        yield _against(18, "reverse traffic load", label, series)

    def reverse_sizes(self) -> Iterator[Figure]:
        """Fig 19."""
        setup = self._setup
        series = [self._points(p, setup.sizes_bytes, partial(setup.reverse, p, 2000, 1.0)) for p in REVERSE]
        yield _against(19, "size of the reverse packets", "reverse packet size (bytes)", series)


def _against(number: int, what: str, label: str, series: Sequence[Points]) -> LineChart:
    return LineChart(
        f"figure{number}",
        f"Figure {number}: throughput against the {what}",
        "2000 packets either way.",
        (LinePanel("", label, THROUGHPUT, tuple(series)),),
    )


def _digits(value: float) -> float:
    """Round to five significant digits, more than a plot can resolve."""
    return float(f"{value:.5g}")


def _scaled(curve: Curve, factor: int) -> Curve:
    if factor == 1:
        return curve
    values = [None if value is None else factor * value for value in curve.values]
    return Curve(curve.name, curve.start, curve.step, values, curve.color)
