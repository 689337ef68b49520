"""The metrics of katto2008's claims: formulas of :mod:`elephan.models`, and the runs of the other metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from elephan.evaluation.criteria import CriterionError
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined, constant
from elephan.evaluation.measuring import At, Chosen, Rule, Suite, stated
from elephan.metrics.statistics import mean_relative_error
from elephan.models import abstracted, hybrid
from elephan.models.cycles import Floats
from elephan.models.hybrid import Control, Pipe
from elephan.models.response import mean_window
from elephan.papers.katto2008.setup import GRID, HYBRIDS, PIPE, PROTOCOLS, TITLES, Setup, points
from elephan.scenario.lookups import link_named, wire_bytes

IDEALS = ("loss", "delay", "hybrid")
RESPONSE_RTT_S = 0.1
BANDWIDTHS_MBPS = (10, 100, 1_000, 10_000)
# Window for a claim about the abstracted models that states no window: the window at which Table 2 is checked in the
# same case.
CASE_2_WINDOW = 250.0
MODEL_GRID = np.geomspace(1e-6, 1e-1, 401)
_WHERE = ("w", "W", "R", "q", "p", "case", "cwnd", "B_mbps", "B", "Dmin", "N", "PS_bits", "rtt_over_min", "bandwidth")


def measurer(runs: Evidence, setup: Setup) -> Chosen:
    """The measurements by the models, and in the runs of one setup."""
    formulas, simulated = (
        Suite(runs, setup, table, keys=_WHERE, along=lambda claim: {"bandwidth": BANDWIDTHS_MBPS})
        for table in (FORMULAS, SIMULATED)
    )
    return Chosen(lambda where, claim: formulas if claim.check in ("analytic", "unit") else simulated)


def _number(at: At, name: str) -> float:
    if name not in at.where:
        raise CriterionError(f"where: {name}: missing")
    return float(at.where[name])


def _flows(at: At) -> int:
    return 2 if at.experiment in ("M2", "F7b") else 1


# ---- runs ----


def _over_losses(metric: str, flow: str = "", flows: int | None = None) -> Rule:
    """A rule for the mean of a metric over the loss rates of a case, or over all loss rates; for the subject's own flow
    by default."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        setup, beside, name = suite.setup, flows or _flows(at), subject.removesuffix("_over_reno")
        rates = points(beside, at.get("case", 0)) if "case" in at.where else list(GRID)
        own = flow or setup.name(name)
        options: dict[str, Any] = {"flows": (own, "rival")} if metric == "throughput_ratio" else {}
        parts = [suite.values(setup.sweep(name, p, beside), metric, None if options else own, **options) for p in rates]
        return combined(parts, fmean, f"mean over p = {', '.join(f'{p:.3g}' for p in rates)}")

    return rule


def _error(suite: Suite, subject: str, at: At) -> Measurement:
    """Mean over the loss rates of |simulated - model| / model, of one flow alone."""
    setup = suite.setup
    found = [suite.values(setup.sweep(subject, p), "throughput_mbps", setup.name(subject)) for p in GRID]
    expected = abstracted.hybrid_mbps(setup.model(subject), GRID, PIPE)
    return combined(found, partial(mean_relative_error, expected=expected.tolist()), "mean over the loss rates")


def _short_flows(suite: Suite, subject: str, at: At) -> Measurement:
    names = {"active": "mean_size_over_mean_duration_mbps", "window": "short_flow_total_mbps"}
    return suite.values(suite.setup.short(subject), names[suite.setup.short_rate])


SIMULATED: dict[str, Rule] = {
    "throughput_mbps": _over_losses("throughput_mbps"),
    "competitor_throughput_mbps": _over_losses("throughput_mbps", "rival", 2),
    "throughput_ratio": _over_losses("throughput_ratio", flows=2),
    "cwnd_cov": _over_losses("cwnd_cov", flows=1),
    "relative_error_vs_model": _error,
    "utilization": lambda suite, subject, at: suite.values(suite.setup.sweep(subject, _number(at, "p")), "utilization"),
    "short_flow_total_mbps": _short_flows,
    "long_flow_mbps": lambda suite, subject, at: suite.values(suite.setup.short(subject), "throughput_mbps", "long"),
}


