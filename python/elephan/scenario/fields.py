"""Parsers and writers of the scenario's fields, and the types of these fields; parse errors name the field."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

from elephan.scenario import channels, losses, own, timed, traces, units, writes
from elephan.scenario.errors import ScenarioError
from elephan.scenario.losses import Loss
from elephan.scenario.stacks import HOST_RULES
from elephan.scenario.units import Amount, Buffer
from elephan.scenario.words import hint, listed, nearest

T = TypeVar("T")


def reported(parse: Callable[[Any], T]) -> Callable[[Any], T]:
    """``parse`` with its errors converted to the form in which pydantic reports the field."""

    def validate(value: Any) -> T:
        try:
            return parse(value)
        except ScenarioError as error:
            where = f"{error.path}: " if error.path else ""
            raise PydanticCustomError("elephan", "{line}", {"line": where + error.message}) from error

    return validate


def parsed(parse: Callable[[Any], Any]) -> BeforeValidator:
    """The validator of a field whose text ``parse`` reads."""
    return BeforeValidator(reported(parse))


def one_of(words: tuple[str, ...], noun: str) -> Callable[[Any], str]:
    """A parser of one word out of ``words``; ``noun`` names the word in the error message."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ScenarioError(f"{value!r} is not {noun}; {hint(str(value), words)}")
        return value

    return parse


def chosen(words: tuple[str, ...], noun: str) -> BeforeValidator:
    """The validator of a field with one word out of ``words``."""
    return parsed(one_of(words, noun))


def parse_rules(value: Any) -> tuple[str, ...]:
    """The rules of Linux that a host lacks: one name, or a list of names; in the order in which the engine lists them.

    Raises:
        ScenarioError: there is no such rule.
    """
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise ScenarioError(f"{value!r} is not a list of rules; write for example [{HOST_RULES[0]!r}]")
    parse = one_of(HOST_RULES, "a rule of Linux that a host may lack")
    given = {parse(name) for name in names}
    return tuple(rule for rule in HOST_RULES if rule in given)


def limited(noun: str) -> Callable[[Any], Amount | str]:
    """A parser of an amount or "unlimited"."""

    def parse(value: Any) -> Amount | str:
        if isinstance(value, str) and value.strip().casefold() == units.UNLIMITED:
            return units.UNLIMITED
        return units.parse_amount(value, noun, "10 segments")

    return parse


def whole_number(low: int, high: int, noun: str) -> Callable[[Any], int]:
    """A parser of a whole number from ``low`` to ``high``."""

    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ScenarioError(f"{value!r} is not {noun}; it is a whole number from {low} to {high}")
        if not low <= value <= high:
            raise ScenarioError(f"{value} is not {noun}; it is a whole number from {low} to {high}")
        return value

    return parse


def counted(low: int, high: int, noun: str) -> BeforeValidator:
    """The validator of a field with a whole number from ``low`` to ``high``."""
    return parsed(whole_number(low, high, noun))


parse_seed = whole_number(0, 2**63 - 1, "a seed")


def parse_burst(value: Any) -> int | str:
    """Number of segments sent after one ACK, or "unlimited"."""

    if isinstance(value, str) and value.strip().casefold() == units.UNLIMITED:
        return units.UNLIMITED
    return whole_number(1, 10**6, 'a number of segments (or "unlimited")')(value)


RECORD_ALL, RECORD_QUANTILES = "all", "quantiles"
MOST_FLOWS = 10**7
"""Largest number of flows of a group, and of a scenario."""
MOST_SEGMENTS = 2**32 - 1 - 2**29
"""Largest number of segments of a flow, which the engine has numbers for."""


