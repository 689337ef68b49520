"""The random space: the draw of a number. Each kind adds one thing to a path and a flow; the last kind adds several."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

from draws import ALGORITHMS, PACKET_BITS, Draw, Flow, Way

from elephan.rates import rate_mbps

RATES_MBPS, RTTS_MS, BUFFERS_BDP = (2.0, 50.0), (8.0, 150.0), (0.3, 3.0)
LEAST_PACKETS, MOST_SEGMENTS = 8, 1200
DURATION_S, MEASURE_S = 12.0, 3.0
LAST_START_S = 5.0
MTUS = (576, 1000, 1280, 1500, 4000, 9000)
BUFFERS_BYTES = (1 << 15, 1 << 16, 1 << 17, 1 << 18)
QUEUES = ("codel", "fq_codel")
MANAGED_MBPS = 15.0
BLOCK_MBPS = 1000.0
"""Rate at which the simulator's application writes a block, which the program writes at once."""


def between(r: random.Random, least: float, most: float) -> float:
    """A number, with evenly distributed logarithm and two digits."""
    return float(f"{math.exp(r.uniform(math.log(least), math.log(most))):.2g}")


def plain(r: random.Random, number: int, kind: str) -> Draw:
    """One flow on a path without impairments."""
    while True:
        rate, rtt = between(r, *RATES_MBPS), between(r, *RTTS_MS)
        bdp = rate * 1e3 * rtt / PACKET_BITS
        packets = max(LEAST_PACKETS, round(bdp * between(r, *BUFFERS_BDP)))
        if bdp + packets <= MOST_SEGMENTS:
            break
    way = Way(rate, packets, rtt / 2)
    return Draw(number, kind, way, way, (Flow(r.choice(ALGORITHMS)),), DURATION_S, MEASURE_S)


def rtt_ms(draw: Draw) -> float:
    """The RTT without queues."""
    return draw.there.delay_ms + draw.reverse.delay_ms


def alone(r: random.Random, draw: Draw) -> Draw:
    """Nothing more."""
    return draw


def later(r: random.Random, draw: Draw) -> Draw:
    """Another flow that starts into the queue of the first."""
    start_s = round(r.uniform(2, LAST_START_S), 1)
    other = Flow(r.choice(ALGORITHMS), start_s)
    return replace(draw, flows=(*draw.flows, other), measure_s=start_s + 1)


def many(r: random.Random, draw: Draw) -> Draw:
    """Two to four further flows, within the first second."""
    more = (Flow(r.choice(ALGORITHMS), round(r.uniform(0, 1), 2)) for _ in range(r.randint(2, 4)))
    return replace(draw, flows=(*draw.flows, *more))


def reordered(r: random.Random, draw: Draw) -> Draw:
    """Packets that arrive 0.1 to 2 RTTs late."""
    late_ms = round(rtt_ms(draw) * between(r, 0.1, 2), 2)
    return replace(draw, there=replace(draw.there, late=between(r, 0.001, 0.02), late_ms=late_ms))


def duplicated(r: random.Random, draw: Draw) -> Draw:
    """Packets that arrive twice."""
    return replace(draw, there=replace(draw.there, duplicate=between(r, 0.001, 0.05)))


def lossy(r: random.Random, draw: Draw) -> Draw:
    """Random losses."""
    return replace(draw, there=replace(draw.there, loss=between(r, 1e-4, 0.03)))


def acks_lost(r: random.Random, draw: Draw) -> Draw:
    """Random losses of ACKs."""
    return replace(draw, reverse=replace(draw.reverse, loss=between(r, 0.01, 0.3)))


def opposite(r: random.Random, draw: Draw) -> Draw:
    """A flow in the other direction."""
    return replace(draw, flows=(*draw.flows, Flow(r.choice(ALGORITHMS), round(r.uniform(0, 2), 2), back=True)))


