"""Place of a capture on its path, from the packets alone.

A round trip has two parts where the capture is: from a segment to its acknowledgment (B's side), and from an
acknowledgment to the data that answer it (A's side). At the sender the second is close to nothing, at the receiver the
first. The echo of a timestamp says which acknowledgment a segment answers; without timestamps the handshake does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.explanation.connection import Handshake, Position

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

_LEAST_SHARE = 0.1
_AT_AN_END = 0.1
"""Largest share of the round trip on one side that still counts as this side's host."""


def find_position(segments: pl.DataFrame, acks: pl.DataFrame, shake: Handshake) -> Position:
    """The place of a capture."""
    to_receiver = _with_handshake(_to_receiver(segments, acks), _of_handshake(shake, opener=False))
    to_sender = _to_sender(segments, acks)
    if to_sender is None:
        to_sender = _of_handshake(shake, opener=True)
    if to_receiver is None:
        return Position("sender", 0, to_sender, known=False)
    if to_sender is None:
        return Position("sender", to_receiver, None, known=False)
    whole = max(1, to_receiver + to_sender)
    if to_sender <= _AT_AN_END * whole and to_sender <= to_receiver:
        return Position("sender", to_receiver, to_sender)
    if to_receiver <= _AT_AN_END * whole:
        return Position("receiver", to_receiver, to_sender)
    return Position("between", to_receiver, to_sender)


def _with_handshake(of_data: int | None, shaken: int | None) -> int | None:
    """The least round trip of data or of the handshake, which has met no queue of its own flow.

    A handshake that is much shorter was answered by a middlebox, or was written by a simulator.
    """
    if of_data is None or shaken is None:
        return shaken if of_data is None else of_data
    return min(of_data, shaken) if shaken >= _LEAST_SHARE * of_data else of_data


def _of_handshake(shake: Handshake, *, opener: bool) -> int | None:
    """Round trip on the side of the sender (``opener`` is true) or of the receiver, ns."""
    if shake.opened_by_sender is None or shake.answer_ns is None:
        return None
    # From the answer to the host that opened and back, or from its SYN to the other host and back.
    to_opener = None if shake.complete_ns is None else max(0, shake.complete_ns - shake.answer_ns)
    to_other = None if shake.syn_ns is None else max(0, shake.answer_ns - shake.syn_ns)
    return to_opener if opener == shake.opened_by_sender else to_other


def _to_receiver(segments: pl.DataFrame, acks: pl.DataFrame) -> int | None:
    """Least time from a segment that was sent once to the first acknowledgment that covers it, ns."""
    once = segments.filter(~segments["retransmission"] & ~segments["late"])
    if once.is_empty() or acks.is_empty():
        return None
    past = (once["seq"] + once["bytes"]).to_numpy()
    covered = np.maximum.accumulate(acks["ack"].to_numpy())
    first = np.searchsorted(covered, past, side="left")
    inside = first < len(covered)
    waited = acks["time_ns"].to_numpy()[first[inside]] - once["time_ns"].to_numpy()[inside]
    # A receiver that has data behind a hole acknowledges them late; what comes before its time is another host's.
    waited = waited[waited >= 0]
    return int(waited.min()) if len(waited) else None


def _to_sender(segments: pl.DataFrame, acks: pl.DataFrame) -> int | None:
    """Least time from an acknowledgment to the first segment that echoes its timestamp, ns."""
    echoes: NDArray[Any] = segments["tsecr"].drop_nulls().to_numpy()
    if not len(echoes) or acks["tsval"].null_count() == acks.height:
        return None
    answered = segments.filter(segments["tsecr"].is_not_null()).group_by("tsecr").agg(answered_ns=_first_time())
    # Several acknowledgments may have one timestamp: the last of them may be the one that is answered.
    told = acks.filter(acks["tsval"].is_not_null()).group_by("tsval").agg(first_ns=_first_time(), last_ns=_last_time())
    both = told.join(answered, left_on="tsval", right_on="tsecr")
    both = both.filter(both["answered_ns"] >= both["first_ns"])
    if both.is_empty():
        return None
    waited = both["answered_ns"].to_numpy() - np.minimum(both["last_ns"].to_numpy(), both["answered_ns"].to_numpy())
    single = (both["last_ns"] == both["first_ns"]).to_numpy()
    waited = waited[single] if single.any() else both["answered_ns"].to_numpy() - both["first_ns"].to_numpy()
    return int(waited.min())


def _first_time() -> pl.Expr:
    import polars as pl

    return pl.col("time_ns").min()


def _last_time() -> pl.Expr:
    import polars as pl

    return pl.col("time_ns").max()
