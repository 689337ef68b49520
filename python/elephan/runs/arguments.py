"""Checks of the arguments of ``run`` and ``sweep``; an error message shows the right form."""

from __future__ import annotations

from os import PathLike
from typing import Any

from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.fields import parse_seed


def with_seed(scenario: Any, seed: Any = None) -> tuple[Scenario, int]:
    """A scenario with its own seed, or with the given seed.

    Raises:
        ScenarioError: an argument is not a scenario, or not a seed.
    """
    if not isinstance(scenario, Scenario):
        advice = "Scenario.load(...)" if isinstance(scenario, str | PathLike) else "an elephan.Scenario"
        raise ScenarioError(f"{scenario!r} is not a scenario; give {advice}")
    try:
        return scenario, scenario.seed if seed is None else parse_seed(seed)
    except ScenarioError as error:
        raise error.located(path="seed") from None
