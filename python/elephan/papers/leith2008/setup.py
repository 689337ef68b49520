"""The experiments of leith2008 as scenarios: one bottleneck with a drop-tail queue in packets (§III of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from elephan.papers import paper
from elephan.papers.leith2008 import rules
from elephan.papers.loading import about, along, claims
from elephan.scenario import Scenario

WIRE_BYTES = 1500
TITLES = MappingProxyType(about("leith2008").names)
BURST_S = 100
F2_LOSS_S = 25
F4_TIMES_S = (700.0, 2000.0)
F5_TIMES_S = (100.0, 1500.0)
F6_TIMES_S = (20.0, 600.0)
MEASURE_S = (200, 1200)
CROSS_MEASURE_S, QUICK_MEASURE_S = (200, 1800), (200, 600)
F7_RTTS_MS: tuple[int, ...] = along("leith2008", "F7", "rtt1_ms")
F7_BUFFERS = {120: 1000, 16: 133}
CROSS_RTTS_MS = (30, 60, 90, 120)
F10_BUFFER = 4096
ACK_BYTES = 52
SMALL_MBPS = 5.0
F11_ERROR_MS = 20
SCAN_NS = 100
"""Processing time for one outstanding segment, ns: the time of a cache miss."""
LOSS_RATES: tuple[float, ...] = claims("leith2008").lists["losses"]
AIMD = {"aimd_a0.3": 0.3, "aimd_a10": 10.0}
RENO_MBPS: tuple[float, ...] = along("leith2008", "F3", "rate_mbps")
F5_MBPS: tuple[float, ...] = along("leith2008", "F5", "rate_mbps")


@dataclass(frozen=True)
class Line:
    """One of the paper's paths.

    Attributes:
        mbps: rate of the bottleneck.
        rtt_ms: two-way propagation delay.
        buffer: largest queue, packets.
    """

    mbps: float
    rtt_ms: int
    buffer: int

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product in packets of 1500 B."""
        return self.mbps * 1e3 * self.rtt_ms / (8 * WIRE_BYTES)


F1 = Line(400, 200, 6667)
F2 = Line(250, 100, 2083)
F3A = Line(10, 100, 83)
F3B = Line(250, 100, 2083)
F5 = Line(200, 100, 1667)
F6 = Line(200, 200, 333)
F8A, F8B = Line(100, 30, 125), Line(100, 100, 500)
FRAMED = (F8A, F8B)
F10 = Line(400, 120, F10_BUFFER)
F11 = Line(150, 100, 2000)
F12 = Line(400, 120, 4000)
F13 = Line(250, 100, 4167)
S8C = Line(1000, 122, 10_167)
PATHS = {"F3a": F3A, "F3b": F3B, "F5": F5, "F6": F6, "F13": F13}


