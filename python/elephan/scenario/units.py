"""Quantities with units: conversion of a user's text (``622 Mbit/s``, ``48 ms``, ``20% BDP``) to exact integers, and
back.

Every quantity is an integer in a base unit: rates in bit/s, times in ps, sizes in bytes, counts in packets or segments.
The reason is that the engine's clock is an integer, and that the hash of a scenario must not depend on the spelling of
a number. Decimal prefixes are powers of ten; ``KiB``, ``MiB`` and ``GiB`` are the powers of two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import nearest

PS_PER_S = 10**12
MAX_TIME_PS = 2**62 - 1
MIN_RATE_BPS = 8
MAX_RATE_BPS = 100 * 10**12
MAX_BYTES = 2**62

RATE_UNITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12}
RATE_ALIASES = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
TIME_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": PS_PER_S, "min": 60 * PS_PER_S, "h": 3600 * PS_PER_S}
TIME_ALIASES = {"µs": 10**6, "μs": 10**6}
DRIFT_UNITS = {"ppb": 1, "ppm": 10**3}
MAX_DRIFT_PPB = 10**7
MAX_OFFSET_PS = 86_400 * PS_PER_S
SIZE_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE_ALIASES = {"KB": 10**3, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "byte": 1, "bytes": 1}
PACKET_UNITS = {"packets": 1}
PACKET_ALIASES = {"packet": 1, "pkts": 1, "pkt": 1}
SEGMENT_UNITS = {"segments": 1}
SEGMENT_ALIASES = {"segment": 1}
UNLIMITED = "unlimited"
OPPORTUNITY_BYTES = 1500
"""Number of bytes that one opportunity of a rate trace can carry."""

MAX_LETTERS = 100
"""Largest length of a quantity's text; a longer text is rejected before any computation."""

_MAX_EXPONENT = 60
_EXACT = Context(prec=400)
"""Number of digits that suffices for a number of `MAX_LETTERS` digits with any allowed exponent, multiplied by any
unit."""

_QUANTITY = re.compile(r"\s*(?P<number>[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>\S.*?)?\s*")


@dataclass(frozen=True)
class Buffer:
    """Limit of a queue; exactly one of the four attributes is set.

    Attributes:
        packets: maximum number of packets.
        octets: maximum number of bytes.
        bdp_share: fraction of the bandwidth-delay product, 0.2 for ``20% BDP``.
        unlimited: the queue never drops a packet.
    """

    packets: int | None = None
    octets: int | None = None
    bdp_share: Decimal | None = None
    unlimited: bool = False

    def __str__(self) -> str:
        if self.packets is not None:
            return f"{self.packets} packets"
        if self.octets is not None:
            return format_size(self.octets)
        if self.bdp_share is not None:
            return f"{plain_decimal(self.bdp_share * 100)}% BDP"
        return UNLIMITED


@dataclass(frozen=True)
class Amount:
    """A number of segments, or a number of bytes that is converted to segments by the stack's payload."""

    segments: int | None = None
    octets: int | None = None

    def __str__(self) -> str:
        return f"{self.segments} segments" if self.segments is not None else format_size(self.octets or 0)


def plain_decimal(value: Decimal) -> str:
    """Shortest decimal spelling without an exponent."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number(text: str) -> Decimal:
    """The exact value of a number; the work is bounded by its length and its exponent.

    Raises:
        ScenarioError: the text is not a number, has too many digits, or has an exponent beyond ±60.
    """
    if len(text) > MAX_LETTERS:
        raise ScenarioError(f"'{_short(text)}' has {len(text)} letters; a quantity has at most {MAX_LETTERS}")
    exponent = text.casefold().partition("e")[2].lstrip("+-").replace("_", "").lstrip("0")
    if len(exponent) > 2 or (exponent and int(exponent) > _MAX_EXPONENT):
        raise ScenarioError(f"'{text}' has an exponent beyond ±{_MAX_EXPONENT}, which no quantity here needs")
    try:
        return Decimal(text.replace("_", ""))
    except InvalidOperation:
        raise ScenarioError(f"'{text}' is not a number") from None


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:40]}…{text[-10:]}"


_NEVER_BELOW_ZERO = frozenset(("a time", "a rate", "a size", "a buffer", "a bit rate"))


def _scaled(
    value: object, what: str, example: str, units: dict[str, int], aliases: dict[str, int]
) -> tuple[Decimal, str]:
    """The quantity ``value`` in the base unit of ``units``, and the unit that was written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise ScenarioError(f'{shown(value)} is not {what}; write for example "{example}"')
    if not isinstance(value, str):
        below = "is below zero and " if value < 0 and what in _NEVER_BELOW_ZERO else ""
        raise ScenarioError(f'{value} {below}has no unit; write {what} such as "{example}"')
    if len(value) > MAX_LETTERS:
        raise ScenarioError(f"'{_short(value)}' has {len(value)} letters; {what} has at most {MAX_LETTERS}")
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise ScenarioError(f"'{value}' is not {what}; write for example \"{example}\"")
    number, unit = match["number"], match["unit"]
    if unit is None:
        raise ScenarioError(f"'{value}' has no unit; write {what} such as \"{example}\"")
    factor = units.get(unit, aliases.get(unit))
    if factor is None:
        raise ScenarioError(
            f"'{value}': '{unit}' is not a unit of {_noun(what)}; {_meant(number, unit, units, aliases)}"
        )
    return _EXACT.multiply(_number(number), factor), unit


