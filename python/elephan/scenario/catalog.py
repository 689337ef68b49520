"""What the engine knows by name: algorithms, queue disciplines, and their parameters.

The engine is the only place where these are declared; this module asks it, once, and answers questions about names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

_LISTERS = {"an algorithm": "elephan list algorithms", "a queue discipline": "elephan list queues"}

Descriptor = dict[str, Any]
Parameter = float | bool | str


# Ways to count a limit that other programs have; the canonical form resolves them, so that the engine need not know.
_QUEUE_PRESETS = {
    "droptail": [{"name": "ns2", "title": "as ns-2 counts: a limit of N lets N-1 packets wait", "overrides": {}}],
}


class EngineMissingError(RuntimeError):
    """The compiled engine is not there: the package was not built."""

    def __init__(self) -> None:
        super().__init__("the engine is not built; run 'make setup' in the source tree")


def engine() -> Any:
    """The compiled engine module.

    Raises:
        EngineMissingError: it is not built.
    """
    try:
        from elephan import _engine
    except ImportError as error:
        raise EngineMissingError from error
    return _engine


@lru_cache(maxsize=1)
def algorithms() -> dict[str, Descriptor]:
    """The algorithms by name, each with ``title``, ``kind``, ``source``, ``presets`` and ``parameters``."""
    return {entry["name"]: entry for entry in json.loads(engine().algorithms())}


@lru_cache(maxsize=1)
def queues() -> dict[str, Descriptor]:
    """The queue disciplines by name, in the same form as the algorithms."""
    return {
        entry["name"]: {"presets": _QUEUE_PRESETS.get(entry["name"], [])} | entry
        for entry in json.loads(engine().queues())
    }


def router(algorithm: str) -> str | None:
    """The queue discipline that the routers on an algorithm's path must have; ``None`` where any will do."""
    entry = algorithms().get(algorithm.partition(":")[0])
    return None if entry is None else entry["router"]


def counts_jiffies(algorithm: str, parameters: Mapping[str, float | bool | str]) -> bool:
    """Whether an algorithm counts in the jiffies of its host (``[stack] hz``); not where the engine cannot build it."""
    return _counts_jiffies(algorithm, json.dumps(dict(parameters)))


@lru_cache(maxsize=1024)
def _counts_jiffies(algorithm: str, parameters_json: str) -> bool:
    return bool(engine().counts_jiffies(algorithm, parameters_json))


def routers() -> set[str]:
    """The queue disciplines that some algorithm needs."""
    return {entry["router"] for entry in algorithms().values() if entry["router"] is not None}


def spellings(entries: dict[str, Descriptor]) -> list[str]:
    """Every name that may be written: ``cubic``, and ``cubic:2005`` for a preset."""
    names: list[str] = []
    for name, entry in entries.items():
        names.append(name)
        for preset in entry.get("presets", []):
            label = str(preset["name"])
            if label and label != name:
                names.append(f"{name}:{label}")
    return names


def check_name(spec: str, entries: dict[str, Descriptor], article: str) -> Descriptor:
    """The descriptor that ``name`` or ``name:preset`` stands for.

    Raises:
        ScenarioError: no such name or preset; the nearest one is named.
    """
    name, colon, _ = spec.partition(":")
    known = spellings(entries)
    if spec in known:
        return entries[name]
    if colon and name in entries:
        presets = [word for word in known if word.startswith(f"{name}:")]
        if not presets:
            raise ScenarioError(f"'{spec}': {name} has no presets; write '{name}'")
        raise ScenarioError(f"'{spec}' is not a preset of {name}; {hint(spec, presets)}")
    raise ScenarioError(f"'{spec}' is not {article}; {hint(spec, known, lister=_LISTERS.get(article, ''))}")


def check_parameter(entry: Descriptor, name: str, value: object) -> None:
    """One parameter of an algorithm or a queue, by its declared type, bounds and choices.

    Raises:
        ScenarioError: not a parameter of it, the wrong type, or out of bounds.
    """
    declared = {parameter["name"]: parameter for parameter in entry.get("parameters", [])}
    if name not in declared:
        raise ScenarioError(f"not a parameter of {entry['name']}; {hint(name, declared)}")
    parameter = declared[name]
    default, choices = parameter.get("default"), parameter.get("choices")
    if choices:
        if value not in choices:
            raise ScenarioError(f"{value!r} is not one of its values; {hint(str(value), map(str, choices))}")
        return
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ScenarioError(f"{value!r} is neither true nor false")
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScenarioError(f"{value!r} is not a number")
    low, high = parameter.get("min"), parameter.get("max")
    too_low = low is not None and value < low
    too_high = high is not None and value > high
    if too_low or too_high or value != value or abs(value) == float("inf"):
        bounds = _bounds(low, high)
        unit = f" {parameter['unit']}" if parameter.get("unit") else ""
        raise ScenarioError(f"{value} is not allowed; it must be {bounds}{unit}")


def _bounds(low: float | None, high: float | None) -> str:
    if low is None:
        return "a finite number" if high is None else f"at most {high:g}"
    return f"at least {low:g}" if high is None else f"from {low:g} to {high:g}"
