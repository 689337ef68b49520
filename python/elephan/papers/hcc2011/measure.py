"""The metrics of hcc2011's claims, and the runs of each.

At a smaller scale (``Setup.scale``) rates and packets are given at the paper's own scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from elephan.evaluation.conditions import Value, span
from elephan.evaluation.criteria import CriterionError
from elephan.evaluation.experiments import RunSet
from elephan.evaluation.measurement import Measurement, combined
from elephan.evaluation.measuring import At, Chosen, Rule, Suite, along, both, of, over, rank, ratio, reach
from elephan.papers.claims import Claim
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
"""Time window after a lone flow's start-up, s, for values that the paper calls stable or fixed."""
SETTLED_S = (220.0, 300.0)
"""Time window that begins 20 s after the last of three flows has started, s (Figs 12 and 13). The flows may take these
20 s to converge."""
ARRIVALS_S = (100.0, 200.0, 300.0)

_WHERE = (
    "experiment", "buffer_pkts", "loss_probability", "rtt_ms", "rtt_ratio", "rtt1_ms", "rtt2_ms", "on_off", "reverse",
    "reverse_packet_bytes", "active_flows", "from_s",
)  # fmt: skip
_LONE = ("F6", "F7", "F8a", "F8b", "F9a", "F9b")
_SCALED = ("throughput_mbps", "sum_throughput_mbps", "mean_throughput_mbps", "mean_queue_pkts", "mean_cwnd_pkts")


def measurer(runs: RunSet, setup: Setup, published: Published, experiments: Mapping[str, Mapping[str, Any]]) -> Chosen:
    """Selects how each claim is measured: in the runs of one setup, by HCC's rules alone, or by the consistency of the
    paper's own Table 2."""
    factors = dict.fromkeys(_SCALED, float(setup.scale))
    simulated = Suite(runs, setup, TABLE, partial(_scenario, experiments), _WHERE, partial(_points, setup), factors)
    by_check = {"unit": rules.measurer(runs, setup), "internal": published.measurer(runs)}
    return Chosen(lambda where, claim: by_check.get(claim.check, simulated))


def _points(setup: Setup, claim: Claim) -> dict[str, Sequence[Value]]:
    return {
        "loss_probability": sorted(LOSSES),
        "rtt_ratio": tuple(RATIO_RTTS_MS),
        "on_off": ALL_SETTINGS,
        "reverse_packet_bytes": setup.sizes_bytes,
        "buffer_pkts": tuple(FRIENDLY_BUFFERS.values()) if ".F14" in claim.experiment else BUFFERS,
    }


def _scenario(experiments: Mapping[str, Mapping[str, Any]], setup: Setup, protocol: str, at: At) -> Scenario:
    if protocol not in PROTOCOLS:
        raise CriterionError(f"'{protocol}' is not one of {', '.join(PROTOCOLS)}")
    name = at.experiment
    listed = experiments[str(at.where.get("experiment", at.criterion.experiment))].get("buffer_pkts", ())
    buffer = at.get("buffer_pkts", int(listed[0]) if len(listed) == 1 else 0)
    if name in _LONE:
        return setup.lone(protocol, buffer, at.get("loss_probability", 0.0), at.get("rtt_ms", 0) or None)
    if name.startswith("F10"):
        return setup.equal(protocol, buffer)
    if name.startswith("T2") and "rtt_ratio" in at.where:
        rtt_ratio = at.get("rtt_ratio", 1.0)
        expected = {"rtt1_ms": SHORT_RTT_MS, "rtt2_ms": RATIO_RTTS_MS[rtt_ratio]}
        if wrong := [key for key, rtt in expected.items() if at.where.get(key, rtt) != rtt]:
            raise CriterionError(f"{at.criterion.id}: where: {wrong[0]} does not belong to the ratio {rtt_ratio}")
        return setup.ratio(protocol, rtt_ratio, buffer)
    if name.startswith("F14"):
        return setup.friendly(protocol, buffer)
    if name in ("F12", "F13"):
        return setup.three(gigabit=name == "F13")
    if name in ("F11a", "F11b"):
        return setup.pair((120, 120) if name == "F11a" else (60, 120))
    setting = {"on": 1.0, "off": 0.0}[str(at.where["reverse"])] if "reverse" in at.where else at.get("on_off", 1.0)
    return setup.reverse(protocol, buffer, setting, at.get("reverse_packet_bytes", REVERSE_BYTES))