_SYNONYMS = {
    "ns": ("nsec", "nanosecond", "nanoseconds"),
    "us": ("usec", "microsecond", "microseconds"),
    "ms": ("msec", "millisecond", "milliseconds"),
    "s": ("sec", "secs", "second", "seconds"),
    "min": ("mins", "minute", "minutes"),
    "h": ("hr", "hrs", "hour", "hours"),
}
_MEANT = {word: unit for unit, words in _SYNONYMS.items() for word in words}
_SHORTEST_TO_GUESS = 4
_DATA = re.compile(
    r"(?P<prefix>[kKmMgGtT]?)(?P<binary>i?)(?P<unit>bits?|bytes?|[bB])(?P<rate>\s*(?:/|per\s+)\s*(?:s|sec|second)|p/?s|PS)?",
)
_PERCENT = re.compile(r"(?:%|per\s?cent|pct)(?:\s+of(?:\s+the)?\s+bdp)?", re.IGNORECASE)


def _meant(number: str, unit: str, units: dict[str, int], aliases: dict[str, int]) -> str:
    """The end of the message about an unknown unit: the correct text if it is certain, or the allowed units.

    A suggestion never changes the value: bits and bytes are converted. A prefix alone, as in 10G, is that of the usual
    unit; any other unknown unit of one or two letters gets no suggestion.
    """
    if "% BDP" in units and _PERCENT.fullmatch(unit):
        return f"did you mean '{number}% BDP'?"
    converted = _converted(number, unit, units)
    if converted is not None:
        return converted
    known = units | aliases
    plain = unit.casefold()
    if plain in "kmgt" and ("bit/s" in units or "B" in units):
        power = plain if plain == "k" else plain.upper()
        return f"did you mean '{number} {power}{'bit/s' if 'bit/s' in units else 'B'}'?"
    if plain == "m" and "min" in units:
        return f"did you mean '{number} min' or '{number} ms'?"
    near = _MEANT.get(plain) if _MEANT.get(plain) in units else None
    alike = [word for word in known if word.casefold() == plain]
    if near is None and len({known[word] for word in alike}) == 1:
        near = alike[0]
    if near is None and len(unit) >= _SHORTEST_TO_GUESS:
        near = nearest(unit, units, value_of=units.get) or nearest(unit, aliases, value_of=aliases.get)
    return f"did you mean '{near}'?" if near else f"allowed: {', '.join(units)}"


