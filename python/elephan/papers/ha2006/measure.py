"""How the subjects of ha2006's claims are measured; the numbers are defined in :mod:`elephan.metrics`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from elephan.evaluation.conditions import Value, Where, points_of
from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined, constant
from elephan.papers.claims import Claim, ClaimError
from elephan.papers.ha2006.setup import (
    ALGORITHMS,
    DURATION_S,
    FAR_MS,
    OTHER_RTTS_MS,
    RATE_MBPS,
    RTTS_MS,
    SLOW_RATE_MBPS,
    STARTS_S,
    TITLES,
    VARIANTS,
    Case,
    Setup,
)
from elephan.scenario import Scenario
from elephan.scenario.lookups import link_named, present

UNREACHED_S = DURATION_S - STARTS_S[1]
"""What a convergence time counts as where it is never reached: the rest of the run after the second flow's start."""

NEAR_MS = tuple(rtt for rtt in OTHER_RTTS_MS if rtt != FAR_MS)
_WHERE = {"rtt_ms", "rtt1_ms", "rtt2_ms", "bg", "rate_mbps"}
_PLAIN = {
    "utilization": "utilization",
    "jain_fi": "jain_fi",
    "loss_rate": "loss_rate",
    "throughput_ratio": "throughput_ratio",
    "throughput_ratio_short_over_long": "rtt_fairness_ratio",
}


@dataclass(frozen=True)
class Context:
    """The conditions of a claim.

    Attributes:
        experiment: ``X0`` (background alone), ``X1`` (a variant and TCP-SACK), ``X2`` (two of a variant) or ``X3`` (two
            of a variant with different RTTs).
        background: whether there is background traffic.
        rate_mbps: of the bottleneck.
        rtt_ms: of both flows, or of the nearer one; ``None`` where the claim names none.
    """

    experiment: str
    background: bool
    rate_mbps: int = RATE_MBPS
    rtt_ms: int | None = None

    def case(self, algorithm: str, rtt_ms: int) -> Case:
        """The run of an algorithm at a round-trip time."""
        second = "sack" if self.experiment == "X1" else algorithm
        rtts = (FAR_MS, rtt_ms) if self.experiment == "X3" else (rtt_ms, rtt_ms)
        return Case(algorithm, second, rtts, self.background, self.rate_mbps)

    @property
    def rtts_ms(self) -> tuple[int, ...]:
        """The round-trip times that it speaks of."""
        if self.rtt_ms is not None:
            return (self.rtt_ms,)
        return OTHER_RTTS_MS if self.experiment == "X3" else RTTS_MS


