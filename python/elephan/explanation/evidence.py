"""Limits as shares of the whole time, each with what shows it, in figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from elephan.explanation.intervals import DELAYED_NS, Measured
from elephan.explanation.results import Limit, Share
from elephan.notebooks import figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_WORTH_SAYING = 0.05


def shares_of(measured: Measured, labels: Sequence[Limit]) -> tuple[Share, ...]:
    """The limits of a connection, the largest share first."""
    total = max(1, len(labels))
    named = np.array(labels, dtype=object)
    shares = []
    for limit in Limit:
        mine = named == limit
        if mine.any():
            shares.append(Share(limit, float(mine.sum()) / total, _evidence(limit, measured, mine)))
    return tuple(sorted(shares, key=lambda share: -share.fraction))


def _evidence(limit: Limit, measured: Measured, mine: NDArray[np.bool_]) -> str:
    """Evidence of a limit, in figures."""
    values = {name: column[mine] for name, column in measured.series.items()}
    flight_kb = np.median(values["flight_max"]) / 1e3
    base_ms = measured.base_ns / 1e6
    rtts = values["rtt_max_s"][np.isfinite(values["rtt_max_s"])]
    queue_ms = max(0.0, float(np.median(rtts)) * 1e3 - base_ms) if len(rtts) else 0.0
    lost, sent = values["losses"].sum(), max(1.0, values["segments"].sum())
    if limit is Limit.RECEIVE_WINDOW:
        return (
            f"the next segment would pass the edge of the receive window in {_percent(values['window_share'].mean())} "
            f"of this time, with {figures(flight_kb, 3)} kB in flight"
        )
    if limit is Limit.APPLICATION:
        return _of_application(values, queue_ms, base_ms)
    if limit is Limit.SEND_BUFFER:
        return (
            f"{figures(flight_kb, 3)} kB in flight do not grow, without a loss, a queue or the edge of the receive "
            "window: the send buffer, or a window that the sender was given"
        )
    if limit is Limit.SLOW_START:
        return f"bytes in flight grow to {figures(values['flight_max'].max() / 1e3, 3)} kB, before the first loss"
    if limit is Limit.DELAYED_ACKS:
        return f"acknowledgments of at most two segments come more than {DELAYED_NS / 1e6:.0f} ms late"
    losses = f"{lost:.0f} of {sent:.0f} segments were sent again ({_percent(lost / sent)})"
    if limit is Limit.CONGESTION:
        return f"the round trip rises {queue_ms:.3g} ms above {base_ms:.4g} ms, and {losses}"
    if limit is Limit.POLICER:
        return f"{losses} at a steady rate, and no queue came before them"
    return f"{losses}, and no queue came before them"


def _of_application(values: Mapping[str, Floats], queue_ms: float, base_ms: float) -> str:
    """Evidence for an application that has no more data."""
    idle, partial = values["idle_share"].mean(), np.nanmean(np.append(values["partial_share"], 0))
    found = []
    if idle >= _WORTH_SAYING:
        found.append(f"nothing is in flight in {_percent(idle)} of this time")
    if partial >= _WORTH_SAYING:
        found.append(f"{_percent(partial)} of the pauses follow a segment that is not full")
    if idle < 0.5:
        released = np.nanmean(np.append(values["released_share"], 0))
        found.append(
            f"acknowledgments end only {_percent(released)} of the sender's pauses, and the round trip is just "
            f"{queue_ms:.3g} ms above {base_ms:.4g} ms"
        )
    return ", ".join(found)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %" if fraction > 0.1 else f"{100 * fraction:.2g} %"
