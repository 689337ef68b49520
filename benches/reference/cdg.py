"""CDG alone over 100 Mbit/s and 150 ms with a buffer of 375 packets, in the guest and in the simulator.

    .venv/bin/python benches/reference/cdg.py                        # how slow start ends, 16 seeds
    .venv/bin/python benches/reference/cdg.py --seconds 60 --seeds 2 # goodput of a minute

A line has a receiver, the goodput of each seed, and the largest window of the first two seconds: about 1,260 segments
if HyStart ends slow start, and less if CDG backs off before. With segmentation offload, netem in the guest takes a
burst of up to 64 kB for one packet; the simulator has no such path.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import path
import simulated
from compare import quantities
from draws import Draw, Flow, Way

from elephan.backends.linux import kernels

WAY = Way(100.0, 375, 75.0)
SLOW_START_S = 2.0
RECEIVERS = {"reads at once": (False, False), "reads late": (True, False), "reads at once, offload": (False, True)}

Rows = list[tuple[float, float, float]]


def linux(draw: Draw, seed: int, late: bool) -> Rows:
    """Rows of time, window and delivered bytes in the guest."""
    (flow,) = path.run(draw, seed, kernels.chosen(), late)
    return [(one.time_s, float(one.cwnd), float(one.acked + one.sacked * one.mss)) for one in flow.samples]


def simulator(draw: Draw, seed: int, late: bool) -> Rows:
    """The same in the simulator."""
    (flow,) = simulated.run(draw, seed, [None], late=late)
    return flow.rows


def main() -> None:
    """Run both sides, and print a line for each side and receiver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.2)
    parser.add_argument("--seeds", type=int, default=16)
    given = parser.parse_args()
    plain = Draw(0, "cdg", WAY, WAY, (Flow("cdg"),), given.seconds, given.seconds / 4)
    for name, (late, offload) in RECEIVERS.items():
        for side in (linux,) if offload else (linux, simulator):
            goodputs, windows = [], []
            for seed in range(1, given.seeds + 1):
                draw = replace(plain, offload=offload).varied(seed)
                rows = side(draw, seed, late)
                goodputs.append(quantities(draw, 0, -1.0, rows)["goodput_mbps"])
                windows.append(max(window for time_s, window, _ in rows if time_s <= SLOW_START_S))
            mbps, largest = (" ".join(f"{value:.0f}" for value in values) for values in (goodputs, windows))
            print(f"{side.__name__}, {name}: {mbps} Mbit/s; window {largest}", flush=True)


if __name__ == "__main__":
    main()
