"""Permission to run programs of a scenario: they are code, and a scenario may be a stranger's."""

from __future__ import annotations

from collections.abc import Sequence

from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.programs import commands

OPTION = "--allow-programs"


def require(scenario: Scenario, allowed: bool) -> None:
    """Check that the programs of a scenario may run.

    Raises:
        ScenarioError: the scenario has programs and was not allowed to run them; the message has the commands.
    """
    if allowed:
        return
    for flow in scenario.flow:
        if flow.program is not None:
            told = [f"'{' '.join(words)}'" for _, words in commands(flow.program)]
            raise ScenarioError(f"program '{flow.name}' {would_run(told)}")


def would_run(told: Sequence[str]) -> str:
    """The sentence about commands that are not allowed."""
    return f"would run {' and '.join(told)}; if you trust them, type {OPTION} (in Python: allow_programs=True)"
