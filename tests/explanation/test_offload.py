"""A capture at a host with segmentation offload shows several segments as one packet, and means the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.explanation.conftest import Make

import elephan
from elephan.explanation import Connection, events_of, find_limits, fit_algorithm, fit_path

TOGETHER_NS = 20_000


def offloaded(connection: Connection) -> Connection:
    """New data that leave together as one packet."""
    table = connection.segments
    seq, size, at_ns = (table[name].to_numpy() for name in ("seq", "bytes", "time_ns"))
    follows = (np.diff(at_ns) <= TOGETHER_NS) & (seq[1:] == (seq + size)[:-1]) & ~table["retransmission"].to_numpy()[1:]
    packet = np.concatenate([[0], np.cumsum(~follows)])
    first = np.flatnonzero(np.diff(packet, prepend=-1))
    whole = pl.Series("bytes", np.bincount(packet, size).astype(np.int64), dtype=table["bytes"].dtype)
    return replace(connection, segments=table[first].with_columns(whole))


def test_packets_of_several_segments_are_explained_as_their_segments(make: Make) -> None:
    plain = elephan.explain(make(algorithm="cubic:linux", rate="40 Mbit/s"))
    connection = offloaded(plain.connection)
    assert connection.segments.height < 0.7 * plain.connection.segments.height
    events = events_of(connection)
    assert events.segments == plain.events.segments
    assert fit_algorithm(events).names == plain.algorithm.names
    found, expected = fit_path(events), plain.path
    for name in ("rate", "rtt", "buffer"):
        assert found.by_name[name].value == pytest.approx(expected.by_name[name].value)
    limits = find_limits(connection)
    assert limits.main is plain.limits.main
    assert any("hold several segments" in note for note in replace(plain, connection=connection).notes)
    assert not any("hold several segments" in note for note in plain.notes)