class HaMeasurer:
    """Measures the subjects of the claims in the runs of one setup."""

    def __init__(self, runs: RunSet, setup: Setup) -> None:
        self._runs = runs
        self._setup = setup

    def points(self, parameter: str, claim: Claim) -> Sequence[Value]:
        """The round-trip times along which a claim goes.

        Raises:
            NotJudgedError: the parameter is another.
        """
        if parameter == "rtt_ms":
            return list(RTTS_MS)
        if parameter == "rtt2_ms":
            return list(OTHER_RTTS_MS)
        raise NotJudgedError(f"the paper has no points along {parameter}")

    def measure(self, metric: str, subject: str, where: Where, claim: Claim) -> Measurement:
        """A metric of a subject under conditions.

        Raises:
            NotJudgedError: its runs are not there.
            ClaimError: nothing here knows how it is measured.
        """
        at = self._context(where, claim)
        if metric.startswith("n_"):
            return self._number(metric, subject, at, self._points_of(claim))
        of_setup: dict[str, Callable[[], Measurement]] = {
            "buffer_over_bdp": partial(self._buffer_over_bdp, at),
            "receive_window_bytes": self._receive_window_bytes,
            "max_cwnd_pkts": partial(self._max_cwnd_pkts, at),
        }
        if measure := of_setup.get(metric):
            return measure()
        if at.experiment == "X0":
            return self._value("utilization", Case("", "", (0, 0), background=True, rate_mbps=at.rate_mbps))
        if subject not in ALGORITHMS:
            raise ClaimError(f"{claim.id}: '{subject}' is not one of {', '.join(ALGORITHMS)}")
        if metric == "jain_gain_vs_nobg":
            return self._change("jain_fi", subject, at, at.rtts_ms, _difference)
        if metric == "abs_change_jain_vs_nobg":
            # How far background moves it at a round-trip time, either way.
            return self._change("jain_fi", subject, at, at.rtts_ms, lambda values: abs(_difference(values)))
        if where.get("rtt2_ms") == "any":
            # True of at least one: the smallest ratio has to hold.
            return combined([self.at(metric, subject, at, rtt) for rtt in NEAR_MS], min, "smallest of 16, 42 and 82 ms")
        return self._mean(metric, subject, at)

    # ---- conditions ----

    def _context(self, where: Where, claim: Claim) -> Context:
        if unknown := set(where) - _WHERE:
            raise ClaimError(f"{claim.id}: where: {', '.join(sorted(unknown))} is not understood")
        _, experiment, kind = claim.experiment.split(".")
        if where.get("rtt1_ms", FAR_MS) != FAR_MS:
            raise ClaimError(f"{claim.id}: where: rtt1_ms: the farther flow is at {FAR_MS} ms")
        rtt = where.get("rtt_ms", where.get("rtt2_ms"))
        rate = int(where.get("rate_mbps", SLOW_RATE_MBPS if kind == "100M" else RATE_MBPS))
        return Context(
            experiment=experiment,
            background=bool(where.get("bg", kind != "nobg")),
            rate_mbps=rate,
            rtt_ms=rtt if isinstance(rtt, int) else None,
        )

    # ---- one run, and means over round-trip times ----

    def _scenario(self, case: Case) -> Scenario:
        return self._setup.scenario(case)

    def _value(self, metric: str, case: Case) -> Measurement:
        """A metric of a case's runs, one value a seed."""
        runs = self._runs.of(self._scenario(case))
        window = self._setup.cov_s if metric == "cov_total_throughput" else self._setup.measured_s
        if metric in ("convergence_time_s", "converged"):
            name = "convergence_time_s" if self._setup.convergence == "running" else "convergence_accumulated_time_s"
            times = [float(self._runs.metric(run, name, (0.0, window[1]))) for run in runs]
            values = [math.isfinite(t) if metric == "converged" else self._convergence_s(t) for t in times]
        elif metric in _PLAIN or metric == "cov_total_throughput":
            values = [self._runs.metric(run, _PLAIN.get(metric, metric), window) for run in runs]
        else:
            raise ClaimError(f"'{metric}' is not measured here")
        return Measurement(sample=tuple(map(float, values)), runs=tuple(run.id for run in runs))

    def _convergence_s(self, time_s: float) -> float:
        return time_s if math.isfinite(time_s) else self._setup.seconds(UNREACHED_S)

    def at(self, metric: str, algorithm: str, at: Context, rtt_ms: int) -> Measurement:
        """A metric of an algorithm's run at a round-trip time.

        Raises:
            NotJudgedError: it is not there, or the metric is not defined for it.
        """
        if metric == "throughput_ratio_short_over_long" and rtt_ms == FAR_MS:
            raise NotJudgedError("both flows are at the same distance")
        return self._value(metric, at.case(algorithm, rtt_ms))

    def _mean(self, metric: str, algorithm: str, at: Context) -> Measurement:
        """At the claim's round-trip time, or the mean over all where it names none."""
        parts = [self.at(metric, algorithm, at, rtt) for rtt in at.rtts_ms]
        return parts[0] if len(parts) == 1 else combined(parts, fmean)

    # ---- with background against without ----

    def _both(self, metric: str, algorithm: str, at: Context, rtt_ms: int) -> list[Measurement]:
        """With background, then without."""
        return [
            self.at(metric, algorithm, Context(at.experiment, background, at.rate_mbps), rtt_ms)
            for background in (True, False)
        ]

    def _change(
        self, metric: str, algorithm: str, at: Context, rtts: Sequence[int], combine: Callable[[list[float]], float]
    ) -> Measurement:
        """Something of a value with background and of that without, as the mean over round-trip times."""
        return combined([combined(self._both(metric, algorithm, at, rtt), combine) for rtt in rtts], fmean)

    # ---- numbers of algorithms and of round-trip times ----

    def _points_of(self, claim: Claim) -> list[int]:
        """The round-trip times that a count is about: it is one count over all of them, and not the mean of several."""
        parameter = "rtt2_ms" if claim.experiment.startswith("ha2006.X3") else "rtt_ms"
        text = str((claim.conditions or {}).get(parameter, ""))
        return [int(point) for point in points_of(parameter, partial(self.points, claim=claim), text)]

    def _number(self, metric: str, subject: str, at: Context, rtts: Sequence[int]) -> Measurement:
        if metric == "n_rtts_not_converged":
            parts = {f"{rtt} ms": self.at("converged", subject, at, rtt) for rtt in rtts}
            return _count(parts, lambda value: value < 0.5)
        compared = {
            "n_algorithms_with_higher_loss": ("loss_rate", ALGORITHMS, 1),
            "n_algorithms_with_higher_jain": ("jain_fi", VARIANTS, 1),
            "n_algorithms_converging_faster": ("convergence_time_s", ALGORITHMS, -1),
        }
        if metric not in compared:
            raise ClaimError(f"'{metric}' is not measured here")
        of, algorithms, sign = compared[metric]
        changes = {name: self._change(of, name, at, rtts, _difference) for name in algorithms}
        return _count(changes, lambda change: sign * change > 0)

    # ---- the setup itself ----

    def _buffer_over_bdp(self, at: Context) -> Measurement:
        (rtt_ms,) = at.rtts_ms
        scenario = self._scenario(at.case("cubic", rtt_ms))
        bottleneck = link_named(scenario.form, "bottleneck")
        bdp_bytes = bottleneck.rate_bps * scenario.graph.rtt_ps(0) / 8e12
        return constant(present(bottleneck.queue.limit_bytes) / bdp_bytes)

    def _receive_window_bytes(self) -> Measurement:
        form = self._scenario(Case("", "", (0, 0), background=True)).form
        stacks = [source.flow.stack for source in form.traffic]
        return constant(min(present(stack.receive_window) * stack.payload_bytes for stack in stacks))

    def _max_cwnd_pkts(self, at: Context) -> Measurement:
        """The least, over the variants, of the largest window that a flow of the variant has in the run."""
        parts = {name: self._largest_window(at.case(name, rtt)) for name in VARIANTS for rtt in at.rtts_ms}
        least = min(parts, key=lambda name: parts[name].value())
        return combined(parts.values(), min, f"least for {TITLES[least]}")

    def _largest_window(self, case: Case) -> Measurement:
        runs = self._runs.of(self._scenario(case))
        span = (0.0, self._setup.measured_s[1])
        first = [self._runs.metric(run, "max_cwnd_pkts", span) for run in runs]
        values = tuple(max(value for name, value in found.items() if name.startswith(case.first)) for found in first)
        return Measurement(sample=values, runs=tuple(run.id for run in runs))


def _difference(values: Sequence[float]) -> float:
    return values[0] - values[1]


def _count(parts: Mapping[str, Measurement], holds: Callable[[float], bool]) -> Measurement:
    """How many of some measurements satisfy a condition, and which."""
    counted = [TITLES.get(name, name) for name, part in parts.items() if holds(part.value())]
    detail = ", ".join(counted) or "none"
    return combined(parts.values(), lambda values: float(sum(map(holds, values))), detail)
