"""The experiments of hcc2011 as scenarios: one to four flows over a dumbbell of 200 Mbit/s (§4 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from elephan.papers import paper
from elephan.papers.loading import about, along, claims
from elephan.scenario import Scenario

PROTOCOLS: tuple[str, ...] = claims("hcc2011").lists["protocols"]
BUFFERS: tuple[int, ...] = claims("hcc2011").lists["buffers"]
LOSSES: tuple[float, ...] = claims("hcc2011").lists["losses"]
ALL_SETTINGS: tuple[float, ...] = claims("hcc2011").lists["loads"]
TITLES = MappingProxyType(about("hcc2011").names)

RATIO_RTTS_MS = MappingProxyType({1.5: 90, 2: 120, 6: 360})
SHORT_RTT_MS = 60
FRIENDLY_BUFFERS = MappingProxyType({"F14a": 600, "F14b": 1000, "F14c": 2000, "F14d": 3000})

RATE_MBPS = 200
BOTTLENECK_MS = 20
ALPHA = 400
REVERSE_BUFFER = 2000
REVERSE_BYTES = 500
DURATION_S = 300
PACKET_BYTES = 1000
RECEIVE_WINDOW = 40_000

# ns-2's TcpAgent halves the window on the first loss and on any loss in slow start, whatever the rule.
HALVING = ("hstcp", "stcp", "htcp", "bic")
# Lost packets for the tests of HCC's rules: one during the increase, at a window of about half of the BDP, and one
# while the window is constant, between two decreases, so that the backoff is exact.
LOST = (12_000, 400_000)


class Setup(paper.Setup):
    """The paths and flows of the paper."""

    stated = about("hcc2011").setup

    @property
    def sizes_bytes(self) -> tuple[int, ...]:
        """Sizes of the reverse packets in Fig 19, bytes; fewer at a smaller scale, since small packets take long to
        simulate."""
        return along("hcc2011", "F19", "reverse_packet_bytes", quick=self.scale > 1)

    # ---- the experiments ----

    def lone(
        self, protocol: str, buffer_pkts: int, loss_probability: float = 0.0, rtt_ms: int | None = None
    ) -> Scenario:
        """One flow (Figs 6 to 9); packets that have left the queue may be lost."""
        rtt_ms, loss = rtt_ms or self.rtt_ms, loss_probability
        title = f"{TITLES[protocol]}, {buffer_pkts} packets, {rtt_ms} ms" + (f", loss {loss:g}" if loss else "")
        # A scaled-down setup divides windows by ``scale``. The loss rate is multiplied by the square of ``scale``, so
        # Reno's window is divided by ``scale`` too.
        return _dumbbell(self, title, (protocol,), (rtt_ms,), buffer_pkts, loss=loss * self.scale**2, record=not loss)

    def equal(self, protocol: str, buffer_pkts: int) -> Scenario:
        """Three flows with an RTT of 120 ms that start together (Fig 10)."""
        title = f"three {TITLES[protocol]}, {buffer_pkts} packets"
        return _dumbbell(self, title, (protocol,) * 3, (120,) * 3, buffer_pkts, record=True)

    def ratio(self, protocol: str, rtt_ratio: float, buffer_pkts: int) -> Scenario:
        """Two flows with RTTs of 60 ms and ``rtt_ratio`` times 60 ms (Table 2)."""
        rtts_ms = (SHORT_RTT_MS, RATIO_RTTS_MS[rtt_ratio])
        title = f"two {TITLES[protocol]}, {rtts_ms[0]} and {rtts_ms[1]} ms, {buffer_pkts} packets"
        return _dumbbell(self, title, (protocol,) * 2, rtts_ms, buffer_pkts)

    def pair(self, rtt1_ms: int, rtt2_ms: int, protocol: str = "hcc") -> Scenario:
        """Two flows that start one after the other, with a buffer of 600 packets (Fig 11)."""
        title = f"two {TITLES[protocol]}, {rtt1_ms} and {rtt2_ms} ms, 600 packets"
        return _dumbbell(self, title, (protocol,) * 2, (rtt1_ms, rtt2_ms), 600, starts_s=(0, self.late_s))

    def three(self, *, gigabit: bool = False, protocol: str = "hcc") -> Scenario:
        """Three flows of different RTTs, each 100 s after the previous flow (Figs 12 and 13)."""
        buffer = self.gigabit_buffer if gigabit else 2000
        title = f"three {TITLES[protocol]} at {'1 Gbit/s' if gigabit else '200 Mbit/s'}, {buffer} packets"
        starts_s = tuple(100 * i for i in range(len(self.three_rtts_ms)))
        rtts_ms, factor = self.three_rtts_ms, 5 if gigabit else 1
        return _dumbbell(self, title, (protocol,) * 3, rtts_ms, buffer, starts_s=starts_s, factor=factor, record=True)

    def friendly(self, protocol: str, buffer_pkts: int) -> Scenario:
        """Two flows of a protocol and two Reno flows, all with an RTT of 120 ms (Fig 14)."""
        title = f"two {TITLES[protocol]} and two TCP Reno, {buffer_pkts} packets"
        return _dumbbell(self, title, (protocol, protocol, "reno", "reno"), (120,) * 4, buffer_pkts)

    def reverse(
        self, protocol: str, buffer_pkts: int = 2000, on_off: float = 1.0, reverse_packet_bytes: int = REVERSE_BYTES
    ) -> Scenario:
        """One flow, and a source on the reverse path that is on for the fraction ``on_off`` of the time (Figs 15 to
        19)."""
        if not on_off:
            return self.lone(protocol, buffer_pkts)
        return _reverse(self, protocol, buffer_pkts, on_off, reverse_packet_bytes)

    def two_losses(self) -> Scenario:
        """One HCC flow with a queue that never fills; two lost packets show HCC's rules."""
        return _two_losses(self)

    # ---- parts of the experiments ----

    def packets(self, count: float) -> int:
        """A number of packets in the paper, converted to the setup's scale."""
        own: int = round(count / self.scale)
        return max(1, own)

    def mbps(self, rate: float) -> str:
        """A rate in the paper, converted to the setup's scale."""
        return f"{round(1000 * rate / self.scale)} kbit/s"

    def packet_ns(self, factor: int = 1) -> int:
        """Transmission time of a packet on the access link."""
        return int(8000 * (PACKET_BYTES + self.header_bytes) * self.scale // (RATE_MBPS * self.access * factor))

    def lag_s(self, factor: int = 1) -> float:
        """Additional transmission time of a packet over the three links, s, relative to the paper's scale; it is not
        queueing delay."""
        packet_s = 8 * (PACKET_BYTES + self.header_bytes) / (RATE_MBPS * factor * 1e6)
        return float((self.scale - 1) * packet_s * (1 + 2 / self.access))

    def access_link(self, rtt_ms: int, buffer: int, factor: int = 1, *, record: bool = False) -> dict[str, Any]:
        """Table of a flow's access link; its delay is half of the flow's one-way delay without the bottleneck's
        delay."""
        table: dict[str, Any] = {
            "rate": self.mbps(RATE_MBPS * self.access * factor),
            "delay": f"{round((rtt_ms / 2 - BOTTLENECK_MS) / 2 * 1e6)} ns",
            "queue": "droptail:ns2",
        }
        if self.access_bounded:
            table["buffer"] = f"{self.packets(buffer)} packets"
        return table | ({"record": True} if record else {})

    def middle_link(self, factor: int = 1) -> dict[str, Any]:
        """The bottleneck without its buffer."""
        return {
            "rate": self.mbps(RATE_MBPS * factor),
            "delay": f"{BOTTLENECK_MS} ms",
            "queue": "droptail:ns2",
        }

    def stack(self) -> dict[str, Any]:
        """The table of the TCP stack that flows have in common."""
        return {
            "base": "ns2",
            "payload": f"{PACKET_BYTES} B",
            "header": f"{self.header_bytes} B",
            "receive_window": f"{RECEIVE_WINDOW} segments",
            "initial_ssthresh": f"{RECEIVE_WINDOW} segments",
        }

    def flow(self, protocol: str, position: int, rtt_ms: int, start_s: int = 0, factor: int = 1) -> dict[str, Any]:
        """The table of one flow; ``factor`` is the bottleneck's rate relative to the paper's 200 Mbit/s."""
        table: dict[str, Any] = {
            "name": f"{protocol}-{position}",
            "algorithm": self.code[protocol],
            "start": f"{start_s} s",
        }
        if protocol == "fast":
            table["parameters"] = {
                "alpha": self.packets(self.fast_alpha * factor),
                "known_rtt": rtt_ms / 1e3 + self.lag_s(factor),
            }
        if protocol == "hcc":
            own = self.hcc | {"i_min": self.hcc["i_min"] / self.scale}
            known_owd = rtt_ms / 2e3 + self.lag_s(factor)
            known = {"alpha": self.packets(ALPHA * factor), "gamma": 0.5, "known_owd": known_owd}
            table["parameters"] = known | own
        if protocol in HALVING and protocol in self.own_agents:
            table["parameters"] = {"halve_in_slow_start": True}
        if protocol in self.own_agents:
            table["stack"] = self.stack() | {"base": "ns2-sack1"}
        return table

    def common(self, factor: int = 1) -> dict[str, Any]:
        """The fields that all scenarios share."""
        return {
            "duration": f"{DURATION_S} s",
            "measure": {"from": "0 s", "to": f"{DURATION_S} s"},
            "stack": self.stack(),
            "start_jitter": "100 ms" if self.jitter else "0 s",
            "send_jitter": f"{round(self.noise * self.packet_ns(factor))} ns",
        }


@lru_cache(maxsize=1024)
def queue_links(scenario: Scenario) -> tuple[str, ...]:
    """The links whose queues are along the forward path: the bottleneck, and the senders' access links."""
    names = (str(link["name"]) for link in scenario.to_dict()["link"] if link.get("record"))
    return ("bottleneck", *(name for name in names if name.startswith("sender")))


@lru_cache(maxsize=4096)
def _dumbbell(
    setup: Setup,
    title: str,
    protocols: tuple[str, ...],
    rtts_ms: tuple[int, ...],
    buffer: int,
    *,
    loss: float = 0.0,
    starts_s: Sequence[int] | None = None,
    factor: int = 1,
    record: bool = False,
) -> Scenario:
    """A dumbbell in which every flow has its own access link on either side; with ``record`` the queues of the first
    flow's links are recorded."""
    starts_s = starts_s or (0,) * len(protocols)
    bottleneck = setup.middle_link(factor) | {"buffer": f"{setup.packets(buffer)} packets"}
    if loss:
        bottleneck["loss"] = loss
    links = [{"name": "bottleneck", "from": "west", "to": "east", **bottleneck}]
    flows = []
    for position, (protocol, rtt_ms, start_s) in enumerate(zip(protocols, rtts_ms, starts_s, strict=True), start=1):
        sender, receiver = f"sender-{position}", f"receiver-{position}"
        near = setup.access_link(rtt_ms, buffer, factor, record=record)
        links += [
            {"name": sender, "from": f"source-{position}", "to": "west", **near},
            {"name": receiver, "from": "east", "to": f"sink-{position}", **setup.access_link(rtt_ms, buffer, factor)},
        ]
        path = [sender, "bottleneck", receiver]
        back = [f"{name}/reverse" for name in reversed(path)]
        flows.append(setup.flow(protocol, position, rtt_ms, start_s, factor) | {"path": path, "reverse_path": back})
    return Scenario.from_dict({"title": title, "link": links, "flow": flows, **setup.common(factor)})


@lru_cache(maxsize=1024)
def _reverse(setup: Setup, protocol: str, buffer: int, setting: float, size_bytes: int) -> Scenario:
    """A scenario with reverse traffic. The network is a graph and not a dumbbell, since the two directions have
    different buffers."""
    access = setup.access_link(setup.rtt_ms, buffer)
    back = setup.access_link(setup.rtt_ms, REVERSE_BUFFER)
    middle = setup.middle_link() | {"duplex": False}
    links = [
        {"name": "sender", "from": "source", "to": "west", **access},
        {"name": "bottleneck", "from": "west", "to": "east", "buffer": f"{setup.packets(buffer)} packets", **middle},
        {
            "name": "reverse",
            "from": "east",
            "to": "west",
            "buffer": f"{setup.packets(REVERSE_BUFFER)} packets",
            "record": True,
            **middle,
        },
        {"name": "receiver", "from": "east", "to": "sink", **access},
        {"name": "vbr-in", "from": "vbr", "to": "east", **back},
        {"name": "vbr-out", "from": "west", "to": "away", **back},
    ]
    flow = setup.flow(protocol, 1, setup.rtt_ms) | {
        "path": ["sender", "bottleneck", "receiver"],
        "reverse_path": ["receiver/reverse", "reverse", "sender/reverse"],
    }
    source: dict[str, Any] = {"rate": setup.mbps(setup.peak_mbps), "size": f"{size_bytes} B"}
    if setting < 1:
        on_ms = round(1000 * setting * setup.cycle_s)
        source |= {"on": f"{on_ms} ms", "off": f"{round(1000 * setup.cycle_s) - on_ms} ms"}
    vbr = {
        "name": "vbr",
        "datagrams": source,
        "path": ["vbr-in", "reverse", "vbr-out"],
        "reverse_path": ["vbr-out/reverse", "bottleneck", "vbr-in/reverse"],
    }
    title = f"{TITLES[protocol]}, {buffer} packets, reverse source on for {setting:g}, {size_bytes} B"
    return Scenario.from_dict({"title": title, "link": links, "flow": [flow, vbr], **setup.common()})


def _two_losses(setup: Setup) -> Scenario:
    plain = _dumbbell(setup, "HCC TCP with two losses", ("hcc",), (120,), 4000)
    return plain.with_overrides(
        {
            "link[0].loss": {"packets": [setup.packets(count) for count in LOST]},
            "duration": "30 s",
            "sample_period": "10 ms",
            "measure": {"from": "0 s", "to": "30 s"},
            "start_jitter": "0 s",
            "send_jitter": "0 s",
        }
    )


SCENARIOS: dict[str, Callable[..., Scenario]] = {
    "lone": Setup.lone,
    "equal": Setup.equal,
    "ratio": Setup.ratio,
    "pair": Setup.pair,
    "three": Setup.three,
    "friendly": Setup.friendly,
    "reverse": Setup.reverse,
    "two_losses": Setup.two_losses,
}
