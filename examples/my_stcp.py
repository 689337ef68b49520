"""Scalable TCP as a user-defined class; its results equal those of the built-in `stcp` byte for byte.

`my_stcp.rs` is the same algorithm in Rust.
"""

import elephan


class MyStcp(elephan.Algorithm):
    """Adds 0.01 segments for each acknowledged segment, and reduces the window by one eighth on a loss (Kelly 2003)."""

    def __init__(self, increase: float = 0.01, decrease: float = 0.125, legacy_window: float = 16.0) -> None:
        self.increase = increase
        self.decrease = decrease
        self.legacy_window = legacy_window
        self.initial_window = 0.0
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
        if self.window <= self.legacy_window:
            self.window += segments / self.window
        else:
            self.window += segments * self.increase

    def reduced(self) -> float:
        """Window after a loss; a small window is halved, as in standard TCP."""
        part = 0.5 if self.window <= self.legacy_window else self.decrease
        return max((1.0 - part) * self.window, 2.0)

    def on_congestion(self, signal: elephan.Signal) -> None:
        """Reduces the window and the threshold after a loss."""
        self.saved = (self.window, self.ssthresh)
        self.ssthresh = self.reduced()
        self.window = self.ssthresh

    def on_timeout(self, signal: elephan.Signal) -> None:
        """Sets the window to one segment; a repeated timeout does not reduce the threshold again."""
        self.saved = (self.window, self.ssthresh)
        if not signal.repeated:
            self.ssthresh = self.reduced()
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
