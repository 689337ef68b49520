"""A scenario as a template: the canonical forms of many variants of it.

A design loop changes parameters of algorithms and the seed from run to run. Such a change leaves the path as it is, so
the form is that of the template with these values filled in. Any other change takes the ordinary way, through
:meth:`Scenario.with_overrides`, and so does a value that is wrong, so that its error is the ordinary one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from elephan.scenario import catalog, own, transports
from elephan.scenario.canonical import parameters_form
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import parse_parameters
from elephan.scenario.scenario import Scenario

_PARAMETER = re.compile(r"flow\[(?P<flow>\d+|\*)\]\.parameters\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)")


class Template:
    """Variants of a scenario.

    Attributes:
        scenario: the scenario that is changed.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._document = scenario.canonical()
        self._places: dict[str, list[tuple[int, str]] | None] = {}

    def form(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The canonical form, as a JSON document, of the scenario with some fields changed.

        Equal to ``scenario.with_overrides(changes).canonical()``.

        Raises:
            ScenarioError: there is no such field, or the changed scenario is wrong.
        """
        return self.filled(changes) or self.stated(changes).canonical()

    def stated(self, changes: Mapping[str, Any]) -> Scenario:
        """The changed scenario, by the ordinary way.

        Raises:
            ScenarioError: there is no such field, or the changed scenario is wrong.
        """
        return self.scenario.with_overrides(changes) if changes else self.scenario

    def filled(self, changes: Mapping[str, Any]) -> dict[str, Any] | None:
        """The canonical form, if the changes are valid parameters of the scenario's algorithms; ``None`` otherwise."""
        parameters: dict[int, dict[str, Any]] = {}
        for key, value in changes.items():
            if key not in self._places:
                self._places[key] = self._places_of(key)
            places = self._places[key]
            if places is None or (isinstance(value, float) and not math.isfinite(value)):
                return None
            for flow, name in places:
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
        if not all(i < len(flows) and _is_plain(flows[i].algorithm, flows[i].datagrams) for i in chosen):
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


def _is_plain(algorithm: str, datagrams: object) -> bool:
    """True for algorithms of the engine over TCP, whose parameters the engine checks."""
    return datagrams is None and not own.pinned(algorithm) and transports.backend_of(algorithm) is None
