"""The figures of leith2008 in its own layout: windows and rates over time, ratios, bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import NotJudgedError
from elephan.papers import printed
from elephan.papers.claims import ClaimSet
from elephan.papers.leith2008 import setup as paths
from elephan.papers.leith2008.setup import TITLES, Line, Setup, lone
from elephan.papers.loading import claims
from elephan.report.charts import BarChart, BarPanel, Bars, LineChart, LinePanel, Points
from elephan.report.figures import Curve, Figure, Panel, Traces
from elephan.report.series import flow_curve, throughput_curve
from elephan.scenario import Scenario

CWND = "cwnd (packets)"
RATE = "throughput (Mbit/s)"
CASES = {
    1: "no cross traffic",
    2: "10 % cross traffic",
    3: "cross traffic and a reverse flow",
    4: "cross traffic and 5 Mbit/s of 52 B packets",
}
_COLORS = {"reno": 0, "ctcp": 1, "illinois": 2, "cubic": 3, "aimd_a0.3": 0, "aimd_a10": 4}


def figures(runs: RunSet, setup: Setup) -> Sequence[Figure]:
    """Every figure whose runs exist."""
    draw = _Drawing(runs, setup, claims("leith2008"))
    parts: list[Callable[[], Iterator[Figure]]] = [
        draw.recovery, draw.reverse, draw.epochs, draw.newcomers, draw.rtts, draw.friendly, draw.cases,
        draw.misled, draw.overestimated, draw.response,
    ]  # fmt: skip
    return [figure for part in parts for figure in part()]


class _Drawing:
    def __init__(self, runs: RunSet, setup: Setup, claims: ClaimSet) -> None:
        self._claims = claims
        self._runs = runs
        self._setup = setup

    # ---- over time ----

    def _panels(self, rows: Sequence[tuple[str, Scenario, Sequence[tuple[str, str]], str]]) -> tuple[Panel, ...]:
        """Panels of (title, scenario, flows with their names, quantity shown); panels whose scenarios were not run
        are left out."""
        panels = []
        for title, scenario, flows, what in rows:
            run = self._runs.first(scenario)
            if run is None:
                continue
            curves: list[Curve] = []
            for color, (flow, name) in enumerate(flows):
                curves.append(
                    throughput_curve(run, flow, name, color)
                    if what == RATE
                    else flow_curve(run, flow, "cwnd", name, color)
                )
            panels.append(Panel(title, what, tuple(curves)))
        return tuple(panels)

    def _traces(
        self, name: str, title: str, caption: str, rows: Sequence[tuple[str, Scenario, Sequence[tuple[str, str]], str]]
    ) -> Iterator[Traces]:
        panels = self._panels(rows)
        if panels:
            yield Traces(name, title, caption, panels)

    def recovery(self) -> Iterator[Figure]:
        """Figure 1."""
        rows = [
            (TITLES[name], paths.recovery(self._setup, name), [(name, TITLES[name])], what)
            for name in ("illinois", "ctcp")
            for what in (RATE, CWND)
        ]
        caption = (
            "400 Mbit/s, 200 ms, a buffer of one BDP; datagrams at the link's rate from 100 s to 105 s. In the paper "
            "Illinois takes some 150 s to fill the link again and Compound in Linux some 60 s."
        )
        yield from self._traces("figure1", "Figure 1: response to an interruption at 100 s", caption, rows)

    def reverse(self) -> Iterator[Figure]:
        """Figure 2."""
        rows = [
            (f"({letter}) {TITLES[name]}", paths.reverse_traffic(self._setup, name), [(name, TITLES[name])], CWND)
            for letter, name in (("a", "illinois"), ("b", "ctcp"))
        ]
        caption = (
            "One flow over 250 Mbit/s and 100 ms; from 25 s on, a connection of 5 s starts on the reverse path every "
            "6 s. In the paper Illinois takes some 60 s to fill the link after the loss at 25 s, and Compound some "
            "200 s."
        )
        yield from self._traces("figure2", "Figure 2: behaviour with reverse path traffic", caption, rows)

    def epochs(self) -> Iterator[Figure]:
        """Figure 3 as one figure for each rate, since the rates have very different time scales."""
        for letter, line in (("a", paths.F3A), ("b", paths.F3B)):
            scenario = lone(self._setup, "illinois", line)
            rows = [(f"{line.mbps:g} Mbit/s, 100 ms", scenario, [("illinois", TITLES["illinois"])], CWND)]
            caption = "A buffer of one BDP. In the paper an epoch at 250 Mbit/s takes some 600 s, on a concave path."
            title = f"Figure 3: Illinois' congestion epochs at {line.mbps:g} Mbit/s"
            yield from self._traces(f"figure3{letter}", title, caption, rows)

    def newcomers(self) -> Iterator[Figure]:
        """Figures 4, 5, 6 and 13."""
        rows_of: tuple[tuple[str, str, Line, tuple[float, float], str], ...] = (
            ("4", "illinois", paths.F3B, paths.late(self._setup), "In the paper the second flow takes some 300 s at "
             "best, and the flows diverge again if a flow misses a loss."),
            ("5", "ctcp", paths.F5, paths.F5_TIMES_S, "The second flow starts at 100 s. In the paper (Vista) the "
             "convergence takes as long as with Reno."),
            ("6", "ctcp", paths.F6, paths.F6_TIMES_S, "A buffer of 0.1 BDP. In the paper (Vista) the flows are not "
             "equal after 300 s."),
            ("13", "ctcp", paths.F13, paths.F5_TIMES_S, "In the paper (Vista) the second flow grows more slowly than "
             "the first, which is an error of that implementation; here both flows follow the rule."),
        )  # fmt: skip
        for number, algorithm, line, times, caption in rows_of:
            scenario = paths.newcomer(self._setup, algorithm, line, *times)
            flows = [(f"{algorithm}-{flow}", f"{TITLES[algorithm]}, flow {flow}") for flow in (1, 2)]
            where = f"{line.mbps:g} Mbit/s, {line.rtt_ms} ms, {line.buffer} packets"
            rows = [(where, scenario, flows, CWND)]
            if number == "4":
                rows.append(("", scenario, flows, RATE))
            title = f"Figure {number}: two {TITLES[algorithm]} flows"
            yield from self._traces(f"figure{number}", title, caption, rows)

    def friendly(self) -> Iterator[Figure]:
        """Figures 8 and 9: rates above, windows below."""
        for number, algorithm in (("8", "illinois"), ("9", "ctcp")):
            for letter in "ab":
                name = f"F{number}{letter}"
                line = paths.F8A if letter == "a" else paths.F8B
                scenario = paths.against_reno(self._setup, algorithm, name, overestimate=name == "F8a")
                flows = [(algorithm, TITLES[algorithm]), ("reno", TITLES["reno"])]
                where = f"{line.mbps:g} Mbit/s, {line.rtt_ms} ms, {line.buffer} packets"
                means = printed.single(self._claims, f"Fig {number}({letter})", "throughput_mbps")
                caption = (
                    f"The dashed lines are the paper's means: {means[algorithm]:g} Mbit/s for {TITLES[algorithm]} and "
                    f"{means['reno']:g} Mbit/s for Reno."
                )
                if name == "F8a":
                    caption += " Illinois over-estimates the largest RTT, as the paper suspects for its own run."
                rows = [(where, scenario, flows, RATE), ("", scenario, flows, CWND)]
                title = f"Figure {number}({letter}): {TITLES[algorithm]} beside Reno"
                for figure in self._traces(f"figure{number}{letter}", title, caption, rows):
                    yield _with_means(figure, flows, {name: mbps / self._setup.scale for name, mbps in means.items()})

    def misled(self) -> Iterator[Figure]:
        """Figure 11."""
        rows = []
        for name in ("ctcp", "illinois"):
            flows = [(f"{name}-1", "base RTT right"), (f"{name}-2", "base RTT 20 ms too long")]
            rows.append((TITLES[name], paths.misled(self._setup, name), flows, CWND))
        caption = "150 Mbit/s, 100 ms, a buffer of 1.6 BDP. In the paper both algorithms stay reasonably fair."
        yield from self._traces("figure11", "Figure 11: errors of the base RTT", caption, rows)

    def overestimated(self) -> Iterator[Figure]:
        """Figure 12."""
        scenario = paths.against_reno(self._setup, "illinois", "F12", overestimate=True)
        flows = [("illinois", TITLES["illinois"]), ("reno", TITLES["reno"])]
        rows = [("400 Mbit/s, 120 ms, 1 BDP", scenario, flows, CWND)]
        caption = "The largest queueing delay is over-estimated tenfold. In the paper Illinois is very unfair to Reno."
        yield from self._traces("figure12", "Figure 12: Illinois with too large a largest RTT", caption, rows)

    # ---- over seeds ----

    def _over_seeds(
        self, scenario: Scenario, metric: str, flow: str | None = None, scale: float = 1.0
    ) -> tuple[float, float, float] | None:
        """Median, smallest and largest value over the replicates; ``None`` if there is no replicate."""
        try:
            found = [self._runs.metric(run, metric) for run in self._runs.of(scenario)]
        except NotJudgedError:
            return None
        values = [scale * float(value if flow is None else value[flow]) for value in found]
        return median(values), min(values), max(values)

    def rtts(self) -> Iterator[Figure]:
        """Figure 7."""
        panels = []
        for buffer in paths.F7_BUFFERS:
            series = []
            for name in ("reno", "ctcp", "illinois"):
                row = {
                    rtt: self._over_seeds(paths.rtt_pair(self._setup, name, rtt, buffer), "throughput_ratio")
                    for rtt in paths.F7_RTTS_MS
                }
                known = {rtt: value for rtt, value in row.items() if value is not None}
                if known:
                    # The metric is the ratio of flow 1 to flow 2; the figure has the flow on the longer path in the
                    # numerator.
                    series.append(
                        Points(
                            TITLES[name], list(known), [1 / value[0] for value in known.values()],
                            [1 / value[2] for value in known.values()], [1 / value[1] for value in known.values()],
                            _COLORS[name],
                        )
                    )  # fmt: skip
            if series:
                panels.append(
                    LinePanel(
                        f"buffer {buffer} ms", "RTT of flow 1 (ms)", "throughput of flow 2 over flow 1", tuple(series)
                    )
                )
        if panels:
            caption = (
                "100 Mbit/s with 10 % of cross traffic; flow 2 has 120 ms. Error bars reach from the smallest to the "
                "largest value over seeds. In the paper all three algorithms are similar with the large buffer. With "
                "the small buffer, Compound is slightly fairer than Reno, and Illinois is slightly less fair."
            )
            yield LineChart("figure7", "Figure 7: RTT fairness", caption, tuple(panels))

    def cases(self) -> Iterator[Figure]:
        """Figure 10."""
        names = ("ctcp", "illinois", "cubic")
        series = []
        for case, title in CASES.items():
            scale = float(self._setup.scale)
            found = [
                self._over_seeds(paths.crossed(self._setup, name, case), "throughput_mbps", name, scale)
                for name in names
            ]
            if any(found):
                columns = [[None if value is None else value[i] for value in found] for i in range(3)]
                series.append(Bars(title, columns[0], columns[1], columns[2], case - 1))
        if series:
            panel = BarPanel("400 Mbit/s, 4096 packets", RATE, tuple(TITLES[name] for name in names), tuple(series))
            caption = (
                "Mean throughput of the long flow of 120 ms from 200 s to 1800 s. In the paper cross traffic reduces "
                "the hybrids' throughput by slightly more than its own 40 Mbit/s. The reverse flow reduces their "
                "throughput much and Cubic's little, and small packets alone have almost no effect."
            )
            yield BarChart("figure10", "Figure 10: the long flow with cross traffic", caption, (panel,))

    def response(self) -> Iterator[Figure]:
        """The response function, which the paper describes and does not plot."""
        labels = {
            "illinois": TITLES["illinois"], "aimd_a0.3": "AIMD, 0.3 packets a round trip",
            "aimd_a10": "AIMD, 10 packets a round trip",
        }  # fmt: skip
        series = []
        for name, label in labels.items():
            found = {
                loss: self._over_seeds(
                    paths.response(self._setup, name, loss), "throughput_mbps", name, float(self._setup.scale)
                )
                for loss in paths.LOSS_RATES
            }
            known = {loss: value[0] for loss, value in found.items() if value is not None}
            if known:
                series.append(Points(label, list(known), list(known.values()), style=_COLORS[name]))
        if series:
            panel = LinePanel("400 Mbit/s, 200 ms", "loss rate", RATE, tuple(series), log_x=True, log_y=True)
            caption = (
                "One flow and random losses. The paper puts Illinois between the two; AIMD halves its window on a "
                "loss, while Illinois reduces its window by only an eighth if its queueing delay is small."
            )
            yield LineChart("response", "Response function of Illinois (§IV.A)", caption, (panel,))


def _with_means(figure: Traces, flows: Sequence[tuple[str, str]], means: Mapping[str, float]) -> Traces:
    """The figure; its first panel also has the published mean of each flow over the measurement window."""
    first, *others = figure.panels
    from_s, to_s = paths.MEASURE_S
    lines = [
        Curve(f"{title}, published", from_s, to_s - from_s, (means[name],) * 2, color, dashed=True)
        for color, (name, title) in enumerate(flows)
    ]
    return replace(figure, panels=(replace(first, curves=(*first.curves, *lines)), *others))
