"""How the subjects of hcc2011's claims are measured; the numbers are defined in :mod:`elephan.metrics`.

At a smaller scale (``Setup.scale``) rates and packets are given at the paper's own scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from elephan.evaluation.conditions import Value, Where, span
from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined
from elephan.papers.claims import Claim, ClaimError
from elephan.papers.hcc2011 import rules
from elephan.papers.hcc2011.published import Published
from elephan.papers.hcc2011.setup import (
    ALL_SETTINGS,
    BUFFERS,
    FRIENDLY_BUFFERS,
    LOSSES,
    PROTOCOLS,
    RATIO_RTTS_MS,
    REVERSE_BYTES,
    SHORT_RTT_MS,
    Setup,
    queue_links,
)
from elephan.scenario import Scenario

STEADY_S = (30.0, 300.0)
"""When a lone flow's start is over, for what the paper calls stable or fixed."""
SETTLED_S = (220.0, 300.0)
"""When the last of three flows has been there for the 20 s that it may take to converge (Figs 12 and 13)."""
ARRIVALS_S = (100.0, 200.0, 300.0)

_WHERE = {
    "experiment", "buffer_pkts", "loss_probability", "rtt_ms", "rtt_ratio", "rtt1_ms", "rtt2_ms", "on_off", "reverse",
    "reverse_packet_bytes", "active_flows", "from_s",
}  # fmt: skip
_LONE = ("F6", "F7", "F8a", "F8b", "F9a", "F9b")
_SCALED = ("throughput_mbps", "sum_throughput_mbps", "mean_throughput_mbps", "mean_queue_pkts", "mean_cwnd_pkts")


@dataclass(frozen=True)
class Context:
    """The conditions of a claim, and the experiment that it is about, without the paper's name."""

    experiment: str
    buffer: int
    buffers: tuple[int, ...] = ()
    loss: float = 0.0
    rtt_ms: int | None = None
    ratio: float | None = None
    setting: float | None = None
    size_bytes: int | None = None
    settled: bool = False
    from_s: float | None = None


