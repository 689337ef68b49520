"""The metrics of leith2008's claims, and the runs of each, with a table for each experiment."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from elephan.evaluation.conditions import Value
from elephan.evaluation.criteria import CriterionError
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined
from elephan.evaluation.measuring import (
    At,
    Chosen,
    Rule,
    Suite,
    along,
    both,
    difference,
    of,
    over,
    ratio,
    stated,
    under,
)
from elephan.papers.claims import Claim
from elephan.papers.leith2008 import rules
from elephan.papers.leith2008 import setup as paths
from elephan.papers.leith2008.setup import SCENARIOS, Line, Setup, lone
from elephan.papers.loading import scenario_at
from elephan.scenario import Scenario
from elephan.scenario.lookups import link_named, present, wire_bytes

_FRIENDLY = {"F8a": "illinois", "F8b": "illinois", "F9a": "ctcp", "F9b": "ctcp"}
_SCALED = (
    "throughput_mbps", "sum_throughput_mbps", "goodput_mbps", "sum_goodput_mbps", "recovery_time_s", "wnd_fill_time_s",
    "convergence_cwnd_time_s", "epoch_duration_s", "epoch_growth_pkts",
)  # fmt: skip
"""Metrics whose values in a quick run are smaller by the factor of the run's scale: rates, numbers of packets, and
times that depend on rates. These values are multiplied by the scale."""
Place = Callable[[Setup, str, At], Scenario]
REFILL_S = (float(paths.F2_LOSS_S), 400.0)


def measurer(runs: Evidence, setup: Setup) -> Chosen:
    """The measurements in the runs of one setup."""
    factors = dict.fromkeys(_SCALED, float(setup.scale))
    stated = partial(scenario_at, "leith2008", SCENARIOS)
    suites = {
        name: Suite(runs, setup, table, PLACES.get(name, stated), along=_points, factors=factors)
        for name, table in EXPERIMENTS.items()
    }

    def choose(where: Mapping[str, Value], claim: Claim) -> Suite:
        name = At(where, claim).experiment
        if name not in suites:
            raise CriterionError(f"{claim.id}: experiment: '{claim.experiment}' is not measured here")
        return suites[name]

    return Chosen(choose)


def _points(claim: Claim) -> dict[str, Sequence[Value]]:
    rates = paths.F5_MBPS if claim.experiment == "leith2008.F5" else paths.RENO_MBPS
    return {
        "queue_delay_fraction": rules.FRACTIONS,
        "cwnd_pkts": rules.WINDOWS,
        "bdp_pkts": [paths.with_rate(paths.F5, mbps).bdp_packets for mbps in rates],
    }


def _with_bdp(line: Line, at: At) -> Line:
    """Figure 5's path with the bandwidth-delay product that the conditions state, or else ``line``."""
    if "bdp_pkts" not in at.where:
        return line
    return paths.with_rate(paths.F5, paths.F5.mbps * at.get("bdp_pkts", 0.0) / paths.F5.bdp_packets)


def _beside_reno(setup: Setup, subject: str, at: At) -> Scenario:
    name = at.experiment
    overestimate = name == "F8a" and at.get("max_rtt_overestimate", True)
    return paths.against_reno(setup, _FRIENDLY[name], name, overestimate=overestimate)


def _overestimated(setup: Setup, subject: str, at: At) -> Scenario:
    if "illinois_ignore2rtt" in (at.criterion.subject, *at.criterion.other):
        return paths.on_slow_host(setup, "illinois" if subject == "illinois_ignore2rtt" else "illinois_stock")
    return paths.against_reno(setup, "illinois", "F12", overestimate=at.get("max_rtt_overestimate", True))


def _alone(setup: Setup, subject: str, at: At) -> Scenario:
    return lone(setup, subject, _with_bdp(paths.F3A if at.experiment == "F3a" else paths.F3B, at))


# ---- rules ----


