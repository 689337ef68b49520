"""Import of downloaded recordings as named paths (:mod:`elephan.scenario.named`).

Names of files, as their publications have them, say which files belong together; their content then has to be of that
format.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import msgspec

from elephan.scenario import columns, netem_trace, reading, recorded
from elephan.scenario.errors import ScenarioError
from elephan.scenario.named import FORMAT, NAME, SUFFIX, Course, Recorded, Way, folder, shipped
from elephan.scenario.units import PS_PER_S
from elephan.writing import whole_file

MOST_FILES = 100_000
MOST_DEPTH = 8
_MOST_ROWS = 1_000_000
_BW = re.compile(r"bw_(.+)\.txt")
_PAIR = re.compile(r"(?P<stem>.+?)[.-](?P<way>up|down|uplink|downlink)(?P<suffix>\.trace|\.txt|\.log)?")
_CELLREPLAY = ("down-delay-light-pdo", "up-delay-light-pdo", "down-pdo", "up-pdo")
_ERRANT = ("operator", "country", "rat", "signal_quality", "download_kbps", "upload_kbps", "latency_ms_avg")
_SCHEDULE = ("operator", "country", "rat", "quality", "duration", "period")
_PS_PER_MS = 10**9


@dataclass(frozen=True)
class Source:
    """A public collection of recordings that is not shipped.

    Attributes:
        title: what was recorded.
        address: where the publication says it is to be had.
        why: why it is not shipped.
    """

    name: str
    title: str
    address: str
    layout: str
    why: str


SOURCES = (
    Source(
        "LeoReplayer",
        "Starlink, 8 x 600 pairs of capacity and one-way delay (LeoCC, SIGCOMM 2025)",
        "https://github.com/SpaceNetLab/LeoCC (traces/README.md has the address of the files)",
        "bw_N.txt and delay_N.txt in one folder",
        "too large; MIT for the programs, no license is stated for the traces",
    ),
    Source(
        "CellReplay",
        "5G of T-Mobile and Verizon, at rest, walking and driving (Sentosa et al., NSDI 2025)",
        "https://github.com/williamsentosa95/cellreplay (folder traces)",
        "down-delay-light-pdo, down-pdo, up-delay-light-pdo and up-pdo in one folder",
        "too large, and no license is stated",
    ),
    Source(
        "Mahimahi",
        "LTE and 3G of AT&T, T-Mobile and Verizon (Winstein et al., NSDI 2013; Netravali et al., USENIX ATC 2015)",
        "https://github.com/ravinet/mahimahi (folder traces)",
        "NAME.down and NAME.up",
        "GPL 3 with the program",
    ),
    Source(
        "ERRANT",
        "26 profiles of 3G and 4G in Norway and Sweden (Trevisan et al., Computer Networks 2020)",
        "https://github.com/marty90/errant (profiles.csv)",
        "profiles.csv, and schedules of its profiles as .csv",
        "no license is stated",
    ),
    Source(
        "netem-trace",
        "models of the Rust crate as JSON, of the emulator rattan",
        "https://github.com/stack-rs/netem-trace",
        "NAME.json with a bandwidth, and NAME.delay.json with a one-way delay",
        "users write them",
    ),
)
"""Collections whose layout an import knows."""


@dataclass(frozen=True)
class Imported:
    """Paths that an import has written, and files that it could not read, each with the reason."""

    names: tuple[str, ...]
    refused: tuple[str, ...]


def _made(title: str, kind: str, ways: Sequence[Way], notes: Sequence[str]) -> Recorded:
    down, up = ways
    return Recorded(FORMAT, title, kind, down, up, notes=tuple(notes))


@dataclass(frozen=True)
class _Found:
    """Files that make one path or several.

    Attributes:
        name: name of the path, from the files' place in the folder.
        files: the files.
        read: function that gives the paths, by name.
    """

    name: str
    files: tuple[Path, ...]
    read: Callable[[], Mapping[str, Recorded]]


def import_folder(source: str, prefix: str = "") -> Imported:
    """Import all recordings in a folder and the folders below it; an earlier import of the same name is replaced.

    Raises:
        ScenarioError: the folder cannot be read, holds no recording, or none of its recordings is sound.
    """
    root = Path(source)
    if not root.is_dir():
        raise ScenarioError(f"'{source}' is not a folder")
    if prefix and NAME.fullmatch(prefix) is None:
        raise ScenarioError(f"'{prefix}' is not the beginning of a name: letters, digits, '.', '-' and '_'")
    target, names, refused = folder(), [], []
    any_found = False
    for found in _recordings(root):
        any_found = True
        try:
            made = found.read()
        except ScenarioError as error:
            refused.append(str(error))
            continue
        for name, path in made.items():
            names.append(_write(target, _name(prefix, name, root), path, found, root))
    if not any_found:
        known = "; ".join(f"{source.name}: {source.layout}" for source in SOURCES)
        raise ScenarioError(f"'{source}' has no recordings that are known ({known})")
    if not names:
        raise ScenarioError(refused[0])
    return Imported(tuple(names), tuple(refused))


def _name(prefix: str, name: str, root: Path) -> str:
    """A name of letters that a file may have, which is not that of a shipped path."""
    joined = "-".join(part for part in (prefix, name) if part) or root.resolve().name
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", joined).lstrip("._-")[:120] or "path"
    return f"{clean}-recorded" if clean in shipped() else clean


def _write(target: Path, name: str, path: Recorded, found: _Found, root: Path) -> str:
    marks = tuple((str(file.relative_to(root)), _digest(file)) for file in found.files)
    target.mkdir(parents=True, exist_ok=True)
    with whole_file(target / f"{name}{SUFFIX}") as place:
        place.write_bytes(msgspec.json.encode(msgspec.structs.replace(path, files=marks)))
    return name


def _digest(file: Path) -> str:
    return hashlib.sha256(reading.read_bytes(file, recorded.MOST_BYTES)).hexdigest()


def _recordings(root: Path) -> Iterator[_Found]:
    """The recordings of a folder, in the order of their names; links to folders are not followed."""
    seen = 0
    for place, below, entries in os.walk(root):
        below.sort()
        where = Path(place)
        if len(where.relative_to(root).parts) >= MOST_DEPTH:
            below.clear()
        seen += len(entries)
        if seen > MOST_FILES:
            raise ScenarioError(f"'{root}' has more than {MOST_FILES:,} files")
        yield from _of_folder(where, sorted(entries), "-".join(where.relative_to(root).parts))


def _of_folder(where: Path, entries: Sequence[str], name: str) -> Iterator[_Found]:
    there = set(entries)
    if there.issuperset(_CELLREPLAY):
        paths = tuple(where / entry for entry in _CELLREPLAY)
        yield _Found(name, paths, lambda: _cellreplay(name or where.name, *map(str, paths)))
        there -= set(_CELLREPLAY)
    pairs: dict[str, dict[str, str]] = {}
    for entry in entries:
        if entry not in there:
            continue
        if (match := _BW.fullmatch(entry)) and f"delay_{match[1]}.txt" in there:
            # The folder of a pair has its number already.
            label = name if name.endswith(match[1]) else _joined(name, match[1])
            yield _pair(label, where / entry, where / f"delay_{match[1]}.txt")
        elif entry.endswith(".csv"):
            yield from _table(where, entry, name)
        elif entry.endswith(".json"):
            yield from _model(where, entry, there, name)
        elif match := _PAIR.fullmatch(entry):
            pairs.setdefault(match["stem"], {})[match["way"].removesuffix("link")] = entry
        elif entry.endswith(".trace"):
            pairs.setdefault(entry.removesuffix(".trace"), {})["both"] = entry
    for stem, ways in sorted(pairs.items()):
        if both := ways.get("both"):
            yield _mahimahi(_joined(name, stem), where / both, where / both)
        elif len(ways) == 2:
            yield _mahimahi(_joined(name, stem), where / ways["down"], where / ways["up"])


def _joined(*parts: str) -> str:
    return "-".join(part for part in parts if part)


def _course(found: recorded.Course) -> Course:
    return Course(found.rows, found.length if found.again else None)


def _way(rates: recorded.Course, delays: recorded.Course | None = None, delay_ps: int = 0) -> Way:
    """A direction with its mean rate; a value that never changes is not a course."""
    mean = _mean(rates)
    if mean < 1:
        raise ScenarioError("the recording never has a rate")
    first = delays.rows[0][1] if delays is not None else delay_ps
    return Way(
        mean,
        first,
        _course(rates) if len(rates.rows) > 1 else None,
        _course(delays) if delays is not None and len(delays.rows) > 1 else None,
    )


def _mean(found: recorded.Course) -> int:
    """Mean over the length of a recording, rounded."""
    ends = [at for at, _ in found.rows[1:]] + [found.length]
    total = sum((end - at) * value for (at, value), end in zip(found.rows, ends, strict=True))
    return round(total / found.length)


# ---- formats ----


def _pair(name: str, rates: Path, delays: Path) -> _Found:
    def read() -> dict[str, Recorded]:
        down = _way(recorded.opportunity_rates(str(rates)), recorded.intervals(str(delays)))
        up = Way(down.rate_bps, down.delay_ps, None, down.delays)
        notes = (
            "a pair has the rate of one direction, here that of the data; the other has its mean",
            "packets keep their order when the delay falls, which LeoReplayer's do not",
        )
        return {name: _made(f"LeoReplayer's pair {rates.name}", "LeoReplayer", (down, up), notes)}

    return _Found(name, (rates, delays), read)


def _cellreplay(name: str, down_light: str, up_light: str, down: str, up: str) -> dict[str, Recorded]:
    trains = {way: recorded.trains(file) for way, file in (("down", down_light), ("up", up_light))}
    heavy = {way: recorded.opportunity_rates(file, recorded.LIGHT_BYTES) for way, file in (("down", down), ("up", up))}
    notes = ("CellReplay goes from light to heavy opportunities when a burst lasts; here they are two paths",)
    made = {}
    for label, title, rates in (
        (name, "heavy opportunities: what a bulk transfer finds", heavy),
        (f"{name}-light", "light opportunities: what a short burst after a pause finds",
         {way: recorded.light_rates(found) for way, found in trains.items()}),
    ):  # fmt: skip
        ways = [_way(rates[way], recorded.delays_of(trains[way])) for way in ("down", "up")]
        made[label] = _made(title, "CellReplay", ways, notes)
    return made


def _mahimahi(name: str, down: Path, up: Path) -> _Found:
    def read() -> dict[str, Recorded]:
        ways = [_way(recorded.opportunity_rates(str(file)), delay_ps=20 * _PS_PER_MS) for file in (down, up)]
        notes = ("the format has no delay; this path has 20 ms each way",)
        return {name: _made(f"opportunities of {down.name}", "Mahimahi", ways, notes)}

    return _Found(name, (down,) if down == up else (down, up), read)


def _model(where: Path, entry: str, there: set[str], name: str) -> Iterator[_Found]:
    if entry.endswith(".delay.json"):
        return
    file, beside = where / entry, f"{entry.removesuffix('.json')}.delay.json"
    delays = where / beside if beside in there else None
    if not netem_trace.is_model(_beginning(file)):
        return  # JSON that is something else

    def read() -> dict[str, Recorded]:
        late = None if delays is None else recorded.course("delay", str(delays))
        way = _way(recorded.course("rate", str(file)), late, 20 * _PS_PER_MS)
        notes = ["a model has one direction; here both have it"]
        if delays is None:
            notes.append("there is no model of a delay beside it; this path has 20 ms each way")
        label = _joined(name, entry.removesuffix(".json"))
        return {label: _made(f"netem-trace's model {entry}", "netem-trace", (way, way), notes)}

    yield _Found(name, (file,) if delays is None else (file, delays), read)


def _table(where: Path, entry: str, name: str) -> Iterator[_Found]:
    """A table: ERRANT's profiles or a schedule of them, or rates and delays over time."""
    header = _header(where / entry)
    if header[: len(_ERRANT)] == list(_ERRANT):
        yield _Found(name, (where / entry,), lambda: _profiles(where / entry, name))
    elif header == list(_SCHEDULE) and (where / "profiles.csv").is_file():
        files = (where / entry, where / "profiles.csv")
        yield _Found(name, files, lambda: _schedule(*files, _joined(name, Path(entry).stem)))
    elif any(re.match(r"(download|rate)\b|(download|rate)_", word) for word in header):
        yield _Found(name, (where / entry,), lambda: _over_time(where / entry, _joined(name, Path(entry).stem)))


