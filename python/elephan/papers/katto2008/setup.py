"""The experiments of katto2008 as scenarios, with 100 Mbit/s, 40 ms and a buffer of one BDP, under random losses
(§III)."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import Any

from elephan.models import abstracted
from elephan.models.abstracted import Hybrid
from elephan.models.hybrid import Pipe, borders
from elephan.papers import paper
from elephan.papers.loading import about, claims
from elephan.scenario import Scenario

RATE_BPS = 100_000_000
RTT_S = 0.04
PACKET_BYTES = 1500
BUFFER = 333
PIPE = Pipe(RATE_BPS, RTT_S, 8 * PACKET_BYTES)

PROTOCOLS: tuple[str, ...] = claims("katto2008").lists["protocols"]
HYBRIDS: tuple[str, ...] = claims("katto2008").lists["hybrids"]
CANDIDATES: tuple[str, ...] = claims("katto2008").lists["candidates"]
GRID: tuple[float, ...] = claims("katto2008").lists["losses"]
TITLES = MappingProxyType(about("katto2008").names)
STYLES = MappingProxyType(
    {
        "reno": 0,
        "loss": 0,
        "fast": 1,
        "delay": 1,
        "ctcp": 2,
        "areno": 3,
        "yeah": 4,
        "fusion": 5,
        "hybrid": 6,
        "rival": 6,
    }
)
"""Colors and markers of protocols and ideal controls in all figures."""
ORIGINAL = MappingProxyType({"yeah_1.01": "yeah", "ctcp_1/2": "ctcp"})

SHORTEST_S, LONGEST_S = 300.0, 1000.0
LOSSES_IN_A_RUN = 200
SHORT_FLOWS = 100
SHORT_MEAN_BYTES, SHORT_SHAPE = 25_000, 1.2
# The long flow also starts within the first 100 s, at least 20 s before the first short flow.
SHORT_FROM_S, SHORT_SPAN_S = 120, 100
SHORT_RUN_S = SHORT_FROM_S + SHORT_SPAN_S


class Setup(paper.Setup):
    """The paths and flows of the paper."""

    stated = about("katto2008").setup

    def sweep(self, protocol: str, p: float, flows: int = 1) -> Scenario:
        """A flow of a protocol under a loss rate, alone or beside a Reno flow (figure 7)."""
        return _sweep(self, ORIGINAL.get(protocol, protocol), p, flows)

    def short(self, protocol: str) -> Scenario:
        """A long flow and a hundred short Reno flows, or the transfers of a hundred users (figure 8)."""
        return _short(self, ORIGINAL.get(protocol, protocol))

    @staticmethod
    def name(protocol: str) -> str:
        """Name of a protocol's flow in the scenarios of figure 7."""
        return ORIGINAL.get(protocol, protocol).replace("/", "-")

    def flow(self, protocol: str, flows: int = 1) -> dict[str, Any]:
        """The table of the long flow."""
        table: dict[str, Any] = {"name": self.name(protocol), **_ALGORITHMS[protocol.partition("_")[0]]}
        parameters: dict[str, Any] = {}
        if protocol == "fast":
            parameters = {"alpha": self.fast_alpha}
        elif protocol == "fusion":
            parameters = {"growth_delay": self.fusion_dmin_ms / 1e3, "flows": float(flows)}
        elif protocol.startswith("ctcp"):
            table["algorithm"] = self.compound
            parameters = {"beta": 0.125} if protocol == "ctcp_7/8" else {}
        elif protocol.startswith("yeah_"):
            parameters = {"stcp_count": 1 / (float(protocol.partition("_")[2]) - 1)}
        if self.dead_zone_ms and protocol == "areno":
            table["base_rtt_error"] = f"{self.dead_zone_ms} ms"
        return table | ({"parameters": parameters} if parameters else {})

    def path(self) -> dict[str, Any]:
        """Path that all scenarios share."""
        return {
            "rate": "100 Mbit/s",
            "rtt": "40 ms",
            "buffer": f"{BUFFER} packets",
            "queue": "droptail:ns2",
            "access_rate": "1 Gbit/s",
            "stack": {"base": self.base, "payload": f"{PACKET_BYTES - 40} B", "header": "40 B"},
            # One packet time of the access link: 1500 bytes at 1 Gbit/s take 12 us.
            "send_jitter": "12 us",
        }

    def model(self, protocol: str, flows: int = 1) -> Hybrid:
        """The paper's abstracted model of a hybrid, with this setup's constants."""
        if protocol == "areno":
            return abstracted.areno(PIPE)
        if protocol == "fusion":
            return abstracted.fusion(PIPE, self.fusion_dmin_ms / 1e3, flows)
        name, _, value = protocol.partition("_")
        if name == "ctcp":
            return abstracted.ctcp(7 / 8 if value == "7/8" else 1 / 2)
        return abstracted.yeah(float(value or 1.01))