# ---- formulas ----


def _listed(values: Floats) -> list[float]:
    return [float(value) for value in np.atleast_1d(values)]


def _model_mbps(subject: str, p: Floats, flows: int) -> list[float]:
    """Throughputs of an ideal or an abstracted model."""
    if subject in IDEALS:
        control: Control = subject  # type: ignore[assignment]  # it is one of the three
        return _listed(hybrid.ideal_mbps(control, p, PIPE, flows))
    if subject in HYBRIDS:
        return _listed(abstracted.hybrid_mbps(Setup().model(subject, flows), p, PIPE, flows))
    raise CriterionError(f"'{subject}' is not a model")


def _grid(at: At) -> Floats:
    """Loss rates of the cases that a claim names (``1``, ``"2 and 3"``), or all loss rates."""
    if "case" not in at.where:
        return MODEL_GRID
    cases = [int(word) for word in str(at.where["case"]).split(" and ")]
    return MODEL_GRID[np.isin(hybrid.case_of(hybrid.window_at_loss(MODEL_GRID), PIPE.bdp, _flows(at)), cases)]


def _nearest(subject: str, at: At, values: Callable[[str], list[float]], places: Floats, name: str) -> Measurement:
    """A model's value at the loss rate at which the comparison has its smallest margin."""
    claim = at.criterion
    own = np.array(values(claim.subject))
    others = [np.array(values(other)) for other in claim.other]
    close = claim.relation == "approx_equal_other"
    margins = [-abs(own - other) / other if close else own - other for other in others]
    worst = int(np.argmin(np.min(margins, axis=0)))
    return constant(values(subject)[worst], f"at {name.format(places[worst])}, of all where it is nearest to failing")


def _throughput(suite: Suite, subject: str, at: At) -> Measurement:
    flows = _flows(at)
    if "p" in at.where:
        return constant(_model_mbps(subject, np.array(_number(at, "p")), flows)[0])
    grid = _grid(at)
    return _nearest(subject, at, lambda name: _model_mbps(name, grid, flows), grid, "p = {:.3g}")


def _mean_rtt(suite: Suite, subject: str, at: At) -> Measurement:
    windows = hybrid.window_at_loss(_grid(at))

    def values(name: str) -> list[float]:
        return _listed(hybrid.mean_rtt_s(name, windows, PIPE, _flows(at)) + 0 * windows)  # type: ignore[arg-type]

    return _nearest(subject, at, values, windows, "w = {:.0f}")


def _round(part: int) -> Rule:
    """A rule for the packets (0) or seconds (1) of a round of Table 1 or 2; by default on the paper's path."""

    def number(suite: Suite, subject: str, at: At) -> float:
        table = hybrid.single_flow if _flows(at) == 1 else hybrid.two_flows
        control: Control = "hybrid" if subject == "common" else subject  # type: ignore[assignment]
        rtt_s, packet_s = at.get("R", float(PIPE.rtt_s)), at.get("q", float(PIPE.packet_s))
        return float(table(control, _number(at, "w"), _number(at, "W"), rtt_s, packet_s)[part])

    return stated(number)


def _border(suite: Suite, subject: str, at: At) -> float:
    """Loss rate at the border of two cases.

    If the subject does not state the cases, they follow from the end of the claim's id: cases 1 and 2 for ``12``, cases
    2 and 3 for ``23``.
    """
    if subject in ("hybrid_10g", "hybrid_10m"):
        return float(hybrid.borders(_response_pipe(subject).bdp)[0])
    if subject == "case_2_3":
        pipe = Pipe(_number(at, "bandwidth") * 1e6, PIPE.rtt_s, PIPE.packet_bits)
        return float(hybrid.borders(pipe.bdp)[1])
    which = {"12": 0, "23": 1}[at.criterion.id[-2:]]
    return float(hybrid.borders(_number(at, "W"), _flows(at))[which])


