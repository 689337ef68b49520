"""The experiments of ha2006 as scenarios: two flows, with and without background traffic (§3 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from elephan.papers import paper
from elephan.papers.loading import about, claims
from elephan.scenario import Scenario
from elephan.scenario.traffic import RTTS

# In the order in which the paper names them; TCP-SACK is the reference.
ALGORITHMS: tuple[str, ...] = claims("ha2006").lists["algorithms"]
VARIANTS = ALGORITHMS[:-1]
RTTS_MS: tuple[int, ...] = claims("ha2006").lists["rtts"]
OTHER_RTTS_MS: tuple[int, ...] = claims("ha2006").lists["other_rtts"]
TITLES = MappingProxyType(about("ha2006").names)

RATE_MBPS = 400
SLOW_RATE_MBPS = 100
FAR_MS = 162
BUFFER_KB = 2000
STARTS_S = (30, 130)
MEASURE_FROM_S = 135
COV_FROM_S = 200
DURATION_S = 1200
RECEIVE_WINDOW_BYTES = 65_535
# Transmission time of a packet of 1500 bytes on an access link of 1 Gbit/s.
PACKET_NS = 12_000
# The shortest path of the background traffic; the delay that all paths have in common is at the bottleneck.
COMMON_RTT_MS = 5
# Since version 2.4, Linux adds at least 200 ms to the smoothed RTT as the variance term of the RTO.
RTO_FLOOR_MS = 200

# Fractions of the capacity: the limit of long-lived background flows by their receive windows, and the offered load of
# short background flows.
LONG_SHARE = 0.5
SHORT_SHARE = 0.6
REVERSE_SHARE = 0.5

# Quantiles of round-trip times in ms. tmix: the connections of the sample trace that comes with ns-2; suite: the nine
# paths of draft-irtf-iccrg-tcpeval-01 §4.1, with equal probabilities.
TMIX = ((0, 9), (0.05, 12), (0.1, 14), (0.25, 23), (0.5, 50), (0.75, 107), (0.9, 275), (0.95, 692), (1, 1000))
SUITE_MS = (5, 28, 54, 74, 98, 124, 150, 174, 200)

# Linux 2.6.13. BIC: net/ipv4/tcp_bic.c before 2.6.14.2 added at most 32 segments per round trip, and its first
# slow-start threshold was 100 segments; CUBIC's first version in the kernel also had this threshold.
LINUX = MappingProxyType(
    {
        "bic": "bic:linux-2.6", "cubic": "cubic:linux-2.6", "fast": "fast", "hstcp": "hstcp:linux-2.6",
        "htcp": "htcp:linux-2.6", "stcp": "stcp:linux-2.6", "sack": "reno:linux-2.6",
    }
)  # fmt: skip
PUBLISHED = MappingProxyType(
    {
        "bic": "bic", "cubic": "cubic:2005", "fast": "fast", "hstcp": "hstcp", "htcp": "htcp", "stcp": "stcp",
        "sack": "reno",
    }
)  # fmt: skip
CODES: Mapping[str, Mapping[str, str]] = MappingProxyType({"linux": LINUX, "papers": PUBLISHED})
BIC_SEGMENTS = 32


class Case(NamedTuple):
    """A run: the two measured flows, the background traffic and the path.

    Attributes:
        first: algorithm of the flow that starts at 30 s; empty for none.
        second: algorithm of the flow that starts at 130 s.
        rtts_ms: RTTs of the two flows.
        background: true if there is background traffic.
        rate_mbps: rate of the bottleneck.
    """

    first: str
    second: str
    rtts_ms: tuple[int, int]
    background: bool
    rate_mbps: int = RATE_MBPS

    @property
    def title(self) -> str:
        """Title for a reader."""
        beside = "with background" if self.background else "alone"
        if not self.first:
            return f"background alone, {self.rate_mbps} Mbit/s"
        one, other = self.rtts_ms
        rtts = f"{one} ms" if one == other else f"{one} and {other} ms"
        who = (
            f"two {TITLES[self.first]}" if self.first == self.second else f"{TITLES[self.first]}, {TITLES[self.second]}"
        )
        slow = "" if self.rate_mbps == RATE_MBPS else f", {self.rate_mbps} Mbit/s"
        return f"{who}, {rtts}, {beside}{slow}"


class Setup(paper.Setup):
    """Two flows of the paper, with and without its background traffic."""

    stated = about("ha2006").setup

    def scenario(self, case: Case) -> Scenario:
        """The run of a case."""
        if self.sack_first and case.second == "sack":
            case = case._replace(first="sack", second=case.first)
        return _scenario(self, case)

    def seconds(self, time_s: float) -> float:
        """A time of the paper converted to this setup, s."""
        return float(time_s / self.pace)

    @property
    def measured_s(self) -> tuple[float, float]:
        """Time window of throughputs and losses, s."""
        return self.seconds(MEASURE_FROM_S), self.seconds(DURATION_S)

    @property
    def cov_s(self) -> tuple[float, float]:
        """Time window of the coefficient of variation, s; it begins at a sample."""
        return float(math.ceil(self.seconds(COV_FROM_S))), self.seconds(DURATION_S)


@lru_cache(maxsize=2048)
def _scenario(setup: Setup, case: Case) -> Scenario:
    from_s, to_s = setup.measured_s
    rate_mbps = case.rate_mbps / setup.scale
    flows = _measured_flows(setup, case)
    traffic = _background(setup, rate_mbps) if case.background else []
    beside: dict[str, Any] = {"traffic": traffic} if traffic else {}
    if setup.queue_parameters:
        beside["queue_parameters"] = setup.queue_parameters
    return Scenario.dumbbell(
        flows,
        title=case.title,
        rate=f"{rate_mbps:g} Mbit/s",
        rtt=f"{COMMON_RTT_MS} ms",
        buffer=f"{BUFFER_KB / setup.scale:g} kB",
        queue=setup.queue,
        access_rate=f"{1000 / setup.scale:g} Mbit/s",
        duration=f"{to_s:g} s",
        measure={"from": f"{from_s:g} s", "to": f"{to_s:g} s"},
        sample_period="1 s",
        stack={"base": setup.stack, "rto_granularity": f"{RTO_FLOOR_MS} ms"},
        start_jitter="100 ms",
        send_jitter=f"{PACKET_NS * setup.scale} ns",
        **beside,
    )


def _measured_flows(setup: Setup, case: Case) -> list[dict[str, Any]]:
    names = [case.first, case.second] if case.first else []
    return [
        _flow(setup, name, number, case.rtts_ms[number - 1], setup.seconds(STARTS_S[number - 1]))
        for number, name in enumerate(names, start=1)
    ]


def _flow(setup: Setup, name: str, number: int, rtt_ms: int, start_s: float) -> dict[str, Any]:
    table: dict[str, Any] = {
        "name": f"{name}-{number}",
        "algorithm": CODES[setup.code][name],
        "rtt": f"{rtt_ms} ms",
        "start": f"{start_s:g} s",
    }
    if name == "fast":
        # A quantity counted in segments scales with the buffer.
        table["parameters"] = {"alpha": setup.fast_alpha / setup.scale}
        if not setup.fast_doubling:
            table["parameters"]["mi_threshold"] = 0.0
        if setup.fast_knows_rtt:
            table["parameters"]["known_rtt"] = rtt_ms / 1e3
    if name == "htcp" and not setup.htcp_adapts:
        table["parameters"] = {"adaptive_backoff": False}
    if name == "bic" and setup.code == "linux":
        table["parameters"] = {"s_max": float(BIC_SEGMENTS)}
    if name in ("bic", "cubic") and setup.first_threshold:
        table["stack"] = {"initial_ssthresh": f"{setup.first_threshold} segments"}
    return table


# ---- background ----


def rtt_quantiles_ms(name: str) -> tuple[tuple[float, float], ...]:
    """Quantiles of a distribution of the background's round-trip times: shares and ms."""
    if name == "aikat":
        return tuple((share, rtt_ps / 1e9) for share, rtt_ps in RTTS["aikat"])
    if name == "tmix":
        return TMIX
    # The distribution has steps: each path has an equal probability, with a very short transition between two paths.
    parts, eps = len(SUITE_MS), 1e-6
    ends = [(i / parts + (eps if i else 0), (i + 1) / parts, ms) for i, ms in enumerate(SUITE_MS)]
    return tuple((share, float(ms)) for left, right, ms in ends for share in (left, right))


