"""Runs on the kernel again and again, for a test that kills it."""

from __future__ import annotations

from typing import Any

from elephan.backends.kernel import session
from elephan.backends.kernel.plan import Plan
from elephan.scenario import Scenario


def stated(flows: list[Any], **more: Any) -> Scenario:
    fields: dict[str, Any] = {"rate": "50 Mbit/s", "rtt": "20 ms", "buffer": "80 packets", "duration": "4 s"}
    return Scenario.dumbbell(flows, **(fields | {"measure": {"from": "2 s"}} | more))


def keep_running() -> None:
    """Until it is killed."""
    scenario = stated(["cubic", "reno"], duration="0.5 s", measure={"from": "0.1 s"})
    plan = Plan.of(scenario)
    while True:
        session.run(plan, {0: "cubic", 1: "reno"}, None)
