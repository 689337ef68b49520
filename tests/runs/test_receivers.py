"""Receivers that misbehave: one that hides losses from its sender, and one that hides marks."""

from __future__ import annotations

from typing import Any

import pytest

from elephan.runs import Run, run
from elephan.scenario import Scenario, ScenarioError

ECN = {"ecn": True}


def carried(stack: dict[str, Any], **path: Any) -> Run:
    """One Reno flow with these settings of its stack."""
    dumbbell = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"} | path
    flow = {"name": "a", "algorithm": "reno", "stack": stack}
    return run(Scenario.from_dict({"duration": "20 s", "dumbbell": dumbbell, "flow": [flow]}))


def ecn_events(found: Run) -> int:
    """Answers of its sender to marks."""
    return int(found.flows["ecn_events"][0])


@pytest.mark.parametrize("ack_every", [1, 2])
def test_a_sender_hears_of_no_loss_that_its_receiver_hides(ack_every: int) -> None:
    honest, hidden = (
        carried({"ack_every": ack_every, "hide_losses": hides}, loss="1%").summary()["flows"][0]
        for hides in (False, True)
    )
    assert honest["retransmits"] > 10
    assert hidden["retransmits"] == 0
    assert hidden["loss_events"] == 0


@pytest.mark.parametrize("ack_every", [1, 2])
def test_a_sender_hears_of_no_mark_that_its_receiver_hides(ack_every: int) -> None:
    honest, hidden = (
        ecn_events(carried(ECN | {"ack_every": ack_every, "hide_marks": hides}, queue="codel"))
        for hides in (False, True)
    )
    assert honest > 0
    assert hidden == 0


def test_marks_that_are_echoed_one_by_one_are_hidden_too() -> None:
    """DCTCP has an echo for each mark."""
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "4 BDP", "queue": "codel"}

    def window(hides: bool) -> float:
        flow = {"name": "a", "algorithm": "dctcp", "stack": {"ack_every": 1, "hide_marks": hides}}
        found = run(Scenario.from_dict({"duration": "10 s", "dumbbell": path, "flow": [flow]}))
        assert found.summary()["links"][0]["marks"] > 0
        return float(found.summary()["flows"][0]["cwnd_mean"])

    assert window(True) > 2 * window(False)


def test_a_wrong_name_has_the_nearest_beside_it() -> None:
    with pytest.raises(ScenarioError, match="hide_losses"):
        carried({"hide_loses": True})
