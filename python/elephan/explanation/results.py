"""The parts of an explanation: limits, the path as a mechanism, and the algorithm of the sender.

Each number has an interval, and a number that a capture cannot show says so, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elephan.scenario import Scenario


class Limit(StrEnum):
    """Cause of a flow's rate."""

    APPLICATION = "application"
    RECEIVE_WINDOW = "receive window"
    SEND_BUFFER = "send buffer"
    SLOW_START = "slow start"
    CONGESTION = "congestion"
    RANDOM_LOSS = "random loss"
    POLICER = "policer"
    DELAYED_ACKS = "delayed ACKs"


FLOW = "explained"
"""Name of the flow that stands for the captured one in simulations."""
PACKET_BYTES = 1500
"""Size of the packets of simulated flows, in which their buffers are counted."""
_LINK_BEHIND = 4
"""Rate of the link behind a policer, as a multiple of its tokens' rate."""
OF_PATH = (Limit.SLOW_START, Limit.CONGESTION, Limit.RANDOM_LOSS, Limit.POLICER)
"""Limits that are the path's, or the sender's knowledge of it."""


@dataclass(frozen=True)
class Interval:
    """A stretch of time with one limit.

    Attributes:
        start_s, end_s: its ends, from the first packet of the connection, s.
        limit: what limits the flow.
    """

    start_s: float
    end_s: float
    limit: Limit


@dataclass(frozen=True)
class Share:
    """A limit over the whole connection.

    Attributes:
        limit: what limits the flow.
        fraction: share of the time from the first segment to the last packet.
        evidence: what in the capture shows it.
    """

    limit: Limit
    fraction: float
    evidence: str


@dataclass(frozen=True)
class Limits:
    """Limits of a flow over time.

    Attributes:
        intervals: stretches of time, in order, without gaps.
        shares: limits by their share of time, the largest first.
        series: values of each interval, for figures and checks: ``SERIES`` of ``elephan.explanation.intervals``.
    """

    intervals: tuple[Interval, ...]
    shares: tuple[Share, ...]
    series: Mapping[str, NDArray[np.float64]]

    @cached_property
    def fractions(self) -> Mapping[Limit, float]:
        """Shares of time by limit."""
        return {share.limit: share.fraction for share in self.shares}

    @property
    def main(self) -> Limit:
        """The limit of most of the time."""
        return self.shares[0].limit

    def at(self, time_s: float) -> Limit:
        """The limit at a time."""
        ends = [interval.end_s for interval in self.intervals]
        return self.intervals[min(int(np.searchsorted(ends, time_s, side="right")), len(ends) - 1)].limit


@dataclass(frozen=True)
class Estimate:
    """A number of the path as the capture shows it.

    Attributes:
        name: its name in documents, such as ``rate``.
        title: its name for people, such as ``bottleneck rate``.
        unit: ``bit/s``, ``s``, ``bytes`` or ``1``.
        value: the estimate; ``None`` if the capture cannot show it.
        low, high: 95 % interval of the estimate.
        reason: evidence for it, or the reason why it is not identifiable.
    """

    name: str
    title: str
    unit: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @property
    def identifiable(self) -> bool:
        """The capture shows the number."""
        return self.value is not None


@dataclass(frozen=True)
class OtherTraffic:
    """Other traffic at the bottleneck.

    Attributes:
        kind: ``"steady"`` if it does not yield, ``"bulk"`` if it takes what is left, ``"intermittent"`` if it comes and
            goes, so that nothing shows whether it yields.
        share: its share of the rate.
        packet_bytes: size of its packets, bytes.
        start_s: time at which it begins, from the first segment, s.
        algorithm: congestion control of what stands for it in simulations, unless it is steady.
    """

    kind: Literal["steady", "bulk", "intermittent"]
    share: float
    packet_bytes: int
    start_s: float = 0.0
    algorithm: str = "cubic"

    @property
    def yields(self) -> bool | None:
        """It yields to this flow; ``None`` if the capture does not show it."""
        return {"steady": False, "bulk": True, "intermittent": None}[self.kind]

    @property
    def stands_for(self) -> str:
        """Assumption of simulations, in words."""
        return (
            "the other traffic is "
            + {
                "steady": "a steady stream of datagrams",
                "bulk": f"one flow of {self.algorithm.upper()}",
                "intermittent": f"that of short flows of {self.algorithm.upper()}",
            }[self.kind]
        )