class Setup(paper.Setup):
    """The hosts and paths of the paper."""

    stated = about("leith2008").setup

    def algorithm(self, name: str) -> str:
        """The preset for an algorithm's name in the paper."""
        if name == "ctcp":
            if self.grow_from_dwnd:
                return "compound:draft-00"
            return "compound:linux" if self.acks_counted else "compound"
        presets = {
            "reno": "reno:linux-2.6" if self.acks_counted else "reno:linux",
            "illinois": "illinois:leith2008",
            "illinois_stock": "illinois:linux-2.6.23",
            "cubic": "cubic:linux-2.6",
        }
        return presets[name]

    @property
    def reno_increase(self) -> float:
        """Growth of Compound's loss-based component, segments a round trip."""
        return 0.5 if self.acks_counted else 1.0

    def flow(self, name: str, algorithm: str, start_s: float = 0, **more: Any) -> dict[str, Any]:
        """The table of one flow."""
        if algorithm in AIMD:
            return {"name": name, "algorithm": "reno", "parameters": {"increase": AIMD[algorithm]}, **more}
        table = {"name": name, "algorithm": self.algorithm(algorithm), "start": f"{start_s:g} s", **more}
        if algorithm == "ctcp" and self.compound_rtt != "min":
            table["parameters"] = {"rtt_filter": self.compound_rtt}
        return table

    def scenario(
        self, title: str, line: Line, flows: Sequence[Mapping[str, Any]], run_s: float, **more: Any
    ) -> Scenario:
        """Flows over one of the paper's paths."""
        mbps = line.mbps / self.scale
        packet_ns = WIRE_BYTES * 8 // (1 if line.mbps < 1000 else 10)
        own: dict[str, Any] = {
            "rtt": f"{line.rtt_ms} ms",
            "access_rate": "1 Gbit/s" if line.mbps < 1000 else "10 Gbit/s",
            "start_jitter": "100 ms" if self.jitter else "0 s",
            "send_jitter": f"{packet_ns} ns" if self.jitter else "0 s",
            "stack": self.stack(line),
        }
        return Scenario.dumbbell(
            list(flows),
            title=title,
            rate=f"{round(mbps * 1e6)} bit/s",
            buffer=f"{max(2, round(line.buffer / self.scale))} packets",
            duration=f"{run_s:g} s",
            **(own | more),
        )

    @property
    def cross_s(self) -> tuple[int, int]:
        """The measurement window of runs with cross traffic, until the end of the run; a quick run has a quarter of
        this window."""
        return CROSS_MEASURE_S if self.scale == 1 else QUICK_MEASURE_S

    def framing(self, line: Line) -> int:
        """Framing bytes of a packet on a path's link."""
        return self.framing_bytes if line in FRAMED else 0

    def stack(self, line: Line, **more: str) -> dict[str, Any]:
        """The table of the TCP stack of both hosts on a path."""
        table: dict[str, Any] = {"base": "linux-2.6", **more}
        if not self.delayed_acks:
            table["ack_every"] = 1
        if framing := self.framing(line):
            table["header"] = f"{ACK_BYTES + framing} B"
        return table

    def measured(self, window: tuple[float, float]) -> dict[str, Any]:
        """``[measure]`` of a scenario."""
        return {"measure": {"from": f"{window[0]:g} s", "to": f"{window[1]:g} s"}}

    def datagrams(self, name: str, mbps: float, start_s: float, stop_s: float | None, size: int) -> dict[str, Any]:
        """A constant stream of datagrams."""
        table = {
            "name": name,
            "start": f"{start_s:g} s",
            "datagrams": {"rate": f"{round(mbps * 1e6 / self.scale)} bit/s", "size": f"{size} B"},
        }
        return table if stop_s is None else {**table, "stop": f"{stop_s:g} s"}

    def cross(self, mbps: float, rtts_ms: Sequence[int], direction: str = "right") -> list[dict[str, Any]]:
        """Tables of Poisson arrivals with Pareto sizes (mean 25 kB, shape 1.2), divided equally among some RTTs."""
        each_bps = round(mbps * 1e6 / self.scale / len(rtts_ms))
        return [
            {
                "name": f"cross-{direction}-{rtt}",
                "algorithm": self.algorithm("reno"),
                "direction": direction,
                "load": f"{each_bps} bit/s",
                "sizes": {"distribution": "pareto", "mean": "25 kB", "shape": 1.2},
                "rtts": [[0, f"{rtt} ms"], [1, f"{rtt} ms"]],
            }
            for rtt in rtts_ms
        ]


@lru_cache(maxsize=512)
def recovery(setup: Setup, protocol: str) -> Scenario:
    """Figure 1: one flow, and datagrams at the link's rate from 100 s to 105 s."""
    flows = [
        setup.flow(protocol, protocol),
        setup.datagrams("udp", F1.mbps, BURST_S, BURST_S + 5, WIRE_BYTES),
    ]
    run_s = 1600 if protocol == "reno" else 400
    return setup.scenario(f"{TITLES[protocol]} after 5 s of datagrams", F1, flows, run_s)


@lru_cache(maxsize=512)
def reverse_traffic(setup: Setup, protocol: str, *, traffic: bool = True) -> Scenario:
    """Figure 2: one flow; from 25 s on, a reverse connection of 5 s with a window of 0.5 MB starts every 6 s."""
    run_s = 400
    flows = [setup.flow(protocol, protocol)]
    if setup.burst:
        flows.append(setup.datagrams("udp", F2.mbps, F2_LOSS_S - 5, F2_LOSS_S, WIRE_BYTES))
    if traffic:
        stack = setup.stack(F2, receive_window=f"{setup.reverse_window // setup.scale} B")
        flows += [
            setup.flow(f"reverse-{at}", "reno", at, stop=f"{at + 5} s", direction="left", stack=stack)
            for at in range(F2_LOSS_S, run_s - 5, 6)
        ]
    against = "against on-off traffic" if traffic else "without reverse traffic"
    return setup.scenario(f"{TITLES[protocol]} {against}", F2, flows, run_s)


@lru_cache(maxsize=512)
def alone(setup: Setup, algorithm: str, line: Line, run_s: float) -> Scenario:
    """Figure 3: one flow and nothing else."""
    flows = [setup.flow(algorithm, algorithm)]
    return setup.scenario(f"{TITLES[algorithm]} alone, {line.mbps:g} Mbit/s", line, flows, run_s)