def managed(r: random.Random, draw: Draw) -> Draw:
    """A queue that drops or marks early, with ECN or without, at a rate at which few packets exceed its target of 5
    ms."""
    queue, packets = r.choice(QUEUES), max(100, draw.there.packets)
    draw = later(r, draw) if r.random() < 0.5 else draw
    there, reverse = (
        replace(way, queue=queue, packets=packets, rate_mbps=max(MANAGED_MBPS, way.rate_mbps))
        for way in (draw.there, draw.reverse)
    )
    return replace(draw, there=there, reverse=reverse, ecn=r.random() < 0.6)


def sized(r: random.Random, draw: Draw) -> Draw:
    """Another size of packets."""
    mtu = r.choice(MTUS)
    packets = max(LEAST_PACKETS, round(draw.there.packets * 1500 / mtu))
    there, reverse = (replace(way, packets=packets) for way in (draw.there, draw.reverse))
    return replace(draw, there=there, reverse=reverse, mtu=mtu)


def windowed(r: random.Random, draw: Draw) -> Draw:
    """A receiver with a small buffer."""
    return replace(draw, flows=(replace(draw.flows[0], buffer_bytes=r.choice(BUFFERS_BYTES)), *draw.flows[1:]))


def written(r: random.Random, draw: Draw) -> Draw:
    """An application that writes segment by segment, or in blocks with pauses."""
    flow = draw.flows[0]
    if r.random() < 0.5:
        writes_mbps = draw.there.rate_mbps * between(r, 0.2, 0.9)
        period_ms = round(rate_mbps(draw.payload, writes_mbps / 1e3), 3)
        pauses = r.random() < 0.5
        flow = replace(
            flow, write_segments=1, period_ms=period_ms, on_periods=round(1000 / period_ms) if pauses else 0,
            off_s=between(r, 0.1, 2) if pauses else 0.0,
        )  # fmt: skip
    else:
        segments = r.randint(20, 600)
        period_ms = round(rate_mbps(segments * draw.payload, BLOCK_MBPS / 1e3), 6)
        flow = replace(flow, write_segments=segments, period_ms=period_ms, on_periods=1, off_s=between(r, 0.3, 3))
    return replace(draw, flows=(flow, *draw.flows[1:]))


def short(r: random.Random, draw: Draw) -> Draw:
    """Short transfers, alone or beside the long flow."""
    sizes = (Flow(r.choice(ALGORITHMS), round(1 + 3 * k, 2), round(between(r, 5, 1500))) for k in range(3))
    long = draw.flows if r.random() < 0.5 else ()
    return replace(draw, flows=(*long, *sizes))


def stepped(r: random.Random, draw: Draw) -> Draw:
    """Changes of the rate."""
    times = sorted(r.sample(range(2, 22), r.randint(1, 4)))
    rates = tuple((at / 2, float(f"{draw.there.rate_mbps * between(r, 0.2, 1.5):.2g}")) for at in times)
    return replace(draw, there=replace(draw.there, rates=rates))


def rerouted(r: random.Random, draw: Draw) -> Draw:
    """Changes of the delay."""
    times = sorted(r.sample(range(4, 22), r.randint(1, 3)))
    delays = tuple((at / 2, float(f"{draw.there.delay_ms * between(r, 0.4, 3):.3g}")) for at in times)
    return replace(draw, there=replace(draw.there, delays=delays))


def mixed(r: random.Random, draw: Draw) -> Draw:
    """Two or three of the others."""
    for kind in r.sample([later, reordered, duplicated, lossy, acks_lost, opposite, sized, windowed, rerouted], 3):
        draw = kind(r, draw)
    return draw


KINDS: tuple[Callable[[random.Random, Draw], Draw], ...] = (
    alone, later, many, reordered, duplicated, lossy, acks_lost, opposite, managed, sized, windowed, written, short,
    stepped, rerouted, mixed,
)  # fmt: skip


def drawn(number: int) -> Draw:
    """The draw of a number."""
    r = random.Random(f"reference {number}")
    kind = KINDS[number % len(KINDS)]
    return kind(r, plain(r, number, kind.__name__))
