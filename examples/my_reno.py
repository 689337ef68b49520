"""Standard TCP as a user-defined class; its results equal those of the built-in `reno` byte for byte."""

import elephan


class MyReno(elephan.Algorithm):
    """Adds one segment each round trip, and halves the window on a loss (RFC 5681)."""

    def __init__(self, increase: float = 1.0, decrease: float = 0.5) -> None:
        self.increase = increase
        self.decrease = decrease
        self.saved: tuple[float, float] | None = None

    def on_start(self, start: elephan.Start) -> None:
        """Starts with the window and the threshold that the stack sets."""
        super().on_start(start)
        self.initial_window = self.window

    def on_ack(self, ack: elephan.Ack) -> None:
        """Grows the window: by slow start up to the threshold, by congestion avoidance above it.

        One ACK may do both: slow start uses its segments until the window is at the threshold, and congestion avoidance
        uses the remaining segments.
        """
        if not ack.may_grow:
            return
        segments = ack.acked
        if self.window < self.ssthresh:
            wanted = self.window + segments
            self.window = min(wanted, self.ssthresh)
            segments = max(wanted - self.ssthresh, 0.0)
        self.window += segments * self.increase / self.window

    def on_congestion(self, signal: elephan.Signal) -> None:
        """Reduces the window and the threshold after a loss."""
        self.saved = (self.window, self.ssthresh)
        self.ssthresh = max((1.0 - self.decrease) * self.window, 2.0)
        self.window = self.ssthresh

    def on_timeout(self, signal: elephan.Signal) -> None:
        """Sets the window to one segment; a repeated timeout does not reduce the threshold again."""
        self.saved = (self.window, self.ssthresh)
        if not signal.repeated:
            self.ssthresh = max((1.0 - self.decrease) * self.window, 2.0)
        self.window = 1.0

    def on_idle(self, now: float, idle: float) -> None:
        """Limits the window to the initial window after an idle period."""
        self.window = min(self.window, self.initial_window)

    def on_undo(self, now: float) -> None:
        """Restores the window and the threshold, since no segment was lost."""
        if self.saved is not None:
            self.window, self.ssthresh = max(self.window, self.saved[0]), max(self.ssthresh, self.saved[1])
            self.saved = None

    @property
    def recovery_floor(self) -> float:
        """Smallest window during rate halving: half of the threshold, as in Linux 2.6."""
        return self.ssthresh * 0.5
