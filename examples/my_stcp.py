"""Scalable TCP as a class of your own: the same run, byte for byte, as the built-in `stcp`.

`my_stcp.rs` is its port.
"""

import elephan


class MyStcp(elephan.Algorithm):
    """A hundredth of a segment more for each that is acknowledged, an eighth of the window given up (Kelly 2003)."""

    def __init__(self, increase: float = 0.01, decrease: float = 0.125, legacy_window: float = 16.0) -> None:
        self.increase = increase
        self.decrease = decrease
        self.legacy_window = legacy_window
        self.initial_window = 0.0
        self.saved: tuple[float, float] | None = None

    def on_start(self, start: elephan.Start) -> None:
        """Begin with the window and the threshold of the stack."""
        super().on_start(start)
        self.initial_window = self.window

    def on_ack(self, ack: elephan.Ack) -> None:
        """Slow start up to the threshold, and with what is left of the ACK the increase."""
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
        """Window after a loss: standard TCP's half of a small window."""
        part = 0.5 if self.window <= self.legacy_window else self.decrease
        return max((1.0 - part) * self.window, 2.0)

    def on_congestion(self, signal: elephan.Signal) -> None:
        """give up a fraction of the window."""
        self.saved = (self.window, self.ssthresh)
        self.ssthresh = self.reduced()
        self.window = self.ssthresh

    def on_timeout(self, signal: elephan.Signal) -> None:
        """Begin again with one segment; a timeout that only repeats another one keeps the threshold."""
        self.saved = (self.window, self.ssthresh)
        if not signal.repeated:
            self.ssthresh = self.reduced()
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
