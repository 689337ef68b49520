"""A failing scenario, made smaller for as long as it fails in the same way."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.fuzz.trial import FAILED, Outcome
from tests.fuzz.worker import Worker

from elephan.scenario import units
from elephan.scenario.errors import ScenarioError

Tables = dict[str, Any]


def shrink(form: Tables, outcome: Outcome, worker: Worker, attempts: int = 400) -> tuple[Tables, Outcome]:
    """The smallest scenario that was found within so many attempts, and how it fails."""
    again = "differs when" in outcome.why
    smaller = True
    while smaller and attempts > 0:
        smaller = False
        for candidate in _candidates(form):
            attempts -= 1
            if attempts < 0:
                break
            found = worker.form(candidate, again)
            if found.kind == FAILED and found.family == outcome.family:
                form, outcome, smaller = candidate, found, True
                break
    return form, outcome


def _candidates(form: Tables) -> Iterator[Tables]:
    """The same tables with something left out, the largest things first, or with a shorter run."""
    places = sorted(_places(form), key=len)
    for place in places:
        yield _without(form, place)
    for factor in (10, 2):
        try:
            duration_ps = units.parse_time(form.get("duration"))
        except ScenarioError:
            return
        if duration_ps > factor:
            yield form | {"duration": units.format_time(duration_ps // factor)}


def _places(node: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))[::-1]
    for key in keys:
        yield (*prefix, key)
        if isinstance(node[key], dict | list):
            yield from _places(node[key], (*prefix, key))


def _without(form: Tables, place: tuple[Any, ...]) -> Tables:
    smaller = copy.deepcopy(form)
    holder: Any = smaller
    for step in place[:-1]:
        holder = holder[step]
    del holder[place[-1]]
    return smaller
