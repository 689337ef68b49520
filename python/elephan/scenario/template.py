"""A scenario as a template: the canonical forms of many variants of it.

A design loop changes parameters of algorithms, times and the seed from run to run. Such a change leaves the path as it
is, so the form is that of the template with these values filled in. Any other change makes a scenario, without the
checks that the engine makes anyway. An error is that of the ordinary way, :meth:`Scenario.with_overrides`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from elephan.scenario import catalog, own, transports
from elephan.scenario.canonical import measure_window, parameters_form
from elephan.scenario.check import check_flow_times, check_times
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import parse_parameters
from elephan.scenario.overrides import covers
from elephan.scenario.scenario import Scenario
from elephan.scenario.units import parse_positive_time, parse_time

_MOST_VARIANTS = 1000
_PARAMETER = re.compile(r"flow\[(?P<flow>\d+|\*)\]\.parameters\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)")
_DURATION, _FROM = "duration", "measure.from"
_START = re.compile(r"flow\[(?P<flow>\d+)\]\.start")
_HAS_TIMES = "impairments"
"""Field of a link whose form depends on the duration."""


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
        self._algorithms = [flow.algorithm for flow in scenario.flow]
        self._algorithms += [source.algorithm for source in scenario.traffic]
        self._has_plain = all(map(_is_plain, self._algorithms))
        self._fills = all(map(_can_be_filled, self._algorithms)) and self._is_allowed()
        self._fills_times = not scenario.traffic and not any(_HAS_TIMES in link for link in self._document["links"])

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

        Values can be filled in if the other changes have occurred before: a few paths, and many parameters on each. If
        there are times among the values, a few paths are supposed at once.
        """
        if not self._fills:
            return None
        parameters: dict[str, Any] = {}
        times: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for key, value in changes.items():
            if key not in self._places:
                self._places[key] = self._places_of(key)
            is_time = self._fills_times and self._is_time(key)
            (times if is_time else others if self._places[key] is None else parameters)[key] = value
        if not others:
            form = self._with_parameters(parameters)
            return self._with_times(form, times) if form and times else form
        if any(covers(wide, narrow) for wide in others for narrow in (*parameters, *times)):
            return None
        variant = self._variant(others, at_once=bool(times))
        return None if variant is None else variant.filled(parameters | times)

    def _variant(self, changes: Mapping[str, Any], *, at_once: bool) -> Template | None:
        """The template with some changes, from their second occurrence on if not at once."""
        key = repr(changes)
        if key not in self._variants:
            if len(self._variants) >= _MOST_VARIANTS:
                self._variants.clear()
            self._variants[key] = None
            if not at_once:
                return None
        if self._variants[key] is None:
            try:
                made = Template(self.for_engine(changes), self._check)
            except ScenarioError:
                return None
            if not self._has_plain and made._algorithms != self._algorithms:
                return None  # the caller knows the libraries of this template
            self._variants[key] = made
        return self._variants[key]

    def _is_time(self, key: str) -> bool:
        found = _START.fullmatch(key)
        return key in (_DURATION, _FROM) if found is None else int(found["flow"]) < len(self.scenario.flow)

    def _with_times(self, form: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any] | None:
        """A form with other times; ``None`` if one is wrong."""
        scenario = self.scenario
        flows = list(scenario.flow)
        rows = list(form["flows"])
        changed: dict[str, Any] = {}
        try:
            for key, value in changes.items():
                start = _START.fullmatch(key)
                if start is not None:
                    i, start_ps = int(start["flow"]), parse_time(value)
                    flows[i], rows[i] = (
                        flows[i].model_copy(update={"start": start_ps}),
                        rows[i] | {"start_ps": start_ps},
                    )
                elif key == _DURATION:
                    changed["duration"] = parse_positive_time(value)
                else:
                    changed["measure"] = scenario.measure.model_copy(update={"from_": parse_time(value)})
            made = scenario.model_copy(update=changed)
            check_times(made)
            for i, flow in enumerate(flows):
                check_flow_times(made, flow, f"flow[{i}]")
        except ScenarioError:
            return None
        from_ps, to_ps = measure_window(made)
        measure = {"from_ps": from_ps, "to_ps": to_ps}
        return form | {"duration_ps": made.duration, "measure": measure, "flows": rows}

    def _with_parameters(self, changes: Mapping[str, Any]) -> dict[str, Any] | None:
        """The form with changed parameters of algorithms; ``None`` if a parameter is wrong."""
        if changes and not self._has_plain:
            return None
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


def _can_be_filled(algorithm: str) -> bool:
    """True for algorithms of the engine, and for those in a library that it loads."""
    return _is_plain(algorithm) or (own.pinned(algorithm) and own.library(algorithm) is not None)


def _is_plain(algorithm: str) -> bool:
    """True for algorithms of the engine over TCP, whose parameters the engine checks."""
    return not own.pinned(algorithm) and transports.backend_of(algorithm) is None