@dataclass(frozen=True)
class RateLevel:
    """A rate of the bottleneck that holds for a time.

    Attributes:
        from_s: its beginning, from the first segment, s.
        rate_bps: the rate, bit/s.
    """

    from_s: float
    rate_bps: float


@dataclass(frozen=True)
class PathDraw:
    """A path that the capture allows: one draw from the interval of each of its numbers.

    Attributes:
        rate_bps: rate of the bottleneck, bit/s; of several, that which holds longest.
        rtt_s: round trip without queue, s.
        buffer_bytes: buffer of the bottleneck, bytes; the burst of a policer.
        loss: probability of a random loss.
        queue: queue discipline of the bottleneck, as scenarios name it.
        traffic: other traffic; ``None`` if there is none.
        levels: the rates if there are several.
        reordered: share of the packets that are delayed so that others overtake them, and their delay, s.
        jitter_s: upper end of the uniform distribution of delays by which packets are late, in order, s; 0 for none.
    """

    rate_bps: float
    rtt_s: float
    buffer_bytes: float
    loss: float = 0.0
    queue: str = "droptail"
    traffic: OtherTraffic | None = None
    levels: tuple[RateLevel, ...] = ()
    reordered: tuple[float, float] | None = None
    jitter_s: float = 0.0

    @property
    def structure(self) -> tuple[str, str]:
        """Discipline, and kind of the other traffic: what the fields of :meth:`variant` leave alone."""
        return self.queue, "" if self.traffic is None else f"{self.traffic.kind} {self.traffic.algorithm}"

    @property
    def datagrams(self) -> str:
        """Rate of other traffic that is steady."""
        share = self.traffic.share if self.traffic is not None else 0.0
        return f"{max(1.0, share * self.rate_bps):.0f} bit/s"

    def load(self, queue: str | None = None) -> str:
        """Load of other traffic that comes and goes, of the rate of the link."""
        share = min(max(self.traffic.share if self.traffic is not None else 0.0, 0.001), 0.95)
        return f"{100 * share / (_LINK_BEHIND if (queue or self.queue) == 'policer' else 1):.2f}%"

    def options(self, queue: str | None = None) -> dict[str, Any]:
        """Fields of a dumbbell, with the path's own queue or another."""
        queue = queue or self.queue
        packets = max(1, round(self.buffer_bytes / PACKET_BYTES))
        options: dict[str, Any] = {
            "rate": f"{self.rate_bps:.0f} bit/s",
            "rtt": f"{self.rtt_s * 1e9:.0f} ns",
            "buffer": f"{packets} packets",
            "queue": queue,
            "loss": self.loss,
        }
        if self.reordered is not None:
            share, delay_s = self.reordered
            options["reorder"] = {"share": round(share, 6), "delay": f"{delay_s * 1e6:.0f} us"}
        if self.jitter_s > 0:
            options["jitter"] = {"uniform": f"{self.jitter_s * 1e9:.0f} ns"}
        if queue == "policer":
            # The link behind a policer is faster than its tokens, and its queue never fills.
            options |= {"rate": f"{_LINK_BEHIND * self.rate_bps:.0f} bit/s", "buffer": "1000 packets"}
            # Simulated packets may be larger than those of the capture, and a smaller burst would let none pass.
            burst = max(self.buffer_bytes, PACKET_BYTES)
            options["queue_parameters"] = {"rate": f"{self.rate_bps:.0f} bit/s", "burst": f"{burst:.0f} bytes"}
        elif self.levels:
            first, *later = self.levels
            options["rate"] = f"{first.rate_bps:.0f} bit/s"
            # The simulated flow opens its connection first.
            options["rate_steps"] = [
                {"at": f"{max(0.0, level.from_s + self.rtt_s) * 1e3:.0f} ms", "rate": f"{level.rate_bps:.0f} bit/s"}
                for level in later
            ]
        return options

    def variant(self, queue: str | None = None) -> dict[str, Any]:
        """Fields of a scenario that differ from those of another path of this structure, as in ``Scenario.replace``."""
        constant = ("queue", "reorder", "jitter", *(("rate", "rate_steps") if self.levels else ()))
        fields = {f"dumbbell.{name}": value for name, value in self.options(queue).items() if name not in constant}
        traffic = self.traffic
        if traffic is None:
            return fields
        if traffic.kind == "intermittent":
            return fields | {"traffic[0].load": self.load(queue)}
        if traffic.kind == "bulk":
            return fields | {"flow[1].start": _start(traffic)}
        size = f"{traffic.packet_bytes} bytes"
        return fields | {"flow[1].datagrams.rate": self.datagrams, "flow[1].datagrams.size": size}


