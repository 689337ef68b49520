"""Two algorithms of a user's own, for random scenarios."""

from __future__ import annotations

import elephan


class Steady(elephan.Algorithm):
    """A fixed increase each round trip, and a fixed multiplicative decrease."""

    def __init__(self, increase: float = 4.0, decrease: float = 0.25) -> None:
        self.increase = increase
        self.decrease = decrease

    def on_ack(self, ack: elephan.Ack) -> None:
        if ack.may_grow:
            self.window += ack.acked if self.window < self.ssthresh else ack.acked * self.increase / self.window

    def on_congestion(self, signal: elephan.Signal) -> None:
        self.ssthresh = self.window = max((1 - self.decrease) * self.window, 2.0)


class Idle(elephan.Algorithm):
    """Never changes its window."""
