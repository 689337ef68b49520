"""Standard TCP as a class of your own: the same run, byte for byte, as the built-in `reno`."""

import elephan


class MyReno(elephan.Algorithm):
    """One segment more each round trip, half of the window on a loss (RFC 5681)."""

    def __init__(self, increase: float = 1.0, decrease: float = 0.5) -> None:
        self.increase = increase
        self.decrease = decrease
        self.saved: tuple[float, float] | None = None

    def on_start(self, start: elephan.Start) -> None:
        """Begin with the window and the threshold of the stack."""
        super().on_start(start)
        self.initial_window = self.window

    def on_ack(self, ack: elephan.Ack) -> None:
        """Slow start up to the threshold, and with what is left of the ACK congestion avoidance."""
        if not ack.may_grow:
            return
        segments = ack.acked
        if self.window < self.ssthresh:
            wanted = self.window + segments
            self.window = min(wanted, self.ssthresh)
            segments = max(wanted - self.ssthresh, 0.0)
        self.window += segments * self.increase / self.window

    def on_congestion(self, signal: elephan.Signal) -> None:
        """give up a fraction of the window."""
        self.saved = (self.window, self.ssthresh)
        self.ssthresh = max((1.0 - self.decrease) * self.window, 2.0)
        self.window = self.ssthresh

    def on_timeout(self, signal: elephan.Signal) -> None:
        """Begin again with one segment; a timeout that only repeats another one keeps the threshold."""
        self.saved = (self.window, self.ssthresh)
        if not signal.repeated:
            self.ssthresh = max((1.0 - self.decrease) * self.window, 2.0)
        self.window = 1.0

    def on_idle(self, now: float, idle: float) -> None:
        """After a pause, at most the initial window."""
        self.window = min(self.window, self.initial_window)

    def on_undo(self, now: float) -> None:
        """Nothing was lost after all."""
        if self.saved is not None:
            self.window, self.ssthresh = max(self.window, self.saved[0]), max(self.ssthresh, self.saved[1])
            self.saved = None

    @property
    def recovery_floor(self) -> float:
        """Rate halving may let the window sink to half of the threshold, as Linux 2.6 does."""
        return self.ssthresh * 0.5
