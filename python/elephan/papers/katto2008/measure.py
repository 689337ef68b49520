"""How the subjects of katto2008's claims are measured; formulas are in :mod:`elephan.models`, numbers in
:mod:`elephan.metrics`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import numpy as np

from elephan.evaluation.conditions import Value, Where
from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined, constant
from elephan.metrics.statistics import mean_relative_error
from elephan.models import abstracted, hybrid
from elephan.models.cycles import Floats
from elephan.models.hybrid import Control, Pipe
from elephan.models.response import mean_window
from elephan.papers.claims import Claim, ClaimError
from elephan.papers.katto2008.setup import GRID, HYBRIDS, PIPE, PROTOCOLS, TITLES, Setup, points
from elephan.scenario import Scenario
from elephan.scenario.lookups import link_named, wire_bytes

IDEALS = ("loss", "delay", "hybrid")
RESPONSE_RTT_S = 0.1
BANDWIDTHS_MBPS = (10, 100, 1_000, 10_000)
# Where a claim about the abstracted models names no window: the one at which Table 2 is checked in the same case.
CASE_2_WINDOW = 250.0
MODEL_GRID = np.geomspace(1e-6, 1e-1, 401)
_WHERE = {"w", "W", "R", "q", "p", "case", "cwnd", "B_mbps", "B", "Dmin", "N", "PS_bits", "rtt_over_min", "bandwidth"}


class KattoMeasurer:
    """Measures the subjects of the claims by the models, and in the runs of one setup."""

    def __init__(self, runs: RunSet, setup: Setup) -> None:
        self._runs = runs
        self._setup = setup

    def points(self, parameter: str, claim: Claim) -> Sequence[Value]:
        """The points along a parameter.

        Raises:
            NotJudgedError: the paper has none.
        """
        if parameter == "bandwidth":
            return list(BANDWIDTHS_MBPS)
        raise NotJudgedError(f"the paper has no points along {parameter}")

    def measure(self, metric: str, subject: str, where: Where, claim: Claim) -> Measurement:
        """A metric of a subject under conditions.

        Raises:
            NotJudgedError: its runs are not there.
            ClaimError: nothing here knows how it is measured.
        """
        if unknown := set(where) - _WHERE:
            raise ClaimError(f"{claim.id}: where: {', '.join(sorted(unknown))} is not understood")
        table = _FORMULAS if claim.check in ("analytic", "unit") else self._simulated()
        found = table.get(metric)
        if found is None:
            raise ClaimError(f"{claim.id}: metric: '{metric}' is not measured here")
        return found(subject, where, claim)

    def _simulated(self) -> dict[str, Measure]:
        return {
            "throughput_mbps": self._throughput,
            "competitor_throughput_mbps": self._rival,
            "throughput_ratio": self._ratio,
            "relative_error_vs_model": self._error,
            "utilization": self._utilization,
            "cwnd_cov": self._cwnd_cov,
            "short_flow_total_mbps": self._short_flows,
            "long_flow_mbps": self._long_flow,
        }

    # ---- figure 7 and its tuning ----

    def _values(self, metric: str, scenario: Scenario, flow: str | None = None) -> Measurement:
        """A metric of each replicate of a scenario; of one flow where the metric has a number for each."""
        runs = self._runs.of(scenario)
        values = [self._runs.metric(run, metric) for run in runs]
        sample = tuple(float(value if flow is None else value[flow]) for value in values)
        return Measurement(sample=sample, runs=tuple(run.id for run in runs))

    def _over_case(
        self, measure: Callable[[float], Measurement], where: Where, flows: int, what: str = "mean over p"
    ) -> Measurement:
        """The mean over the loss rates of a case, or over all."""
        rates = points(flows, int(where["case"])) if "case" in where else list(GRID)
        return combined([measure(p) for p in rates], fmean, f"{what} = {', '.join(f'{p:.3g}' for p in rates)}")

    def _throughput(self, subject: str, where: Where, claim: Claim) -> Measurement:
        flows = 2 if claim.experiment.endswith("F7b") else 1
        name = self._setup.name(subject)
        return self._over_case(
            lambda p: self._values("throughput_mbps", self._setup.sweep(subject, p, flows), name), where, flows
        )

    def _rival(self, subject: str, where: Where, claim: Claim) -> Measurement:
        return self._over_case(
            lambda p: self._values("throughput_mbps", self._setup.sweep(subject, p, 2), "rival"), where, 2
        )

    def _ratio(self, subject: str, where: Where, claim: Claim) -> Measurement:
        """``a_over_reno``: the flow of a over its rival."""
        name = subject.removesuffix("_over_reno")

        def at(p: float) -> Measurement:
            runs = self._runs.of(self._setup.sweep(name, p, 2))
            flows = (self._setup.name(name), "rival")
            sample = [float(self._runs.metric(run, "throughput_ratio", flows=flows)) for run in runs]
            return Measurement(sample=tuple(sample), runs=tuple(run.id for run in runs))

        return self._over_case(at, where, 2)

    def _error(self, subject: str, where: Where, claim: Claim) -> Measurement:
        """Mean over the loss rates of |simulated - model| / model, of one flow alone."""
        name = self._setup.name(subject)
        found = [self._values("throughput_mbps", self._setup.sweep(subject, p), name) for p in GRID]
        expected = abstracted.hybrid_mbps(self._setup.model(subject), GRID, PIPE)
        return combined(found, partial(mean_relative_error, expected=expected.tolist()), "mean over the loss rates")

    def _utilization(self, subject: str, where: Where, claim: Claim) -> Measurement:
        return self._values("utilization", self._setup.sweep(subject, float(where["p"])))

    def _cwnd_cov(self, subject: str, where: Where, claim: Claim) -> Measurement:
        name = self._setup.name(subject)
        return self._over_case(lambda p: self._values("cwnd_cov", self._setup.sweep(subject, p), name), where, 1)

    # ---- figure 8 ----

    def _short_flows(self, subject: str, where: Where, claim: Claim) -> Measurement:
        names = {"active": "mean_size_over_mean_duration_mbps", "window": "short_flow_total_mbps"}
        return self._values(names[self._setup.short_rate], self._setup.short(subject))

    def _long_flow(self, subject: str, where: Where, claim: Claim) -> Measurement:
        return self._values("throughput_mbps", self._setup.short(subject), "long")


Measure = Callable[[str, Where, Claim], Measurement]


def _number(where: Where, name: str) -> float:
    if name not in where:
        raise ClaimError(f"where: {name}: missing")
    return float(where[name])


def _flows(claim: Claim) -> int:
    return 2 if claim.experiment.endswith("M2") else 1


def _listed(values: Floats) -> list[float]:
    return [float(value) for value in np.atleast_1d(values)]


def _model_mbps(subject: str, p: Floats, flows: int) -> list[float]:
    """Throughputs of an ideal or an abstracted model."""
    if subject in IDEALS:
        control: Control = subject  # type: ignore[assignment]  # it is one of the three
        return _listed(hybrid.ideal_mbps(control, p, PIPE, flows))
    if subject in HYBRIDS:
        return _listed(abstracted.hybrid_mbps(Setup().model(subject, flows), p, PIPE, flows))
    raise ClaimError(f"'{subject}' is not a model")


def _worst(claim: Claim, values: Callable[[str], list[float]]) -> int:
    """Where along the loss rates a comparison of models is nearest to failing."""
    own = np.array(values(claim.subject))
    others = [np.array(values(name)) for name in claim.other]
    if claim.relation == "approx_equal_other":
        margins = [-abs(own - other) / other for other in others]
    else:
        margins = [own - other for other in others]
    return int(np.argmin(np.min(margins, axis=0)))


def _grid(where: Where, flows: int) -> Floats:
    """Loss rates of the cases that a claim names (``1``, ``"2 and 3"``), or all."""
    if "case" not in where:
        return MODEL_GRID
    cases = [int(word) for word in str(where["case"]).split(" and ")]
    return MODEL_GRID[np.isin(hybrid.case_of(hybrid.window_at_loss(MODEL_GRID), PIPE.bdp, flows), cases)]


def _throughput(subject: str, where: Where, claim: Claim) -> Measurement:
    flows = _flows(claim)
    if "p" in where:
        return constant(_model_mbps(subject, np.array(_number(where, "p")), flows)[0])
    grid = _grid(where, flows)
    at = _worst(claim, lambda name: _model_mbps(name, grid, flows))
    return constant(
        _model_mbps(subject, grid, flows)[at], f"at p = {grid[at]:.3g}, of all where it is nearest to failing"
    )


def _mean_rtt(subject: str, where: Where, claim: Claim) -> Measurement:
    flows = _flows(claim)
    windows = hybrid.window_at_loss(_grid(where, flows))

    def values(name: str) -> list[float]:
        return _listed(hybrid.mean_rtt_s(name, windows, PIPE, flows) + 0 * windows)  # type: ignore[arg-type]

    at = _worst(claim, values)
    return constant(values(subject)[at], f"at w = {windows[at]:.0f}, of all where it is nearest to failing")


def _round(part: int) -> Measure:
    """Packets (0) or seconds (1) of a round of Table 1 or 2; without a path they are those of the paper's."""

    def measure(subject: str, where: Where, claim: Claim) -> Measurement:
        table = hybrid.single_flow if _flows(claim) == 1 else hybrid.two_flows
        rtt_s, packet_s = float(where.get("R", PIPE.rtt_s)), float(where.get("q", PIPE.packet_s))
        control: Control = "hybrid" if subject == "common" else subject  # type: ignore[assignment]
        return constant(float(table(control, _number(where, "w"), _number(where, "W"), rtt_s, packet_s)[part]))

    return measure


