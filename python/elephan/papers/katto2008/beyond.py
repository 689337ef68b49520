"""A question of katto2008: at which loss rates do its models hold for all four hybrids, and why do they fail at other
loss rates?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.metrics.statistics import mean_relative_error
from elephan.models import abstracted, hybrid, refined
from elephan.models.cycles import Floats
from elephan.papers.katto2008.setup import HYBRIDS, PIPE, STYLES, TITLES, Setup
from elephan.papers.paper import Beyond
from elephan.report.charts import DataTable, LineChart, LinePanel, Points
from elephan.report.figures import Figure
from elephan.scenario import Scenario

FINE = tuple(float(f"{10 ** (-6 + step / 4):.3g}") for step in range(21))
DEAD_ZONE_MS = 1.0
# Smallest timeout of the simulated sender, s, and window below which Compound's implementations behave as Reno.
T0_S = 0.2
LOW_WINDOW = 38.0
HELD = 0.15
# Above this loss rate a window is a few packets, and a throughput is a few percent of the link's rate.
FREQUENT = 1e-2

QUESTION = (
    "At which loss rates do the models hold for all four hybrids, and which causes does the error have in case 3, in "
    "which losses are frequent?"
)
WHY = (
    "the paper ends with the problem that its models are 'not sufficient especially in Case 3 region', and gives no "
    "reason. With a correct model, the simulations need not be repeated"
)


def open_question(setup: Setup) -> Beyond:
    """The question, with the runs that answer it."""
    rows = [
        ("X1", "all hybrids alone, four loss rates a decade", _sweep(setup, HYBRIDS, 1)),
        ("X2", "all hybrids beside TCP-Reno, four loss rates a decade", _sweep(setup, HYBRIDS, 2)),
        ("X3", "ARENO with a clock of 1 ms", _sweep(_coarse(setup), ("areno",), 1)),
    ]
    experiments = {
        f"katto2008.{name}": Experiment(f"katto2008.{name}", title, "beyond", scenarios)
        for name, title, scenarios in rows
    }
    return Beyond(QUESTION, WHY, experiments, partial(figures, setup=setup), partial(answer, setup=setup))


def _coarse(setup: Setup) -> Setup:
    return setup.but(dead_zone_ms=DEAD_ZONE_MS)


def _sweep(setup: Setup, names: Sequence[str], flows: int) -> dict[str, Scenario]:
    return {f"{name}, p = {p:.3g}": setup.sweep(name, p, flows) for name in names for p in FINE}


@dataclass(frozen=True)
class Measured:
    """Measured throughputs of a hybrid, by loss rate.

    Attributes:
        name: name of the hybrid.
        p: loss rates.
        mbps: throughputs, Mbit/s.
        timeouts: timeouts per loss event.
    """

    name: str
    p: Floats
    mbps: Floats
    timeouts: Floats

    def chosen(self, keep: Callable[[Floats], Floats]) -> Measured:
        """A subset of the loss rates."""
        at = keep(self.p)
        return Measured(self.name, self.p[at], self.mbps[at], self.timeouts[at])


def measured(runs: Evidence, setup: Setup, name: str, flows: int = 1) -> Measured:
    """Measurements of the runs of a hybrid."""
    rows: list[tuple[float, float, float]] = []
    for p in FINE:
        run = runs.first(setup.sweep(name, p, flows))
        if run is not None:
            flow = next(flow for flow in run.summary()["flows"] if flow["name"] == setup.name(name))
            rate = float(runs.metric(run, "throughput_mbps")[setup.name(name)])
            rows.append((p, rate, flow["total_timeouts"] / max(1, flow["total_loss_events"])))
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return Measured(name, table[:, 0], table[:, 1], table[:, 2])


Model = Callable[[Setup, str, Floats], Floats]


def printed(setup: Setup, name: str, p: Floats, flows: int = 1) -> Floats:
    """The paper's model."""
    return abstracted.hybrid_mbps(setup.model(name, flows), p, PIPE, flows)


def in_packets(setup: Setup, name: str, p: Floats) -> Floats:
    """The throughput of the model with a loss after every 1/p packets, Mbit/s."""
    return refined.in_packets_mbps(setup.model(name), p, PIPE)


def rare_timeouts(setup: Setup, name: str, p: Floats) -> Floats:
    """The model of :func:`in_packets`, with timeouts at their true frequency."""
    return refined.with_rare_timeouts_mbps(setup.model(name), p, PIPE, T0_S)


