"""Figures 2, 4, 5 and 6 of katto2008: windows over a congestion avoidance round, of the models and of runs.

In the runs each flow loses one packet in K, the number of packets in a round of its model; there are no other losses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from elephan.evaluation.evidence import Evidence
from elephan.models import abstracted, hybrid
from elephan.models.cycles import Floats
from elephan.papers.katto2008.setup import HYBRIDS, PACKET_BYTES, PIPE, STYLES, TITLES, Setup
from elephan.papers.loading import along, claims
from elephan.report.charts import LineChart, LinePanel, Points
from elephan.report.figures import Figure
from elephan.scenario import Scenario

if TYPE_CHECKING:
    from elephan.runs import Run

ROUNDS = 5
SHOWN = 24


def _cases(experiment: str, part: int = 0) -> tuple[tuple[str, float], ...]:
    """The cases of an experiment with their windows at the loss."""
    stated = claims("katto2008")
    runs = stated.experiments[f"katto2008.{experiment}"].runs[part]
    return tuple(dict.fromkeys((cell["case"], cell["w"]) for cell in runs.cells(stated.lists)))


CASES = {1: _cases("M1"), 2: _cases("M2")}
ABSTRACTED = {1: _cases("M3"), 2: _cases("M3", 1)}
IDEAL: dict[int, tuple[str, ...]] = {1: along("katto2008", "M1", "protocol"), 2: along("katto2008", "M2", "protocol")}
STANDS_FOR = {"reno": "loss", "fast": "delay", "fusion": "hybrid"}


def packets_between(setup: Setup, protocol: str, w: float, flows: int) -> int:
    """K: number of packets that the model of a protocol sends in a round, alone or beside a Reno flow."""
    if protocol in HYBRIDS:
        cycle = abstracted.alone if flows == 1 else abstracted.beside_reno
        return round(float(cycle(setup.model(protocol, flows), w, PIPE.bdp).packets))
    table = hybrid.single_flow if flows == 1 else hybrid.two_flows
    control: hybrid.Control = "loss" if protocol == "reno" else "delay"
    return round(float(table(control, w, PIPE.bdp, PIPE.rtt_s, PIPE.packet_s).packets))


@lru_cache(maxsize=256)
def trace(setup: Setup, protocol: str, w: float, flows: int) -> Scenario:
    """A flow that loses one of K packets. A second flow is Reno and loses one of 3/8 w^2 packets."""
    names = [protocol, "reno"][:flows]
    control: hybrid.Control = "hybrid" if protocol in HYBRIDS else "loss"
    table = hybrid.single_flow if flows == 1 else hybrid.two_flows
    seconds = float(table(control, w, PIPE.bdp, PIPE.rtt_s, PIPE.packet_s).seconds)
    links, rows = [], []
    for number, name in enumerate(names, start=1):
        between = packets_between(setup, name, w, flows)
        # Slow start to w/2 sends about w packets.
        losses = [round(w) + between * (count + 1) for count in range(2 * ROUNDS)]
        access = {"name": f"access-{number}", "from": f"host-{number}", "to": "left", "rate": "1 Gbit/s"}
        links.append(access | {"delay": "0 s", "loss": {"packets": losses}})
        own = setup.flow(name, flows) if number == 1 else {"algorithm": "reno"}
        rows.append(
            own | {"name": setup.name(name) if number == 1 else "rival", "path": [f"access-{number}", "middle"]}
        )
    middle = {"name": "middle", "from": "left", "to": "right", "rate": "100 Mbit/s", "delay": "20 ms"}
    path = setup.path()
    start = f"{max(2, round(w / 2))} segments"
    return Scenario(
        title=f"{' and '.join(TITLES[name] for name in names)}, a loss for each round of w = {w:g}",
        duration=f"{(ROUNDS + 1) * seconds + 2:.3f} s",
        measure={"from": "1 s"},
        sample_period="10 ms",
        start_jitter="0 s",
        # The buffer is large enough for the windows of case 1, so only the listed packets are lost.
        link=[*links, middle | {"buffer": "2000 packets", "queue": path["queue"]}],
        flow=rows,
        stack=path["stack"] | {"initial_ssthresh": start, "payload": f"{PACKET_BYTES - 40} B"},
    )


def last_round(run: Run, flow: str) -> tuple[list[float], list[float], list[float]]:
    """Round trips since a loss, window and RTT (s) between two losses of a flow, in the last complete interval between
    losses.

    The duration of a round trip is the newest RTT sample. The result is empty with fewer than two losses.
    """
    rows = run.samples.filter(run.samples["flow"] == flow)
    losses = rows["loss_events"].to_list()
    at = [i for i, (before, after) in enumerate(pairwise(losses), start=1) if after > before]
    if len(at) < 2:
        return [], [], []
    part = rows[at[-2] : at[-1]]
    times = part["time_s"].to_list()
    rtts = [float(value) for value in part["rtt_s"].to_list()]
    steps = [0.0, *((b - a) / rtt for a, b, rtt in zip(times, times[1:], rtts, strict=False))]
    return list(accumulate(steps)), [float(value) for value in part["cwnd"].to_list()], rtts


def figures(runs: Evidence, setup: Setup) -> Sequence[Figure]:
    """The figures whose runs exist."""
    found: list[Figure] = []
    for flows, number in ((1, "2"), (2, "4")):
        for what, label in (("cwnd", "cwnd (packets)"), ("rtt", "RTT (ms)")) if flows == 1 else (("cwnd", CWND),):
            panels = tuple(_ideal(runs, setup, flows, what, label))
            found += _chart(f"figure{number}{'' if what == 'cwnd' else '-rtt'}", _TITLES[number, what], panels)
    for flows, number in ((1, "5"), (2, "6")):
        found += _chart(f"figure{number}", _TITLES[number, "cwnd"], tuple(_abstracted(runs, setup, flows)))
    return found


CWND = "cwnd (packets)"
_TITLES = {
    ("2", "cwnd"): "Figure 2: windows of one flow",
    ("2", "rtt"): "Figure 2: round-trip times of one flow",
    ("4", "cwnd"): "Figure 4: windows of two flows",
    ("5", "cwnd"): "Figure 5: abstracted windows of one flow",
    ("6", "cwnd"): "Figure 6: abstracted windows beside a TCP-Reno flow",
}
_CAPTION = (
    "Lines are the models over one congestion avoidance round. Markers are runs in which each flow loses one packet "
    "in K, the number of packets that its model sends in a round; w is the window at a loss of the Reno flow. The "
    "round of a run ends at the flow's next loss, which is earlier if the flow sends more than its model, and "
    "follows a round trip of recovery."
)


def _chart(name: str, title: str, panels: tuple[LinePanel, ...]) -> list[Figure]:
    return [LineChart(name, title, _CAPTION, panels)] if panels else []


def _thin(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    step = max(1, len(x) // SHOWN)
    return list(x[::step]), list(y[::step])


def _run_points(
    runs: Evidence, scenario: Scenario, flow: str, name: str, style: int, what: str = "cwnd"
) -> Iterator[Points]:
    run = runs.first(scenario)
    if run is None:
        return
    rounds, windows, rtts = last_round(run, flow)
    if rounds:
        x, y = _thin(rounds, windows if what == "cwnd" else [1e3 * rtt for rtt in rtts])
        yield Points(name, x, y, style=style, drawn="markers")


def _ideal(runs: Evidence, setup: Setup, flows: int, what: str, label: str) -> Iterator[LinePanel]:
    for case, w in CASES[flows]:
        n = np.linspace(0.0, w / 2, 81)
        series: list[Points] = []
        for name in IDEAL[flows]:
            window, queue = _ideal_window(name, n, w, flows)
            value = window if what == "cwnd" else 1e3 * (PIPE.rtt_s + queue * PIPE.packet_s)
            series.append(
                Points(f"{STANDS_FOR[name]} (ideal)", n.tolist(), value.tolist(), style=STYLES[name], drawn="line")
            )
        markers = [
            point
            for name in IDEAL[flows]
            for point in _run_points(
                runs, trace(setup, name, w, flows), setup.name(name), f"{TITLES[name]} (run)", STYLES[name], what
            )
        ]
        if markers:
            yield LinePanel(f"Case {case}, w = {w:g}", "RTT rounds", label, (*series, *markers))


def _ideal_window(name: str, n: Floats, w: float, flows: int) -> tuple[Floats, Floats]:
    """Window of an ideal control, and packets in the queue."""
    reno, bdp = w / 2 + n, float(PIPE.bdp)
    room = np.full_like(n, bdp) if flows == 1 else bdp - reno
    first = int(hybrid.case_of(w, bdp, flows)) == 1
    window = {"reno": reno, "fast": room, "fusion": reno if first else np.maximum(room, reno)}[name]
    others = np.zeros_like(n) if flows == 1 else reno
    return window, np.maximum(window + others - bdp, 0.0)


def _abstracted(runs: Evidence, setup: Setup, flows: int) -> Iterator[LinePanel]:
    cycle = abstracted.alone if flows == 1 else abstracted.beside_reno
    for case, w in ABSTRACTED[flows]:
        n = np.linspace(0.0, w / 2, 81)
        reno = w / 2 + n
        room = np.full_like(n, float(PIPE.bdp)) if flows == 1 else PIPE.bdp - reno
        series: list[Points] = []
        markers: list[Points] = []
        for name in HYBRIDS:
            model = setup.model(name, flows)
            start = cycle(model, w, PIPE.bdp).start
            window = np.minimum(model.growth.after(np.full_like(n, float(start)), n), room)
            if case == "2":
                window = np.maximum(window, reno)
            style = STYLES[name]
            series.append(Points(f"{TITLES[name]} (model)", n.tolist(), window.tolist(), style=style, drawn="line"))
            scenario = trace(setup, name, w, flows)
            markers += _run_points(runs, scenario, setup.name(name), f"{TITLES[name]} (run)", style)
        if flows == 2:
            series.append(Points("TCP-Reno", n.tolist(), reno.tolist(), style=STYLES["rival"], drawn="line"))
        if markers:
            yield LinePanel(f"Case {case}, w = {w:g}", "RTT rounds", CWND, (*series, *markers))
