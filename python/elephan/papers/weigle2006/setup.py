"""The experiments of weigle2006 as scenarios: two flows over a dumbbell of 622 Mbit/s and 100 ms (§3 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import Any

from elephan.papers import paper
from elephan.papers.loading import about, claims
from elephan.scenario import Scenario
from elephan.scenario.catalog import algorithms

PROTOCOLS: tuple[str, ...] = claims("weigle2006").lists["protocols"]
TITLES = MappingProxyType(about("weigle2006").names)
Pair = tuple[str, str]
PAIRS: tuple[Pair, ...] = tuple(product(PROTOCOLS, PROTOCOLS))

BUFFER = 1555
LATE_S = 50
DURATION_S = 500
MEASURE_S = (250, DURATION_S)
RECEIVE_WINDOW = 67_000


class Setup(paper.Setup):
    """Two flows over a path of the paper."""

    stated = about("weigle2006").setup

    def scenario(self, pair: Pair, buffer: int = BUFFER, late_s: int = LATE_S) -> Scenario:
        """Two flows, the first at 0 s and the second at ``late_s``; ``buffer`` in packets, by ns-2's counting."""
        return _scenario(self, pair, buffer, late_s)

    def stack(self) -> dict[str, Any]:
        """The table of the TCP stack of both flows."""
        return {
            "base": "ns2" if self.tcp_linux else "ns2-sack1",
            "header": f"{self.header_bytes} B",
            "receive_window": f"{RECEIVE_WINDOW // self.scale} segments",
            "initial_ssthresh": f"{RECEIVE_WINDOW // self.scale} segments",
        }

    def flow(self, protocol: str, position: int, start_s: int) -> dict[str, Any]:
        """The table of one flow."""
        table: dict[str, Any] = {
            "name": f"{protocol}-{position}",
            "algorithm": self.algorithms.get(protocol, protocol),
            "start": f"{start_s} s",
        }
        if protocol == "fast":
            table["parameters"] = {"alpha": self.fast_alpha // self.scale}
            if not self.fast_doubling:
                table["parameters"]["mi_threshold"] = 0.0
        elif not self.tcp_linux and _halves(protocol):
            table["parameters"] = {"halve_in_slow_start": True}
        return table


@lru_cache(maxsize=64)
def _halves(protocol: str) -> bool:
    """True if a protocol has the option to halve its window on a loss in slow start."""
    return any(parameter["name"] == "halve_in_slow_start" for parameter in algorithms()[protocol]["parameters"])


@lru_cache(maxsize=4096)
def _scenario(setup: Setup, pair: Pair, buffer: int, late_s: int) -> Scenario:
    first, second = pair
    one, other = TITLES.get(first, first), TITLES.get(second, second)
    names = f"{one} then {other}" if late_s else f"{one} and {other} together"
    # One packet time of the access link: 1040 bytes at 1 Gbit/s take 8.32 us.
    packet_ns = (1000 + setup.header_bytes) * 8
    packets = round(buffer / setup.scale)
    return Scenario.dumbbell(
        [setup.flow(first, 1, 0), setup.flow(second, 2, late_s)],
        title=f"{names}, {packets} packets",
        rate=f"{622_000 // setup.scale} kbit/s",
        rtt="100 ms",
        buffer=f"{packets} packets",
        queue="droptail:ns2",
        access_rate="1 Gbit/s",
        access_delay="1 ms",
        duration=f"{DURATION_S} s",
        measure={"from": f"{MEASURE_S[0]} s", "to": f"{MEASURE_S[1]} s"},
        stack=setup.stack(),
        # Simultaneous starts differ by less than one packet time; 0.1 s would be a lead of one round trip.
        start_jitter=("100 ms" if late_s else f"{packet_ns} ns") if setup.jitter else "0 s",
        send_jitter=f"{packet_ns} ns" if setup.jitter else "0 s",
    )


def label(pair: Pair) -> str:
    """``a>b``: a is flow 1."""
    return ">".join(pair)


SCENARIOS: dict[str, Callable[..., Scenario]] = {
    "pair": lambda setup, first, second, buffer_pkts=BUFFER, start2_s=LATE_S: setup.scenario(
        (first, second), buffer_pkts, start2_s
    ),
}