class HccMeasurer:
    """Measures the subjects of the claims in the runs of one setup."""

    def __init__(
        self, runs: RunSet, setup: Setup, published: Published, experiments: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._runs = runs
        self._setup = setup
        self._published = published
        self._experiments = experiments

    def points(self, parameter: str, claim: Claim) -> Sequence[Value]:
        """The points along a parameter, in rising order.

        Raises:
            NotJudgedError: there are none.
        """
        known: dict[str, Sequence[Value]] = {
            "loss_probability": sorted(LOSSES),
            "rtt_ratio": tuple(RATIO_RTTS_MS),
            "on_off": ALL_SETTINGS,
            "reverse_packet_bytes": self._setup.sizes_bytes,
            "buffer_pkts": tuple(FRIENDLY_BUFFERS.values()) if ".F14" in claim.experiment else BUFFERS,
        }
        if parameter not in known:
            raise NotJudgedError(f"the paper has no points along {parameter}")
        return known[parameter]

    def measure(self, metric: str, subject: str, where: Where, claim: Claim) -> Measurement:
        """A metric of a subject under conditions.

        Raises:
            NotJudgedError: its runs are not there.
            ClaimError: nothing here knows how it is measured.
        """
        if claim.check == "unit":
            return rules.measure(self._runs, self._setup, metric, subject, where, claim)
        if claim.check == "internal":
            return self._published.measure(metric, subject)
        at = self._context(where, claim)
        special: dict[str, Callable[[str, Context], Measurement]] = {
            "throughput_mbps": self._throughput,
            "throughput_mbps_flow1": lambda subject, at: self._throughput(subject, at, 1),
            "throughput_mbps_flow2": lambda subject, at: self._throughput(subject, at, 2),
            "throughput_mbps_reno_mean": self._reno,
            "throughput_ratio": self._ratio,
            "throughput_rank": self._rank,
            "sum_throughput_mbps": lambda subject, at: self._one("sum_throughput_mbps", subject, at),
            "jain_fi": lambda subject, at: self._one("jain_fi", subject, at),
            "jain_fi_four_flows": lambda subject, at: self._one("jain_fi", subject, at),
            "jain_fi_when_all_active": lambda subject, at: self._one("jain_fi_when_all_active", subject, at),
            "jain_fi_range": self._jain_range,
            "relative_spread_throughput": self._spread,
            "utilization": self._utilization,
            "mean_queue_pkts": self._queue,
            "mean_cwnd_pkts": lambda subject, at: self._one("mean_cwnd_pkts", subject, at, 1, STEADY_S),
            "cwnd_cov": lambda subject, at: self._one("cwnd_cov", subject, at, 1, STEADY_S),
            "loss_events": lambda subject, at: self._one("loss_events", subject, at, flow=1),
            "loss_events_steady": self._late_losses,
            "time_to_full_rate_s": lambda subject, at: self._one("time_to_full_rate_s", subject, at, flow=1),
            "convergence_time_s": self._convergence,
        }
        if metric not in special:
            raise ClaimError(f"{claim.id}: metric: '{metric}' is not measured here")
        return special[metric](subject, at)

    # ---- conditions ----

    def _context(self, where: Where, claim: Claim) -> Context:
        if unknown := set(where) - _WHERE:
            raise ClaimError(f"{claim.id}: where: {', '.join(sorted(unknown))} is not understood")
        full = str(where.get("experiment", claim.experiment))
        listed = [int(count) for count in self._experiments[full].get("buffer_pkts", ())]
        stated = where.get("buffer_pkts", listed[0] if len(listed) == 1 else 0)
        limits = span(stated) if isinstance(stated, str) else None
        within = [count for count in BUFFERS if limits and limits[0] <= count <= limits[1]]
        ratio = where.get("rtt_ratio")
        if ratio is not None:
            expected = {"rtt1_ms": SHORT_RTT_MS, "rtt2_ms": RATIO_RTTS_MS[float(ratio)]}
            if wrong := [key for key, rtt in expected.items() if where.get(key, rtt) != rtt]:
                raise ClaimError(f"{claim.id}: where: {wrong[0]} does not belong to the ratio {ratio}")
        return Context(
            experiment=full.partition(".")[2],
            buffer=0 if limits else int(stated),
            buffers=tuple(within),
            loss=float(where.get("loss_probability", 0.0)),
            rtt_ms=int(where["rtt_ms"]) if "rtt_ms" in where else None,
            ratio=None if ratio is None else float(ratio),
            setting=_setting(where),
            size_bytes=int(where["reverse_packet_bytes"]) if "reverse_packet_bytes" in where else None,
            settled="active_flows" in where,
            from_s=float(where["from_s"]) if "from_s" in where else None,
        )

    def _scenario(self, protocol: str, at: Context) -> Scenario:
        if protocol not in PROTOCOLS:
            raise ClaimError(f"'{protocol}' is not one of {', '.join(PROTOCOLS)}")
        setup, name = self._setup, at.experiment
        if name in _LONE:
            return setup.lone(protocol, at.buffer, at.loss, at.rtt_ms)
        if name.startswith("F10"):
            return setup.equal(protocol, at.buffer)
        if name.startswith("T2") and at.ratio is not None:
            return setup.ratio(protocol, at.ratio, at.buffer)
        if name.startswith("F14"):
            return setup.friendly(protocol, at.buffer)
        if name in ("F12", "F13"):
            return setup.three(gigabit=name == "F13")
        if name in ("F11a", "F11b"):
            return setup.pair((120, 120) if name == "F11a" else (60, 120))
        setting = 1.0 if at.setting is None else at.setting
        return setup.reverse(protocol, at.buffer, setting, at.size_bytes or REVERSE_BYTES)

    # ---- one run ----

    def _one(
        self,
        metric: str,
        protocol: str,
        at: Context,
        flow: int | None = None,
        window: tuple[float, float] | None = None,
        **options: Any,
    ) -> Measurement:
        """A metric of an experiment's run, one value a seed; of one flow when the metric has one for each."""
        runs = self._runs.of(self._scenario(protocol, at))
        factor = self._setup.scale if metric in _SCALED else 1
        if flow is not None:
            options["flows"] = (f"{protocol}-{flow}",)
        sample = []
        for run in runs:
            value = self._runs.metric(run, metric, window, **options)
            sample.append(factor * float(value if flow is None else value[f"{protocol}-{flow}"]))
        return Measurement(sample=tuple(sample), runs=tuple(run.id for run in runs))

    def _throughput(self, subject: str, at: Context, flow: int = 1) -> Measurement:
        """Of one flow; of all three of Fig 13, the smallest."""
        protocol, _, other = subject.partition(":")
        if at.settled:
            parts = [self._one("throughput_mbps", protocol, at, number, SETTLED_S) for number in (1, 2, 3)]
            return combined(parts, min, "the smallest of three")
        return self._one("throughput_mbps", protocol, at, int(other.removeprefix("flow") or flow))

    def _utilization(self, protocol: str, at: Context) -> Measurement:
        if at.experiment == "F19" and at.size_bytes is None:
            return self._least("utilization", protocol, at)
        return self._one("utilization", protocol, at, link="bottleneck")

    def _least(self, metric: str, protocol: str, at: Context) -> Measurement:
        """The smallest over the sizes of the reverse packets."""
        setup = self._setup
        each = [Context(at.experiment, at.buffer, setting=at.setting, size_bytes=size) for size in setup.sizes_bytes]
        parts = [self._one(metric, protocol, here, link="bottleneck") for here in each]
        return combined(parts, min, "the smallest over the sizes")

    def _queue(self, protocol: str, at: Context) -> Measurement:
        if at.experiment == "F7" and not at.buffer:
            each = [Context(at.experiment, buffer) for buffer in BUFFERS]
            return combined([self._queued(protocol, here, None) for here in each], max, "the largest over the buffers")
        return self._queued(protocol, at, SETTLED_S if at.settled else None)

    def _queued(self, protocol: str, at: Context, window: tuple[float, float] | None) -> Measurement:
        """Packets waiting along the forward path: at the bottleneck, and on the link by which each flow comes to it."""
        links = queue_links(self._scenario(protocol, at))
        parts = [self._one("mean_queue_pkts", protocol, at, window=window, link=link) for link in links]
        return combined(parts, sum)

    def _late_losses(self, protocol: str, at: Context) -> Measurement:
        window = (at.from_s if at.from_s is not None else STEADY_S[0], STEADY_S[1])
        return self._one("loss_events", protocol, at, flow=1, window=window)

    # ---- several runs or flows ----

    def _reno(self, protocol: str, at: Context) -> Measurement:
        return self._one("mean_throughput_mbps", protocol, at, flows=("reno-3", "reno-4"))

    def _ratio(self, subject: str, at: Context) -> Measurement:
        protocol, _, _ = subject.partition("_over_")
        own = self._one("mean_throughput_mbps", protocol, at, flows=(f"{protocol}-1", f"{protocol}-2"))
        return combined([own, self._reno(protocol, at)], lambda values: values[0] / values[1])

    def _rank(self, protocol: str, at: Context) -> Measurement:
        """The place among the nine protocols, 1 for the largest throughput."""
        position = PROTOCOLS.index(protocol)
        everyone = [self._throughput(other, at) for other in PROTOCOLS]
        return combined(everyone, lambda values: 1.0 + sum(value > values[position] for value in values))

    def _jain_range(self, protocol: str, at: Context) -> Measurement:
        each = [Context(at.experiment, at.buffer, ratio=ratio) for ratio in RATIO_RTTS_MS]
        parts = [self._one("jain_fi", protocol, here) for here in each]
        return combined(parts, lambda values: max(values) - min(values))

    def _spread(self, protocol: str, at: Context) -> Measurement:
        """(max - min)/max over the buffers, or over the settings of the reverse source."""
        each: Iterable[Context] = [Context(at.experiment, buffer) for buffer in at.buffers]
        if at.experiment == "F18":
            each = [Context(at.experiment, at.buffer, setting=setting) for setting in ALL_SETTINGS]
        parts = [self._one("throughput_mbps", protocol, here, flow=1) for here in each]
        return combined(parts, lambda values: (max(values) - min(values)) / max(values))

    def _convergence(self, protocol: str, at: Context) -> Measurement:
        """From the last start until the rates are close; of three flows, the longer of the two arrivals."""
        if at.experiment.startswith("F11"):
            return self._one("rates_close_time_s", protocol, at)
        parts = []
        for count, (begin, end) in enumerate(pairwise(ARRIVALS_S), start=2):
            names = tuple(f"{protocol}-{number}" for number in range(1, count + 1))
            parts.append(self._one("rates_close_time_s", protocol, at, window=(begin, end), flows=names))
        return combined(parts, max, "the longer of two arrivals")


def _setting(where: Where) -> float | None:
    if "reverse" in where:
        return {"on": 1.0, "off": 0.0}[str(where["reverse"])]
    return float(where["on_off"]) if "on_off" in where else None