def quantile_ms(quantiles: Sequence[tuple[float, float]], share: float) -> float:
    """Quantile of the round-trip times of the background's flows, interpolated on a logarithmic scale."""
    for (left, low_ms), (right, high_ms) in pairwise(quantiles):
        if share <= right:
            part = (share - left) / (right - left)
            return low_ms * math.pow(high_ms / low_ms, part)
    return quantiles[-1][1]


def ceiling_mbps(rtt_ms: float) -> float:
    """Upper bound of the rate of a flow with the background's receive window, Mbit/s."""
    return 8 * RECEIVE_WINDOW_BYTES / rtt_ms / 1e3


def long_lived_rtts_ms(quantiles: Sequence[tuple[float, float]], most_mbps: float) -> list[float]:
    """Round-trip times of a number of flows such that the sum of the flows' window-limited rates comes nearest to a
    rate.

    The round-trip times are spread evenly over the distribution, so that the amount of background traffic does not
    depend on the draw of a few short paths.
    """

    def spread(count: int) -> list[float]:
        return [quantile_ms(quantiles, (i + 0.5) / count) for i in range(count)]

    sums = {0: 0.0}
    while max(sums.values()) < most_mbps:
        sums[len(sums)] = math.fsum(map(ceiling_mbps, spread(len(sums))))
    best = min(range(1, len(sums)), key=lambda count: abs(sums[count] - most_mbps))
    return spread(best)


