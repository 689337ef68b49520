"""The metrics of ha2006's claims, and the runs of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from elephan.evaluation.conditions import Value, points_of
from elephan.evaluation.criteria import CriterionError
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined
from elephan.evaluation.measuring import At, Cases, Combine, Rule, Suite, along, count, difference, over, stated
from elephan.papers.ha2006.setup import (
    ALGORITHMS,
    DURATION_S,
    FAR_MS,
    OTHER_RTTS_MS,
    RTTS_MS,
    SCENARIOS,
    STARTS_S,
    TITLES,
    VARIANTS,
    Setup,
    background,
)
from elephan.papers.loading import scenario_at
from elephan.scenario import Scenario
from elephan.scenario.lookups import link_named, present

UNREACHED_S = DURATION_S - STARTS_S[1]
"""Convergence time, s, if the flows never converge: the rest of the run after the second flow's start."""

NEAR_MS = tuple(rtt for rtt in OTHER_RTTS_MS if rtt != FAR_MS)
POINTS: dict[str, Sequence[Value]] = {"rtt_ms": RTTS_MS, "rtt2_ms": OTHER_RTTS_MS}
METRICS = {name: name for name in ("utilization", "jain_fi", "loss_rate", "cov_total_throughput", "throughput_ratio")}
METRICS["throughput_ratio_short_over_long"] = "rtt_fairness_ratio"


def measurer(runs: Evidence, setup: Setup) -> Suite:
    """The measurements in the runs of one setup."""
    keys = ("rtt_ms", "rtt1_ms", "rtt2_ms", "bg", "rate_mbps")
    return Suite(runs, setup, TABLE, _scenario, keys, lambda claim: POINTS)


def _scenario(setup: Setup, algorithm: str, at: At) -> Scenario:
    if at.get("rtt1_ms", FAR_MS) != FAR_MS:
        raise CriterionError(f"{at.criterion.id}: where: rtt1_ms: the farther flow is at {FAR_MS} ms")
    if algorithm not in ALGORITHMS and ".X0." not in at.criterion.experiment:
        raise CriterionError(f"{at.criterion.id}: '{algorithm}' is not one of {', '.join(ALGORITHMS)}")
    return scenario_at("ha2006", SCENARIOS, setup, algorithm, at)


def _rtt(at: At) -> str:
    """Name of the condition that states the round-trip time."""
    return "rtt2_ms" if ".X3." in at.criterion.experiment else "rtt_ms"


def _named(suite: Suite, at: At) -> list[At]:
    """The conditions with their round-trip time; if they state no round-trip time, one copy of the conditions for each
    round-trip time of the figure."""
    named = at.where.get("rtt_ms", at.where.get("rtt2_ms"))
    if ".X0." in at.criterion.experiment:
        return [at]
    return [at.but(**{_rtt(at): rtt}) for rtt in ([named] if isinstance(named, int) else POINTS[_rtt(at)])]


def _all(suite: Suite, at: At) -> list[At]:
    """The conditions at every round-trip time of the claim, for a count over all round-trip times."""
    listed = str((at.criterion.conditions or {}).get(_rtt(at), ""))
    return [at.but(**{_rtt(at): rtt}) for rtt in points_of(_rtt(at), POINTS.__getitem__, listed)]


def value(suite: Suite, metric: str, scenario: Scenario) -> Measurement:
    """A metric of a scenario's runs, by the paper's definition."""
    setup = suite.setup
    if metric in METRICS:
        window = setup.cov_s if metric == "cov_total_throughput" else setup.measured_s
        return suite.values(scenario, METRICS[metric], window=window)
    name = "convergence_time_s" if setup.convergence == "running" else "convergence_accumulated_time_s"
    rest_s = setup.seconds(UNREACHED_S)
    then = math.isfinite if metric == "converged" else lambda time_s: time_s if math.isfinite(time_s) else rest_s
    return suite.values(scenario, name, window=(0.0, setup.measured_s[1]), then=then)