def _response_pipe(subject: str) -> Pipe:
    """The paths of Figure 9."""
    return Pipe({"hybrid_10g": 10e9, "hybrid_10m": 10e6}[subject], RESPONSE_RTT_S, PIPE.packet_bits)


def _response(suite: Suite, subject: str, at: At) -> float:
    p = _number(at, "p")
    if subject == "hybrid":
        return float(hybrid.response(p, _number(at, "W")))
    if subject.startswith("hybrid_"):
        return float(hybrid.response_with_timeouts(p, _response_pipe(subject).bdp, RESPONSE_RTT_S))
    return float(mean_window(subject, p, RESPONSE_RTT_S))


def _increase(suite: Suite, subject: str, at: At) -> float:
    """Increase of the abstracted models (Table 3)."""
    if subject == "areno":
        model = abstracted.areno(Pipe(_number(at, "B_mbps") * 1e6, PIPE.rtt_s, PIPE.packet_bits))
    elif subject == "fusion":
        pipe = Pipe(_number(at, "B"), PIPE.rtt_s, _number(at, "PS_bits"))
        model = abstracted.fusion(pipe, _number(at, "Dmin"), int(_number(at, "N")))
    else:
        model = Setup().model(subject)
    return float(model.growth.increase(at.get("cwnd", 100.0)))


def _keep(suite: Suite, subject: str, at: At) -> float:
    """Fraction of the window kept on a loss, at the stated ratio of RTTs or else at a queue of half a BDP."""
    return float(Setup().model(subject).keep(np.array(at.get("rtt_over_min", 1.5))))


def _refill(suite: Suite, subject: str, at: At) -> Measurement:
    """t2 of Figure 6: round trips until a hybrid fills the capacity that a Reno flow leaves, in case 2."""
    model = Setup().model(subject, 2)
    over = abstracted.beside_reno(model, np.linspace(PIPE.bdp / 2, PIPE.bdp, 202)[1:-1], PIPE.bdp).refilled
    found = abstracted.beside_reno(model, CASE_2_WINDOW, PIPE.bdp).refilled
    return constant(float(found), f"{subject} {over.min():.2f} to {over.max():.2f} over case 2")


def _peak(suite: Suite, subject: str, at: At) -> Measurement:
    """Largest window at a loss that happens before the window reaches the BDP (case 3-2 of Figure 5), as a fraction of
    the BDP."""
    if at.where.get("case") != "3-2":
        raise CriterionError(f"{at.criterion.id}: where: case: only 3-2 is measured")
    cycle = abstracted.alone(Setup().model(subject), hybrid.window_at_loss(MODEL_GRID), PIPE.bdp)
    short = np.isinf(cycle.refilled)
    if not short.any():
        raise NotJudgedError(f"{TITLES[subject]} refills the pipe at every loss rate")
    return constant(float(cycle.peak[short].max() / PIPE.bdp), f"of p from {MODEL_GRID[short].min():.3g}")


def _bdp(suite: Suite, subject: str, at: At) -> float:
    """BDP of the scenarios themselves, in packets on the wire."""
    scenario = Setup().sweep(PROTOCOLS[0], GRID[0])
    bits = 8 * wire_bytes(scenario.form.flows[0].stack)
    return link_named(scenario.form, "bottleneck").rate_bps * scenario.graph.rtt_ps(0) / 1e12 / bits


FORMULAS: dict[str, Rule] = {
    "loss_rate_model": stated(lambda suite, subject, at: float(hybrid.loss_rate(_number(at, "w")))),
    "bdp_pkts": stated(_bdp),
    "T0_ms": stated(lambda suite, subject, at: 1e3 * float(PIPE.t0_s)),
    "packets_per_round": _round(0),
    "elapsed_per_round_s": _round(1),
    "border_loss_rate": stated(_border),
    "throughput_mbps": _throughput,
    "mean_rtt_s": _mean_rtt,
    "increase_pkts_per_rtt": stated(_increase),
    "backoff_keep": stated(_keep),
    "refill_rounds": _refill,
    "peak_window_over_bdp": _peak,
    "response_pkts_per_rtt": stated(_response),
}