def _background(setup: Setup, rate_mbps: float) -> list[dict[str, Any]]:
    """Long-lived and short flows, in both directions."""
    quantiles = rtt_quantiles_ms(setup.rtts)
    drawn = setup.rtts if setup.rtts in RTTS else [[share, f"{ms:g} ms"] for share, ms in quantiles]
    common: dict[str, Any] = {
        "algorithm": LINUX["sack"],
        "stack": {"receive_window": f"{RECEIVE_WINDOW_BYTES} B"},
    }
    found = []
    for direction, part in (("right", setup.load), ("left", setup.load * REVERSE_SHARE)):
        back = "" if direction == "right" else "-back"
        rtts = long_lived_rtts_ms(quantiles, part * LONG_SHARE * rate_mbps)
        # 1 TB is more than a long-lived flow can send in the whole run.
        transfers = [["0 s", "1 TB", f"{round(1000 * rtt)} us"] for rtt in rtts]
        found.append({"name": f"long{back}", "direction": direction, "transfers": transfers, **common})
        short = {"load": f"{100 * part * SHORT_SHARE:g}%", "rtts": drawn}
        found.append({"name": f"short{back}", "direction": direction, **short, **common})
    return found


# ---- experiments ----


def beside_sack(setup: Setup, protocol: str, rtt_ms: int, bg: bool, rate_mbps: int = RATE_MBPS) -> Scenario:
    """A flow of a variant and one of TCP-SACK."""
    return setup.scenario(Case(protocol, "sack", (rtt_ms, rtt_ms), bg, rate_mbps))


def same_rtt(setup: Setup, protocol: str, rtt_ms: int, bg: bool) -> Scenario:
    """Two flows of a variant with one round-trip time."""
    return setup.scenario(Case(protocol, protocol, (rtt_ms, rtt_ms), bg))


def other_rtt(setup: Setup, protocol: str, rtt2_ms: int, bg: bool) -> Scenario:
    """Two flows of a variant, of which the first is far away."""
    return setup.scenario(Case(protocol, protocol, (FAR_MS, rtt2_ms), bg))


def background(setup: Setup, rate_mbps: int = RATE_MBPS, protocol: str = "") -> Scenario:
    """The background traffic alone, whatever the protocol of a claim about it."""
    return setup.scenario(Case("", "", (0, 0), background=True, rate_mbps=rate_mbps))


SCENARIOS: dict[str, Callable[..., Scenario]] = {
    "background": background,
    "beside_sack": beside_sack,
    "same_rtt": same_rtt,
    "other_rtt": other_rtt,
}