@lru_cache(maxsize=512)
def newcomer(setup: Setup, algorithm: str, line: Line, second_s: float, run_s: float) -> Scenario:
    """Figures 4, 5, 6 and 13: two flows of one algorithm; the second flow starts later."""
    flows = [setup.flow(f"{algorithm}-1", algorithm), setup.flow(f"{algorithm}-2", algorithm, second_s)]
    title = f"two {TITLES[algorithm]} flows, {line.mbps:g} Mbit/s, {line.buffer} packets"
    return setup.scenario(title, line, flows, run_s)


def late(setup: Setup) -> tuple[float, float]:
    """Start of Figure 4's second flow, after the first epoch of the first flow, and end of the run, s."""
    return F4_TIMES_S[0] / setup.scale, F4_TIMES_S[1] / setup.scale


def epochs_s(setup: Setup, line: Line) -> float:
    """Length of a run of Figure 3, s: about five epochs, whose length is proportional to the rate."""
    stated = {F3A: 300.0, F3B: 3000.0}
    return stated.get(line, 800.0) / (setup.scale if line != F3A else 1)


def with_rate(line: Line, mbps: float) -> Line:
    """The path at another rate, with the same buffer in bandwidth-delay products."""
    return Line(mbps, line.rtt_ms, round(line.buffer * mbps / line.mbps))


@lru_cache(maxsize=512)
def rtt_pair(setup: Setup, protocol: str, rtt1_ms: int, buffer_ms: int) -> Scenario:
    """Figure 7: flow 1 with ``rtt1_ms`` against flow 2 with 120 ms, and 10 % of cross traffic at 6 ms and 120 ms."""
    flows = [
        setup.flow(f"{protocol}-1", protocol, rtt=f"{rtt1_ms} ms"),
        setup.flow(f"{protocol}-2", protocol, rtt="120 ms"),
    ]
    # The RTT of a transfer is at least that of the path, so the path has the shortest RTT of all transfers.
    line = Line(100, 6, F7_BUFFERS[buffer_ms])
    title = f"{TITLES[protocol]}, {rtt1_ms} ms and 120 ms, buffer {buffer_ms} ms"
    more = {"traffic": setup.cross(10, (6, 120)), **setup.measured(setup.cross_s)}
    return setup.scenario(title, line, flows, setup.cross_s[1], **more)


@lru_cache(maxsize=512)
def against_reno(setup: Setup, algorithm: str, name: str, *, overestimate: bool = False) -> Scenario:
    """Figures 8, 9 and 12: a new algorithm against Reno; with ``overestimate`` the new algorithm's largest RTT is too
    large."""
    if not overestimate:
        return _against_reno(setup, algorithm, name)
    if setup.scan_ns:
        return on_slow_host(setup, "illinois_stock", name)
    # No packet leaves the link before that time. This delays the first RTT sample, as a busy host does.
    line = _BESIDE_RENO[name]
    octets = WIRE_BYTES + setup.framing(line)
    late_ms = round(setup.outlier[name] * line.buffer * 8 * octets / (line.mbps * 1e3))
    rate = f"{round(line.mbps * 1e6 / setup.scale)} bit/s"
    steps = [{"at": "0 s", "rate": "0 bit/s"}, {"at": f"{late_ms} ms", "rate": rate}]
    more: dict[str, Any] = {"rate_steps": steps, "start_jitter": "10 ms" if setup.jitter else "0 s"}
    return _against_reno(setup, algorithm, name, f", largest RTT too large by {late_ms} ms", **more)


@lru_cache(maxsize=512)
def on_slow_host(setup: Setup, protocol: str, path: str = "F12") -> Scenario:
    """The scenario of :func:`against_reno`, on a host that processes all outstanding segments for each ACK with SACK
    blocks (§VIII.A)."""
    scan_ns = setup.scan_ns or SCAN_NS
    stack = setup.stack(_BESIDE_RENO[path], host_scan=f"{scan_ns * setup.scale} ns")
    return _against_reno(setup, protocol, path, f", the host takes {scan_ns} ns a segment", own_stack=stack)


_BESIDE_RENO = {"F8a": F8A, "F9a": F8A, "F8b": F8B, "F9b": F8B, "F12": F12}


def _against_reno(
    setup: Setup, algorithm: str, name: str, what: str = "", own_stack: Mapping[str, Any] | None = None, **more: Any
) -> Scenario:
    line = _BESIDE_RENO[name]
    flow = setup.flow(algorithm.removesuffix("_stock"), algorithm)
    if own_stack is not None:
        flow["stack"] = own_stack
    title = f"{TITLES[algorithm]} and Reno, {line.mbps:g} Mbit/s, {line.rtt_ms} ms{what}"
    flows = [flow, setup.flow("reno", "reno")]
    return setup.scenario(title, line, flows, MEASURE_S[1], **setup.measured(MEASURE_S), **more)