@dataclass(frozen=True)
class PathFit:
    """The path of a connection.

    Attributes:
        quantities: rate, base RTT, buffer, random loss and others, whether identifiable or not.
        queue: queue discipline of the bottleneck, as scenarios name it; ``None`` if the capture cannot show it.
        queue_reason: evidence for it.
        best: the path for simulations, in which numbers that are not identifiable have a stated assumption.
        draws: paths that the capture allows, drawn at random.
        assumptions: sentences on what ``best`` assumes.
        others: other traffic; ``None`` if there is none, or none that is seen.
        others_reason: evidence for its kind.
        doubtful: paths that the capture allows if what it seems to show of the queue and of other traffic is wrong.
        packet_bytes: size of the flow's full packets, bytes.
    """

    quantities: tuple[Estimate, ...]
    queue: str | None
    queue_reason: str
    best: PathDraw
    draws: tuple[PathDraw, ...] = ()
    assumptions: tuple[str, ...] = ()
    others: OtherTraffic | None = None
    others_reason: str = ""
    doubtful: tuple[PathDraw, ...] = ()
    packet_bytes: int = PACKET_BYTES

    @cached_property
    def by_name(self) -> Mapping[str, Estimate]:
        """The numbers by name."""
        return {quantity.name: quantity for quantity in self.quantities}

    def scenario(
        self, flow: str | Mapping[str, Any], *, duration_s: float, draw: PathDraw | None = None, **changes: Any
    ) -> Scenario:
        """The path with one flow, for every backend: an algorithm, or a table with a flow's fields.

        ``changes`` are arguments of ``Scenario.dumbbell``.
        """
        from elephan.scenario import Scenario

        draw = draw or self.best
        if "rate" in changes:
            draw = replace(draw, levels=())
        options = draw.options(changes.get("queue")) | {"duration": f"{duration_s * 1e3:.0f} ms", "stack": "linux"}
        flows = [{"name": FLOW, **({"algorithm": flow} if isinstance(flow, str) else flow)}]
        traffic = draw.traffic
        if traffic is not None and traffic.kind == "intermittent":
            options["traffic"] = [
                {"name": "other", "algorithm": traffic.algorithm, "load": draw.load(changes.get("queue"))}
            ]
        elif traffic is not None and traffic.kind == "bulk":
            flows.append({"name": "other", "algorithm": traffic.algorithm, "start": _start(traffic)})
        elif traffic is not None:
            datagrams = {"rate": draw.datagrams, "size": f"{traffic.packet_bytes} bytes", "arrivals": "poisson"}
            flows.append({"name": "other", "algorithm": "datagrams", "datagrams": datagrams})
        return Scenario.dumbbell(flows, **{**options, **changes})


def _start(traffic: OtherTraffic) -> str:
    return f"{traffic.start_s * 1e3:.0f} ms"


@dataclass(frozen=True)
class Match:
    """A candidate for the algorithm of the sender.

    Attributes:
        algorithm: its name, with its preset if it has one.
        score: fraction of the judged segments that it sends within the tolerance of the real ones.
        judged: number of these segments.
    """

    algorithm: str
    score: float
    judged: int


@dataclass(frozen=True)
class AlgorithmFit:
    """The algorithm of the sender, by replay.

    Attributes:
        names: the algorithm, or up to three that this capture cannot tell apart; empty if none fits or none is known.
        ranking: candidates, the best first.
        tolerance_s: largest difference in time of a segment that counts as sent alike, s.
        reason: evidence, or the reason why no algorithm is named.
    """

    names: tuple[str, ...]
    ranking: tuple[Match, ...]
    tolerance_s: float
    reason: str = ""
