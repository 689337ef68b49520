"""Lessons of the page: settings, three sentences and a question, with numerical checks of the sentences."""

from __future__ import annotations

import math
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from elephan.scenario import Scenario

FLOW: dict[str, Any] = {"parameters": {}, "start_s": 0, "rtt_ms": None, "left": False}
_SAMPLES = 500
PATH: dict[str, Any] = {"loss_percent": 0, "queue": "droptail", "ecn": False}


@cache
def lessons() -> list[dict[str, Any]]:
    """All lessons, in their order; each has ``id``, ``title``, ``text``, ``question``, ``settings`` and ``check``.

    A check is one or more rows with ``of`` (a number of the page), optionally ``flow`` (counted from 1), and
    ``at_least`` or ``at_most``.
    """
    text = (files(__package__) / "lessons.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)["lesson"]
    return [lesson | {"settings": whole(lesson["settings"])} for lesson in found]


def whole(settings: dict[str, Any]) -> dict[str, Any]:
    """Complete settings of the page; omitted fields have their defaults."""
    return PATH | settings | {"flows": [FLOW | flow for flow in settings["flows"]]}


def sample_period_ms(duration_s: float) -> int:
    """Time between the samples of a run of the page: there are about 500, as in ``web/src/layout.ts``."""
    return max(5, math.floor(duration_s * 1000 / _SAMPLES / 5 + 0.5) * 5)


def scenario_of(settings: dict[str, Any], *, sampled: bool = False) -> Scenario:
    """The scenario that the page runs with complete settings; if ``sampled``, also with the page's samples."""
    flows = []
    for flow in settings["flows"]:
        row = {"algorithm": flow["algorithm"], "parameters": flow["parameters"], "start": f"{flow['start_s']} s"}
        row |= {"rtt": f"{flow['rtt_ms']} ms"} if flow["rtt_ms"] is not None else {}
        flows.append(row | ({"direction": "left"} if flow["left"] else {}))
    loss = {"loss": f"{settings['loss_percent']}%"} if settings["loss_percent"] else {}
    period = {"sample_period": f"{sample_period_ms(settings['duration_s'])} ms"} if sampled else {}
    return Scenario.dumbbell(
        flows,
        rate=f"{settings['rate_mbps']} Mbit/s",
        rtt=f"{settings['rtt_ms']} ms",
        buffer=f"{settings['buffer_packets']} packets",
        queue=settings["queue"],
        duration=f"{settings['duration_s']} s",
        stack={"ecn": settings["ecn"]},
        **loss,
        **period,
    )