def own_rules(setup: Setup, name: str, p: Floats) -> Floats:
    """The model of :func:`rare_timeouts`; Compound behaves as Reno at small windows."""
    model = abstracted.ctcp(low_window=LOW_WINDOW) if name == "ctcp" else setup.model(name)
    return refined.with_rare_timeouts_mbps(model, p, PIPE, T0_S)


STEPS: tuple[tuple[str, Model], ...] = (
    ("as printed", printed),
    ("1: losses 1/p packets apart", in_packets),
    ("2: and timeouts only for losses that end in one", rare_timeouts),
    ("3: and CTCP as Reno below 38 packets", own_rules),
)


def in_case(*cases: int, flows: int = 1, most: float = 1.0) -> Callable[[Floats], Floats]:
    """A filter of the loss rates that are in the given cases and at most ``most``."""

    def keep(p: Floats) -> Floats:
        case = hybrid.case_of(hybrid.window_at_loss(p), PIPE.bdp, flows)
        return np.asarray(np.isin(case, cases) & (p <= most * (1 + 1e-9)))

    return keep


def error(found: Measured, model: Callable[[Floats], Floats]) -> float:
    """Mean relative error of a model over the measured loss rates; NaN if no loss rate was measured."""
    return mean_relative_error(found.mbps.tolist(), model(found.p).tolist()) if len(found.p) else float("nan")


def figures(runs: Evidence, setup: Setup) -> Sequence[Figure]:
    """Figures of the ratio of simulated to modelled throughput, one model after another, and a table of the mean
    errors."""
    alone = [measured(runs, setup, name) for name in HYBRIDS]
    beside = [measured(runs, setup, name, 2) for name in HYBRIDS]
    coarse = measured(runs, _coarse(setup), "areno")
    if not any(len(found.p) for found in alone):
        return []
    panels = [_ratios(setup, title, model, alone, None) for title, model in STEPS[:2]]
    panels.append(_ratios(setup, STEPS[3][0].replace("3: and", "2 and 3: rare timeouts,"), own_rules, alone, coarse))
    panels.append(_ratios(setup, "as printed, beside a TCP-Reno flow", partial(printed, flows=2), beside, None, 2))
    chart = LineChart(
        "models-over-loss",
        "Simulated throughput over that of the models",
        "A ratio of 1 means that the model holds. Dashed lines are the borders of the cases. The first panel has the "
        "paper's model; the next two panels have models without one or both of its simplifications; the last panel "
        "has the paper's model of two flows.",
        tuple(panels),
    )
    return [chart, _table(setup, alone, coarse)]


def _ratios(
    setup: Setup, title: str, model: Model, found: Sequence[Measured], coarse: Measured | None, flows: int = 1
) -> LinePanel:
    series = [
        Points(TITLES[row.name], row.p.tolist(), _over(row, model(setup, row.name, row.p)), style=STYLES[row.name])
        for row in found
        if len(row.p)
    ]
    if coarse is not None and len(coarse.p):
        ratios = _over(coarse, model(setup, "areno", coarse.p))
        series.append(Points("ARENO, clock of 1 ms", coarse.p.tolist(), ratios, style=1))
    borders = tuple(float(p) for p in hybrid.borders(PIPE.bdp, flows))
    label = "simulated / model"
    return LinePanel(title, "packet loss rate", label, tuple(series), log_x=True, log_y=True, borders=borders)


def _over(row: Measured, model: Floats) -> list[float | None]:
    return [float(value) if value > 0 else None for value in row.mbps / model]


def _table(setup: Setup, alone: Sequence[Measured], coarse: Measured) -> DataTable:
    """Mean errors in case 3."""
    keep = in_case(3, most=FREQUENT)
    rows = []
    for title, model in STEPS:
        rows.append((title, *(_percent(error(row.chosen(keep), partial(model, setup, row.name))) for row in alone)))
    last = _percent(error(coarse.chosen(keep), partial(own_rules, setup, "areno")))
    rows.append(("and a clock of 1 ms", *(last if row.name == "areno" else "" for row in alone)))
    return DataTable(
        "models-error",
        f"Mean error in case 3, up to p = {FREQUENT:g}",
        "Mean of |simulated - model| / model of one flow alone. Each row has its own correction and the corrections "
        "above it; the last row has other runs, and the same model.",
        ("model", *(TITLES[row.name] for row in alone)),
        tuple(rows),
    )


def _percent(value: float) -> str:
    return "" if np.isnan(value) else f"{100 * value:.1f} %"