def _converted(number: str, unit: str, units: dict[str, int]) -> str | None:
    """Converts bytes per second to a rate in bit/s, and bits to a size in bytes; the number is converted
    accordingly."""
    match = _DATA.fullmatch(unit)
    rate = "bit/s" in units
    if match is None or not (rate or "B" in units) or rate != bool(match["rate"]):
        return None
    power = "kmgt".find(match["prefix"].casefold()) + 1 if match["prefix"] else 0
    if match["binary"] and not power:
        return None
    scale = (1024 if match["binary"] else 1000) ** power
    letter = match["unit"]
    in_bytes = letter.startswith("byte") or letter == "B"
    try:
        written = _number(number)
    except ScenarioError:
        return None
    if rate:
        exact = _EXACT.multiply(written, scale * (8 if in_bytes else 1))
        if exact != exact.to_integral_value() or not MIN_RATE_BPS <= exact <= MAX_RATE_BPS:
            return None
        bits = format_rate(int(exact))
        if not in_bytes and any(word.casefold() == unit.casefold() for word in RATE_UNITS | RATE_ALIASES):
            return None
        if not in_bytes:
            return f"did you mean '{bits}'?"
        if unit.isupper() and not match["binary"] and "/" not in unit:
            return f"rates are in bits: write '{format_rate(int(exact) // 8)}', or '{bits}' for bytes"
        return f"rates are in bits: write '{bits}'"
    if in_bytes:
        return None
    exact = _EXACT.multiply(written, scale)
    octets = _EXACT.divide(exact, 8)
    if octets != octets.to_integral_value() or not 0 < octets <= MAX_BYTES:
        return None
    if letter == "b" and not unit.startswith(("M", "G", "T", "K")):
        # The unit kb is used for both bits and bytes.
        if exact != exact.to_integral_value():
            return None
        return f"sizes are in bytes: write '{format_size(int(exact))}', or '{format_size(int(octets))}' for bits"
    return f"sizes are in bytes: write '{format_size(int(octets))}'"


def _noun(what: str) -> str:
    return what.removeprefix("a ").removeprefix("an ")


def shown(value: object) -> str:
    """A user's value in a message, of at most 60 letters."""
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _whole(amount: Decimal, value: object, unit: str) -> int:
    if amount != amount.to_integral_value(context=_EXACT):
        raise ScenarioError(f"'{value}' is not a whole number of {unit}")
    return int(amount)


def _bounded(amount: int, value: object, low: int, high: int, low_text: str, high_text: str) -> int:
    if amount < low:
        raise ScenarioError(f"'{value}' is too small; it must be {low_text}")
    if amount > high:
        raise ScenarioError(f"'{value}' is too large; the limit is {high_text}")
    return amount


def parse_rate(value: object) -> int:
    """A link's rate in bit/s, from 8 bit/s to 100 Tbit/s.

    Raises:
        ScenarioError: the unit is missing or wrong, or the rate is not positive or not a whole number of bit/s.
    """
    scaled, _ = _scaled(value, "a rate", "622 Mbit/s", RATE_UNITS, RATE_ALIASES)
    return _bounded(_whole(scaled, value, "bit/s"), value, MIN_RATE_BPS, MAX_RATE_BPS, "at least 8 bit/s", "100 Tbit/s")


def parse_time(value: object) -> int:
    """A time of zero or more, in ps.

    Raises:
        ScenarioError: the unit is missing or wrong, or the time is negative, too long, or not a whole number of ps.
    """
    scaled, _ = _scaled(value, "a time", "48 ms", TIME_UNITS, TIME_ALIASES)
    return _bounded(_whole(scaled, value, "picoseconds"), value, 0, MAX_TIME_PS, "zero or more", "53 days")


def parse_positive_time(value: object) -> int:
    """A time above zero, in ps.

    Raises:
        ScenarioError: the errors of :func:`parse_time`, or the time is zero.
    """
    time_ps = parse_time(value)
    if time_ps == 0:
        raise ScenarioError(f"'{value}' is too small; it must be more than zero")
    return time_ps


def parse_offset(value: object) -> int:
    """Offset of a clock, in ps; negative if the clock is behind; at most a day.

    Raises:
        ScenarioError: the unit is missing or wrong, or the value is too large or not a whole number of ps.
    """
    scaled, _ = _scaled(value, "a time", "-3 ms", TIME_UNITS, TIME_ALIASES)
    whole = _whole(scaled, value, "picoseconds")
    return _bounded(whole, value, -MAX_OFFSET_PS, MAX_OFFSET_PS, "at most a day behind", "a day")


def parse_drift(value: object) -> int:
    """Clock skew, in 1e-9; negative for a slow clock; at most 1 %.

    Raises:
        ScenarioError: the unit is missing or wrong, or the value is too large or not a whole number of ppb.
    """
    scaled, _ = _scaled(value, "a drift", "50 ppm", DRIFT_UNITS, {})
    whole = _whole(scaled, value, "ppb")
    return _bounded(whole, value, -MAX_DRIFT_PPB, MAX_DRIFT_PPB, "at least -10000 ppm", "10000 ppm")


