"""A scenario as a template: the canonical forms of many variants of it.

A design loop changes parameters of algorithms and the seed from run to run. Such a change leaves the path as it is, so
the form is that of the template with these values filled in. Any other change makes a scenario, without the checks that
the engine makes anyway. An error is that of the ordinary way, :meth:`Scenario.with_overrides`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from elephan.scenario import catalog, own, transports
from elephan.scenario.canonical import parameters_form
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import parse_parameters
from elephan.scenario.overrides import covers
from elephan.scenario.scenario import Scenario

_MOST_VARIANTS = 1000
_PARAMETER = re.compile(r"flow\[(?P<flow>\d+|\*)\]\.parameters\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)")


Check = Callable[[Scenario], None]


class Template:
    """Variants of a scenario.

    Attributes:
        scenario: the scenario that is changed.
    """

    def __init__(self, scenario: Scenario, check: Check | None = None) -> None:
        """``check`` raises a :class:`ScenarioError` for a scenario that may not be filled in."""
        self.scenario = scenario
        self._check = check
        self._document = scenario.canonical()
        self._places: dict[str, list[tuple[int, str]] | None] = {}
        self._variants: dict[str, Template | None] = {}
        self._fills = all(_is_plain(flow.algorithm) for flow in scenario.flow) and self._is_allowed()

    def _is_allowed(self) -> bool:
        try:
            if self._check is not None:
                self._check(self.scenario)
        except ScenarioError:
            return False
        return True

    def stated(self, changes: Mapping[str, Any]) -> Scenario:
        """The changed scenario.

        Raises:
            ScenarioError: there is no such field, or the changed scenario is wrong.
        """
        return self.scenario.with_overrides(changes)

    def for_engine(self, changes: Mapping[str, Any]) -> Scenario:
        """The changed scenario without the checks of the engine: see :meth:`Scenario.for_engine`.

        Raises:
            ScenarioError: there is no such field, or the changed scenario is wrong.
        """
        return Scenario.for_engine(self.scenario.changed(changes))

    def filled(self, changes: Mapping[str, Any]) -> dict[str, Any] | None:
        """The canonical form of the changed scenario, as a JSON document; ``None`` if values cannot be filled in.

        Values can be filled in if the other changes have occurred before: a few paths, and many parameters on each.
        """
        if not self._fills:
            return None
        parameters: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for key, value in changes.items():
            if key not in self._places:
                self._places[key] = self._places_of(key)
            (others if self._places[key] is None else parameters)[key] = value
        if not others:
            return self._with_parameters(parameters)
        if any(covers(wide, narrow) for wide in others for narrow in parameters):
            return None
        variant = self._variant(others)
        return None if variant is None else variant.filled(parameters)

    def _variant(self, changes: Mapping[str, Any]) -> Template | None:
        """The template with some changes, from their second occurrence on."""
        key = repr(changes)
        if key not in self._variants:
            if len(self._variants) >= _MOST_VARIANTS:
                self._variants.clear()
            self._variants[key] = None
        elif self._variants[key] is None:
            try:
                self._variants[key] = Template(self.for_engine(changes), self._check)
            except ScenarioError:
                return None
        return self._variants[key]

    def _with_parameters(self, changes: Mapping[str, Any]) -> dict[str, Any] | None:
        """The form with changed parameters of algorithms; ``None`` if a parameter is wrong."""
        parameters: dict[int, dict[str, Any]] = {}
        for key, value in changes.items():
            if isinstance(value, float) and not math.isfinite(value):
                return None
            for flow, name in self._places[key] or ():
                parameters.setdefault(flow, dict(self.scenario.flow[flow].parameters))[name] = value
        flows = list(self._document["flows"])
        try:
            for i, given in parameters.items():
                flows[i] = flows[i] | {"parameters": self._checked(i, given)}
        except (ScenarioError, OverflowError):
            return None
        return self._document | {"flows": flows}

    def _places_of(self, key: str) -> list[tuple[int, str]] | None:
        """The flows whose parameter a key sets, each with the parameter's name; ``None`` for any other field."""
        found = _PARAMETER.fullmatch(key)
        if found is None:
            return None
        flows = self.scenario.flow
        chosen = range(len(flows)) if found["flow"] == "*" else [int(found["flow"])]
        if not all(i < len(flows) and flows[i].datagrams is None for i in chosen):
            return None
        return [(i, found["name"]) for i in chosen]

    def _checked(self, flow: int, given: dict[str, Any]) -> dict[str, Any]:
        """The form of a flow's parameters.

        Raises:
            ScenarioError: a parameter is wrong, or decides more of the form than its own value.
        """
        algorithm = self.scenario.flow[flow].algorithm
        catalog.check_parameters(algorithm, parse_parameters(given))
        before = self.scenario.flow[flow].parameters
        if catalog.counts_jiffies(algorithm, given) != catalog.counts_jiffies(algorithm, before):
            raise ScenarioError("changes the host's stack")
        return parameters_form(given)


def _is_plain(algorithm: str) -> bool:
    """True for algorithms of the engine over TCP, whose parameters the engine checks."""
    return not own.pinned(algorithm) and transports.backend_of(algorithm) is None
