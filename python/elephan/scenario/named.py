"""Named paths: models that are shipped with the package (``paths.toml``), and recordings that a user has imported.

``path = "leo"`` in a scenario stands for two links, one for each direction, and for the routes of all flows over them.
The scenario has the links instead of the name, so what is imported later does not change it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from elephan.scenario import reading
from elephan.scenario.errors import ScenarioError
from elephan.scenario.timed import TimedTable
from elephan.scenario.units import MAX_RATE_BPS, MAX_TIME_PS, PS_PER_S, format_rate, format_time
from elephan.scenario.words import hint

FIELD = "path"
ENVIRONMENT = "ELEPHAN_PATHS"
DEFAULT_FOLDER = ".elephan/paths"
SUFFIX = ".json"
FORMAT = 1
FORWARD, REVERSE = "forward", "reverse"
DIRECTIONS = ("down", "up")
OF_THE_DATA = ("buffer", "queue", "queue_parameters", "loss")
"""Fields of the path that apply to the link that the data cross."""
KNOWN = ("name", "direction", "seed", *OF_THE_DATA)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_MOST_BYTES = 256_000_000
_MOST_VALUE = max(MAX_RATE_BPS, MAX_TIME_PS)


class Course(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate or a delay over time: times in ps, rising from 0, with values in bit/s or ps, and the time after which
    they begin again."""

    rows: tuple[tuple[int, int], ...]
    period: int | None = None

    def table(self) -> TimedTable:
        """The course as the table of a link."""
        return TimedTable(self.rows, self.period)


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One direction of a recorded path: mean rate in bit/s, first one-way delay in ps, and both over time if they
    change."""

    rate_bps: int
    delay_ps: int
    rates: Course | None = None
    delays: Course | None = None


class Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An imported path.

    Attributes:
        kind: format of its files.
        files: names of the files in the imported folder, with their SHA-256.
        notes: what the format says that a path here has not.
    """

    format: int
    title: str
    kind: str
    down: Way
    up: Way
    files: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamedPath:
    """A path with a name.

    Attributes:
        fitted: what its values are from.
        links: fields of a ``[[link]]`` for each direction, ``down`` and ``up``.
        recorded: the recording; ``None`` for a model.
    """

    name: str
    title: str
    fitted: str
    links: Mapping[str, Mapping[str, Any]]
    recorded: Recorded | None = None

    @property
    def kind(self) -> str:
        """``model``, or the format of the recording."""
        return "model" if self.recorded is None else self.recorded.kind


def folder() -> Path:
    """The folder of imported paths: ``$ELEPHAN_PATHS``, or ``.elephan/paths``."""
    return Path(os.environ.get(ENVIRONMENT) or DEFAULT_FOLDER)


def shipped() -> dict[str, NamedPath]:
    """The paths of the package, by name."""
    return dict(_shipped())


@cache
def _shipped() -> dict[str, NamedPath]:
    text = (files("elephan") / "scenario" / "paths.toml").read_text(encoding="utf-8")
    return {
        name: NamedPath(name, table["title"], table["fitted"], {way: table[way] for way in DIRECTIONS})
        for name, table in tomllib.loads(text).items()
    }


def imported_names() -> list[str]:
    """The names of the imported paths, in order."""
    try:
        names = [entry.name for entry in os.scandir(folder()) if entry.name.endswith(SUFFIX)]
    except OSError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in names if NAME.fullmatch(name.removesuffix(SUFFIX)))


def find(name: str) -> NamedPath:
    """The path of a name; a shipped path has priority.

    Raises:
        ScenarioError: there is no such path, or its file is damaged.
    """
    if name in _shipped():
        return _shipped()[name]
    file = folder() / f"{name}{SUFFIX}"
    if NAME.fullmatch(name) is None or not file.exists():
        known = [*_shipped(), *imported_names()]
        raise ScenarioError(f"'{name}' is not a path; {hint(name, known)}; see elephan paths")
    try:
        state = file.stat()
    except OSError:
        return of_recording(name, load(file))  # which says why it cannot be read
    return _imported(name, file.absolute(), state.st_mtime_ns, state.st_size, state.st_ino)


@lru_cache(maxsize=64)
def _imported(name: str, file: Path, *_state: int) -> NamedPath:
    """An imported path, kept for the next scenario of a sweep, which shares its tables."""
    return of_recording(name, load(file))


def load(file: Path) -> Recorded:
    """An imported path.

    Raises:
        ScenarioError: the file is damaged; the message names it.
    """
    try:
        found = msgspec.json.decode(reading.read_bytes(file, _MOST_BYTES), type=Recorded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, FileNotFoundError):
        raise ScenarioError(f"'{file}' is not an imported path; import it again: elephan paths import") from None
    except ScenarioError as error:
        raise ScenarioError(f"'{file}': {error.message}") from None
    if found.format != FORMAT:
        raise ScenarioError(f"'{file}' has format {found.format}, not {FORMAT}; import it again: elephan paths import")
    for way in (found.down, found.up):
        _check(way, file)
    return found


def _check(way: Way, file: Path) -> None:
    """Reject values that an import never writes.

    Raises:
        ScenarioError: a time or a value is out of its range or out of order.
    """
    courses = [course for course in (way.rates, way.delays) if course is not None]
    rises = all(before[0] < after[0] for course in courses for before, after in pairwise(course.rows))
    fits = all(0 <= number <= _MOST_VALUE for course in courses for row in course.rows for number in row)
    periods = all(course.rows and (course.period or _MOST_VALUE) > course.rows[-1][0] for course in courses)
    if not (rises and fits and periods and 0 < way.rate_bps <= MAX_RATE_BPS and 0 <= way.delay_ps <= MAX_TIME_PS):
        raise ScenarioError(f"'{file}' has values that no import writes; import it again: elephan paths import")