def _value(metric: str) -> Rule:
    def rule(suite: Suite, algorithm: str, at: At) -> Measurement:
        if metric == "throughput_ratio_short_over_long" and at.where[_rtt(at)] == FAR_MS:
            raise NotJudgedError("both flows are at the same distance")
        return value(suite, metric, suite.scenario(suite.setup, algorithm, at))

    return rule


def _mean(metric: str) -> Rule:
    """A rule for the mean over round-trip times, or for the smallest value if the claim must hold at one round-trip
    time only."""
    mean = over(_value(metric), _named, fmean)
    smallest = over(_value(metric), along("rtt2_ms", NEAR_MS), min, "smallest of 16, 42 and 82 ms")
    return lambda suite, subject, at: (smallest if at.where.get("rtt2_ms") == "any" else mean)(suite, subject, at)


def _change(metric: str, combine: Combine, cases: Cases = _named) -> Rule:
    """A rule for the mean, over round-trip times, of a function of the values with and without background traffic."""
    return over(over(_value(metric), along("bg", (True, False)), combine), cases, fmean)


def _counted(metric: str, algorithms: Sequence[str], sign: int) -> Rule:
    """Number of algorithms with a higher (1) or a lower (-1) value with background traffic than without."""
    change = _change(metric, difference, _all)

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        changes = {TITLES[name]: change(suite, name, at) for name in algorithms}
        return count(changes, lambda moved: sign * moved > 0, none="none")

    return rule


def _not_converged(suite: Suite, subject: str, at: At) -> Measurement:
    parts = {f"{here.where[_rtt(at)]} ms": _value("converged")(suite, subject, here) for here in _all(suite, at)}
    return count(parts, lambda reached: reached < 0.5, none="none")


def _buffer_over_bdp(suite: Suite, subject: str, at: At) -> float:
    scenario = suite.scenario(suite.setup, "cubic", at)
    bottleneck = link_named(scenario.form, "bottleneck")
    return float(present(bottleneck.queue.limit_bytes)) / (bottleneck.rate_bps * scenario.graph.rtt_ps(0) / 8e12)


def _receive_window_bytes(suite: Suite, subject: str, at: At) -> float:
    stacks = [source.flow.stack for source in background(suite.setup).form.traffic]
    return float(min(present(stack.receive_window) * stack.payload_bytes for stack in stacks))


def _max_cwnd_pkts(suite: Suite, subject: str, at: At) -> Measurement:
    """Smallest of the protocols' largest windows, packets. The largest window of a protocol is that of a flow in its
    run."""
    parts = {}
    for name in VARIANTS:
        scenario = suite.scenario(suite.setup, name, at)
        flow = next(flow for flow in scenario.flow_names if flow.startswith(name))
        parts[name] = suite.values(scenario, "max_cwnd_pkts", flow, (0.0, suite.setup.measured_s[1]))
    least = min(parts, key=lambda name: parts[name].value())
    return combined(parts.values(), min, f"least for {TITLES[least]}")


TABLE: dict[str, Rule] = {
    **{name: _mean(name) for name in (*METRICS, "convergence_time_s", "converged")},
    "jain_gain_vs_nobg": _change("jain_fi", difference),
    # Absolute value of the change by background traffic at a round-trip time.
    "abs_change_jain_vs_nobg": _change("jain_fi", lambda values: abs(difference(values))),
    "n_algorithms_with_higher_loss": _counted("loss_rate", ALGORITHMS, 1),
    "n_algorithms_with_higher_jain": _counted("jain_fi", VARIANTS, 1),
    "n_algorithms_converging_faster": _counted("convergence_time_s", ALGORITHMS, -1),
    "n_rtts_not_converged": _not_converged,
    "buffer_over_bdp": stated(_buffer_over_bdp),
    "receive_window_bytes": stated(_receive_window_bytes),
    "max_cwnd_pkts": _max_cwnd_pkts,
}
