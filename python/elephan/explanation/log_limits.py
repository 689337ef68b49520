"""Limits of a sender from its own log: from Linux's counters if they are there, and else from its window.

Linux counts the time with data to send, and of it the time at the edge of the receive window and without room in the
send buffer (``tcp_chrono_start``), which is what a limit is. Without these, a sender that fills its window is limited
by the path, and one that does not by its application. A sender of iperf3 always has data unless a rate was asked for,
so that one of the hosts' buffers is what limits it then.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from elephan.explanation.logs import Sample, SenderLog
from elephan.explanation.results import Interval, Limit, Share
from elephan.explanation.wording import CAUSES, REMEDIES, rate, time

_FULL = 0.75
"""Least fraction of the window that is in flight at a sender that fills it."""
_QUEUE = 1.1
"""Least ratio of a round trip to the least one that is a queue."""
_LITTLE = 0.02


@dataclass(frozen=True)
class LogExplanation:
    """Answer of a log.

    Attributes:
        log: states of the sender.
        intervals: stretches of time with one limit each.
        shares: limits by their share of time, the largest first.
    """

    log: SenderLog
    intervals: tuple[Interval, ...]
    shares: tuple[Share, ...]

    @property
    def duration_s(self) -> float:
        """Time from the first to the last state, s."""
        return self.log.samples[-1].time_s - self.log.samples[0].time_s

    @property
    def goodput_bps(self) -> float | None:
        """Mean rate of acknowledged data; ``None`` if the log does not state them."""
        known = [one for one in self.log.samples if one.acked_bytes is not None]
        if len(known) < 2 or known[-1].time_s <= known[0].time_s:
            return None
        first, last = known[0].acked_bytes or 0.0, known[-1].acked_bytes or 0.0
        return 8 * (last - first) / (known[-1].time_s - known[0].time_s)

    @property
    def text(self) -> str:
        """The answer in words."""
        goodput, base = self.goodput_bps, self.log.base_rtt_s
        what = f"sent at {rate(goodput)}" if goodput is not None else "sent"
        over = "" if base is None else f" over a path with a round trip of at least {time(base)}"
        using = f" by {self.log.algorithm}" if self.log.algorithm else ""
        first = self.shares[0]
        named = [share for share in self.shares[1:] if share.fraction >= _LITTLE]
        rest = ", ".join(f"{CAUSES[share.limit]} ({100 * share.fraction:.0f} %)" for share in named)
        sentences = [
            f"A {what} for {self.duration_s:.3g} s{using}{over}.",
            f"It was limited by {CAUSES[first.limit]}, in {100 * first.fraction:.0f} % of the time"
            + (f", then by {rest}." if rest else "."),
            f"{first.evidence[:1].upper()}{first.evidence[1:]}.",
        ]
        return " ".join([*sentences, REMEDIES.get(first.limit, "")]).strip()

    def document(self) -> dict[str, Any]:
        """The explanation as plain values."""
        return {
            "answer": self.text,
            "log": self.log.kind,
            "connections_in_all": self.log.connections,
            "duration_s": self.duration_s,
            "goodput_bps": self.goodput_bps,
            "rtt_s": {"least": self.log.base_rtt_s},
            "algorithm_named": self.log.algorithm,
            "limits": {
                "shares": [
                    {"limit": str(share.limit), "fraction": share.fraction, "evidence": share.evidence}
                    for share in self.shares
                ],
            },
            "notes": list(self.log.notes),
        }


def explain_log(log: SenderLog) -> LogExplanation:
    """Find what limited the sender of a log."""
    spent: dict[Limit, float] = {}
    intervals = []
    for before, after in pairwise(log.samples):
        length = after.time_s - before.time_s
        if length <= 0:
            continue
        parts = _counted(before, after, log) if after.busy_s is not None else {_of_window(before, after, log): 1.0}
        for limit, part in parts.items():
            spent[limit] = spent.get(limit, 0.0) + part * length
        intervals.append(Interval(before.time_s, after.time_s, max(parts, key=lambda limit: parts[limit])))
    total = sum(spent.values()) or 1.0
    shares = [Share(limit, length / total, _evidence(limit, log)) for limit, length in spent.items() if length > 0]
    shares = shares or [Share(Limit.APPLICATION, 1.0, "no time passes in the log")]
    return LogExplanation(log, tuple(intervals), tuple(sorted(shares, key=lambda share: -share.fraction)))


def _counted(before: Sample, after: Sample, log: SenderLog) -> dict[Limit, float]:
    """Shares of a stretch of time, by Linux's counters."""
    length = after.time_s - before.time_s

    def share(new: float | None, old: float | None) -> float:
        return min(1.0, max(0.0, ((new or 0.0) - (old or 0.0)) / length))

    busy = share(after.busy_s, before.busy_s)
    receive = min(busy, share(after.receive_limited_s, before.receive_limited_s))
    send = min(busy - receive, share(after.send_limited_s, before.send_limited_s))
    rest = busy - receive - send
    parts = {Limit.APPLICATION: 1 - busy, Limit.RECEIVE_WINDOW: receive, Limit.SEND_BUFFER: send}
    limit = Limit.APPLICATION if after.application_limited else _of_path(before, after, log)
    parts[limit] = parts.get(limit, 0.0) + rest
    return parts


def _of_window(before: Sample, after: Sample, log: SenderLog) -> Limit:
    """The limit by the window, without counters."""
    window, flight, receive = after.window_bytes, after.flight_bytes, after.receive_window_bytes
    if before.flight_bytes is not None and before.flight_bytes <= 0:
        return Limit.APPLICATION
    if flight is not None and receive and flight >= _FULL * receive:
        return Limit.RECEIVE_WINDOW
    fills = not window or flight is None or flight >= _FULL * window or after.lost > before.lost
    if fills and not (after.application_limited and log.kind == "ss"):
        return _of_path(before, after, log)
    has_data = log.kind == "iperf3" and not after.application_limited
    return Limit.SEND_BUFFER if has_data else Limit.APPLICATION


def _of_path(before: Sample, after: Sample, log: SenderLog) -> Limit:
    if after.slow_start and after.lost == before.lost:
        return Limit.SLOW_START
    queued = log.base_rtt_s is not None and (after.rtt_s or before.rtt_s or 0.0) > _QUEUE * log.base_rtt_s
    return Limit.RANDOM_LOSS if after.lost > 0 and not queued else Limit.CONGESTION


def _evidence(limit: Limit, log: SenderLog) -> str:
    last = log.samples[-1]
    counted = last.busy_s is not None
    if limit is Limit.RECEIVE_WINDOW:
        if not counted:
            return "as much is in flight as the receive window allows"
        return "Linux counts this time as limited by the receive window (rwnd_limited)"
    if limit is Limit.SEND_BUFFER:
        if not counted:
            return "less is in flight than the congestion window allows, and the sender has data: one of the buffers"
        return "Linux counts this time as limited by the send buffer (sndbuf_limited)"
    if limit is Limit.APPLICATION:
        return (
            "Linux counts this time as without data to send" if counted
            else f"less than {100 * _FULL:.0f} % of the congestion window is in flight"
        )  # fmt: skip
    if limit is Limit.SLOW_START:
        return "the congestion window is below the threshold of slow start"
    shown, base = "", log.base_rtt_s
    rtts = sorted(one.rtt_s for one in log.samples if one.rtt_s)
    if base is not None and rtts:
        shown = f", and the median round trip is {time(max(0.0, rtts[len(rtts) // 2] - base))} above {time(base)}"
    return f"the congestion window is full, {last.lost:.0f} segments were lost{shown}"
