"""HCC's rules as formulas (Xu et al., "Hybrid congestion control for high-speed networks", JNCA 34, 2011).

Windows and steps are in segments, times in seconds. ``step_max`` is the paper's I_max and ``step_min`` its I_min; each
update applies half of a clipped change.
"""

from __future__ import annotations

import math

PART = 0.5
"""Fraction of the clipped change that one round trip makes (section 3.2.2 and Table 1)."""


def step_max(alpha: float, gamma: float) -> float:
    """I_max = γα, the largest change before it is halved (section 3.2.2)."""
    return gamma * alpha


def anticipated_window(alpha: float, rtt_s: float, forward_queueing_s: float) -> float:
    """The window w_a = α D/Q_f at which ``alpha`` segments are queued on the forward path (equation 3); infinite
    without a queue."""
    return alpha * rtt_s / forward_queueing_s if forward_queueing_s > 0 else math.inf


def delay_step(anticipated: float, window: float, step_max: float) -> float:
    """Increase per round trip while the delay controls the window: half of the clipped distance to w_a (Table 1)."""
    return PART * min(max(anticipated - window, -step_max), step_max)


def search_target(loss_reference: float, window: float) -> float:
    """The target step w_tar = (w_max - w_min)/2 after a loss (equation 4)."""
    return (loss_reference - window) / 2


def search_step(loss_reference: float, window: float, step_max: float, step_min: float) -> float:
    """Increase per round trip during the search for the window of the last loss: half of the clipped w_tar (Table
    1)."""
    return PART * min(max(search_target(loss_reference, window), step_min), step_max)