def _since(metric: str, from_s: float) -> Rule:
    """A rule for a metric of the flow that the subject names, from a time to the end of the run."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        scenario = suite.scenario(suite.setup, subject, at)
        window = (from_s, scenario.form.duration_ps / 1e12)
        return suite.values(scenario, metric, subject.replace("_flow", "-"), window)

    return rule


def _increase(suite: Suite, subject: str, at: At) -> Measurement:
    """Growth at a window, or at a queueing delay that equals the largest delay divided by the ratio in the
    conditions."""
    if "cwnd_pkts" in at.where:
        scenario = rules.at_window(subject, at.get("cwnd_pkts", 0))
        return suite.values(scenario, "increase_pkts_per_rtt", subject, rules.EARLY_S)
    named = "queue_delay_fraction" in at.where
    return (GROWTH if named else over(GROWTH, FRACTIONS, max, "the largest over all delays"))(suite, subject, at)


def _response(suite: Suite, subject: str, at: At) -> Measurement:
    """Throughput on the wire at the loss rate at which the claim has its smallest margin."""
    claim = at.criterion

    def found(name: str, loss: float) -> Measurement:
        return suite.values(paths.response(suite.setup, name, loss), "throughput_mbps", name)

    sign = 1 if claim.relation == "greater_than_other" else -1

    def margin(loss: float) -> float:
        own, other = (found(name, loss).value() for name in (claim.subject, claim.other[0]))
        return sign * (own - other) / other

    nearest = min(paths.LOSS_RATES, key=margin)
    return combined([found(subject, nearest)], fmean, f"at a loss rate of {nearest:g}, where it holds least")


def _refilling(metric: str) -> Rule:
    """A rule for a metric over the time from 5 s after the end of the datagrams until the link is full again, by seed.

    Below 15 segments, and for some round trips above 15 segments, Illinois behaves as standard TCP by its own rule.
    """

    def rule(suite: Suite, algorithm: str, at: At) -> Measurement:
        scenario = suite.scenario(suite.setup, algorithm, at)
        fills = suite.values(scenario, "recovery_time_s", algorithm, REFILL_S).sample
        options = {"increase": suite.setup.reno_increase} if metric == "mean_dwnd_fraction" else {}

        def one(i: int) -> float:
            begin_s = REFILL_S[0] + 5.0
            end_s = min(max(REFILL_S[0] + fills[i] / suite.setup.scale, begin_s + 1), REFILL_S[1])
            run = suite.runs.of(scenario)[i]
            return float(suite.runs.metric(run, metric, (begin_s, end_s), flows=(algorithm,), **options)[algorithm])

        return suite.each(scenario, one)

    return rule


def _reverse(metric: str, **options: Any) -> Rule:
    """A metric of Illinois's run of Figure 2 after its losses, or of the flows of the reverse path."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        scenario = suite.scenario(suite.setup, "illinois", at)
        flows = {"flows": tuple(name for name in scenario.flow_names if name.startswith("reverse-"))}
        return suite.values(scenario, metric, window=REFILL_S, **(options or flows))

    return rule


def _long_epochs(suite: Suite, subject: str, at: At) -> Measurement:
    """Mean simulated epoch, s. If the conditions state a path, the result is computed: the time in which a window grows
    from one BDP to two BDPs by one segment each round trip."""

    def number(suite: Suite, subject: str, at: At) -> float:
        line = Line(at.get("rate_mbps", 0.0), at.get("rtt_ms", 0), 0)
        return line.bdp_packets * 1.5 * line.rtt_ms / 1e3  # a round trip lasts 1.5 RTTs on average

    return (stated(number) if "rate_mbps" in at.where else EPOCH)(suite, subject, at)


def _unnamed(suite: Suite, subject: str, at: At) -> Measurement:
    raise NotJudgedError("the paper says this about some paths, and names none")


def _soonest(suite: Suite, subject: str, at: At) -> Measurement:
    times = of("convergence_cwnd_time_s")(suite, subject, at)
    listed = ", ".join(f"{value:.0f}" for value in sorted(times.sample))
    return Measurement((min(times.sample),), runs=times.runs, detail=f"by seed {listed} s")


def _excursion(suite: Suite, subject: str, at: At) -> Measurement:
    runs = suite.runs.of(suite.scenario(suite.setup, subject, at))
    longest = []
    for run in runs:
        try:
            longest.append(float(suite.runs.metric(run, "fairness_excursion_s")))
        except NotJudgedError:
            continue
    if not longest:
        raise NotJudgedError("the flows meet in no replicate")
    return Measurement(tuple(longest), runs=tuple(run.id for run in runs))


