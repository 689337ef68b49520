"""The metrics of hcc2011's claims, and the runs of each.

At a smaller scale (``Setup.scale``) rates and packets are given at the paper's own scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from elephan.evaluation.conditions import Value, span
from elephan.evaluation.criteria import CriterionError
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, combined
from elephan.evaluation.measuring import At, Chosen, Rule, Suite, along, both, of, over, rank, ratio, reach
from elephan.papers.claims import Claim
from elephan.papers.hcc2011 import published, rules
from elephan.papers.hcc2011.setup import (
    ALL_SETTINGS,
    BUFFERS,
    FRIENDLY_BUFFERS,
    LOSSES,
    PROTOCOLS,
    RATIO_RTTS_MS,
    SCENARIOS,
    Setup,
    queue_links,
)
from elephan.papers.loading import claims, scenario_at
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
_SCALED = ("throughput_mbps", "sum_throughput_mbps", "mean_throughput_mbps", "mean_queue_pkts", "mean_cwnd_pkts")


def measurer(runs: Evidence, setup: Setup) -> Chosen:
    """Selects how each claim is measured: in the runs of one setup, by HCC's rules alone, or by the consistency of the
    paper's own Table 2."""
    factors = dict.fromkeys(_SCALED, float(setup.scale))
    simulated = Suite(runs, setup, TABLE, _scenario, _WHERE, partial(_points, setup), factors)
    internal = published.measurer(published.rows(claims("hcc2011")).values(), runs)
    by_check = {"unit": rules.measurer(runs, setup), "internal": internal}
    return Chosen(lambda where, claim: by_check.get(claim.check, simulated))


def _points(setup: Setup, claim: Claim) -> dict[str, Sequence[Value]]:
    return {
        "loss_probability": sorted(LOSSES),
        "rtt_ratio": tuple(RATIO_RTTS_MS),
        "on_off": ALL_SETTINGS,
        "reverse_packet_bytes": setup.sizes_bytes,
        "buffer_pkts": tuple(FRIENDLY_BUFFERS.values()) if ".F14" in claim.experiment else BUFFERS,
    }


def _scenario(setup: Setup, protocol: str, at: At) -> Scenario:
    if protocol not in PROTOCOLS:
        raise CriterionError(f"'{protocol}' is not one of {', '.join(PROTOCOLS)}")
    here = at.but(on_off={"on": 1.0, "off": 0.0}[str(at.where["reverse"])]) if "reverse" in at.where else at
    return scenario_at("hcc2011", SCENARIOS, setup, protocol, here)


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
    "jain_fi_four_flows": of("jain_fi"),
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
