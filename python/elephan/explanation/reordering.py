"""Reordering: packets that others overtook on the path.

A sender sees them in the SACK blocks, and in the echoed timestamps if it had already repeated them. A capture at the
receiver shows them itself if the sender numbers its packets. A packet that is delayed by less than the time to the next
one is not overtaken, so it does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.estimates import share_of
from elephan.metrics.statistics import Interval

if TYPE_CHECKING:
    from elephan.explanation.events import Events

_FEWEST = 3
"""Fewest overtaken packets that show their delay."""
_MOST = 0.8
"""Share of the delays that their interval has."""


@dataclass(frozen=True)
class Reordering:
    """Reordering of a path.

    Attributes:
        share: share of the packets that are delayed; ``None`` if the capture does not show it.
        reason: evidence for it, or the reason why there is none.
        delay: their delay, s; ``None`` if too few packets were overtaken.
    """

    share: Interval | None
    reason: str
    delay: Interval | None = None


def reordering_of(events: Events, packet_s: float) -> Reordering:
    """The reordering that a capture shows.

    Args:
        events: the events.
        packet_s: time of a full packet at the bottleneck, s.
    """
    seen = events.seen
    if not seen.shows_order:
        return Reordering(None, "the packets have no numbers that would tell late ones from repetitions")
    # Behind a queue, a packet arrives at least its transmission after the one before, whenever both left.
    late = seen.late_s + np.maximum(seen.ahead_s, packet_s)
    share = share_of(len(late), len(seen.left_s))
    if len(late) < _FEWEST:
        reason = f"{len(late)} packets were overtaken, which takes a delay of {packet_s * 1e3:.2g} ms at least"
        return Reordering(share, reason)
    low, value, high = (float(part) for part in np.quantile(late, ((1 - _MOST) / 2, 0.5, (1 + _MOST) / 2)))
    wide = packet_s / 2
    return Reordering(share, f"{len(late)} packets were overtaken", Interval(value, low - wide, high + wide))
