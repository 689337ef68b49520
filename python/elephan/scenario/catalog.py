"""Catalog of the engine's algorithms and queue disciplines with their parameters.

Algorithms and queues are declared only in the engine; this module reads the declarations once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

from elephan.scenario import transports
from elephan.scenario.errors import ScenarioError, join_path
from elephan.scenario.units import PS_PER_S, format_rate, format_size, format_time
from elephan.scenario.words import hint

_LISTERS = {"an algorithm": "elephan list algorithms", "a queue discipline": "elephan list queues"}

Descriptor = dict[str, Any]
Parameter = float | bool | str


class EngineMissingError(RuntimeError):
    """The compiled engine is missing: the package was not built."""

    def __init__(self) -> None:
        super().__init__("the engine is not built; run 'make setup' in the source tree")


@cache
def engine() -> Any:
    """The compiled engine module.

    Raises:
        EngineMissingError: the engine is not built.
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
    """The queue disciplines of the engine by name, in the same form as the algorithms."""
    return {name: entry for name, entry in all_queues().items() if entry["backend"] is None}


@lru_cache(maxsize=1)
def all_queues() -> dict[str, Descriptor]:
    """The queue disciplines of the engine, followed by the disciplines that only one backend has, such as
    ``linux:codel``."""
    return {entry["name"]: entry for entry in json.loads(engine().queues())}


OF_THE_USER = frozenset(("fixed", "expression", "policy"))
"""Algorithms whose rule is a parameter: a window, formulas, a network. Surveys of the algorithms leave them out."""


def queue_of(spec: str) -> tuple[str, str]:
    """The name and the preset of a discipline from ``name`` or ``name:preset``; ``linux:codel`` is a name without a
    preset."""
    if spec in all_queues():
        return spec, ""
    name, _, preset = spec.partition(":")
    return name, preset


def backend_of_queue(kind: str) -> str | None:
    """The only backend that has a queue discipline; ``None`` if it is not limited to one backend."""
    entry = all_queues().get(kind)
    return None if entry is None else entry["backend"]


def default(entry: Descriptor, name: str) -> Any:
    """The declared default of a parameter; ``None`` if it is derived from other values or must be given."""
    return next(parameter["default"] for parameter in entry["parameters"] if parameter["name"] == name)


def parameter_row(parameter: Descriptor) -> dict[str, str]:
    """The row of a parameter in a list of parameters. Values of a duration include the unit."""
    low, high, unit = parameter.get("min"), parameter.get("max"), parameter.get("unit", "")
    allowed = ", ".join(parameter.get("choices", []))
    if low is not None or high is not None:
        allowed = f"{_shown(parameter, low, 'unlimited')} to {_shown(parameter, high, 'unlimited')}"
    missing = "required" if parameter.get("required") else parameter.get("derived") or ""
    return {
        "parameter": parameter["name"],
        "type": parameter.get("type", ""),
        "default": _shown(parameter, parameter.get("default"), missing),
        "allowed": allowed,
        "unit": "" if parameter.get("type") in ("duration", "rate", "size") else unit,
        "what": parameter["doc"],
        "source": parameter["source"],
    }


def variable_row(variable: Descriptor) -> dict[str, str]:
    """The row of an internal variable in a list of variables."""
    states = ", ".join(f"{place} {state}" for place, state in enumerate(variable["states"]))
    return {"variable": variable["name"], "unit": variable["unit"], "states": states, "what": variable["doc"]}


def _shown(parameter: Descriptor, value: Any, missing: str) -> str:
    """A default or a bound as text."""
    if value is None:
        return missing
    if parameter.get("type") == "duration":
        return format_time(round(value * PS_PER_S))
    if parameter.get("type") in ("rate", "size"):
        return (format_rate if parameter["type"] == "rate" else format_size)(round(value))
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def router(algorithm: str) -> str | None:
    """The queue discipline that the routers on an algorithm's path must have; ``None`` if every discipline is
    suitable."""
    entry = algorithms().get(algorithm.partition(":")[0])
    return None if entry is None else entry["router"]