def parse_record(value: Any) -> int | str:
    """Recorded flows: "all", "quantiles", or a number of flows of each group."""

    words = (RECORD_ALL, RECORD_QUANTILES)
    if isinstance(value, str):
        if value.strip().isdecimal():
            raise ScenarioError(f"{value!r} is a text; write the number of flows without quotes: {int(value)}")
        if value in words:
            return value
        near = nearest(value, words)
        allowed = f"did you mean {near!r}?" if near else f"it is {listed(map(repr, words))}, or a number of flows"
        raise ScenarioError(f"{value!r} is not a valid record; {allowed}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise ScenarioError(f"{value!r} is not a valid record; it is {listed(map(repr, words))}, or a number of flows")
    if value < 1:
        raise ScenarioError(f'{value} flows cannot be recorded; write "{RECORD_QUANTILES}" for none, or at least 1')
    return whole_number(1, MOST_FLOWS, "a number of flows to record")(value)


def parse_shape(value: Any) -> float:
    """The shape of a Pareto distribution with a finite mean."""

    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 < value <= 100:
        raise ScenarioError(f"{value!r} is not a shape; it is a number above 1, or there is no mean, and at most 100")
    return float(value)


def parse_switch(value: Any) -> bool:
    """True or false; no other value is accepted."""

    if not isinstance(value, bool):
        raise ScenarioError(f"{value!r} is neither true nor false")
    return value


def printable(noun: str) -> Callable[[Any], str]:
    """A parser of a text that can be printed; ``noun`` names the text in the error message."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise ScenarioError(f"{value!r} is not {noun}; write it in quotes")
        return value

    return parse


def dump_samples(samples: tuple[int, ...]) -> list[str]:
    """Delays in the form of a scenario file."""

    return [units.format_time(sample) for sample in samples]


Rate = Annotated[int, parsed(units.parse_rate), PlainSerializer(units.format_rate)]
Time = Annotated[int, parsed(units.parse_time), PlainSerializer(units.format_time)]
PositiveTime = Annotated[int, parsed(units.parse_positive_time), PlainSerializer(units.format_time)]
Offset = Annotated[int, parsed(units.parse_offset), PlainSerializer(units.format_offset)]
Drift = Annotated[int, parsed(units.parse_drift), PlainSerializer(units.format_drift)]
Size = Annotated[int, parsed(units.parse_size), PlainSerializer(units.format_size)]
BufferSize = Annotated[Buffer, parsed(units.parse_buffer), PlainSerializer(str)]
Data = Annotated[Amount, parsed(units.parse_amount), PlainSerializer(str)]
Window = Annotated[Amount, parsed(lambda v: units.parse_amount(v, "a window", "10 segments")), PlainSerializer(str)]
WindowLimit = Annotated[Amount | str, parsed(limited("a window")), PlainSerializer(str)]
LossModel = Annotated[Loss, parsed(losses.parse_loss), PlainSerializer(losses.dump_loss)]
Share = Annotated[float, parsed(units.parse_share)]
StepRate = Annotated[int, parsed(units.parse_step_rate), PlainSerializer(units.format_rate)]
Trace = Annotated[tuple[int, ...], parsed(traces.parse_rate_trace)]
Samples = Annotated[tuple[int, ...], parsed(traces.parse_samples), PlainSerializer(dump_samples)]
RateTable = Annotated[
    timed.TimedTable | None,
    parsed(timed.parse_rate_table),
    PlainSerializer(partial(timed.dump_table, units.format_rate)),
]
DelayTable = Annotated[
    timed.TimedTable | None,
    parsed(timed.parse_delay_table),
    PlainSerializer(partial(timed.dump_table, units.format_time)),
]
Writes = Annotated[tuple[writes.Write, ...], parsed(writes.parse_writes), PlainSerializer(writes.dump_writes)]
Record = Annotated[int | str, parsed(parse_record)]
_interrupts = whole_number(1, 10**6, "a number of timer interrupts per second")
Interrupts = Annotated[int, parsed(_interrupts)]
Switch = Annotated[bool, parsed(parse_switch)]
Name = Annotated[str, parsed(printable("a name"))]
Text = Annotated[str, parsed(printable("a text"))]


def parse_parameters(value: Any) -> dict[str, float | bool | str]:
    """The parameters of an algorithm or a queue: numbers, switches and words by name."""

    if not isinstance(value, dict):
        raise ScenarioError(f"{value!r} is not a table; write for example {{ beta = 0.7 }}")
    for name, given in value.items():
        if not isinstance(given, bool | int | float | str):
            raise ScenarioError(f"{given!r} is not a number, a switch or a word", path=str(name))
    return dict(value)


def parse_environment(value: Any) -> dict[str, str]:
    """Environment variables: names with texts."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ScenarioError(f'{value!r} is not a table of texts; write for example {{ RUST_LOG = "info" }}')
    for name, text in value.items():
        if not name or "=" in name or "\0" in name + text:
            raise ScenarioError(f"{name!r} is not the name of an environment variable with a text")
    return dict(value)


def parse_files(value: Any) -> tuple[str, ...]:
    """Files and folders that exist, as absolute paths."""
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ScenarioError(f'{value!r} is not a list of files; write for example ["./certificates"]')
    for name in value:
        if not Path(name).exists():
            raise ScenarioError(f"'{name}': no such file or folder")
    return tuple(str(Path(name).absolute()) for name in value)


def parse_algorithm(value: Any) -> str:
    """Returns a built-in name unchanged, and a user-defined algorithm with the hash of its present source."""
    return printable("a name")(own.pin(value))


@dataclass(frozen=True)
class Channel:
    """A radio channel: a model, a seed of its own, and the parameters that differ from their defaults."""

    model: str
    seed: int = 1
    given: channels.Parameters = ()


_CHANNEL_EXAMPLE = '{ model = "leo", seed = 1 }'
_AMOUNT = re.compile(r"\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(\S.*?)\s*")


def parse_channel(value: Any) -> Channel:
    """A channel's table: its model, its seed and its parameters with their units."""

    if isinstance(value, Channel):
        return value
    if not isinstance(value, dict):
        raise ScenarioError(f"{value!r} is not a channel; write for example {_CHANNEL_EXAMPLE}")
    table = {str(name): given for name, given in value.items()}
    if "model" not in table:
        raise ScenarioError(f"missing; write for example {_CHANNEL_EXAMPLE}", path="model")
    model = table.pop("model")
    if not isinstance(model, str) or model not in channels.MODELS:
        raise ScenarioError(f"{model!r} is not a channel; {hint(str(model), channels.MODELS)}", path="model")
    try:
        seed = parse_seed(table.pop("seed", 1))
    except ScenarioError as error:
        raise error.located(path="seed") from None
    known = channels.MODELS[model].parameters
    for name in table:
        if name not in known:
            raise ScenarioError(f"not a parameter of {model}; {hint(name, ('seed', *known))}", path=name)
    found = sorted((name, _channel_value(name, given, known[name])) for name, given in table.items())
    given = tuple((name, number) for name, number in found if number != known[name].default)
    if (at := channels.values(model, given)).get("low", 0) > at.get("high", 0):
        raise ScenarioError(f"{at['low']:g} Mbit/s is more than high, {at['high']:g} Mbit/s", path="low")
    return Channel(model, seed, given)


def _channel_value(name: str, given: Any, known: channels.Parameter) -> float:
    found = _AMOUNT.fullmatch(given) if isinstance(given, str) else None
    number: float | None = None
    if found and found[2] == known.unit:
        with suppress(ValueError):
            number = float(found[1])
    elif found and known.unit in ("s", "ms"):
        number = units.parse_time(given) / (units.PS_PER_S if known.unit == "s" else units.PS_PER_S / 1000)
    elif found and known.unit == "Mbit/s":
        number = units.parse_rate(given) / 1e6
    if number is None or not known.low <= number <= known.high:
        allowed = f"it is from {known.low:g} {known.unit} to {known.high:g} {known.unit}"
        raise ScenarioError(f"{given!r} is not {known.text.partition(';')[0]}; {allowed}", path=name)
    return number


def dump_channel(channel: Channel | None) -> dict[str, Any] | None:
    """A channel in the form of a scenario file."""

    if channel is None:
        return None
    known = channels.MODELS[channel.model].parameters
    given = {name: f"{number!r} {known[name].unit}" for name, number in channel.given}
    return {"model": channel.model, "seed": channel.seed} | given


ChannelChoice = Annotated[Channel | None, parsed(parse_channel), PlainSerializer(dump_channel)]
QueueParameters = Annotated[dict[str, Any], parsed(parse_parameters)]


MOST_LOAD = 10
"""Largest load, as a fraction of the link's rate. A load above 1 is allowed, although the link cannot carry such a
load."""


def parse_load(value: Any) -> float | int:
    """A fraction of a link's rate as a float, or a rate in bit/s as an integer."""

    if not isinstance(value, str) or not value.strip().endswith("%"):
        return units.parse_rate(value)
    share = units.parse_percentage(value)
    if not 0 < share <= MOST_LOAD:
        raise ScenarioError(f"'{value}' is not a load; it is above 0% and at most {100 * MOST_LOAD}%")
    return share


def dump_load(load: float | int) -> str:
    """A load in the form of a scenario file."""

    return f"{load * 100:.12g}%" if isinstance(load, float) else units.format_rate(load)


def parse_weibull(value: Any) -> float:
    """The shape of a Weibull distribution."""

    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.1 <= value <= 100:
        raise ScenarioError(f"{value!r} is not a shape of a Weibull distribution here; it is from 0.1 to 100")
    return float(value)


def parse_frequency(value: Any) -> float:
    """Transfers per second."""

    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e9:
        raise ScenarioError(f"{value!r} is not a number of transfers per second; it is above 0 and at most 1e9")
    return float(value)


def finite(low: float, high: float) -> Callable[[Any], float]:
    """A parser of a number from ``low`` to ``high``."""

    def parse(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ScenarioError(f"{value!r} is not allowed; it is a number from {low:g} to {high:g}")
        return float(value)

    return parse


def parse_rtts(value: Any) -> str | tuple[tuple[float, int], ...]:
    """The RTTs of transfers: a word or a file's name unchanged, or pairs of a cumulative probability and an RTT in
    ps."""

    if isinstance(value, str):
        return value
    example = '[[0, "20 ms"], [0.5, "60 ms"], [1, "200 ms"]]'
    if not isinstance(value, list | tuple) or not all(isinstance(row, list | tuple) and len(row) == 2 for row in value):
        raise ScenarioError(f"{value!r} is not a distribution of round-trip times; write for example {example}")
    # Integers are values in ps of a scenario that is already parsed; a scenario file has lists, and times with units.
    read_before = isinstance(value, tuple)
    rows = [
        (share, rtt if read_before and isinstance(rtt, int) else units.parse_positive_time(rtt)) for share, rtt in value
    ]
    shares = [share for share, _ in rows]
    numbers = all(
        isinstance(share, int | float) and not isinstance(share, bool) and math.isfinite(share) for share in shares
    )
    if not numbers or not shares or shares[0] != 0 or shares[-1] != 1 or sorted(set(shares)) != shares:
        raise ScenarioError(f"the shares {shares} do not rise from 0 to 1; write for example {example}")
    if sorted(rtt for _, rtt in rows) != [rtt for _, rtt in rows]:
        raise ScenarioError(f"the round-trip times fall; write for example {example}")
    return tuple((float(share), rtt) for share, rtt in rows)


def dump_rtts(rtts: str | tuple[tuple[float, int], ...]) -> Any:
    """RTTs in the form of a scenario file."""

    return rtts if isinstance(rtts, str) else [[share, units.format_time(rtt)] for share, rtt in rtts]


def parse_transfers(value: Any) -> tuple[tuple[int, int, int | None], ...]:
    """Transfers one by one: start in ps, size in bytes, RTT in ps or none."""

    example = '[["0 s", "10 MB"], ["2 s", "1 MB", "80 ms"]]'
    rows = value if isinstance(value, list | tuple) else []
    if not rows or not all(isinstance(row, list | tuple) and 2 <= len(row) <= 3 for row in rows):
        raise ScenarioError(f"{value!r} is not a list of transfers; write for example {example}")
    return tuple(_transfer(*row) for row in rows)


def _transfer(start: Any, size: Any, rtt: Any = None) -> tuple[int, int, int | None]:
    return units.parse_time(start), units.parse_size(size), None if rtt is None else units.parse_positive_time(rtt)


def dump_transfers(transfers: tuple[tuple[int, int, int | None], ...]) -> list[list[str]]:
    """Transfers in the form of a scenario file."""

    return [
        [units.format_time(start), units.format_size(size), *([] if rtt is None else [units.format_time(rtt)])]
        for start, size, rtt in transfers
    ]


def parse_hops(value: Any) -> tuple[int, int]:
    """The first and the last hop, counted from 1."""

    pair = [value, value] if isinstance(value, int) else value
    whole = isinstance(pair, list | tuple) and all(isinstance(hop, int) and not isinstance(hop, bool) for hop in pair)
    if not whole or len(pair) != 2:
        raise ScenarioError(f"{value!r} is not a part of the row; write a hop (2) or the first and the last ([1, 3])")
    first, last = pair
    if not 1 <= first <= last:
        raise ScenarioError(f"{value!r} is not a part of the row; hops count from 1, the first is not after the last")
    return first, last
