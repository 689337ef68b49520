"""The scenario: its schema, its units, its shorthands, and the canonical form that engines run."""

from elephan.scenario.errors import ScenarioError
from elephan.scenario.scenario import Scenario

__all__ = ["Scenario", "ScenarioError"]
