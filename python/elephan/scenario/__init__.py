"""The scenario: its schema, its units, its shorthands, and the canonical form that engines run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elephan.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from elephan.scenario.scenario import Scenario

__all__ = ["Scenario", "ScenarioError"]


def __getattr__(name: str) -> Any:
    # The import of the schema takes 0.1 s; units, words and errors are also used without a scenario.
    if name == "Scenario":
        from elephan.scenario.scenario import Scenario

        return Scenario
    raise AttributeError(f"module 'elephan.scenario' has no attribute '{name}'")
