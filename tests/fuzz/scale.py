"""How large a random scenario is, and how often it contradicts itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WIRE_BITS = 12_000
CONTRADICTS = 0.1
"""Probability that fields which contradict each other are kept; such a scenario is refused, and never runs."""
Tables = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How large a scenario is: what its times, rates and amounts are drawn around."""

    rate_bps: int
    rtt_ps: int
    duration_ps: int
    packets: int

    @property
    def duration(self) -> tuple[float, float]:
        """A range of times within the run."""
        return self.duration_ps / 1000, self.duration_ps * 0.9
