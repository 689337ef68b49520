"""AIMD that gives back a quarter of its window at a loss, and grows as slowly as keeps it fair to Reno."""

import elephan


class Gentle(elephan.Algorithm):
    """Adds 3(1-b)/(1+b) segments each round trip and keeps b of its window at a loss (Yang and Lam, ICNP 2000)."""

    def __init__(self, keep: float = 0.75) -> None:
        self.keep = keep
        self.increase = 3.0 * (1.0 - keep) / (1.0 + keep)

    def on_ack(self, ack: elephan.Ack) -> None:
        """Doubles the window each round trip up to the threshold, and adds ``increase`` segments above it."""
        if ack.may_grow:
            slow = self.window < self.ssthresh
            self.window += ack.acked if slow else ack.acked * self.increase / self.window

    def on_congestion(self, signal: elephan.Signal) -> None:
        """Keeps most of the window after a loss."""
        self.window = self.ssthresh = max(self.keep * self.window, 2.0)
