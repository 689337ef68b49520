"""Check that a run repeats: a second run of the same scenario and seed gives the same packets, outputs and tables."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.runs import tables
from elephan.scenario import Scenario, ScenarioError

if TYPE_CHECKING:
    from elephan.backends import Backend, Progress, RawResult

OPTION = "--check-repeat"
_PACKET = 6
"""Type of a block of pcapng that has a packet (Enhanced Packet Block)."""
_HEAD = struct.Struct("<II")
_START_NS = 946_684_800 * 10**9
"""Time of the start of a run in a capture (crates/linux, capture.rs)."""


class NotRepeatableError(Exception):
    """Two runs of one scenario with one seed differ; the message says in what first."""


def require(backend: Backend) -> None:
    """Check that runs of a backend can repeat.

    Raises:
        ScenarioError: the runs are measurements, which differ.
    """
    if backend.measures:
        raise ScenarioError(f"runs on '{backend.name}' are measurements, so none repeats", path=OPTION)


def twice(backend: Backend, scenario: Scenario, seed: int, progress: Progress) -> RawResult:
    """Run a scenario twice and return the first result.

    Raises:
        NotRepeatableError: the second run differs.
        ScenarioError, Cancelled: the errors of the backend.
    """
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in ("first", "second")]
        results = []
        for number, place in enumerate(places):
            place.mkdir()
            results.append(backend.observed(scenario, seed, partial(_part, progress, number), place))
        if different := [*_of_captures(*places), *_of_outputs(*results), *_of_tables(*results)]:
            first, *others = different
            more = f"; then {', '.join(others)}" if others else ""
            raise NotRepeatableError(
                f"a second run with seed {seed} differs, so nothing is kept: first {first}{more} "
                "(docs/programs.md says what can cause it)"
            )
    return results[0]


def _part(progress: Progress, number: int, done: float) -> bool:
    return progress((number + done) / 2)


def _of_captures(first: Path, second: Path) -> list[str]:
    """The earliest packet that differs, of all captures."""
    found = []
    for file in sorted(first.glob("*.pcapng")):
        for number, (one, other) in enumerate(_pairs(file, second / file.name), 1):
            if one != other:
                present = [packet for packet in (one, other) if packet is not None]
                at_ns = min(_time_ns(packet) for packet in present)
                sizes = " and ".join("nothing" if packet is None else f"{_size(packet)} B" for packet in (one, other))
                found.append(
                    (at_ns, f"packet {number} at the {file.stem}, {at_ns / 1e9:.9g} s after the start ({sizes})")
                )
                break
    return [text for _, text in sorted(found)[:1]]


def _pairs(first: Path, second: Path) -> Iterator[tuple[bytes | None, bytes | None]]:
    """The packets of two captures with the same number; ``None`` behind the end of the shorter one."""
    one, other = _packets(first), _packets(second)
    while True:
        pair = next(one, None), next(other, None)
        if pair == (None, None):
            return
        yield pair


def _packets(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            kind, length = _HEAD.unpack(head)
            block = head + file.read(length - _HEAD.size)
            if kind == _PACKET:
                yield block


def _time_ns(packet: bytes) -> int:
    high, low = (int.from_bytes(packet[place : place + 4], "little") for place in (12, 16))
    return (high << 32 | low) - _START_NS


def _size(packet: bytes) -> int:
    return int.from_bytes(packet[24:28], "little")


def _of_outputs(first: RawResult, second: RawResult) -> list[str]:
    """The outputs and files of programs that differ, each with the place of the difference."""
    found = []
    for one, other in zip(*(result.summary.get("programs", []) for result in (first, second)), strict=True):
        for kind in ("outputs", "files"):
            found += [f"{one['name']}: {text}" for text in _differences(one[kind], other[kind])]
        found += [
            f"{one['name']}: {what} ({one[what]} and {other[what]})"
            for what in ("client", "server", "started_ns", "ended_ns")
            if one[what] != other[what]
        ]
    return found


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(one.keys() | other.keys()):
        left, right = one.get(name), other.get(name)
        if left == right:
            continue
        if not isinstance(left, str) or not isinstance(right, str):
            yield name if left is not None and right is not None else f"{name}, which one run lacks"
            continue
        place = next((i for i, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
        at = min(len(left), len(right)) if place is None else place
        yield f"{name} from line {left.count(chr(10), 0, at) + 1}"


def _of_tables(first: RawResult, second: RawResult) -> list[str]:
    names = sorted(first.tables.keys() | second.tables.keys())
    different = [
        name
        for name in names
        if name not in first.tables
        or name not in second.tables
        or tables.contents_digest({name: first.tables[name]}) != tables.contents_digest({name: second.tables[name]})
    ]
    return [f"the tables {', '.join(different)}"] if different else []
