"""How the subjects of leith2008's claims are measured; the numbers are defined in :mod:`elephan.metrics`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean

from elephan.evaluation.conditions import Value, Where
from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined, constant
from elephan.papers.claims import Claim, ClaimError
from elephan.papers.leith2008 import rules
from elephan.papers.leith2008 import setup as paths
from elephan.papers.leith2008.setup import Line, Setup
from elephan.scenario import Scenario
from elephan.scenario.lookups import link_named, present, wire_bytes

Measure = Callable[[str, Where, Claim], Measurement]
_FRIENDLY = {"F8a": "illinois", "F8b": "illinois", "F9a": "ctcp", "F9b": "ctcp"}


class LeithMeasurer:
    """Measures the subjects of the claims in the runs of one setup."""

    def __init__(self, runs: RunSet, setup: Setup) -> None:
        self._runs = runs
        self._setup = setup
        self._of: dict[str, Measure] = {
            "ALG": self._rule, "RESP": self._response, "F1": self._recovery, "F2a": self._reverse, "F2b": self._reverse,
            "F3": self._alone, "F3a": self._alone, "F3b": self._alone, "F4": self._illinois_newcomer,
            "F5": self._newcomer, "F6": self._shallow, "F7": self._rtts, "F8a": self._friendly, "F8b": self._friendly,
            "F9a": self._friendly, "F9b": self._friendly, "F10": self._crossed, "T1": self._table, "F11": self._misled,
            "F12": self._overestimated, "F13": self._anomaly, "S8C": self._gigabit,
        }  # fmt: skip

    def points(self, parameter: str, claim: Claim) -> Sequence[Value]:
        """The points along a parameter."""
        if parameter == "queue_delay_fraction":
            return list(rules.FRACTIONS)
        if parameter == "cwnd_pkts":
            return list(rules.WINDOWS)
        if parameter == "bdp_pkts":
            rates = paths.F5_MBPS if claim.experiment == "leith2008.F5" else paths.RENO_MBPS
            return [paths.with_rate(paths.F5, mbps).bdp_packets for mbps in rates]
        raise NotJudgedError(f"the paper has no points along {parameter}")

    def measure(self, metric: str, subject: str, where: Where, claim: Claim) -> Measurement:
        """A metric of a subject under conditions.

        Raises:
            NotJudgedError: its runs are not there.
            ClaimError: nothing here knows how it is measured.
        """
        name = str(where.get("experiment", claim.experiment))
        measure = self._of.get(name.partition(".")[2])
        if measure is None:
            raise ClaimError(f"{claim.id}: experiment: '{claim.experiment}' is not measured here")
        return measure(subject, {**where, "metric": metric, "at": name.partition(".")[2]}, claim)

    # ---- one scenario ----

    def _values(
        self, scenario: Scenario, metric: str, flow: str | None = None, window: tuple[float, float] | None = None,
        **options: object,
    ) -> Measurement:  # fmt: skip
        """A metric of a scenario's runs, one value a seed; of one flow when the metric has one for each."""
        runs = self._runs.of(scenario)
        if flow is not None:
            options = {"flows": (flow,), **options}
        found = [self._runs.metric(run, metric, window, **options) for run in runs]
        values = tuple(float(value[flow]) if isinstance(value, dict) else float(value) for value in found)
        return Measurement(sample=values, runs=tuple(run.id for run in runs))

    def _each(self, scenario: Scenario, measure: Callable[[int], float]) -> Measurement:
        """One value a seed, each by its position."""
        runs = self._runs.of(scenario)
        return Measurement(tuple(measure(i) for i in range(len(runs))), runs=tuple(run.id for run in runs))

    # ---- section II ----

    def _rule(self, subject: str, where: Where, claim: Claim) -> Measurement:
        metric = str(where["metric"])
        if "cwnd_pkts" in where:
            scenario = rules.at_window(subject, int(where["cwnd_pkts"]))
            return self._values(scenario, "increase_pkts_per_rtt", subject, rules.EARLY_S)
        if metric == "backoff_delta":
            scenario = rules.at_delay(subject, float(where.get("queue_delay_fraction", 0.0)))
            return self._values(scenario, "backoff_delta", subject, (10.0, 40.0))
        if metric == "wnd_increase_pkts_per_rtt":
            # With the largest delay there is no delay-based part.
            return self._values(rules.at_delay(subject, 1.0), "increase_pkts_per_rtt", subject, rules.GROWTH_S)
        at = [where["queue_delay_fraction"]] if "queue_delay_fraction" in where else rules.FRACTIONS
        growth = [
            self._values(rules.at_delay(subject, float(f)), "increase_pkts_per_rtt", subject, rules.GROWTH_S)
            for f in at
        ]
        return combined(growth, max, "the largest over all delays" if len(at) > 1 else "")

    # ---- figures 1 and 2, and the response function ----

    def _response(self, subject: str, where: Where, claim: Claim) -> Measurement:
        """At the loss rate where the claim is nearest to failing; throughput on the wire."""
        rates = {
            name: [self._values(paths.response(self._setup, name, loss), "throughput_mbps", name).value()
                   for loss in paths.LOSS_RATES]
            for name in (claim.subject, claim.other[0])
        }  # fmt: skip
        own, other = rates[claim.subject], rates[claim.other[0]]
        sign = 1 if claim.relation == "greater_than_other" else -1
        margins = [sign * (a - b) / b for a, b in zip(own, other, strict=True)]
        loss = paths.LOSS_RATES[margins.index(min(margins))]
        found = self._values(paths.response(self._setup, subject, loss), "throughput_mbps", subject)
        return combined([found], fmean, f"at a loss rate of {loss:g}, where it holds least")

    def _recovery(self, subject: str, where: Where, claim: Claim) -> Measurement:
        scenario = paths.recovery(self._setup, subject)
        end_s = scenario.form.duration_ps / 1e12
        return self._values(scenario, "recovery_time_s", subject, (float(paths.BURST_S), end_s)).times(self._scale)

    def _fill(self, algorithm: str, *, traffic: bool = True) -> Measurement:
        scenario = paths.reverse(self._setup, algorithm, traffic=traffic)
        return self._values(scenario, "recovery_time_s", algorithm, (float(paths.F2_LOSS_S), 400.0))

    def _refilling(self, algorithm: str, metric: str, *, traffic: bool = True, **options: object) -> Measurement:
        """A metric of the time from 5 s after the datagrams until the link is full again, by seed.

        Below 15 segments, and for some round trips of a few more, Illinois is standard TCP by its own rule.
        """
        scenario = paths.reverse(self._setup, algorithm, traffic=traffic)
        fills, runs = self._fill(algorithm, traffic=traffic).sample, self._runs.of(scenario)

        def one(i: int) -> float:
            begin_s = paths.F2_LOSS_S + 5.0
            end_s = min(max(paths.F2_LOSS_S + fills[i], begin_s + 1), 400.0)
            value = self._runs.metric(runs[i], metric, (begin_s, end_s), flows=(algorithm,), **options)
            return float(value[algorithm])

        return self._each(scenario, one)

    def _reverse(self, subject: str, where: Where, claim: Claim) -> Measurement:
        metric = str(where["metric"])
        algorithm = "illinois" if where["at"] == "F2a" else "ctcp"
        if metric == "reverse_rate_cap_mbps":
            bits = 8 * paths.REVERSE_WINDOW_BYTES
            return constant(bits / (paths.F2.rtt_ms * 1e3))
        if metric == "fill_time_s":
            return self._fill(subject).times(self._scale)
        if metric == "mean_alpha_pkts_per_rtt":
            return self._refilling(subject, "increase_pkts_per_rtt", traffic=where.get("reverse") != "off")
        if metric == "mean_dwnd_fraction":
            return self._refilling(subject, "mean_dwnd_fraction", increase=self._setup.reno_increase)
        scenario = paths.reverse(self._setup, algorithm)
        since = (float(paths.F2_LOSS_S), 400.0)
        if metric == "loss_count":
            return self._values(scenario, "drops", None, since, link="bottleneck/reverse")
        flows = tuple(name for name in scenario.flows if name.startswith("reverse-"))
        total = self._values(scenario, "sum_throughput_mbps", None, since, flows=flows)
        if metric == "reverse_load_fraction":
            return total.times(self._scale / paths.F2.mbps)
        return total.times(self._scale)

    # ---- figure 3 ----

    def _alone(self, subject: str, where: Where, claim: Claim) -> Measurement:
        metric, short = str(where["metric"]), claim.id.partition(".")[2]
        if short == "reno.long_epochs":
            line = paths.Line(float(where["rate_mbps"]), int(where["rtt_ms"]), 0)
            # From one BDP to two at a segment a round trip, which lasts 1.5 RTTs in the mean.
            return constant(line.bdp_packets * 1.5 * line.rtt_ms / 1e3)
        if short == "reno.low_utilisation":
            raise NotJudgedError("the paper says that it is so on some paths, and names none")
        if metric == "epoch_growth_time_s":
            return constant(2000 * paths.F3B.rtt_ms / 1e3)
        if "bdp_pkts" in where:
            mbps = paths.F5.mbps * float(where["bdp_pkts"]) / paths.F5.bdp_packets
            return self._epoch("reno", paths.with_rate(paths.F5, mbps)).times(self._scale)
        if metric in ("epoch_duration_ratio", "epoch_ratio_to_reno"):
            beside = ("illinois", paths.F3A) if metric == "epoch_duration_ratio" else ("reno", paths.F3B)
            parts = [self._epoch("illinois", paths.F3B), self._epoch(*beside)]
            return combined(parts, lambda values: values[0] / values[1])
        line = paths.F3A if where["at"] == "F3a" else paths.F3B
        if metric == "epoch_duration_s":
            return self._epoch(subject, line).times(self._scale)
        found = self._values(lone(self._setup, subject, line), metric, subject)
        return found.times(self._scale) if metric == "epoch_growth_pkts" else found

    @property
    def _scale(self) -> float:
        """By what a quick run's packets, and the times that they take, are to be multiplied."""
        return float(self._setup.scale)

    def _epoch(self, algorithm: str, line: Line) -> Measurement:
        return self._values(lone(self._setup, algorithm, line), "epoch_duration_s", algorithm)

    # ---- two flows of one algorithm: figures 4, 5, 6, 11 and 13 ----

    def _illinois_newcomer(self, subject: str, where: Where, claim: Claim) -> Measurement:
        scenario = paths.newcomer(self._setup, "illinois", paths.F3B, *paths.late(self._setup))
        if where["metric"] == "convergence_time_s":
            times = self._values(scenario, "convergence_cwnd_time_s")
            shortest = min(times.sample)
            return Measurement((shortest * self._scale,), runs=times.runs, detail=_spread(times.sample, self._scale))
        longest = []
        for run in self._runs.of(scenario):
            try:
                longest.append(float(self._runs.metric(run, "fairness_excursion_s")))
            except NotJudgedError:
                continue
        if not longest:
            raise NotJudgedError("the flows meet in no replicate")
        return Measurement(tuple(longest), runs=tuple(run.id for run in self._runs.of(scenario)))

    def _newcomer(self, subject: str, where: Where, claim: Claim) -> Measurement:
        line = paths.F5
        if "bdp_pkts" in where:
            line = paths.with_rate(line, line.mbps * float(where["bdp_pkts"]) / line.bdp_packets)
        scenario = paths.newcomer(self._setup, subject, line, *paths.F5_TIMES_S)
        if where["metric"] == "convergence_epochs":
            return self._values(scenario, "convergence_epochs")
        return self._values(scenario, "convergence_cwnd_time_s").times(self._scale)

    def _shallow(self, subject: str, where: Where, claim: Claim) -> Measurement:
        metric = str(where["metric"])
        if metric == "bdp_pkts":
            return constant(paths.F6.bdp_packets)
        scenario = paths.newcomer(self._setup, subject, paths.F6, *paths.F6_TIMES_S)
        if metric == "convergence_time_s":
            return self._values(scenario, "convergence_cwnd_time_s").times(self._scale)
        if metric == "wnd_fill_time_s":
            return self._values(scenario, metric, increase=self._setup.reno_increase).times(self._scale)
        parts = [self._values(scenario, metric, name, increase=self._setup.reno_increase) for name in scenario.flows]
        return combined(parts, fmean)

    def _misled(self, subject: str, where: Where, claim: Claim) -> Measurement:
        if where["metric"] == "base_rtt_error_ms":
            flows = paths.misled(self._setup, "ctcp").form.flows
            return constant(max(flow.base_rtt_error_ps for flow in flows) / 1e9)
        return self._values(paths.misled(self._setup, subject), "jain_fi")

    def _anomaly(self, subject: str, where: Where, claim: Claim) -> Measurement:
        algorithm, _, which = subject.partition("_flow")
        scenario = paths.newcomer(self._setup, algorithm, paths.F13, *paths.F5_TIMES_S)
        window = (300.0, scenario.form.duration_ps / 1e12)
        return self._values(scenario, "increase_pkts_per_rtt", f"{algorithm}-{which}", window)

    # ---- a new algorithm against Reno: figures 8, 9 and 12 ----

    def _friendly(self, subject: str, where: Where, claim: Claim) -> Measurement:
        name, metric = str(where["at"]), str(where["metric"])
        overestimate = name == "F8a" and bool(where.get("max_rtt_overestimate", True))
        scenario = paths.against_reno(self._setup, _FRIENDLY[name], name, overestimate=overestimate)
        if metric == "throughput_mbps":
            # The captions' sums of 89 and 90 Mbit/s are payload: headers would make them 92 to 93.
            return self._values(scenario, "goodput_mbps", subject).times(self._scale)
        if metric == "sum_throughput_mbps":
            return self._values(scenario, "sum_goodput_mbps").times(self._scale)
        return self._values(scenario, metric)

    def _overestimated(self, subject: str, where: Where, claim: Claim) -> Measurement:
        overestimate = bool(where.get("max_rtt_overestimate", True))
        scenario = paths.against_reno(self._setup, "illinois", "F12", overestimate=overestimate)
        if "illinois_ignore2rtt" in (claim.subject, *claim.other):
            preset = "illinois" if subject == "illinois_ignore2rtt" else "illinois_stock"
            scenario = paths.on_slow_host(self._setup, preset)
        if where["metric"] == "throughput_ratio":
            return self._values(scenario, "throughput_ratio")
        return self._values(scenario, "increase_pkts_per_rtt", "illinois")

    # ---- cross traffic: figures 7 and 10, table I, section VIII.C ----

    def _rtts(self, subject: str, where: Where, claim: Claim) -> Measurement:
        if where["metric"] == "buffer_over_bdp":
            return constant(paths.F7_BUFFERS[16] / paths.Line(100, 120, 0).bdp_packets)
        buffers = [int(where["buffer_ms"])] if "buffer_ms" in where else list(paths.F7_BUFFERS)
        rtts = [int(where["rtt1_ms"])] if "rtt1_ms" in where else [rtt for rtt in paths.F7_RTTS_MS if rtt != 120]
        parts = [self._long_over_short(subject, rtt, buffer) for buffer in buffers for rtt in rtts]
        over = f"geometric mean over {len(parts)} settings" if len(parts) > 1 else ""
        return combined(parts, lambda values: math.exp(fmean(map(math.log, values))), over)

    def _long_over_short(self, algorithm: str, rtt_ms: int, buffer_ms: int) -> Measurement:
        scenario = paths.rtt_pair(self._setup, algorithm, rtt_ms, buffer_ms)
        return combined([self._values(scenario, "throughput_ratio")], lambda values: 1 / values[0])

    def _long(self, algorithm: str, case: int) -> Measurement:
        return self._values(paths.crossed(self._setup, algorithm, case), "throughput_mbps", algorithm).times(
            self._scale
        )

    def _crossed(self, subject: str, where: Where, claim: Claim) -> Measurement:
        metric, case = str(where["metric"]), int(where.get("case", 2))
        if metric == "throughput_mbps":
            return self._long(subject, case)
        if metric.startswith("throughput_loss_vs_case"):
            before = int(metric.removeprefix("throughput_loss_vs_case").partition("_")[0])
            parts = [self._long(subject, before), self._long(subject, case)]
            return combined(parts, lambda values: values[0] - values[1])
        if metric == "cross_traffic_mbps":
            return self._each(
                paths.crossed(self._setup, "ctcp", 2), partial(self._carried, paths.crossed(self._setup, "ctcp", 2))
            )
        return constant(self._stated(metric))

    def _carried(self, scenario: Scenario, position: int) -> float:
        run = self._runs.of(scenario)[position]
        return self._scale * sum(float(source["throughput_mbps"]) for source in run.summary()["traffic"])

    def _stated(self, metric: str) -> float:
        """What the experiment states, read from its own scenario."""
        form = paths.crossed(self._setup, "ctcp", 4).form
        small = next(flow for flow in form.flows if flow.name == "small")
        if metric == "small_packet_load_mbps":
            return present(small.application).rate_bps * self._scale / 1e6
        if metric == "small_packet_bytes":
            return float(wire_bytes(small.stack))
        packets = float(present(link_named(form, "bottleneck").queue.limit_packets)) * self._scale
        return packets if metric == "buffer_pkts" else packets / paths.F10.bdp_packets

    def _table(self, subject: str, where: Where, claim: Claim) -> Measurement:
        metric = str(where["metric"])
        if metric == "throughput_mbps":
            return self._long(subject, 2)
        scenario = paths.crossed(self._setup, subject, 2)
        if metric == "row_ratio":
            rows = [
                self._values(scenario, name) for name in ("mean_size_over_mean_duration_mbps", "mean_flow_rate_mbps")
            ]
            return combined(rows, lambda values: values[0] / values[1])
        return self._values(scenario, metric)

    def _gigabit(self, subject: str, where: Where, claim: Claim) -> Measurement:
        return self._values(paths.gigabit(self._setup, subject), "goodput_mbps", subject).times(self._scale)


def lone(setup: Setup, algorithm: str, line: Line) -> Scenario:
    """The run of Figure 3 that is about an algorithm and a path."""
    return paths.alone(setup, algorithm, line, paths.epochs_s(setup, line))


def _spread(values: Iterable[float], scale: float) -> str:
    """All of some times, for a reader."""
    return "by seed " + ", ".join(f"{scale * value:.0f}" for value in sorted(values)) + " s"