def parse_size(value: object) -> int:
    """A size of zero or more, in bytes.

    Raises:
        ScenarioError: the unit is missing or wrong, or the size is negative or not a whole number of bytes.
    """
    scaled, _ = _scaled(value, "a size", "1000 B", SIZE_UNITS, SIZE_ALIASES)
    return _bounded(_whole(scaled, value, "bytes"), value, 0, MAX_BYTES, "zero or more", "4 EiB")


def parse_buffer(value: object) -> Buffer:
    """A queue's limit: ``1555 packets``, ``2 MB``, ``20% BDP`` or ``unlimited``.

    Raises:
        ScenarioError: the unit is missing or unknown, or the amount is less than one packet or byte.
    """
    if isinstance(value, Buffer):
        return value
    if isinstance(value, str) and len(value) <= MAX_LETTERS:
        text = value.strip()
        if text.casefold() == UNLIMITED:
            return Buffer(unlimited=True)
        share = _bdp_share(text)
        if share is not None:
            if share <= 0:
                raise ScenarioError(f"'{value}' is too small; the smallest buffer is 1 packet")
            if share > 1000:
                raise ScenarioError(f"'{value}' is too large; the limit is 100000% BDP (or write \"unlimited\")")
            return Buffer(bdp_share=share)
    units = PACKET_UNITS | {"% BDP": 0} | SIZE_UNITS
    scaled, unit = _scaled(value, "a buffer", "1555 packets", units, PACKET_ALIASES | SIZE_ALIASES)
    if unit in PACKET_UNITS or unit in PACKET_ALIASES:
        count = _whole(scaled, value, "packets")
        return Buffer(packets=_bounded(count, value, 1, 2**40, "at least 1 packet", "2^40 packets"))
    octets = _whole(scaled, value, "bytes")
    return Buffer(octets=_bounded(octets, value, 1, MAX_BYTES, "at least 1 packet", "4 EiB"))


def _bdp_share(text: str) -> Decimal | None:
    match = re.fullmatch(r"([+-]?[\d_.]+(?:[eE][+-]?\d+)?)\s*(%?)\s*BDP", text, re.IGNORECASE)
    if match is None:
        return None
    return _number(match[1]) / (100 if match[2] else 1)


def parse_amount(value: object, what: str = "an amount of data", example: str = "10 MB") -> Amount:
    """An amount of data: ``1000 segments`` or ``64 KB``, at least one segment or byte.

    Raises:
        ScenarioError: the unit is missing, or the amount is less than one.
    """
    if isinstance(value, Amount):
        return value
    scaled, unit = _scaled(value, what, example, SEGMENT_UNITS | SIZE_UNITS, SEGMENT_ALIASES | SIZE_ALIASES)
    if unit in SEGMENT_UNITS or unit in SEGMENT_ALIASES:
        count = _whole(scaled, value, "segments")
        return Amount(segments=_bounded(count, value, 1, 2**48, "at least 1 segment", "2^48 segments"))
    octets = _whole(scaled, value, "bytes")
    return Amount(octets=_bounded(octets, value, 1, MAX_BYTES, "at least 1 byte", "4 EiB"))


def parse_percentage(value: str) -> float:
    """A percentage as a fraction: ``60%`` is 0.6.

    Raises:
        ScenarioError: the text is not a number with a percent sign.
    """
    return float(parse_probability(value))


def parse_share(value: object) -> float:
    """A share or a probability: ``0.01`` or ``1%``.

    Raises:
        ScenarioError: the value is outside [0, 1].
    """
    share = parse_probability(value)
    if not 0 <= share <= 1:
        raise ScenarioError(f"{shown(value)} is not a share; it is from 0 to 1")
    return float(share)


def parse_step_rate(value: object) -> int:
    """A rate in bit/s, as in :func:`parse_rate`, or zero while a link is down.

    Raises:
        ScenarioError: the errors of :func:`parse_rate`.
    """
    scaled, _ = _scaled(value, "a rate", "622 Mbit/s", RATE_UNITS, RATE_ALIASES)
    if scaled == 0:
        return 0
    low_text = "at least 8 bit/s, or 0 while the link is down"
    return _bounded(_whole(scaled, value, "bit/s"), value, MIN_RATE_BPS, MAX_RATE_BPS, low_text, "100 Tbit/s")