def _border(subject: str, where: Where, claim: Claim) -> Measurement:
    """Loss rate between two cases; ``…12`` and ``…23`` at the end of an id say which."""
    if subject in ("hybrid_10g", "hybrid_10m"):
        return constant(float(hybrid.borders(_response_pipe(subject).bdp)[0]))
    if subject == "case_2_3":
        pipe = Pipe(_number(where, "bandwidth") * 1e6, PIPE.rtt_s, PIPE.packet_bits)
        return constant(float(hybrid.borders(pipe.bdp)[1]))
    which = {"12": 0, "23": 1}[claim.id[-2:]]
    return constant(float(hybrid.borders(_number(where, "W"), _flows(claim))[which]))


def _response_pipe(subject: str) -> Pipe:
    """The paths of Figure 9."""
    rates = {"hybrid_10g": 10e9, "hybrid_10m": 10e6}
    return Pipe(rates[subject], RESPONSE_RTT_S, PIPE.packet_bits)


def _response(subject: str, where: Where, claim: Claim) -> Measurement:
    p = _number(where, "p")
    if subject == "hybrid":
        return constant(float(hybrid.response(p, _number(where, "W"))))
    if subject.startswith("hybrid_"):
        return constant(float(hybrid.response_with_timeouts(p, _response_pipe(subject).bdp, RESPONSE_RTT_S)))
    return constant(float(mean_window(subject, p, RESPONSE_RTT_S)))