def answer(runs: Evidence, setup: Setup) -> Sequence[str]:
    """The answer in sentences, from the measurements."""
    alone = {name: measured(runs, setup, name) for name in HYBRIDS}
    if not all(len(found.p) for found in alone.values()):
        return []
    return [*_where(setup, alone), *_why(setup, alone), *_areno(runs, setup, alone["areno"]), *_two(runs, setup)]


def _where(setup: Setup, alone: dict[str, Measured]) -> Iterator[str]:
    worst, name, p = max(_worst(found.chosen(in_case(1, 2)), partial(printed, setup, n)) for n, found in alone.items())
    verdict = "hold" if worst <= HELD else "do not hold everywhere"
    yield (
        f"One flow, cases 1 and 2: the models {verdict} within {HELD:.0%}; the largest error of the four hybrids is "
        f"{worst:.1%} ({TITLES[name]} at p = {p:.2g})."
    )
    keep = in_case(3, most=FREQUENT)
    errors = ", ".join(
        f"{TITLES[n]} {error(found.chosen(keep), partial(printed, setup, n)):.0%}" for n, found in alone.items()
    )
    yield f"One flow, case 3 up to p = {FREQUENT:g}: the mean errors of the paper's model are {errors}."


def _worst(found: Measured, model: Callable[[Floats], Floats]) -> tuple[float, str, float]:
    errors = np.abs(found.mbps / model(found.p) - 1)
    at = int(np.argmax(errors))
    return float(errors[at]), found.name, float(found.p[at])


def _why(setup: Setup, alone: dict[str, Measured]) -> Iterator[str]:
    keep = in_case(3, most=FREQUENT)

    def moved(name: str, before: Model, after: Model) -> str:
        found = alone[name].chosen(keep)
        errors = [error(found, partial(model, setup, name)) for model in (before, after)]
        return f"{TITLES[name]} from {errors[0]:.0%} to {errors[1]:.0%}"

    yield (
        "If a round counts packets instead of Reno's round trips, the mean error changes for hybrids that give up a "
        f"constant fraction of the window: {moved('ctcp', printed, in_packets)}, "
        f"{moved('yeah', printed, in_packets)}; it hardly changes for hybrids that keep the path full "
        f"({moved('fusion', printed, in_packets)})."
    )
    shares = fmean(float(found.chosen(keep).timeouts.mean()) for found in alone.values())
    yield (
        f"The paper adds a timeout for each loss; the runs have {shares:.4f} timeouts for each loss event. With "
        "timeouts only at the frequency Q of Padhye et al., the mean errors change further: "
        f"{moved('fusion', in_packets, rare_timeouts)}, "
        f"{moved('yeah', in_packets, rare_timeouts)}, {moved('ctcp', in_packets, rare_timeouts)}."
    )
    yield f"With CTCP as Reno below {LOW_WINDOW:g} packets: {moved('ctcp', rare_timeouts, own_rules)}."


def _areno(runs: Evidence, setup: Setup, exact: Measured) -> Iterator[str]:
    coarse = measured(runs, _coarse(setup), "areno")
    if not len(coarse.p):
        return
    keep, model = in_case(3, most=FREQUENT), partial(own_rules, setup, "areno")
    before, after = (error(found.chosen(keep), model) for found in (exact, coarse))
    yield (
        f"ARENO's mean error with all these corrections is {before:.0%}: on a path without a queue, the RTTs at its "
        "losses exceed the shortest RTT by microseconds. ARENO interprets this as a full queue, reduces its window by "
        f"up to one half, and stops probing. With a clock that does not resolve differences of {DEAD_ZONE_MS:g} ms, "
        f"the mean error is {after:.0%}."
    )


def _two(runs: Evidence, setup: Setup) -> Iterator[str]:
    beside = {name: measured(runs, setup, name, 2) for name in HYBRIDS}
    if not all(len(found.p) for found in beside.values()):
        return
    parts = []
    for case in (1, 2, 3):
        keep = in_case(case, flows=2, most=FREQUENT)
        errors = [error(found.chosen(keep), partial(printed, setup, name, flows=2)) for name, found in beside.items()]
        listed = ", ".join(f"{TITLES[name]} {value:.0%}" for name, value in zip(beside, errors, strict=True))
        parts.append(f"case {case}: {listed}")
    yield f"Beside a TCP-Reno flow, the paper's mean errors up to p = {FREQUENT:g} are: {'; '.join(parts)}."