@lru_cache(maxsize=512)
def crossed(setup: Setup, protocol: str, case: int = 2) -> Scenario:
    """Figure 10 and Table I: a long flow alone (1), with cross traffic (2), a reverse flow (3), small packets (4)."""
    flows = [setup.flow(protocol, protocol, rtt=f"{F10.rtt_ms} ms")]
    if case == 3:
        flows.append(setup.flow("reverse", protocol, rtt=f"{F10.rtt_ms} ms", direction="left"))
    if case == 4:
        flows.append({**setup.datagrams("small", SMALL_MBPS, 0, None, ACK_BYTES), "rtt": f"{F10.rtt_ms} ms"})
    more = {"traffic": setup.cross(40, CROSS_RTTS_MS)} if case > 1 else {}
    line = Line(F10.mbps, min(CROSS_RTTS_MS), F10.buffer)
    title = f"{TITLES[protocol]}, case {case}"
    return setup.scenario(title, line, flows, setup.cross_s[1], **more, **setup.measured(setup.cross_s))


@lru_cache(maxsize=512)
def misled(setup: Setup, protocol: str) -> Scenario:
    """Figure 11: two flows; the base RTT of the second flow has an error of 20 ms."""
    flows = [
        setup.flow(f"{protocol}-1", protocol),
        setup.flow(f"{protocol}-2", protocol, 50, base_rtt_error=f"{F11_ERROR_MS} ms"),
    ]
    title = f"two {TITLES[protocol]} flows, one base RTT 20 ms too long"
    return setup.scenario(title, F11, flows, MEASURE_S[1], **setup.measured(MEASURE_S))


@lru_cache(maxsize=512)
def gigabit(setup: Setup, protocol: str) -> Scenario:
    """§VIII.C: one flow over 1 Gbit/s and 122 ms with 5 % of Pareto traffic each way."""
    traffic = [source for way in ("right", "left") for source in setup.cross(50, CROSS_RTTS_MS, way)]
    flows = [setup.flow(protocol, protocol, rtt=f"{S8C.rtt_ms} ms")]
    line = Line(S8C.mbps, min(CROSS_RTTS_MS), S8C.buffer)
    title = f"{TITLES[protocol]}, 1 Gbit/s"
    return setup.scenario(title, line, flows, 600, traffic=traffic, **setup.measured((100, 600)))


@lru_cache(maxsize=512)
def response(setup: Setup, protocol: str, loss: float) -> Scenario:
    """The response function of §IV.A: one flow and random losses."""
    flows = [setup.flow(protocol, protocol)]
    title = f"{protocol}, loss {loss:g}"
    return setup.scenario(title, F1, flows, 600, loss=f"{100 * loss:.12g}%", **setup.measured((100, 600)))


# ---- experiments ----


def lone(setup: Setup, algorithm: str, line: Line) -> Scenario:
    """The run of Figure 3 of an algorithm and a path."""
    return alone(setup, algorithm, line, epochs_s(setup, line))


def late_second(setup: Setup, protocol: str, path: str, rate_mbps: float = 0) -> Scenario:
    """Two flows of one algorithm on a path with a name, perhaps at another rate."""
    times_s = {"F3b": late(setup), "F6": F6_TIMES_S}.get(path, F5_TIMES_S)
    return newcomer(setup, protocol, _at_rate(path, rate_mbps), *times_s)


def _at_rate(path: str, rate_mbps: float) -> Line:
    return with_rate(PATHS[path], rate_mbps) if rate_mbps else PATHS[path]


SCENARIOS: dict[str, Callable[..., Scenario]] = {
    "crossed": crossed,
    "at_delay": lambda setup, protocol, queue_delay_fraction: rules.at_delay(protocol, queue_delay_fraction),
    "at_window": lambda setup, protocol, cwnd_pkts: rules.at_window(protocol, cwnd_pkts),
    "response": response,
    "recovery": recovery,
    "reverse": lambda setup, protocol, reverse="on": reverse_traffic(setup, protocol, traffic=reverse == "on"),
    "alone": lambda setup, protocol, path, rate_mbps=0: lone(setup, protocol, _at_rate(path, rate_mbps)),
    "newcomer": late_second,
    "rtt_pair": rtt_pair,
    "against_reno": lambda setup, protocol, path, max_rtt_overestimate=False: against_reno(
        setup, protocol, path, overestimate=max_rtt_overestimate
    ),
    "on_slow_host": on_slow_host,
    "misled": misled,
    "gigabit": gigabit,
}