_ALGORITHMS: dict[str, dict[str, Any]] = {
    "reno": {"algorithm": "reno"},
    "fast": {"algorithm": "fast:ns2"},
    "ctcp": {"algorithm": "compound"},
    "areno": {"algorithm": "areno"},
    "yeah": {"algorithm": "yeah"},
    "fusion": {"algorithm": "fusion"},
    "hstcp": {"algorithm": "hstcp"},
    "stcp": {"algorithm": "stcp"},
}


def run_s(p: float, time: int = 1) -> float:
    """Length of a run, s: the time in which a flow at full rate has 200 losses, but at least 300 s and at most 1000
    s."""
    at_full_rate = LOSSES_IN_A_RUN / p * 8 * PACKET_BYTES / RATE_BPS
    return min(LONGEST_S, max(SHORTEST_S, at_full_rate)) / time


def points(flows: int, case: int | None = None) -> list[float]:
    """The loss rates of the grid: all of them, or only the loss rates of one case of the models."""
    first, second = (float(border) for border in borders(PIPE.bdp, flows))
    edges = {None: (0.0, 1.0), 1: (0.0, first), 2: (first, second), 3: (second, 1.0)}[case]
    return [p for p in GRID if edges[0] < p <= edges[1]]


@lru_cache(maxsize=1024)
def _sweep(setup: Setup, protocol: str, p: float, flows: int) -> Scenario:
    seconds = run_s(p, setup.time)
    both = [setup.flow(protocol, flows)] + [{"name": "rival", "algorithm": "reno"}] * (flows - 1)
    beside = " beside TCP-Reno" if flows == 2 else ""
    return Scenario.dumbbell(
        both,
        title=f"{TITLES[protocol]}{beside}, p = {p:.3g}",
        duration=f"{seconds:.6f} s",
        measure={"from": f"{seconds / 10:.6f} s"},
        loss=p,
        start_jitter="100 ms",
        sample_period="100 ms",
        **setup.path(),
    )


@lru_cache(maxsize=64)
def _short(setup: Setup, protocol: str) -> Scenario:
    shorts: list[dict[str, Any]] = []
    beside: dict[str, Any] = {}
    who, spread_s = "short flows", float(SHORT_SPAN_S)
    if setup.short_users:
        users = {"name": "short", "algorithm": "reno", "users": SHORT_FLOWS, "think": "1 s"}
        sizes = {"distribution": "pareto", "mean": f"{setup.short_users} B", "shape": SHORT_SHAPE}
        beside, who, spread_s = {"traffic": [users | {"sizes": sizes}]}, "users", 0.1
    else:
        each = short_sizes() if setup.short_size == "pareto" else [int(setup.short_size)] * SHORT_FLOWS
        shorts = [
            {"name": f"short-{number}", "algorithm": "reno", "size": f"{size} B", "start": f"{SHORT_FROM_S} s"}
            for number, size in enumerate(each, start=1)
        ]
    # The long flow has the same name in all runs, so that all have the same random starts.
    return Scenario.dumbbell(
        [setup.flow(protocol) | {"name": "long"}, *shorts],
        title=f"{TITLES[protocol]} and {SHORT_FLOWS} {who}",
        duration=f"{SHORT_RUN_S} s",
        measure={"from": f"{SHORT_FROM_S} s"},
        start_jitter=f"{spread_s:g} s",
        sample_period="1 s",
        **beside,
        **setup.path(),
    )


@lru_cache(maxsize=64)
def response(setup: Setup, protocol: str, p: float, rate_mbps: int, seconds: float) -> Scenario:
    """A flow alone on a path of figure 9, with an RTT of 100 ms and a buffer of one BDP."""
    run_s = seconds / setup.time
    path = setup.path() | {"rate": f"{rate_mbps} Mbit/s", "rtt": "100 ms", "buffer": "1 BDP"}
    path |= {"access_rate": "40 Gbit/s", "send_jitter": "0 s"}
    return Scenario.dumbbell(
        [setup.flow(protocol)],
        title=f"{TITLES.get(protocol, protocol.upper())} at {rate_mbps} Mbit/s, p = {p:.0e}",
        duration=f"{run_s:g} s",
        measure={"from": f"{run_s / 2:g} s"},
        loss=p,
        start_jitter="100 ms",
        **path,
    )


def short_sizes() -> list[int]:
    """Sizes of the short flows, bytes: quantiles of the Pareto distribution, so that no draw is an outlier."""
    scale = SHORT_MEAN_BYTES * (SHORT_SHAPE - 1) / SHORT_SHAPE
    parts = [(number + 0.5) / SHORT_FLOWS for number in range(SHORT_FLOWS)]
    return [round(scale * (1 - part) ** (-1 / SHORT_SHAPE)) for part in parts]