def _header(file: Path) -> list[str]:
    return _beginning(file).partition("\n")[0].strip().split(",")


def _beginning(file: Path) -> str:
    """The first letters of a file; empty if it cannot be read."""
    try:
        reading.check_regular(file, recorded.MOST_BYTES)
        with file.open("rb") as opened:
            return opened.read(4_000).decode("utf-8-sig", "replace")
    except (OSError, ScenarioError):
        return ""


def _profiles(file: Path, name: str) -> dict[str, Recorded]:
    """ERRANT's profiles: the mean rates, and half of the mean latency each way."""
    made = {}
    for key, row in _errant(file).items():
        ways = [Way(round(row[way] * 1000), round(row["latency_ms_avg"] * _PS_PER_MS / 2)) for way in _KBPS]
        made[_joined(name, *key)] = _made(f"profile {' '.join(key)}", "ERRANT", ways, _ERRANT_NOTES)
    return made


_KBPS = ("download_kbps", "upload_kbps")
_ERRANT_NOTES = ("the means of a profile; ERRANT draws values around them from a distribution in a file of its own",)


def _errant(file: Path) -> dict[tuple[str, ...], dict[str, float]]:
    """The numbers of the profiles, by operator, country, technology and quality."""
    table = reading.read_table(file, recorded.MOST_BYTES, 10_000)
    made = {}
    for number, row in enumerate(table.to_dicts(), 1):
        values = {key: row.get(key) for key in (*_KBPS, "latency_ms_avg")}
        if not all(isinstance(value, int | float) and 0 < value < 1e9 for value in values.values()):
            raise ScenarioError(f"'{file}', row {number}: a rate or a latency is not a number above 0")
        key = tuple(str(row[field]).strip().lower() for field in _ERRANT[:4])
        made[key] = {name: float(value) for name, value in values.items() if value is not None}
    if not made:
        raise ScenarioError(f"'{file}' has no rows")
    return made


