"""The random space: the draw of a number."""

from __future__ import annotations

import math
import random

from draws import PACKET_BITS, Draw, Flow, Way

def drawn(number: int) -> Draw:
    """The draw of a number."""
    r = random.Random(f"reference {number}")
    rate, rtt = (float(f"{math.exp(r.uniform(math.log(a), math.log(b))):.2g}") for a,b in ((2,60),(8,150)))
    packets = max(8, round(rate*1e3*rtt/PACKET_BITS*math.exp(r.uniform(math.log(.3),math.log(3)))))
    from draws import ALGORITHMS
    return Draw(number, "thin", Way(rate, packets, rtt/2), Way(rate, packets, rtt/2), (Flow(ALGORITHMS[number%17]),), 12.0, 3.0)
