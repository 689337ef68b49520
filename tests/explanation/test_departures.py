"""Departures that a capture at the receiver shows, against those of the capture at the sender."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explanation.conftest import Make

from elephan.explanation import Events, events_of, open_capture, read_connection
from elephan.explanation.algorithm import Replays, tolerances_of
from elephan.explanation.departures import Arrivals, Packets, departures

TICK_NS = 1_000_000
SIZE = 1000


def both(make: Make, **options: object) -> tuple[Events, Events]:
    sender, receiver = (
        events_of(read_connection(open_capture(make(place, **options)))) for place in ("sender", "receiver")
    )
    return sender, receiver


@pytest.mark.parametrize("algorithm", ["cubic:linux", "vegas:linux"])
def test_segments_left_when_the_sender_sent_them(make: Make, algorithm: str) -> None:
    sender, receiver = both(make, algorithm=algorithm)
    count = min(sender.segments, receiver.segments)
    late = (receiver.sent_s - receiver.start_s)[:count] - (sender.sent_s - sender.start_s)[:count]
    assert np.mean(np.abs(late - np.median(late)) < 0.3e-3) > 0.95
    assert receiver.seen.lost[:count].sum() == pytest.approx(sender.seen.lost[:count].sum(), abs=1)
    score = Replays(receiver).score(algorithm, tolerances_of(receiver))
    assert score > 0.95


def packets(sent_ns: list[int], lost: list[int]) -> Packets:
    """Segments in order, of which those in ``lost`` are missing. The least delay to the capture counts as none."""
    numbers = np.array([number for number in range(len(sent_ns)) if number not in lost])
    at = np.array(sent_ns)[numbers]
    stamps, no = at // TICK_NS, np.zeros(len(at), dtype=bool)
    return Packets(numbers * SIZE, (numbers + 1) * SIZE, at, stamps, stamps, numbers, no, at, at, no)


def arrivals(at_ns: list[int], in_flight: int = 0) -> Arrivals:
    at = np.array(at_ns)
    reached = (np.arange(1, len(at) + 1) - in_flight) * SIZE
    return Arrivals(at, at // TICK_NS, np.full(len(at), SIZE), np.ones(len(at), dtype=bool), reached)


def test_lost_segments_leave_as_those_around_them_do() -> None:
    # Two segments for each ACK, as in slow start; the second of three pairs is lost in full, and one of two others.
    acks = [100_100_000 + 3 * TICK_NS * number for number in range(12)]
    sent = [at for at in acks for _ in range(2)]
    found, _ = departures(packets(sent, [5, 8, 9, 14]), arrivals(acks), TICK_NS, 80 * TICK_NS, SIZE, None)
    assert found.seq.tolist() == [SIZE * number for number in range(24)]
    assert found.at_ns.tolist() == sent
    known = ~found.is_lost
    assert np.flatnonzero(found.is_lost).tolist() == [5, 8, 9, 14]
    assert (found.low_ns[known] <= found.at_ns[known]).all()
    assert (found.high_ns[known] >= found.at_ns[known]).all()


def test_a_burst_leaves_when_the_acks_have_freed_its_room() -> None:
    # An ACK each 0.1 ms; the ninth one releases a burst of nine segments, with 300 in flight.
    acks = [100_000_000 + 100_000 * number + 50_000 for number in range(1800)]
    sent = [acks[number // 9 * 9 + 8] for number in range(1800)]
    found, _ = departures(packets(sent, []), arrivals(acks, 300), TICK_NS, 30 * TICK_NS, SIZE, None)
    late = found.at_ns - np.array(sent)
    assert np.mean(np.abs(late - np.median(late))[600:] <= 100_000) > 0.85
