"""CUBIC as classes of a user's own, one of which applies fast convergence twice; and a class without any backoff."""

from __future__ import annotations

import elephan

C = 0.4
BETA = 0.7


class Cubic(elephan.Algorithm):
    """RFC 9438 with standard slow start: equations 1, 2 and 4, sections 4.6 to 4.8."""

    doubled = False

    def __init__(self) -> None:
        self.w_max = self.origin = self.k = self.w_est = self.prior = self.begun_at = 0.0
        self.begun = False

    def on_ack(self, ack: elephan.Ack) -> None:
        """Slow start, then the cubic function, never below standard TCP."""
        if not ack.may_grow:
            return
        segments = ack.acked
        if self.window < self.ssthresh:
            wanted = self.window + segments
            self.window = min(wanted, self.ssthresh)
            segments = max(wanted - self.ssthresh, 0.0)
        if segments > 0.0:
            self.avoid(ack, segments)

    def avoid(self, ack: elephan.Ack, segments: float) -> None:
        """Congestion avoidance."""
        w = self.window
        if not self.begun:
            self.w_max = max(self.w_max, w)
            self.k = ((self.w_max - w) / C) ** (1 / 3)
            self.origin, self.w_est, self.begun_at, self.begun = self.w_max, w, ack.now, True
            self.prior = self.prior or w
        t = ack.now - self.begun_at
        self.w_est += segments / w * (1.0 if self.w_est >= self.prior else 3 * (1 - BETA) / (1 + BETA))
        if C * (t - self.k) ** 3 + self.origin < self.w_est:
            self.window = max(w, min(self.w_est, w + segments))
            return
        target = min(max(C * (t + ack.srtt - self.k) ** 3 + self.origin, w), 1.5 * w)
        self.window = w + min(segments / w * (target - w), segments)

    def on_congestion(self, signal: elephan.Signal) -> None:
        """Fast convergence (section 4.7) lowers the maximum; with the defect the window, too: 0.7 x 0.85 = 59.5 %."""
        w, factor = self.window, 1.0
        if w < self.w_max:
            factor = (1 + BETA) / 2
        self.prior, self.w_max, self.begun = w, w * factor, False
        self.ssthresh = max(w * BETA * (factor if self.doubled else 1.0), 2.0)
        self.window = self.ssthresh

    def on_timeout(self, signal: elephan.Signal) -> None:
        """Begin again with one segment."""
        if not signal.repeated:
            self.ssthresh = max(BETA * self.window, 2.0)
        self.window, self.begun, self.w_max, self.prior = 1.0, False, 0.0, 0.0


class Copy(Cubic):
    """The same under another name."""


class DoubledConvergence(Cubic):
    """The defect."""

    doubled = True


class NeverBacksOff(elephan.Algorithm):
    """A window that grows with each ACK and never shrinks."""

    def on_ack(self, ack: elephan.Ack) -> None:
        """A segment a round trip."""
        self.window += ack.acked / self.window

    def on_congestion(self, signal: elephan.Signal) -> None:
        """Nothing."""
        self.ssthresh = self.window

    def on_timeout(self, signal: elephan.Signal) -> None:
        """Nothing."""
