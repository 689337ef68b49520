"""How long a million points of each of katto2008's models take; the budget is a second.

Usage: .venv/bin/python benches/models.py [POINTS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from elephan.models import abstracted, hybrid, refined
from elephan.models.cycles import Floats
from elephan.models.hybrid import Pipe

PIPE = Pipe(100e6, 0.04, 12_000)
BUDGET_S = 1.0


def models() -> dict[str, Callable[[Floats], Floats]]:
    """By name: loss rates to throughputs."""
    found: dict[str, Callable[[Floats], Floats]] = {"equation 6": lambda p: hybrid.response(p, PIPE.bdp)}
    for flows in (1, 2):
        for control in ("loss", "hybrid"):
            name = f"ideal {control}, {flows}"
            found[name] = lambda p, c=control, n=flows: hybrid.ideal_mbps(c, p, PIPE, n)  # type: ignore[misc]
        for row in (abstracted.ctcp(), abstracted.areno(PIPE), abstracted.yeah(), abstracted.fusion(PIPE)):
            found[f"{row.name}, {flows}"] = lambda p, h=row, n=flows: abstracted.hybrid_mbps(h, p, PIPE, n)  # type: ignore[misc]
    return found


def main() -> int:
    """Times each; 1 when one is over its budget."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    p = np.geomspace(1e-6, 1e-1, points)
    slowest = 0.0
    for name, model in models().items():
        started_s = time.process_time()
        model(p)
        took_s = time.process_time() - started_s
        slowest = max(slowest, took_s)
        print(f"{name:14} {took_s:6.3f} s for {points:,} points")
    few = p[:: max(1, points // 10_000)]
    started_s = time.process_time()
    refined.with_rare_timeouts_mbps(abstracted.ctcp(), few, PIPE, 0.2)
    print(f"{'refined CTCP':14} {time.process_time() - started_s:6.3f} s for {len(few):,} points")
    return int(slowest > BUDGET_S * points / 1e6)


if __name__ == "__main__":
    sys.exit(main())
