"""Reader of the models of the Rust crate netem-trace as JSON: bandwidths and delays over time.

Models without random numbers are read: static, sawtooth, a list of values (``TraceBwConfig``), and repeated patterns.
Quantities are as the crate writes them, with its feature ``human`` (``"12Mbps"``, ``"1s"``) or without
(``{"gbps": 0, "bps": 12000000}``, ``{"secs": 1, "nanos": 0}``). A model with random numbers is refused, because its
draws are those of one version of a generator of Rust.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from elephan.scenario.errors import ScenarioError
from elephan.scenario.units import MAX_RATE_BPS, MAX_TIME_PS, PS_PER_S
from elephan.scenario.words import hint

Step = tuple[int, int]
"""A value in bit/s or ps, and the time for which it holds in ps; in a course, its time and the value."""
MOST_STEPS = 1_000_000
_MOST_DEPTH = 32
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Zµμ/]+)")
_TIMES = {
    **dict.fromkeys(("nsec", "ns"), 10**3),
    **dict.fromkeys(("usec", "us", "µs", "μs"), 10**6),
    **dict.fromkeys(("msec", "ms"), 10**9),
    **dict.fromkeys(("seconds", "second", "sec", "s"), PS_PER_S),
    **dict.fromkeys(("minutes", "minute", "min", "mins", "m"), 60 * PS_PER_S),
    **dict.fromkeys(("hours", "hour", "hr", "hrs", "h"), 3600 * PS_PER_S),
}
_RATES = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
_RANDOM = "has random numbers, which only one version of Rust's generator draws; write its values as TraceBwConfig"


def course(quantity: str, name: str, text: str) -> tuple[tuple[Step, ...], int, bool]:
    """The times and values of a model, their length in ps, and true for a pattern that repeats for ever.

    Raises:
        ScenarioError: the text is no such model; the message names the file.
    """
    rows: list[tuple[int, int]] = []
    endless: list[bool] = []
    end = 0
    try:
        model = json.loads(text)
        for value, length in _steps(quantity, model, 0, endless):
            if len(rows) == MOST_STEPS or end > MAX_TIME_PS - length:
                raise ScenarioError(f"it has more than {MOST_STEPS:,} steps, or lasts too long")
            if not rows or rows[-1][1] != value:
                rows.append((end, value))
            end += length
    except ScenarioError as error:
        raise ScenarioError(f"'{name}': {error.message}") from None
    except (ValueError, RecursionError):
        raise ScenarioError(f"'{name}' is not JSON") from None
    if not rows:
        raise ScenarioError(f"'{name}': the model has no values")
    return tuple(rows), end, bool(endless)


def is_model(text: str) -> bool:
    """True for JSON whose only key is a model of a bandwidth; a text that is no JSON counts as one if it begins so."""
    return re.match(rf'\s*\{{\s*"({"|".join((*_BANDWIDTHS, "RepeatedBwPatternConfig"))})"', text) is not None


def _steps(quantity: str, model: Any, depth: int, endless: list[bool]) -> Iterator[Step]:
    if depth > _MOST_DEPTH:
        raise ScenarioError("its patterns are nested too deeply")
    if not isinstance(model, dict) or len(model) != 1:
        raise ScenarioError("a model is a table with one key, such as StaticBwConfig")
    ((kind, fields),) = model.items()
    known = _BANDWIDTHS if quantity == "rate" else _DELAYS
    pattern = "RepeatedBwPatternConfig" if quantity == "rate" else "RepeatedDelayPatternConfig"
    if kind == pattern:
        yield from _repeated(quantity, _table(fields, kind), depth, endless)
    elif kind in known:
        yield from known[kind](fields)
    else:
        raise ScenarioError(f"'{kind}' is not a model of a {quantity} over time; {hint(str(kind), (*known, pattern))}")


def _repeated(quantity: str, fields: Mapping[str, Any], depth: int, endless: list[bool]) -> Iterator[Step]:
    pattern, count = fields.get("pattern", []), fields.get("count", 0)
    if not isinstance(pattern, list) or not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ScenarioError("a repeated pattern has a list of models, and a count that is not below 0")
    for _ in range(count or 1):
        any_step = False
        for model in pattern:
            for step in _steps(quantity, model, depth + 1, endless):
                any_step = True
                yield step
            if endless:
                return
        if not any_step:
            return
    # A pattern that repeats for ever is the last that is reached, so its end is the period of the file.
    if count == 0:
        endless.append(True)


def _static(key: str, parse: Callable[[Any], int], default: int) -> Callable[[Any], Iterator[Step]]:
    def steps(fields: Any) -> Iterator[Step]:
        table = _table(fields, "a static model")
        length = _time(table["duration"]) if table.get("duration") is not None else PS_PER_S
        if length:
            yield parse(table[key]) if table.get(key) is not None else default, length

    return steps


def _normalized(fields: Any) -> Iterator[Step]:
    table = _table(fields, "NormalizedBwConfig")
    if table.get("std_dev") is not None and _rate(table["std_dev"]) > 0:
        raise ScenarioError(f"NormalizedBwConfig {_RANDOM}")
    rate = _or(table, "mean", _rate, 12_000_000)
    rate = min(max(rate, _or(table, "lower_bound", _rate, 0)), _or(table, "upper_bound", _rate, MAX_RATE_BPS))
    length = _or(table, "duration", _time, PS_PER_S)
    if length:
        yield rate, length


def _sawtooth(fields: Any) -> Iterator[Step]:
    table = _table(fields, "SawtoothBwConfig")
    if table.get("std_dev") is not None and _rate(table["std_dev"]) > 0:
        raise ScenarioError(f"SawtoothBwConfig {_RANDOM}")
    bottom, top = _or(table, "bottom", _rate, 0), _or(table, "top", _rate, 12_000_000)
    interval, step = _or(table, "interval", _time, PS_PER_S), _or(table, "step", _time, 10**9)
    left, ratio = _or(table, "duration", _time, PS_PER_S), table.get("duty_ratio", 0.5)
    if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 <= ratio <= 1 or bottom > top:
        raise ScenarioError("a sawtooth has a duty_ratio from 0 to 1, and a bottom that is not above its top")
    if step == 0 or interval == 0:
        raise ScenarioError("a sawtooth has a step and an interval above 0")
    at, turn = 0, interval * ratio
    while left:
        up = at < turn
        share = at / turn if up else (at - turn) / (interval - turn)
        length = min(step, left)
        yield round(bottom + (top - bottom) * share if up else top - (top - bottom) * share), length
        left -= length
        at += length
        at -= interval if at >= interval else 0


def _listed(fields: Any) -> Iterator[Step]:
    if not isinstance(fields, list):
        raise ScenarioError("TraceBwConfig is a list of a duration and its bandwidths")
    for item in fields:
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[1], list):
            raise ScenarioError("TraceBwConfig is a list of a duration and its bandwidths")
        length = _time(item[0]) if isinstance(item[0], str) else _scaled(item[0], 10**9, MAX_TIME_PS, "a time in ms")
        for given in item[1]:
            rate = _rate(given) if isinstance(given, str) else _scaled(given, 10**6, MAX_RATE_BPS, "a rate in Mbit/s")
            if length:
                yield rate, length


def _table(fields: Any, kind: str) -> Mapping[str, Any]:
    if not isinstance(fields, dict):
        raise ScenarioError(f"the fields of {kind} are a table")
    return fields


def _or(table: Mapping[str, Any], key: str, parse: Callable[[Any], int], default: int) -> int:
    return default if table.get(key) is None else parse(table[key])


def _rate(given: Any) -> int:
    if isinstance(given, dict) and set(given) == {"gbps", "bps"}:
        parts = given["gbps"], given["bps"]
        if all(isinstance(part, int) and not isinstance(part, bool) and part >= 0 for part in parts):
            return _bounded(parts[0] * 10**9 + parts[1], MAX_RATE_BPS, given)
    return _spelled(given, _RATES, MAX_RATE_BPS, "a bandwidth")


def _time(given: Any) -> int:
    if isinstance(given, dict) and set(given) == {"secs", "nanos"}:
        parts = given["secs"], given["nanos"]
        if all(isinstance(part, int) and not isinstance(part, bool) and part >= 0 for part in parts):
            return _bounded(parts[0] * PS_PER_S + parts[1] * 1000, MAX_TIME_PS, given)
    return _spelled(given, _TIMES, MAX_TIME_PS, "a duration")


def _spelled(given: Any, units: Mapping[str, int], most: int, noun: str) -> int:
    """A text of amounts with units, which are added: ``"1s 500ms"``."""
    text = given if isinstance(given, str) and len(given) <= 100 else ""
    found = list(_AMOUNT.finditer(text))
    if not found or _AMOUNT.sub("", text).strip() or any(match[2] not in units for match in found):
        raise ScenarioError(f"{str(given)[:40]!r} is not {noun}, such as {'12Mbps' if units is _RATES else '100ms'}")
    return _bounded(int(sum(Decimal(match[1]) * units[match[2]] for match in found)), most, given)


def _scaled(given: Any, factor: int, most: int, noun: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= most / factor:
        raise ScenarioError(f"{str(given)[:40]!r} is not {noun}")
    return round(given * factor)


def _bounded(value: int, most: int, given: Any) -> int:
    if value > most:
        raise ScenarioError(f"{str(given)[:40]!r} is too large")
    return value


_BANDWIDTHS: dict[str, Callable[[Any], Iterator[Step]]] = {
    "StaticBwConfig": _static("bw", _rate, 12_000_000),
    "NormalizedBwConfig": _normalized,
    "SawtoothBwConfig": _sawtooth,
    "TraceBwConfig": _listed,
}
_DELAYS: dict[str, Callable[[Any], Iterator[Step]]] = {"StaticDelayConfig": _static("delay", _time, 10**10)}
