"""Processor time for a million points of each closed form; the budget is one second.

Usage: .venv/bin/python benches/models.py [POINTS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from elephan.models import RESPONSES, abstracted, delay, epochs, hybrid, mean_window, refined, throughput
from elephan.models.cycles import Floats
from elephan.models.hybrid import Pipe

PIPE = Pipe(100e6, 0.04, 12_000)
BUDGET_S = 1.0
# Closed forms that solve an equation or a linear system at each point; these have no budget.
SOLVED = 10_000
Model = Callable[[Floats], object]


def of_katto() -> dict[str, Model]:
    """The models of katto2008 by name, as functions of the loss rate."""
    found: dict[str, Model] = {"equation 6": lambda p: hybrid.response(p, PIPE.bdp)}
    for flows in (1, 2):
        for control in ("loss", "hybrid"):
            name = f"ideal {control}, {flows}"
            found[name] = lambda p, c=control, n=flows: hybrid.ideal_mbps(c, p, PIPE, n)  # type: ignore[misc]
        for row in (abstracted.ctcp(), abstracted.areno(PIPE), abstracted.yeah(), abstracted.fusion(PIPE)):
            found[f"{row.name}, {flows}"] = lambda p, h=row, n=flows: abstracted.hybrid_mbps(h, p, PIPE, n)  # type: ignore[misc]
    return found


def of_losses() -> dict[str, Model]:
    """Models of throughput, latency and mean window by name, as functions of the loss rate."""
    found: dict[str, Model] = {
        "Mathis": lambda p: throughput.mathis(p, 0.1),
        "Padhye": lambda p: throughput.padhye(p, 0.1, 0.3, 1000.0),
        "Padhye, simple": lambda p: throughput.padhye_simple(p, 0.1, 0.3),
        "Cardwell": lambda p: throughput.transfer_s(1000.0, p, 0.1, 0.3),
    }
    return found | {f"response of {name}": partial(mean_window, name) for name in RESPONSES}


def of_paths() -> dict[str, Model]:
    """Models of epochs, equilibria and control loops by name, as functions of numbers from 1e-6 to 0.1.

    Each function scales the numbers to link rates, or to the parameter b of HCC's control loop.
    """
    forms = (epochs.reno, epochs.stcp, epochs.cubic, epochs.htcp, epochs.illinois, epochs.compound)
    found: dict[str, Model] = {
        f"epoch of {form.__name__}": lambda x, f=form: f(epochs.path(1e8 * x, 0.1, 1000.0))  # type: ignore[misc]
        for form in forms
    }
    errors_s = np.array([0.0, 1e-3])
    return found | {
        "equilibrium of two": lambda x: delay.equilibrium(100.0, 1e8 * x, 0.1, np.broadcast_to(errors_s, (len(x), 2))),
        "loop's root": lambda x: delay.spectral_radius(delay.hcc_loop(100 * x)),
        "loop's gain margin": lambda x: delay.gain_margin(delay.hcc_loop(100 * x)),
        "loop's phase margin": lambda x: delay.phase_margin_rad(delay.hcc_loop(100 * x)),
    }


def models() -> dict[str, Model]:
    """All closed forms that accept arrays, each as a function of an array of numbers from 1e-6 to 0.1."""
    return of_katto() | of_losses() | of_paths()


def took_s(model: Model, points: int) -> float:
    """Processor time for `points` points, s."""
    values = np.geomspace(1e-6, 1e-1, points)
    started_s = time.process_time()
    model(values)
    return time.process_time() - started_s


def main() -> int:
    """Times each closed form and prints its time; returns 1 if a form exceeds the budget."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    slowest = 0.0
    for name, model in models().items():
        needed_s = took_s(model, points)
        slowest = max(slowest, needed_s)
        print(f"{name:24} {needed_s:6.3f} s for {points:,} points")
    few = min(points, SOLVED)
    solved = {
        "refined CTCP": (few, lambda p: refined.with_rare_timeouts_mbps(abstracted.ctcp(), p, PIPE, 0.2)),
        "random losses, Reno": (10, lambda p: mean_window("reno", p / 10, losses="random")),
    }
    for name, (count, model) in solved.items():
        print(f"{name:24} {took_s(model, count):6.3f} s for {count:,} points")
    return int(slowest > BUDGET_S * points / 1e6)


if __name__ == "__main__":
    sys.exit(main())
