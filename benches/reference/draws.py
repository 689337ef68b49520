"""Draws of random scenarios, as plain numbers. Neither of the two translations (path.py, simulated.py) is derived from
the other."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

ALGORITHMS = (
    "reno", "cubic", "bic", "westwood", "htcp", "hstcp", "hybla", "vegas", "nv", "stcp", "lp", "veno", "yeah",
    "illinois", "dctcp", "cdg", "bbr",
)  # fmt: skip
"""Congestion controls, by Elephan's names."""

START_JITTER_S = 0.01
PACKET_BITS = 12_000


@dataclass(frozen=True)
class Way:
    """One direction of the path.

    Attributes:
        rate_mbps: rate of the bottleneck, for IP packets.
        packets: packets that may wait in front of it, without the packet in transmission.
        delay_ms: propagation delay.
        queue: the queue: "droptail", "codel" or "fq_codel".
        loss: probability of a random loss.
        late: fraction of the packets that arrive ``late_ms`` later, so that others overtake them.
        duplicate: fraction of the packets that arrive twice.
        rates: times and rates of changes, s and Mbit/s.
        delays: times and delays of changes, s and ms.
    """

    rate_mbps: float
    packets: int
    delay_ms: float
    queue: str = "droptail"
    loss: float = 0.0
    late: float = 0.0
    late_ms: float = 0.0
    duplicate: float = 0.0
    rates: tuple[tuple[float, float], ...] = ()
    delays: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Flow:
    """A flow.

    Attributes:
        algorithm: its congestion control, by Elephan's name.
        start_s: its start.
        size_segments: length of the transfer in segments; 0 for a flow until the end.
        back: true if its data go from b to a.
        buffer_bytes: the receiver's SO_RCVBUF; 0 for the kernel's automatic buffer.
        write_segments: segments of each write of the application, ``period_ms`` apart; 0 for writes without pause.
        period_ms: time between two writes.
        on_periods: number of writes after which the application pauses.
        off_s: pause of the application.
    """

    algorithm: str
    start_s: float = 0.0
    size_segments: int = 0
    back: bool = False
    buffer_bytes: int = 0
    write_segments: int = 0
    period_ms: float = 0.0
    on_periods: int = 0
    off_s: float = 0.0


@dataclass(frozen=True)
class Draw:
    """A scenario."""

    number: int
    kind: str
    there: Way
    reverse: Way
    flows: tuple[Flow, ...]
    duration_s: float
    measure_s: float
    mtu: int = 1500
    ecn: bool = False
    offload: bool = False

    def varied(self, seed: int) -> Draw:
        """The draw with a seed, for both sides: rates and delays up to 1 % higher or lower, and starts up to 10 ms
        later. Without this, all seeds would meet their losses at the same segments."""
        drawn = random.Random(f"{self.number} {seed}")

        def near(value: float) -> float:
            return round(value * drawn.uniform(0.99, 1.01), 5)

        def way(this: Way) -> Way:
            return replace(
                this,
                rate_mbps=near(this.rate_mbps),
                delay_ms=near(this.delay_ms),
                rates=tuple((at, near(rate)) for at, rate in this.rates),
                delays=tuple((at, near(delay)) for at, delay in this.delays),
            )

        flows = tuple(
            replace(flow, start_s=round(flow.start_s + drawn.uniform(0, START_JITTER_S), 6)) for flow in self.flows
        )
        return replace(self, there=way(self.there), reverse=way(self.reverse), flows=flows)

    @property
    def payload(self) -> int:
        """Data of a full segment, bytes: the MTU without the headers of IP and TCP and the timestamps."""
        return self.mtu - 52
