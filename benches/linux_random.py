"""Comparison of the simulator with Linux in virtual time on random paths, with one to three flows of random algorithms.

    .venv/bin/python benches/linux_random.py               # 80 scenarios
    .venv/bin/python benches/linux_random.py --first 80 40 # 40 others

The rate is between 1 and 630 Mbit/s, the round-trip time between 4 and 300 ms, and the buffer between 0.1 and 4 BDP,
but at least four packets. Flows start up to 3 s apart. Random losses have probability 0, 1e-4 or 1e-3. A scenario
agrees if for each flow goodput and mean window are within 2 %, and retransmissions within 5 % or 5 segments. The script
prints one line for each scenario, with the differences, and the number of scenarios that agree. Runs are saved in the
store.
"""

from __future__ import annotations

import argparse
import math
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from linux_agreement import BOUND, BOUND_LOSSES, SMALL, named

import elephan
from elephan import Run, Scenario
from elephan.backends.linux.modules import MODULES

RATES_MBPS, RTTS_MS, BUFFERS_BDP = (1.0, 630.0), (4.0, 300.0), (0.1, 4.0)
LOSSES = (0.0, 0.0, 1e-4, 1e-3)
FLOWS = (1, 2, 2, 3)
LEAST_BUFFER_PACKETS = 4
LAST_START_S = 3.0
PACKET_BITS = 12_000
SHORTEST_S, LONGEST_S, RUN_MBIT = 10, 60, 6000


@dataclass(frozen=True)
class Draw:
    """A random scenario; `algorithms` and `starts_ns` have one entry for each flow."""

    number: int
    rate_mbps: float
    rtt_ms: float
    buffer_packets: int
    loss: float
    duration_s: int
    algorithms: tuple[str, ...]
    starts_ns: tuple[int, ...]
    seed: int

    @classmethod
    def of(cls, number: int) -> Draw:
        """Draw the scenario of a number."""
        drawn = random.Random(number)

        def between(bounds: tuple[float, float]) -> float:
            return math.exp(drawn.uniform(*map(math.log, bounds)))

        rate_mbps, rtt_ms = (float(f"{between(bounds):.2g}") for bounds in (RATES_MBPS, RTTS_MS))
        bdp_packets = rate_mbps * 1e3 * rtt_ms / PACKET_BITS
        flows = drawn.choice(FLOWS)
        return cls(
            number,
            rate_mbps,
            rtt_ms,
            max(LEAST_BUFFER_PACKETS, round(bdp_packets * between(BUFFERS_BDP))),
            drawn.choice(LOSSES),
            round(min(LONGEST_S, max(SHORTEST_S, RUN_MBIT / rate_mbps))),
            tuple(drawn.choice(sorted(MODULES)) for _ in range(flows)),
            (0, *(round(drawn.uniform(0, LAST_START_S) * 1e3) * 10**6 for _ in range(flows - 1))),
            drawn.randrange(1, 1000),
        )

    def scenario(self) -> Scenario:
        """The scenario, the same in both backends."""
        flows = [
            {"name": f"flow{i}", "algorithm": named(algorithm), "start": f"{start_ns} ns"}
            for i, (algorithm, start_ns) in enumerate(zip(self.algorithms, self.starts_ns, strict=True))
        ]
        return Scenario.dumbbell(
            flows,
            rate=f"{self.rate_mbps} Mbit/s",
            rtt=f"{self.rtt_ms} ms",
            buffer=f"{self.buffer_packets} packets",
            loss=self.loss,
            duration=f"{self.duration_s} s",
            measure={"from": f"{self.duration_s / 6:g} s"},
            seed=self.seed,
        )

    def __str__(self) -> str:
        loss = f", {self.loss:g} lost" if self.loss else ""
        path = f"{self.rate_mbps:g} Mbit/s × {self.rtt_ms:g} ms, {self.buffer_packets} packets{loss}"
        return f"{self.number}: {path}: {', '.join(self.algorithms)}"


def differences(ours: Run, theirs: Run) -> list[str]:
    """The quantities beyond the bounds, as simulator / Linux."""
    found = []
    for one, other in zip(ours.flows.to_dicts(), theirs.flows.to_dicts(), strict=True):
        found += [
            f"{one['name']} {quantity} {one[quantity]:.4g} / {other[quantity]:.4g}"
            for quantity in ("goodput_mbps", "cwnd_mean")
            if abs(one[quantity] - other[quantity]) > BOUND * other[quantity]
        ]
        again, expected = one["retransmits"], other["retransmits"]
        if abs(again - expected) > max(SMALL, BOUND_LOSSES * expected):
            found.append(f"{one['name']} retransmits {again} / {expected}")
    return found


def compared(draw: Draw) -> tuple[Draw, list[str]]:
    """Run a scenario in both backends."""
    ours, theirs = (elephan.run(draw.scenario(), on=name) for name in ("sim", "linux"))
    return draw, differences(ours, theirs)


def main() -> None:
    """Compare, and print one line for each scenario."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=80)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    draws = [Draw.of(number) for number in range(given.first, given.first + given.count)]
    agreeing = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for draw, found in pool.map(compared, draws):
            agreeing += not found
            print(f"{draw}: {'; '.join(found) or 'agrees'}", flush=True)
    print(f"{agreeing} of {given.count} scenarios agree")


if __name__ == "__main__":
    main()
