"""Records of a guest as the tables of a run. No kernel is needed."""

from __future__ import annotations

import numpy as np

from elephan.backends.linux import tables
from elephan.backends.linux.guest import Log
from elephan.backends.linux.plan import Plan
from elephan.scenario import Scenario

FLOW_WORDS, QUEUE_WORDS = 19, 5
CWND, UNACKNOWLEDGED, SACKED, LOST, RESENT = 1, 5, 6, 7, 8


def test_what_is_in_flight_includes_what_was_sent_again() -> None:
    """Four of 20 segments were SACKed and 3 are lost, of which 2 were sent again (``tcp_packets_in_flight``)."""
    scenario = Scenario.dumbbell(
        [{"algorithm": "cubic:linux"}], rate="20 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="1 s"
    )
    plan = Plan.of(scenario, 250)
    times = range(0, 1_000_000_001, plan.document["look_ns"])
    rows = np.zeros((len(times), 1 + FLOW_WORDS * len(plan.real) + QUEUE_WORDS * len(plan.watched)), dtype="<u8")
    rows[:, 0] = times
    for word, count in ((CWND, 20), (UNACKNOWLEDGED, 20), (SACKED, 4), (LOST, 3), (RESENT, 2)):
        rows[:, 1 + word] = count
    result = {"flow_words": FLOW_WORDS, "queue_words": QUEUE_WORDS, "flows": [(0, None)]}
    found = tables.tables(plan, tables.looks(plan, Log(rows.tobytes(), result, 0.0, 0.0)))
    assert set(found["samples"]["in_flight"]) == {15}
