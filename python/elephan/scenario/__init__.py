"""The scenario: its schema, its units, its shorthands, and the canonical form that engines run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elephan.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from elephan.scenario.scenario import Scenario

__all__ = ["Scenario", "ScenarioError"]


def __getattr__(name: str) -> Any:
    # The schema costs a tenth of a second; units, words and errors are used by much that never builds a scenario.
    if name == "Scenario":
        from elephan.scenario.scenario import Scenario

        return Scenario
    raise AttributeError(f"module 'elephan.scenario' has no attribute '{name}'")