def _throughput(flow: int) -> Rule:
    """A rule for the throughput of flow number ``flow``, or of the flow that the subject names; in Fig 13 the smallest
    throughput of all three flows."""

    def rule(suite: Suite, subject: str, at: At) -> Measurement:
        protocol, _, named = subject.partition(":flow")
        if "active_flows" not in at.where:
            return of("throughput_mbps", f"{{}}-{named or flow}")(suite, protocol, at)
        three = [of("throughput_mbps", f"{{}}-{i}", SETTLED_S)(suite, protocol, at) for i in (1, 2, 3)]
        return combined(three, min, "the smallest of three")

    return rule


def _sizes(suite: Suite, at: At) -> list[At]:
    """The sizes of the reverse packets of Fig 19, if the conditions name no sizes."""
    if at.experiment != "F19" or "reverse_packet_bytes" in at.where:
        return [at]
    return [at.but(reverse_packet_bytes=size) for size in suite.setup.sizes_bytes]


def _settings(suite: Suite, at: At) -> list[At]:
    """The conditions at each setting of the reverse source in Fig 18, or at each buffer in the range that the
    conditions name."""
    if at.experiment == "F18":
        return [at.but(on_off=setting) for setting in ALL_SETTINGS]
    low, high = span(str(at.where.get("buffer_pkts", ""))) or (1, 0)
    return [at.but(buffer_pkts=count) for count in BUFFERS if low <= count <= high]


def _buffers(suite: Suite, at: At) -> list[At]:
    """All buffers, if the conditions of Fig 7 name no buffer."""
    every = at.experiment == "F7" and "buffer_pkts" not in at.where
    return [at.but(buffer_pkts=count) for count in BUFFERS] if every else [at]


def _queued(suite: Suite, protocol: str, at: At) -> Measurement:
    """Number of queued packets along the forward path: at the bottleneck, and on each flow's link to the bottleneck."""
    window = SETTLED_S if "active_flows" in at.where else None
    scenario = suite.scenario(suite.setup, protocol, at)
    links = queue_links(scenario)
    return combined([suite.values(scenario, "mean_queue_pkts", window=window, link=link) for link in links], sum)


def _ratio(suite: Suite, subject: str, at: At) -> Measurement:
    means = of("mean_throughput_mbps", flows=("{}-1", "{}-2")), RENO
    return both(*means, ratio)(suite, subject.partition("_over_")[0], at)


def _convergence(suite: Suite, protocol: str, at: At) -> Measurement:
    """Time from the start of the last flow until the rates are close, s; with three flows, the longer of the times
    after the second start and after the third start."""
    if at.experiment.startswith("F11"):
        return of("rates_close_time_s")(suite, protocol, at)
    arrivals = enumerate(pairwise(ARRIVALS_S), start=3)
    rules_of = [of("rates_close_time_s", None, w, flows=tuple(f"{{}}-{i}" for i in range(1, n))) for n, w in arrivals]
    return combined([rule(suite, protocol, at) for rule in rules_of], max, "the longer of two arrivals")


RENO = of("mean_throughput_mbps", flows=("reno-3", "reno-4"))
TABLE: dict[str, Rule] = {
    "throughput_mbps": _throughput(1),
    "throughput_mbps_flow1": _throughput(1),
    "throughput_mbps_flow2": _throughput(2),
    "throughput_mbps_reno_mean": RENO,
    "throughput_ratio": _ratio,
    "throughput_rank": rank(_throughput(1), PROTOCOLS),
    "relative_spread_throughput": over(_throughput(1), _settings, lambda values: reach(values) / max(values)),
    "sum_throughput_mbps": of("sum_throughput_mbps"),
    "jain_fi": of("jain_fi"),
    "jain_fi_four_flows": of("jain_fi"),
    "jain_fi_when_all_active": of("jain_fi_when_all_active"),
    "jain_fi_range": over(of("jain_fi"), along("rtt_ratio", RATIO_RTTS_MS), reach),
    "utilization": over(of("utilization", link="bottleneck"), _sizes, min, "the smallest over the sizes"),
    "mean_queue_pkts": over(_queued, _buffers, max, "the largest over the buffers"),
    "mean_cwnd_pkts": of("mean_cwnd_pkts", "{}-1", STEADY_S),
    "cwnd_cov": of("cwnd_cov", "{}-1", STEADY_S),
    "loss_events": of("loss_events", "{}-1"),
    "loss_events_steady": of("loss_events", "{}-1", lambda at: (at.get("from_s", STEADY_S[0]), STEADY_S[1])),
    "time_to_full_rate_s": of("time_to_full_rate_s", "{}-1"),
    "convergence_time_s": _convergence,
}