def _increase(subject: str, where: Where, claim: Claim) -> Measurement:
    """Table 3, as the abstracted models have it."""
    if subject == "areno":
        model = abstracted.areno(Pipe(_number(where, "B_mbps") * 1e6, PIPE.rtt_s, PIPE.packet_bits))
    elif subject == "fusion":
        pipe = Pipe(_number(where, "B"), PIPE.rtt_s, _number(where, "PS_bits"))
        model = abstracted.fusion(pipe, _number(where, "Dmin"), int(_number(where, "N")))
    else:
        model = Setup().model(subject)
    return constant(float(model.growth.increase(float(where.get("cwnd", 100.0)))))


def _keep(subject: str, where: Where, claim: Claim) -> Measurement:
    """The part of the window that a loss leaves; without a ratio of RTTs, with a queue of half a BDP."""
    ratio = np.array(float(where.get("rtt_over_min", 1.5)))
    return constant(float(Setup().model(subject).keep(ratio)))


def _refill(subject: str, where: Where, claim: Claim) -> Measurement:
    """t2 of Figure 6: round trips until a hybrid fills what a Reno flow leaves, in case 2."""
    model = Setup().model(subject, 2)
    over = abstracted.beside_reno(model, np.linspace(PIPE.bdp / 2, PIPE.bdp, 202)[1:-1], PIPE.bdp).refilled
    found = abstracted.beside_reno(model, CASE_2_WINDOW, PIPE.bdp).refilled
    return constant(float(found), f"{subject} {over.min():.2f} to {over.max():.2f} over case 2")


def _peak(subject: str, where: Where, claim: Claim) -> Measurement:
    """The largest window at a loss where it comes before the pipe is full (case 3-2 of Figure 5), over the BDP."""
    if where.get("case") != "3-2":
        raise ClaimError(f"{claim.id}: where: case: only 3-2 is measured")
    cycle = abstracted.alone(Setup().model(subject), hybrid.window_at_loss(MODEL_GRID), PIPE.bdp)
    short = np.isinf(cycle.refilled)
    if not short.any():
        raise NotJudgedError(f"{TITLES[subject]} refills the pipe at every loss rate")
    return constant(float(cycle.peak[short].max() / PIPE.bdp), f"of p from {MODEL_GRID[short].min():.3g}")


def _bdp(subject: str, where: Where, claim: Claim) -> Measurement:
    """Of the scenarios themselves, in packets on the wire."""
    scenario = Setup().sweep(PROTOCOLS[0], GRID[0])
    form = scenario.form
    bits = 8 * wire_bytes(form.flows[0].stack)
    return constant(link_named(form, "bottleneck").rate_bps * scenario.graph.rtt_ps(0) / 1e12 / bits)


_FORMULAS: dict[str, Measure] = {
    "loss_rate_model": lambda subject, where, claim: constant(float(hybrid.loss_rate(_number(where, "w")))),
    "bdp_pkts": _bdp,
    "T0_ms": lambda subject, where, claim: constant(1e3 * float(PIPE.t0_s)),
    "packets_per_round": _round(0),
    "elapsed_per_round_s": _round(1),
    "border_loss_rate": _border,
    "throughput_mbps": _throughput,
    "mean_rtt_s": _mean_rtt,
    "increase_pkts_per_rtt": _increase,
    "backoff_keep": _keep,
    "refill_rounds": _refill,
    "peak_window_over_bdp": _peak,
    "response_pkts_per_rtt": _response,
}