def _compound(metric: str, *, each: bool = False) -> Rule:
    """A rule for a metric of Compound's two windows; with ``each`` the mean over the flows."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        scenario, increase = suite.scenario(suite.setup, subject, at), suite.setup.reno_increase
        names = scenario.flow_names if each else [None]
        parts = [suite.values(scenario, metric, name, increase=increase) for name in names]
        return combined(parts, fmean)

    return rule


def _inverse(suite: Suite, subject: str, at: At) -> Measurement:
    return combined([of("throughput_ratio")(suite, subject, at)], lambda values: 1 / values[0])


def _rtt_cases(suite: Suite, at: At) -> list[At]:
    buffers = [at.get("buffer_ms", 0)] if "buffer_ms" in at.where else list(paths.F7_BUFFERS)
    rtts = [at.get("rtt1_ms", 0)] if "rtt1_ms" in at.where else [rtt for rtt in paths.F7_RTTS_MS if rtt != 120]
    return [at.but(buffer_ms=buffer, rtt1_ms=rtt) for buffer in buffers for rtt in rtts]


def _cross_mbps(suite: Suite, subject: str, at: At) -> Measurement:
    scenario = paths.crossed(suite.setup, "ctcp", 2)
    runs = suite.runs.of(scenario)

    def carried(i: int) -> float:
        rates = (float(source["throughput_mbps"]) for source in runs[i].summary()["traffic"])
        return float(suite.setup.scale * sum(rates))

    return suite.each(scenario, carried)


def _datagrams(number: Callable[[Any], float]) -> Rule:
    """A property of the datagrams of case 4, from the scenario of this case."""
    return stated(lambda suite, subject, at: number(paths.crossed(suite.setup, "ctcp", 4).form.flows[1]))


def _buffer(suite: Suite, subject: str, at: At) -> float:
    """Buffer of case 4 in packets, or relative to the bandwidth-delay product."""
    queue = link_named(paths.crossed(suite.setup, "ctcp", 4).form, "bottleneck").queue
    packets = float(present(queue.limit_packets) * suite.setup.scale)
    return packets if at.criterion.metric == "buffer_pkts" else packets / paths.F10.bdp_packets


# ---- experiments ----

GROWTH = of("increase_pkts_per_rtt", "{}", rules.GROWTH_S)
FRACTIONS = along("queue_delay_fraction", rules.FRACTIONS)
EPOCH = of("epoch_duration_s", "{}")
ON_F3B = under(EPOCH, "illinois", experiment="leith2008.F3b")
LONG = of("throughput_mbps", "{}")
SIZES, RATES = "mean_size_over_mean_duration_mbps", "mean_flow_rate_mbps"

ALG: dict[str, Rule] = {
    "alpha_pkts_per_rtt": _increase,
    "backoff_delta": of("backoff_delta", "{}", (10.0, 40.0)),
    # At the largest delay the delay-based component is 0.
    "wnd_increase_pkts_per_rtt": under(GROWTH, queue_delay_fraction=1.0),
}
REVERSE: dict[str, Rule] = {
    "fill_time_s": of("recovery_time_s", "{}", REFILL_S),
    "mean_alpha_pkts_per_rtt": _refilling("increase_pkts_per_rtt"),
    "mean_dwnd_fraction": _refilling("mean_dwnd_fraction"),
    "loss_count": _reverse("drops", link="bottleneck/reverse"),
    "throughput_mbps": _reverse("sum_throughput_mbps"),
    "reverse_load_fraction": lambda suite, subject, at: _reverse("sum_throughput_mbps")(suite, subject, at).times(
        1 / paths.F2.mbps
    ),
    "reverse_rate_cap_mbps": stated(8 * Setup.stated["reverse_window"] / (paths.F2.rtt_ms * 1e3)),
}
LONE: dict[str, Rule] = {
    "epoch_duration_s": _long_epochs,
    "epoch_duration_ratio": both(ON_F3B, under(EPOCH, "illinois", experiment="leith2008.F3a"), ratio),
    "epoch_ratio_to_reno": both(ON_F3B, under(EPOCH, "reno", experiment="leith2008.F3b"), ratio),
    "epoch_growth_pkts": of("epoch_growth_pkts", "{}"),
    "epoch_growth_time_s": stated(2000 * paths.F3B.rtt_ms / 1e3),
    "cwnd_curvature": of("cwnd_curvature", "{}"),
    "utilization": _unnamed,
}
FRIENDLY: dict[str, Rule] = {
    # The captions' sums of 89 and 90 Mbit/s are payload; with headers, the sums would be 92 to 93 Mbit/s.
    "throughput_mbps": of("goodput_mbps", "{}"),
    "sum_throughput_mbps": of("sum_goodput_mbps"),
}
CROSSED: dict[str, Rule] = {
    "throughput_mbps": LONG,
    "throughput_loss_vs_case1_mbps": both(under(LONG, case=1), LONG, difference),
    "throughput_loss_vs_case2_mbps": both(under(LONG, case=2), LONG, difference),
    "cross_traffic_mbps": _cross_mbps,
    "small_packet_load_mbps": _datagrams(lambda flow: present(flow.application).rate_bps / 1e6),
    "small_packet_bytes": _datagrams(lambda flow: wire_bytes(flow.stack)),
    "buffer_pkts": stated(_buffer),
    "buffer_over_bdp": stated(_buffer),
    "row_ratio": both(of(SIZES), of(RATES), ratio),
}
EXPERIMENTS: dict[str, dict[str, Rule]] = {
    "ALG": ALG,
    "RESP": {"throughput_mbps": _response},
    "F1": {"recovery_time_s": _since("recovery_time_s", float(paths.BURST_S))},
    **dict.fromkeys(("F2a", "F2b"), REVERSE),
    **dict.fromkeys(("F3", "F3a", "F3b"), LONE),
    "F4": {"convergence_time_s": _soonest, "fairness_excursion": _excursion},
    "F5": {"convergence_time_s": of("convergence_cwnd_time_s")},
    "F6": {
        "bdp_pkts": stated(paths.F6.bdp_packets),
        "convergence_time_s": of("convergence_cwnd_time_s"),
        "wnd_fill_time_s": _compound("wnd_fill_time_s"),
        "mean_dwnd_fraction": _compound("mean_dwnd_fraction", each=True),
    },
    "F7": {
        "buffer_over_bdp": stated(paths.F7_BUFFERS[16] / Line(100, 120, 0).bdp_packets),
        "throughput_ratio_long_over_short": over(
            _inverse,
            _rtt_cases,
            lambda values: math.exp(fmean(map(math.log, values))),
            "geometric mean over {} settings",
        ),
    },
    **dict.fromkeys(_FRIENDLY, FRIENDLY),
    **dict.fromkeys(("F10", "T1"), CROSSED),
    "F11": {
        "base_rtt_error_ms": stated(
            lambda suite, subject, at: (
                max(flow.base_rtt_error_ps for flow in paths.misled(suite.setup, "ctcp").form.flows) / 1e9
            )
        ),
    },
    "F12": {"mean_alpha_pkts_per_rtt": of("increase_pkts_per_rtt", "illinois")},
    "F13": {"wnd_increase_pkts_per_rtt": _since("increase_pkts_per_rtt", 300.0)},
    "S8C": {"throughput_mbps": of("goodput_mbps", "{}")},
}
PLACES: dict[str, Place] = {
    "ALG": lambda setup, subject, at: rules.at_delay(subject, at.get("queue_delay_fraction", 0.0)),
    "RESP": lambda setup, subject, at: paths.response(setup, subject, 0.0),
    "F4": lambda setup, subject, at: paths.newcomer(setup, "illinois", paths.F3B, *paths.late(setup)),
    "F5": lambda setup, subject, at: paths.newcomer(setup, subject, _with_bdp(paths.F5, at), *paths.F5_TIMES_S),
    "F12": _overestimated,
    "F13": lambda setup, subject, at: paths.late_second(setup, subject.partition("_flow")[0], "F13"),
    **dict.fromkeys(("F3", "F3a", "F3b"), _alone),
    **dict.fromkeys(_FRIENDLY, _beside_reno),
}
"""The scenarios of experiments whose claims do not name the arguments of their runs."""
