"""Captures of the simulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import elephan
from elephan import export

Make = Callable[..., Path]


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Captures of the simulator."""
    made: dict[str, Path] = {}

    def capture(at: Literal["sender", "receiver"] = "sender", **flow: Any) -> Path:
        key = f"{at}{flow}"
        if key not in made:
            path = {
                name: flow.pop(name)
                for name in (
                    "loss", "queue", "queue_burst", "queue_parameters", "buffer", "rate_steps", "reorder", "jitter",
                    "rate", "rtt", "duration",
                )
                if name in flow
            }  # fmt: skip
            options: Any = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "8 s"}
            options["stack"] = flow.get("stack", "linux")
            scenario = elephan.Scenario.dumbbell([{"algorithm": "cubic", **flow}], **{**options, **path})
            run = elephan.run(scenario)
            made[key] = tmp_path_factory.mktemp("captures") / "one.pcapng"
            export.write_pcapng(run, export.events_of(run), made[key], at=at)
        return made[key]

    return capture