def of_recording(name: str, recorded: Recorded) -> NamedPath:
    """A recording as a path, with a buffer of one BDP in each direction."""
    links: dict[str, dict[str, Any]] = {}
    delays: TimedTable | None = None
    for direction, way in zip(DIRECTIONS, (recorded.down, recorded.up), strict=True):
        link: dict[str, Any] = {
            "rate": format_rate(way.rate_bps), "delay": format_time(way.delay_ps), "buffer": "1 BDP",
        }  # fmt: skip
        link |= {} if way.rates is None else {"rate_table": way.rates.table()}
        if way.delays is not None:
            # Both directions of a pair have one delay, and share its table.
            found = way.delays.table()
            delays = delays if delays == found else found
            link["delay_table"] = delays
        links[direction] = link
    return NamedPath(name, recorded.title, f"recorded: {recorded.kind}", links, recorded)


def expand(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tables of a scenario with the links of its named path, and with the routes of its flows.

    Raises:
        ScenarioError: the path is unknown, or contradicts another table.
    """
    if tables.get(FIELD) is None:
        return tables
    for other in ("dumbbell", "parking_lot", "link"):
        if tables.get(other):
            raise ScenarioError(f"there is {other} too; write one of the two", path=FIELD)
    given = tables[FIELD]
    given = {"name": given} if isinstance(given, str) else given
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise ScenarioError('is the name of a path, "leo", or a table with its name', path=FIELD)
    for key in given:
        if key not in KNOWN:
            raise ScenarioError(f"not a field of path; {hint(str(key), KNOWN)}", path=f"{FIELD}.{key}")
    rest = {key: value for key, value in tables.items() if key != FIELD}
    return rest | {"link": list(links(given))} | {
        group: [_routed(row) for row in rest[group]]
        for group in ("flow", "program", "traffic")
        if isinstance(rest.get(group), list | tuple)
    }  # fmt: skip


def withdraw(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tables of a scenario without the links of a named path and the routes over them, so that another path can be
    named; unchanged if its links are others."""
    if [link.get("name") for link in tables.get("link") or ()] != [FORWARD, REVERSE]:
        return tables
    rest = {key: value for key, value in tables.items() if key != "link"}
    return rest | {
        group: [_unrouted(row) for row in rest[group]] for group in ("flow", "program", "traffic") if rest.get(group)
    }


def links(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The two ``[[link]]`` of a path: the link of the data, and the link of the ACKs."""
    try:
        path = find(given["name"])
    except ScenarioError as error:
        raise error.located(path=FIELD) from None
    direction = given.get("direction", DIRECTIONS[0])
    if direction not in DIRECTIONS:
        raise ScenarioError(f"{direction!r} is not a direction; it is down or up", path=f"{FIELD}.direction")
    seed = given.get("seed", 1)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 1:
        raise ScenarioError(f"{seed!r} is not a seed; it is a whole number from 1", path=f"{FIELD}.seed")
    if "seed" in given and path.recorded is not None:
        raise ScenarioError(f"'{path.name}' is recorded, so nothing of it is drawn", path=f"{FIELD}.seed")
    back = DIRECTIONS[1 - DIRECTIONS.index(direction)]
    own = {key: given[key] for key in OF_THE_DATA if key in given}
    if "queue" in own and "queue_parameters" not in own:
        own["queue_parameters"] = {}  # those of the path are of another discipline
    ends = {"from": "a", "to": "b"}, {"from": "b", "to": "a"}
    for name, way, end, changes in ((FORWARD, direction, ends[0], own), (REVERSE, back, ends[1], {})):
        link = {"name": name, **end, **path.links[way], "duplex": False, "record": True} | changes
        if "channel" in link:
            # The directions of a model keep their relation: the same channel, or one that is drawn apart.
            channel = dict(link["channel"])
            link["channel"] = channel | {"seed": 2 * seed - 2 + channel.get("seed", 1)}
        yield link


def in_user_fields(error: ScenarioError, tables: Mapping[str, Any]) -> ScenarioError:
    """An error of a field of the data's link, which the user has written as a field of the path."""
    of_link, _, field = error.path.partition(".")
    first = re.split(r"[.\[]", field)[0]
    if tables.get(FIELD) is None or of_link != "link[0]" or first not in OF_THE_DATA:
        return error
    return ScenarioError(error.message, path=f"{FIELD}.{field}", source=error.source)


def _routed(row: Any) -> Any:
    """A flow with its route; a flow with ``direction = "left"`` goes against the path."""
    if not isinstance(row, Mapping) or "path" in row or row.get("direction", "right") not in ("right", "left"):
        return row
    ways = [FORWARD, REVERSE] if row.get("direction", "right") == "right" else [REVERSE, FORWARD]
    kept = {key: value for key, value in row.items() if key != "direction"}
    return kept | {"path": [ways[0]], "reverse_path": [ways[1]]}


def _unrouted(row: Mapping[str, Any]) -> dict[str, Any]:
    """A flow without its route over a named path."""
    kept = {key: value for key, value in row.items() if key not in ("path", "reverse_path")}
    return kept | ({"direction": "left"} if list(row.get("path", ())) == [REVERSE] else {})


def course_seconds(course: Course | None) -> float:
    """The length of a course, s; 0 for a value that does not change."""
    return 0.0 if course is None else (course.period or course.rows[-1][0]) / PS_PER_S