def counts_jiffies(algorithm: str, parameters: Mapping[str, float | bool | str]) -> bool:
    """True if an algorithm counts in the jiffies of its host (``[stack] hz``); false if the engine cannot build it."""
    return _counts_jiffies(algorithm, tuple(parameters.items()))


@lru_cache(maxsize=1024, typed=True)
def _counts_jiffies(algorithm: str, parameters: tuple[tuple[str, Parameter], ...]) -> bool:
    return bool(engine().counts_jiffies(algorithm, dict(parameters)))


def routers() -> set[str]:
    """The queue disciplines that some algorithm needs."""
    return {entry["router"] for entry in algorithms().values() if entry["router"] is not None}


def _presets(entry: Descriptor) -> list[str]:
    """The named presets of an entry."""
    return [str(preset["name"]) for preset in entry.get("presets", []) if preset["name"]]


def spellings(entries: dict[str, Descriptor]) -> list[str]:
    """Every valid name, including presets: ``cubic``, ``cubic:2005``."""
    names: list[str] = []
    for name, entry in entries.items():
        names += [name, *(f"{name}:{label}" for label in _presets(entry) if label != name)]
    return names


def check_name(spec: str, entries: dict[str, Descriptor], article: str) -> Descriptor:
    """The descriptor that ``name`` or ``name:preset`` refers to.

    Raises:
        ScenarioError: there is no such name or preset; the message has the most similar name.
    """
    if article == "an algorithm":
        entries = entries | transports.listing()
    if spec in entries:
        return entries[spec]
    name, colon, label = spec.partition(":")
    if name in entries and (not colon or (label != name and label in _presets(entries[name]))):
        return entries[name]
    known = spellings(entries)
    if colon and name in entries:
        presets = [word for word in known if word.startswith(f"{name}:")]
        if not presets:
            raise ScenarioError(f"'{spec}': {name} has no presets; write '{name}'")
        raise ScenarioError(f"'{spec}' is not a preset of {name}; {hint(spec, presets)}")
    raise ScenarioError(f"'{spec}' is not {article}; {hint(spec, known, lister=_LISTERS.get(article, ''))}")


def check_parameters(algorithm: str, parameters: Mapping[str, Parameter]) -> None:
    """Check an algorithm's parameters against the engine's declarations.

    Raises:
        ScenarioError: a parameter is unknown, has a wrong type or is out of bounds, or two of them conflict; the
            message has the field.
    """
    if transports.backend_of(algorithm) is not None:
        transports.check_parameters(algorithm, parameters)
    else:
        _check_parameters(algorithm, tuple(parameters.items()))


# Results are cached, since thousands of flows and links may have the same parameters. An error for wrong parameters is
# not cached.
@lru_cache(maxsize=1024, typed=True)
def _check_parameters(algorithm: str, parameters: tuple[tuple[str, Parameter], ...]) -> None:
    with _told("parameters", "algorithm"):
        engine().check_parameters(algorithm, dict(parameters))


def queue_form(kind: str, given: Mapping[str, Any], rate_bps: int, packet_bytes: int) -> dict[str, Any]:
    """The parameters of a queue in the canonical form, defaults included; durations are given in ps, amounts as pairs.

    Raises:
        ScenarioError: the errors of :func:`check_parameters`.
    """
    return dict(_queue_form(kind, tuple(given.items()), rate_bps, packet_bytes))


@lru_cache(maxsize=1024, typed=True)
def _queue_form(kind: str, given: tuple[tuple[str, Any], ...], rate_bps: int, packet_bytes: int) -> dict[str, Any]:
    with _told("queue_parameters", "queue"):
        return dict(json.loads(engine().queue_form(kind, dict(given), rate_bps, packet_bytes)))


@contextmanager
def _told(table: str, owner: str) -> Iterator[None]:
    """Convert the engine's error about a parameter to an error that names the field."""
    try:
        yield
    except engine().ParameterError as error:
        name, message = error.args
        raise ScenarioError(message, path=owner if name is None else join_path(table, name)) from None