def _schedule(file: Path, profiles: Path, name: str) -> dict[str, Recorded]:
    """A schedule of ERRANT's profiles, each for its duration; then it begins again."""
    known = _errant(profiles)
    table = reading.read_table(file, recorded.MOST_BYTES, _MOST_ROWS)
    at, steps = 0, []
    for number, row in enumerate(table.to_dicts(), 1):
        key = tuple(str(row[field]).strip().lower() for field in _SCHEDULE[:4])
        lasts = row["duration"]
        if key not in known:
            raise ScenarioError(f"'{file}', row {number}: there is no profile {' '.join(key)} in {profiles.name}")
        if isinstance(lasts, bool) or not isinstance(lasts, int | float) or not 0 < lasts < 1e6:
            raise ScenarioError(f"'{file}', row {number}: {lasts!r} is not a duration in s")
        steps.append((at, known[key]))
        at += round(lasts * PS_PER_S)
    if not steps:
        raise ScenarioError(f"'{file}' has no rows")

    def course(of: Callable[[dict[str, float]], int]) -> recorded.Course:
        return recorded.Course(recorded.without_repeats((begin, of(row)) for begin, row in steps), at)

    delays = course(lambda row: round(row["latency_ms_avg"] * _PS_PER_MS / 2))
    down, up = (_way(course(lambda row, way=way: round(row[way] * 1000)), delays) for way in _KBPS)  # type: ignore[misc]
    return {name: _made(f"schedule {file.name}", "ERRANT", (down, up), _ERRANT_NOTES)}


