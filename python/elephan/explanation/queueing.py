"""The queue at the bottleneck: its discipline and its limit, from the packets that it dropped.

Each queue drops at other packets:

- drop-tail: from one wait on, and hardly any below it; no packet that was accepted waited longer;
- a policer: whenever a virtual queue that drains with the rate of its tokens is full;
- CoDel: at the times of its control law, which follow from the waits;
- PIE: as often as its probability says, which follows from the waits too;
- random loss: one by one, after any wait.

No document has the thresholds below. They were chosen on captures of Linux in virtual time whose paths were known, and
``tests/capture_survey`` judges them on others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from elephan.explanation.disciplines import VirtualQueue, codel_excess, pie_ratio, virtual_queue
from elephan.explanation.estimates import share_of
from elephan.explanation.events import Events
from elephan.explanation.others import Others
from elephan.explanation.results import OtherTraffic
from elephan.explanation.shared_policers import SharedTokens, fastest, missing_tokens, shared_tokens, with_others
from elephan.explanation.waits import FullQueue, OtherPackets, Waits, full_queue, other_packets
from elephan.metrics.statistics import Interval

LEAST_DROPS = 6
_SLACK, _LEAST_SLACK = 0.03, 0.5
"""Difference from a limit within which a packet on its wrong side counts for nothing: relative, and in packets."""
_WIDEST = 0.8
"""Widest interval of a buffer that is stated, relative to it."""
_COST = 0.3
_ABOVE = 0.003
"""Largest share of accepted packets that waited longer than the limit of a drop-tail queue."""
_CODEL, _CODEL_OF_FULL = 0.25, 0.6
"""Least share of drops at CoDel's times beyond chance, also where one wait divides the drops from other packets."""
_POLICED, _POLICED_FOR_CERTAIN, _ERRORS = 0.5, 0.3, 4.0
"""Largest cost of a policer, also without what the errors of the times may have made wrong, if the burst is larger than
the last number times the packets that pass in such an error."""
_PIE = (0.35, 2.5)
_SLOWER = 0.9
"""Largest share of the rate that is another one."""
_LONGEST = 0.99
"""Quantile of the waits that is the longest queue."""
_SHORT, _SHORT_SHARE = 3.0, 0.15
"""Longest usual wait of a queue behind a policer, in packets and in base RTTs."""
_HALF = 0.5
_SHARED = 0.02
"""Share of other traffic in the queue that counts."""
_FIRST_ROUNDS, _MOSTLY_BELOW = 3.0, 0.8
"""Round trips with a full queue in which slow start overflows it, and least share of later drops that are below."""
_PARTS = 10
"""Parts of a capture of which the fastest shows a rate that passes."""
_CLUSTERED, _SINGLE = 0.45, 0.25
"""Least share of drops next to another at a policer, and the largest one of random losses."""
_DEPENDS = 0.05
_FEWEST_RANDOM = 20
"""Fewest drops that show that they are independent of the queue."""
_CLOCK_S, _CLOCK_ELSEWHERE_S = 2e-4, 1e-3
"""Errors of times of departure that count, at the sender and elsewhere, s."""


@dataclass(frozen=True)
class Queue:
    """Queue, as far as the drops show it.

    Attributes:
        name: its discipline, as scenarios name it; ``None`` if the capture does not show it.
        reason: evidence for it, or the reason why there is none.
        buffer_packets: full packets that it holds; for a policer those of its burst.
        buffer_reason: evidence for them.
        rate: rate of a policer's tokens, bit/s.
        loss: share of the packets that were lost at random; ``None`` if it is not known.
        loss_reason: evidence for it, or the reason why there is none.
        most_random: largest share of the packets that were lost at random where the queue drops some at any wait.
        hides_rate: nothing in the capture shows the rate of the path.
        assumed: full packets that a simulated buffer holds where its size is not identifiable.
        full: share of the packets that nearly filled a drop-tail queue.
        assumed_policer: tokens that let the flow pass where the rate is not identifiable.
        is_shared: the tokens of a policer are those of all traffic.
        others: other traffic that shares them; ``None`` if nothing is known of it.
    """

    name: str | None
    reason: str
    buffer_packets: Interval | None = None
    buffer_reason: str = ""
    rate: Interval | None = None
    loss: Interval | None = None
    loss_reason: str = ""
    most_random: float | None = None
    hides_rate: bool = False
    assumed: Interval | None = None
    assumed_policer: VirtualQueue | None = None
    full: float = 0.0
    is_shared: bool = False
    others: Others | None = None