def parse_probability(value: object) -> Decimal:
    """The exact value of ``1e-4`` or ``0.01%``, which the caller compares with its bounds.

    Raises:
        ScenarioError: the value is not a number, with or without a percent sign.
    """
    if isinstance(value, str):
        if len(value) > MAX_LETTERS:
            raise ScenarioError(f"'{_short(value)}' has {len(value)} letters; a probability has at most {MAX_LETTERS}")
        text = value.strip()
        share = text.endswith("%")
        if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%?", text) is None:
            raise ScenarioError(f"'{value}' is not a probability; write for example 1e-4 or \"0.01%\"")
        return _number(text.rstrip("% ")) / (100 if share else 1)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScenarioError(f'{shown(value)} is not a probability; write for example 1e-4 or "0.01%"')
    if value != value:
        raise ScenarioError("nan is not a probability of loss; it must be at least 0 and less than 1")
    return Decimal(repr(value)) if abs(value) != float("inf") else Decimal(2)


def _spelled(amount: int, units: dict[str, int]) -> str:
    """``amount`` in the largest unit that does not exceed the amount; exact, since every factor is a power of ten."""
    name, factor = next(iter(units.items()))
    for unit, size in units.items():
        if amount >= size:
            name, factor = unit, size
    whole, rest = divmod(amount, factor)
    digits = f".{rest + factor}".replace("1", "", 1).rstrip("0") if rest else ""
    return f"{whole}{digits} {name}"


_DECIMAL_TIMES = {unit: size for unit, size in TIME_UNITS.items() if unit not in ("min", "h")}


def format_rate(rate_bps: int) -> str:
    """Text of a rate, ``622 Mbit/s`` for ``622000000``; parsing the text gives the same integer."""
    return _spelled(rate_bps, RATE_UNITS)


def format_time(time_ps: int) -> str:
    """Text of a time, ``48 ms`` for ``48000000000``; parsing the text gives the same integer."""
    return "0 s" if time_ps == 0 else _spelled(time_ps, _DECIMAL_TIMES)


def format_offset(offset_ps: int) -> str:
    """Text of an offset, ``-3 ms`` for ``-3000000000``; parsing the text gives the same integer."""
    return "-" * (offset_ps < 0) + format_time(abs(offset_ps))


def format_drift(drift_ppb: int) -> str:
    """Text of a clock skew, ``50 ppm`` for ``50000``; parsing the text gives the same integer."""
    return "-" * (drift_ppb < 0) + _spelled(abs(drift_ppb), DRIFT_UNITS)


def format_size(octets: int) -> str:
    """Text of a size, ``2 MB`` for ``2000000``; parsing the text gives the same integer."""
    return f"{octets} B" if octets < 10**4 else _spelled(octets, SIZE_UNITS)


_PPB = {"ppb": Decimal("1e-9"), "ppm": Decimal("1e-6")}
_BASES: dict[str, tuple[dict[str, int], int]] = {
    "bps": (RATE_UNITS | RATE_ALIASES, 1),
    "s": (TIME_UNITS | TIME_ALIASES, PS_PER_S),
    "bytes": (SIZE_UNITS | SIZE_ALIASES, 1),
    "packets": (PACKET_UNITS | PACKET_ALIASES, 1),
    "segments": (SEGMENT_UNITS | SEGMENT_ALIASES, 1),
}
"""Units of each kind of quantity, with their factors to the base unit; keys are base units as they end names of
columns."""


def base_quantity(text: str) -> tuple[str, float, str] | None:
    """The base unit of a quantity, its value in the base unit, and the unit as it was written; ``None`` for other
    texts.

    ``10 ms`` is ``("s", 0.01, "ms")`` and ``20% BDP`` is ``("bdp", 0.2, "% BDP")``; a percentage is a ``fraction``.
    """
    if len(text) > MAX_LETTERS:
        return None
    try:
        share = _bdp_share(text.strip())
        if share is not None:
            return "bdp", float(share), "% BDP" if "%" in text else "BDP"
        match = _QUANTITY.fullmatch(text)
        if match is None or match["unit"] is None:
            return None
        number, unit = _number(match["number"]), match["unit"]
    except ScenarioError:
        return None
    if unit == "%":
        return "fraction", float(_EXACT.divide(number, 100)), unit
    if unit in _PPB:
        return "fraction", float(_EXACT.multiply(number, _PPB[unit])), unit
    for base, (units, scale) in _BASES.items():
        if unit in units:
            return base, float(_EXACT.divide(_EXACT.multiply(number, units[unit]), scale)), unit
    return None