def _over_time(file: Path, name: str) -> dict[str, Recorded]:
    """Rates and delays over time: columns time, download or rate, and where there are upload, and latency, rtt or
    delay."""
    table = columns.read(str(file), _MOST_ROWS)
    times = columns.values(table, "time", "time", str(file))
    if len(times) < 2 or any(later <= before for before, later in pairwise(times)):
        raise ScenarioError(f"'{file}': a table over time has two rows or more, whose times rise")
    length = 2 * times[-1] - times[-2] - times[0]

    def course(quantity: str, names: Sequence[str], factor: int = 1) -> recorded.Course | None:
        present = next((word for word in names if columns.has(table, word)), None)
        if present is None:
            return None
        values = columns.values(table, present, quantity, str(file))
        rows = ((at - times[0], value // factor) for at, value in zip(times, values, strict=True))
        return recorded.Course(recorded.without_repeats(rows), length)

    down = course("rate", ("download", "rate"))
    up = course("rate", ("upload",)) or down
    delays = course("delay", ("delay",)) or course("delay", ("latency", "rtt"), 2)
    if down is None or up is None:
        raise ScenarioError(f"'{file}' has no column download or rate")
    ways = [_way(rates, delays, 20 * _PS_PER_MS) for rates in (down, up)]
    notes = () if delays is not None else ("the table has no delay; this path has 20 ms each way",)
    return {name: _made(f"table {file.name}", "table", ways, notes)}
