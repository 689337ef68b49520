"""Losses of a link as a user writes them: a probability, intervals, bursts, or chosen packets, in front of the queue or
behind the transmitter."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, replace
from typing import Any

from elephan.scenario import columns
from elephan.scenario.errors import ScenarioError
from elephan.scenario.units import (
    format_time,
    parse_positive_time,
    parse_probability,
    parse_share,
    parse_time,
    shown,
)

QUEUE, WIRE = "queue", "wire"
MOST_INTERVALS = 1_000_000
Interval = tuple[float, int, int]
"""A probability, and the beginning and the end of the interval in which it applies, ps."""

_EXAMPLES = (
    'a loss is a probability (1e-4, "0.01%"), one for a time, { probability = "20%", from = "20 s", to = "25 s" }, a '
    "list of such intervals, a list of packets, { packets = [100, 250] }, or comes in bursts, "
    '{ to_bad = "0.1%", to_good = "20%" } or { good = "2 s", bad = "20 ms" }'
)


@dataclass(frozen=True)
class Bursts:
    """Losses of a link that is in a good or in a bad state (Gilbert 1960, Elliott 1963).

    Attributes:
        to_bad: probability of the change from good to bad, before each packet.
        to_good: probability of the change back.
        in_good: probability of loss in the good state.
        in_bad: probability of loss in the bad state.
    """

    to_bad: float
    to_good: float
    in_good: float = 0.0
    in_bad: float = 1.0


@dataclass(frozen=True)
class TimedBursts:
    """Losses of a link that is in a good or in a bad state for exponentially distributed times, also without packets.

    Attributes:
        good: mean duration of a good state, ps; ``bad``: that of a bad state.
        in_good: probability of loss in the good state.
        in_bad: probability of loss in the bad state.
    """

    good: int
    bad: int
    in_good: float = 0.0
    in_bad: float = 1.0


@dataclass(frozen=True)
class Loss:
    """Losses on a link: a loss probability, the positions of the lost packets, counted from 1, intervals, or bursts.

    Attributes:
        at: ``wire`` if packets are lost behind the transmitter, and not in front of the queue.
    """

    probability: float = 0.0
    packets: tuple[int, ...] = ()
    bursts: Bursts | TimedBursts | None = None
    intervals: tuple[Interval, ...] = ()
    at: str = QUEUE

    @property
    def is_random(self) -> bool:
        """True if the losses depend on the seed."""
        partial = any(probability < 1 for probability, _, _ in self.intervals)
        return self.probability > 0 or partial or self.bursts is not None


def parse_loss(value: object) -> Loss:
    """A link's losses: a probability (``1e-4`` or ``0.01%``), a list of intervals, or a table.

    Raises:
        ScenarioError: a probability is out of range, intervals overlap, or positions are not whole, positive,
            rising and distinct.
    """
    if isinstance(value, Loss):
        return value
    if isinstance(value, list | tuple):
        return Loss(intervals=_intervals([_interval(row) for row in value]))
    if not isinstance(value, dict):
        return Loss(probability=_below_one(value))
    given = {str(key): item for key, item in value.items()}
    at = given.pop("at", QUEUE)
    if at not in (QUEUE, WIRE):
        raise ScenarioError(f"at: {shown(at)} is not where packets are lost; write {QUEUE} or {WIRE}")
    found = _table(given)
    if at == WIRE and found == Loss():
        raise ScenarioError("at: nothing is lost; leave it out, or write a probability")
    return replace(found, at=str(at))


def dump_loss(loss: Loss) -> Any:
    """A loss in the form of a scenario file."""
    at = {} if loss.at == QUEUE else {"at": loss.at}
    if loss.intervals:
        rows = [_dump_interval(row) for row in loss.intervals]
        if at:
            return {"intervals": rows} | at
        return rows[0] if len(rows) == 1 else rows
    if isinstance(loss.bursts, TimedBursts):
        times = {"good": format_time(loss.bursts.good), "bad": format_time(loss.bursts.bad)}
        return asdict(loss.bursts) | times | at
    if loss.bursts is not None:
        return asdict(loss.bursts) | at
    if loss.packets:
        return {"packets": list(loss.packets)} | at
    return {"probability": loss.probability} | at if at else loss.probability


def _table(given: dict[str, Any]) -> Loss:
    if set(given) & set(_STATES):
        return Loss(bursts=_timed_bursts(given) if set(given) & {"good", "bad"} else _bursts(given))
    if "intervals" in given:
        return _listed(given)
    if "probability" in given and not set(given) & {"from", "to"}:
        _only(given, ("probability",), "a loss", "from and to limit it to a time, at says where packets are lost")
        return Loss(probability=_below_one(given["probability"]))
    if "probability" in given:
        return Loss(intervals=(_interval(given),))
    if set(given) != {"packets"}:
        raise ScenarioError(_EXAMPLES)
    return Loss(packets=_positions(given["packets"]))


def _listed(given: dict[str, Any]) -> Loss:
    """Intervals in a list or a file, with one probability for all or a probability for each."""
    _only(given, ("intervals", "probability"), "a loss in intervals", "it has intervals, probability and at")
    rows, shared = given["intervals"], given.get("probability")
    if isinstance(rows, str):
        return Loss(intervals=_intervals(_from_file(rows, shared)))
    if not isinstance(rows, list | tuple):
        raise ScenarioError(f"intervals: {shown(rows)} is neither a list nor a file's name")
    each = [row if shared is None or not isinstance(row, dict) else {"probability": shared} | row for row in rows]
    return Loss(intervals=_intervals([_interval(row) for row in each]))


def _from_file(name: str, shared: Any) -> list[Interval]:
    """The intervals of a file with the columns ``from`` and ``to``, and perhaps ``probability``; without any
    probability, every packet in an interval is lost."""
    table = columns.read(name, MOST_INTERVALS)
    begins, ends = (columns.values(table, column, "time", name) for column in ("from", "to"))
    if "probability" in table.columns:
        each = table["probability"].to_list()
    else:
        each = [1 if shared is None else shared] * table.height
    rows = []
    for row, (probability, begin, end) in enumerate(zip(each, begins, ends, strict=True), start=1):
        try:
            rows.append((_up_to_one(probability), begin, end))
        except ScenarioError as error:
            raise ScenarioError(f"'{name}', row {row}: {error.message}") from None
    return rows


def _intervals(rows: list[Interval]) -> tuple[Interval, ...]:
    if not rows:
        raise ScenarioError("there are no intervals; " + _EXAMPLES)
    if len(rows) > MOST_INTERVALS:
        raise ScenarioError(f"{len(rows)} intervals are too many; the limit is {MOST_INTERVALS}")
    for place, (_, begin, end) in enumerate(rows, start=1):
        if begin >= end:
            raise ScenarioError(f"interval {place}: to: '{format_time(end)}' is not after from, {format_time(begin)}")
    for place, ((_, _, before), (_, begin, _)) in enumerate(itertools.pairwise(rows), start=2):
        if begin < before:
            raise ScenarioError(
                f"interval {place}: from: '{format_time(begin)}' is before the end of the interval before, "
                f"{format_time(before)}"
            )
    return tuple(rows)


def _interval(value: Any) -> Interval:
    example = '{ probability = "20%", from = "20 s", to = "25 s" }'
    if not isinstance(value, dict):
        raise ScenarioError(f"{shown(value)} is not an interval; write for example {example}")
    _only(value, ("probability", "from", "to"), "a loss for a time", "it has probability, from and to")
    for key in ("probability", "from", "to"):
        if key not in value:
            raise ScenarioError(f"{key}: missing; write for example {example}")
    try:
        probability = _up_to_one(value["probability"])
    except ScenarioError as error:
        raise ScenarioError(f"probability: {error.message}") from None
    times = [_field(value, key, parse_time) for key in ("from", "to")]
    if times[0] >= times[1]:
        raise ScenarioError(f"to: '{format_time(times[1])}' is not after from, {format_time(times[0])}")
    return probability, times[0], times[1]


def _dump_interval(row: Interval) -> dict[str, Any]:
    return {"probability": row[0], "from": format_time(row[1]), "to": format_time(row[2])}


def _bursts(value: dict[str, Any]) -> Bursts:
    known = tuple(Bursts.__dataclass_fields__)
    _only(value, known, "bursts", f"they have {', '.join(known)}")
    for key in ("to_bad", "to_good"):
        if key not in value:
            raise ScenarioError(f'{key}: missing; write for example {{ to_bad = "0.1%", to_good = "20%" }}')
    shares = {key: _field(value, key, parse_share) for key in value}
    for key in ("to_bad", "to_good"):
        if shares[key] == 0:
            raise ScenarioError(f"{key}: 0 leaves the link in one state; the probability is above 0")
    if shares.get("in_good") == 1:
        raise ScenarioError("in_good: 1 lets no packet through; it is below 1")
    return Bursts(**shares)


def _timed_bursts(value: dict[str, Any]) -> TimedBursts:
    known = tuple(TimedBursts.__dataclass_fields__)
    _only(value, known, "bursts in time", f"they have {', '.join(known)}")
    for key in ("good", "bad"):
        if key not in value:
            raise ScenarioError(f'{key}: missing; write for example {{ good = "2 s", bad = "20 ms" }}')
    times = {key: _field(value, key, parse_positive_time) for key in ("good", "bad")}
    shares = {key: _field(value, key, parse_share) for key in ("in_good", "in_bad") if key in value}
    if shares.get("in_good") == 1:
        raise ScenarioError("in_good: 1 lets no packet through; it is below 1")
    return TimedBursts(**times, **shares)


_STATES = {**Bursts.__dataclass_fields__, **TimedBursts.__dataclass_fields__}


def _only(given: dict[str, Any], known: tuple[str, ...], what: str, has: str) -> None:
    for key in given:
        if key not in known:
            raise ScenarioError(f"{key}: not a part of {what}; {has}")


def _field(value: dict[str, Any], key: str, parse: Any) -> Any:
    try:
        return parse(value[key])
    except ScenarioError as error:
        raise ScenarioError(f"{key}: {error.message}") from None


def _below_one(value: object) -> float:
    probability = parse_probability(value)
    if not 0 <= probability < 1:
        raise ScenarioError(f"{shown(value)} is not a probability of loss; it must be at least 0 and less than 1")
    return float(probability)


def _up_to_one(value: object) -> float:
    probability = parse_probability(value)
    if not 0 < probability <= 1:
        raise ScenarioError(f"{shown(value)} is not above 0 and at most 1")
    return float(probability)


def _positions(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ScenarioError("packets: write the positions of the packets that are lost, for example [100, 250]")
    last = 0
    for position in value:
        if isinstance(position, bool) or not isinstance(position, int) or position < 1:
            raise ScenarioError(f"packets: {shown(position)} is not a position; the first packet is 1")
        if position <= last:
            raise ScenarioError(f"packets: {position} follows {last}; write each position once, in rising order")
        last = position
    return tuple(value)
