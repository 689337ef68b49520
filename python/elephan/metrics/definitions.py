"""All modules that register metrics. A hook of the registry imports this module when a metric is first asked for."""

from __future__ import annotations

from elephan.metrics import (
    compound,
    convergence,
    delay,
    fairness,
    friendliness,
    queueing,
    response,
    throughput,
    transfers,
    windows,
)

MODULES = (
    compound, convergence, delay, fairness, friendliness, queueing, response, throughput, transfers, windows,
)  # fmt: skip


def load() -> None:
    """Register all metrics: importing this module has done it."""