def find_queue(
    events: Events, waits: Waits, *, rate_bps: float, base_s: float, mean_bps: float, jitter_s: float
) -> Queue:
    """The queue of a capture.

    Args:
        events: the events.
        waits: the waits at the bottleneck.
        rate_bps, base_s: its rate, and the base RTT.
        mean_bps: mean rate of the flow.
        jitter_s: time by which packets are late.
    """
    return _Finder(events, waits, rate_bps, base_s, mean_bps, jitter_s).queue()


class _Finder:
    def __init__(
        self, events: Events, waits: Waits, rate_bps: float, base_s: float, mean_bps: float, jitter_s: float
    ) -> None:
        self.events, self.waits = events, waits
        self.rate_bps, self.base_s, self.mean_bps = rate_bps, base_s, mean_bps
        self.wire_bits = 8.0 * events.wire_bytes
        self.packet_s = self.wire_bits / rate_bps
        self.jitter_s = jitter_s
        self.error_s = (_CLOCK_S if events.exact else _CLOCK_ELSEWHERE_S) + jitter_s
        self.unseen_s = jitter_s if events.exact else self.error_s
        self.sent, self.drops = len(waits.lost), int(waits.lost.sum())

    def queue(self) -> Queue:
        """The queue that explains the drops."""
        waits = self.waits
        if self.drops < LEAST_DROPS or not len(waits.accepted_s) or not len(waits.dropped_s):
            return self._few()
        full, others = self._full()
        top = 1.1 * full.limit_s + self.packet_s
        above = float(np.mean(waits.accepted_s > top))
        seen, error_s = self.events.seen, 0.0 if self.events.exact else self.error_s
        policed = virtual_queue(seen.left_s, seen.left_lost, self.wire_bits, error_s)
        is_large = policed.burst_packets > _ERRORS * error_s * policed.rate_bps / self.wire_bits
        shows_limit = full.limit_s > error_s
        explains = policed.cost <= _POLICED
        explains |= not shows_limit and is_large and policed.certain_cost <= _POLICED_FOR_CERTAIN
        is_policer = explains and (policed.rate_bps < _SLOWER * self.rate_bps or self._passes(policed))
        may_be_policer = self._may_be_policer()
        tokens = None if is_policer else self._shared_tokens(may_be_policer=may_be_policer)
        if tokens is not None:
            return self._shared(tokens)
        known = np.isfinite(waits.likely_s)
        at, wait, lost = waits.at_s[known], waits.likely_s[known], waits.lost[known]
        codel = codel_excess(at, wait, lost, self.packet_s, self.error_s)
        is_full = full.cost <= _COST and above <= _ABOVE and shows_limit and not is_policer
        if codel >= (_CODEL_OF_FULL if is_full else _CODEL):
            found = self._active("codel", "CoDel", f"{codel:.0%} of the drops are at the times of CoDel's control law")
            other = share_of(round((1 - min(1.0, codel)) * self.drops), self.drops)
            return replace(found, most_random=other.high * self.drops / self.sent)
        if is_full:
            found = self._managed(full, others) or self._droptail(full, others)
            # A short queue without a size of its own is no evidence against a policer.
            return self._hidden() if found.buffer_packets is None and self._is_no_limit() else found
        if is_policer:
            return self._policer(policed)
        if may_be_policer:
            return self._hidden()
        clustered = self._clustered()
        independent = self._independence()
        ratio = pie_ratio(at, wait, self.drops)
        by_chance = share_of(self.drops, self.drops)
        if by_chance.low * ratio <= _PIE[1] and ratio * by_chance.high >= _PIE[0] and independent < _DEPENDS:
            return self._active("pie", "PIE", f"{ratio:.2g} times as many drops as PIE's probability says")
        if clustered < _SINGLE and independent >= _DEPENDS:
            return self._random(clustered)
        reason = "the drops are neither those of a full queue or a policer nor those of CoDel or PIE"
        return Queue(None, reason, loss_reason=reason)

    def _may_be_policer(self) -> bool:
        """Packets are lost in clusters while the queue is short, of a flow that is far from filling the link."""
        return self._clustered() >= _CLUSTERED and self.mean_bps < _HALF * self.rate_bps and self._is_short()

    def _is_no_limit(self) -> bool:
        """The queue is short, and what passes between drops is far from the rate of the link, or above it."""
        most = fastest(self.waits)
        if most is None or not self._is_short():
            return False
        return not _HALF * self.rate_bps <= most * self.wire_bits <= self.rate_bps / _SLOWER

    def _shared_tokens(self, *, may_be_policer: bool) -> SharedTokens | None:
        """Tokens that others take, too, slower than the link."""
        tokens = shared_tokens(self.waits, self.wire_bits, self.packet_s, 0.0 if self.events.exact else self.error_s)
        if tokens is None or tokens.rate.value >= _SLOWER * self.rate_bps:
            return None
        # Others in a short queue take what the flow leaves, too.
        return tokens if tokens.others is None or may_be_policer else None

    def _shared(self, tokens: SharedTokens) -> Queue:
        others = None
        if tokens.others is not None:
            size = round(tokens.size * self.events.wire_bytes)
            others = Others(
                tokens.others, "what others have of the policer's tokens, from the link behind it",
                OtherTraffic("steady", tokens.others.value, size), "they are met as often at any time",
            )  # fmt: skip
        return Queue(
            "policer", tokens.reason, tokens.burst_packets, "packets that passed before the first drop", tokens.rate,
            loss_reason="the policer drops packets at any wait, too", is_shared=True, others=others,
        )  # fmt: skip

    def _hidden(self) -> Queue:
        """A policer that others share, of which only a part is seen."""
        reason = "packets are lost in clusters while the queue is short, as by a policer whose tokens do not show"
        most = fastest(self.waits)
        if most is None:
            passed, _ = np.histogram(self.waits.at_s[~self.waits.lost], bins=_PARTS)
            rate_bps = float(passed.max()) * self.wire_bits * _PARTS / float(np.ptp(self.waits.at_s))
        else:
            rate_bps = max(most * self.wire_bits, self.mean_bps)
            reason += f"; up to {rate_bps / 1e6:.3g} Mbit/s passed between drops"
        burst = float(missing_tokens(self.waits, rate_bps / self.wire_bits)[self.waits.lost][0]) + 1
        assumed = VirtualQueue(rate_bps, burst, np.inf)
        return Queue(None, reason, loss_reason=reason, hides_rate=True, assumed_policer=assumed)

    def _few(self) -> Queue:
        known = self.waits.accepted_s
        if self.drops > 1 and len(known) and known.max() < _SHORT_SHARE * self.base_s and self._may_be_policer():
            return self._hidden()
        reason = f"{self.drops} losses are too few to show which queue, if any, dropped them"
        loss = share_of(0, self.sent, doubtful=self.drops)
        return Queue(None, reason, loss=loss, loss_reason=f"{self.drops} losses, which may be the queue's")

    def _full(self) -> tuple[FullQueue, OtherPackets]:
        """The limit that explains the drops best, and other traffic near it."""
        least_s = _LEAST_SLACK * self.packet_s + self.unseen_s / 2
        full = full_queue(self.waits, _SLACK, least_s)
        others = other_packets(self.waits, self.packet_s, full.limit_s)
        if others.more < 1 + _SLACK:
            return full, others
        # A full queue is as long as its packets are large.
        return full_queue(self.waits, (others.more - 1) / 2, least_s), others

    def _droptail(self, full: FullQueue, others: OtherPackets) -> Queue:
        """A full queue, in full packets: it may hold more packets if others are smaller."""
        limit, low, high = (wait / self.packet_s for wait in (full.limit_s, full.low_s, full.high_s))
        more = others.more
        wide = _LEAST_SLACK + 0.01 * limit + self.unseen_s / 2 / self.packet_s
        reason = f"{1 - min(1.0, full.cost):.0%} of the drops are above one wait, and no other packet waits longer"
        of_buffer = "wait from which on packets are dropped"
        if more > 1.01:
            of_buffer += f", where {others.share:.0%} of the queue is other traffic in smaller packets"
        buffer = Interval(limit * more, max(0.0, low - wide), high * (2 * more - 1) + wide)
        is_wide = buffer.high - buffer.low > _WIDEST * buffer.value
        if is_wide:
            of_buffer = f"limits of {buffer.low:.2g} to {buffer.high:.2g} packets explain the drops alike"
        # Others may fill the queue between two packets, unless it was far from full.
        shared = others.share > _SHARED
        early = share_of(full.deep, full.low) if shared else share_of(full.early, full.below)
        return Queue(
            "droptail", reason, None if is_wide else buffer, of_buffer, loss=early,
            loss_reason=f"losses below {'half of ' if shared else ''}that wait", assumed=buffer, full=full.full,
        )  # fmt: skip

    def _managed(self, full: FullQueue, others: OtherPackets) -> Queue | None:
        """CoDel or PIE whose buffer slow start filled once, if later drops are below that wait and are theirs."""
        waits = self.waits
        first_s = float(waits.at_s[waits.lost].min())
        later = waits.at_s > first_s + _FIRST_ROUNDS * (self.base_s + full.limit_s)
        after = waits.taken(later)
        known = after.dropped_s
        below = full.limit_s - max(_SLACK * full.limit_s, _LEAST_SLACK * self.packet_s + self.unseen_s / 2)
        if after.lost.sum() < LEAST_DROPS or not len(known) or np.mean(known < below) < _MOSTLY_BELOW:
            return None
        found = _Finder(self.events, after, self.rate_bps, self.base_s, self.mean_bps, self.jitter_s).queue()
        if found.name not in ("codel", "pie"):
            return None
        return replace(
            self._droptail(full, others), name=found.name, reason=f"{found.reason}, but for those of slow start",
            loss=None, loss_reason=found.loss_reason,
        )  # fmt: skip

    def _active(self, name: str, title: str, reason: str) -> Queue:
        hidden = f"{title} drops before the buffer is full"
        return Queue(name, reason, buffer_reason=hidden, loss_reason=f"{title} drops packets at any wait, too")

    def _policer(self, policed: VirtualQueue) -> Queue:
        wide = max(0.02 * policed.rate_bps, policed.high_bps - policed.rate_bps, policed.rate_bps - policed.low_bps)
        burst = max(policed.burst_packets, 1.0)
        size = Interval(burst, 0.9 * burst - 1, 1.1 * burst + 1)
        if self.events.exact:
            tokens = with_others(policed.rate_bps, size, self.waits, self.wire_bits, self.packet_s)
            if tokens is not None:
                return self._shared(tokens)
        return Queue(
            "policer", f"a token bucket explains all but {min(policed.cost, policed.certain_cost):.0%} of the drops",
            size, "burst of the policer",
            Interval(policed.rate_bps, policed.rate_bps - wide, policed.rate_bps + wide),
            loss_reason="the policer drops packets at any wait, too",
        )  # fmt: skip

    def _random(self, clustered: float) -> Queue:
        if self.drops < _FEWEST_RANDOM:
            return self._few()
        return Queue(
            None, "no drop is that of a queue", buffer_reason="no packet is dropped by a full queue",
            loss=share_of(self.drops, self.sent),
            loss_reason=f"{clustered:.0%} of the losses are next to another, and they come after any wait",
        )  # fmt: skip

    def _passes(self, policed: VirtualQueue) -> bool:
        """Packets hardly wait where a queue as long as the burst would make them wait: the rate is the sender's own."""
        longest = float(np.quantile(self.waits.accepted_s, _LONGEST)) / self.packet_s
        if longest > _SHORT or policed.rate_bps >= self.rate_bps:
            return False
        return policed.burst_packets > max(_SHORT, 2 * longest)

    def _clustered(self) -> float:
        """Share of the drops whose neighbor was dropped too."""
        lost = self.waits.lost
        beside = np.concatenate([[False], lost[:-1]]) | np.append(lost[1:], False)
        return float(beside[lost].mean())

    def _is_short(self) -> bool:
        """The queue is hardly longer than a burst most of the time."""
        usual = float(np.median(self.waits.accepted_s))
        return usual <= max(_SHORT * self.packet_s, _SHORT_SHARE * self.base_s)

    def _independence(self) -> float:
        """Probability of drops whose waits differ more from those of other packets, if drops are independent of it."""
        from scipy.stats import ks_2samp

        lost, waits = self.waits.lost, self.waits
        # Behind a lost packet an empty queue is not seen.
        dropped = np.fmin(np.fmax(waits.low_s[lost], 0.0), waits.high_s[lost])
        known, accepted = dropped[np.isfinite(dropped)], waits.accepted_s
        if not self.events.exact:
            # Errors of times of departure are larger for the neighbors of a lost packet.
            known, accepted = known // (2 * self.error_s), accepted // (2 * self.error_s)
        return float(ks_2samp(known, accepted).pvalue)
