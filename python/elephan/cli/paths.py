"""``elephan paths``: named paths and imported recordings, with their statistics and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common, targets
from elephan.cli.verbs import LIST, ListedGroup
from elephan.scenario import named
from elephan.scenario.errors import ScenarioError
from elephan.scenario.units import PS_PER_S, format_time, parse_positive_time
from elephan.scenario.words import listed

if TYPE_CHECKING:
    from elephan.scenario.form import LinkSpec

_SHOWN_S = 60
_LEVELS = "▁▂▃▄▅▆▇█"
_COLUMNS = 60
_KINDS = (".pdf", ".svg", ".png")


class PathsGroup(ListedGroup):
    """Verbs about paths; ``elephan paths`` without a verb lists them."""

    def advice(self, word: str) -> str:
        """The command that shows a shipped path, for the path's name."""
        return f"; to show that path: elephan paths show {word}" if word in named.shipped() else ""


@click.group("paths", cls=PathsGroup, subcommand_metavar="[list|show|import] [ARGS]...")
def command() -> None:
    """Named paths: models of access networks, and recordings that you have imported.

    A scenario has one by path = "NAME", and a comparison by --path NAME. Imported paths are in $ELEPHAN_PATHS, or in
    .elephan/paths.
    """


@command.command(LIST, short_help="list them, and where public recordings are to be had")
@common.json_option
def list_paths(as_json: bool) -> None:
    """The paths that a scenario can name, and public collections that can be imported."""
    from elephan.scenario import imports

    found = [*named.shipped().values()]
    rows = [{"name": path.name, "kind": path.kind, "title": path.title, "fitted": path.fitted} for path in found]
    damaged = []
    for name in named.imported_names():
        try:
            path = named.find(name)
        except ScenarioError as error:
            damaged.append(error.message)
            continue
        rows.append({"name": name, "kind": path.kind, "title": path.title, "fitted": path.fitted})
    sources = [
        {"name": one.name, "title": one.title, "address": one.address, "layout": one.layout, "why": one.why}
        for one in imports.SOURCES
    ]
    if as_json:
        common.print_json({"paths": rows, "sources": sources})
    else:
        common.print_table("paths", ["name", "kind", "what it is"], [[r["name"], r["kind"], r["title"]] for r in rows])
        common.print_table(
            "recordings elsewhere, for elephan paths import FOLDER",
            ["format", "what was recorded", "where", "files"],
            [[one["name"], one["title"], one["address"], one["layout"]] for one in sources],
        )
    for line in damaged:
        common.warn(line)


@command.command("show", short_help="statistics of one, and its rate and delay over time")
@click.argument("name", metavar="PATH")
@click.option(
    "--duration", metavar="TIME", help=f"Length of what is shown. [default: the recording, or {_SHOWN_S} s of a model]"
)
@click.option("--seed", type=common.Count(1, 2**32), metavar="N", help="Seed of a model. [default: 1]")
@click.option(
    "--out", metavar="FILE", callback=targets.writable_file, help="Draw rate and delay into a .pdf, .svg or .png."
)
@common.json_option
def show(name: str, duration: str | None, seed: int | None, out: str | None, as_json: bool) -> None:
    """Show a path: what it was fitted to, statistics of its rate and delay, and their course."""
    from elephan.scenario import courses

    if out is not None and Path(out).suffix.lower() not in _KINDS:
        raise ScenarioError(f"'{out}' does not end in {listed(_KINDS)}", source="--out")
    path = named.find(name)
    length_ps = _length(path, duration)
    ways = _links(path, seed, length_ps)
    numbers = {way: dict(courses.statistics(link, length_ps)) for way, link in ways.items()}
    if out is not None:
        _draw(path, ways, length_ps, Path(out))
    if as_json:
        notes = [] if path.recorded is None else [list(path.recorded.notes), [list(f) for f in path.recorded.files]]
        common.print_json(
            {"name": name, "kind": path.kind, "title": path.title, "fitted": path.fitted,
             "duration_s": length_ps / PS_PER_S, "statistics": numbers, "file": out,
             "notes": notes[0] if notes else [], "files": notes[1] if notes else []},
        )  # fmt: skip
        return
    common.say(f"{name}: {path.title}")
    common.say(f"fitted to: {path.fitted}")
    for note in () if path.recorded is None else path.recorded.notes:
        common.say(f"note: {note}")
    rows = [[label, *(_cell(numbers[way][key]) for way in named.DIRECTIONS)] for key, label in _LABELS.items()]
    common.print_table(f"over {format_time(length_ps)}", ["", *named.DIRECTIONS], rows)
    for way in named.DIRECTIONS:
        if rest := _rest(path.links[way]):
            common.say(f"{way}: {rest}")
    for way, link in ways.items():
        common.say(f"rate {way:4} {_spark(courses.rate_of(link, length_ps))}")
    if out is not None:
        common.say(out)


@command.command("import", short_help="import a downloaded folder of recordings")
@click.argument("folder", metavar="FOLDER")
@click.option("--prefix", metavar="NAME", default="", help="Beginning of the names. [default: none]")
@common.json_option
def import_folder(folder: str, prefix: str, as_json: bool) -> None:
    """Import the recordings in FOLDER and below it, each as a path with a name.

    Known are the pairs of LeoReplayer, the light and heavy opportunities of CellReplay, Mahimahi's traces, ERRANT's
    profiles and schedules, tables over time (.csv), and models of netem-trace (.json).
    """
    from elephan.scenario import imports

    try:
        done = imports.import_folder(folder, prefix)
    except ScenarioError as error:
        raise error.located(source="paths import") from None
    if as_json:
        common.print_json({"imported": list(done.names), "refused": list(done.refused), "folder": str(named.folder())})
    else:
        for name in done.names:
            common.say(name)
        common.say(f"{len(done.names)} paths are in {named.folder()}; elephan paths show {done.names[0]}")
    for line in done.refused:
        common.warn(line)


_LABELS = {
    "rate_mean_mbps": "mean rate, Mbit/s",
    "rate_p5_mbps": "rate not exceeded 5 % of the time",
    "rate_p50_mbps": "rate, median over time",
    "rate_p95_mbps": "rate not exceeded 95 % of the time",
    "rate_cov": "standard deviation of the rate / mean",
    "rate_changes_per_s": "changes of the rate per second",
    "outage_fraction": "fraction of the time without a rate",
    "outage_longest_s": "longest time without a rate, s",
    "delay_min_ms": "one-way delay, least, ms",
    "delay_p50_ms": "one-way delay, median",
    "delay_p95_ms": "one-way delay, 95 %",
    "delay_max_ms": "one-way delay, largest",
}


def _length(path: named.NamedPath, duration: str | None) -> int:
    if duration is not None:
        try:
            return parse_positive_time(duration)
        except ScenarioError as error:
            raise error.located(source="--duration") from None
    if path.recorded is None:
        return _SHOWN_S * PS_PER_S
    ways = (path.recorded.down, path.recorded.up)
    lengths = [named.course_seconds(course) for way in ways for course in (way.rates, way.delays)]
    return round(max(lengths) * PS_PER_S) or _SHOWN_S * PS_PER_S


def _links(path: named.NamedPath, seed: int | None, length_ps: int) -> dict[str, LinkSpec]:
    """The links of a path in the engine's form, by direction."""
    from elephan.scenario import Scenario

    given: dict[str, Any] = {"name": path.name} | ({} if seed is None else {"seed": seed})
    tables = {"duration": format_time(length_ps), "path": given, "flow": [{"algorithm": "reno"}]}
    links = {link.name: link for link in Scenario.for_engine(tables).form.links}
    return {way: links[name] for way, name in zip(named.DIRECTIONS, (named.FORWARD, named.REVERSE), strict=True)}


def _rest(link: Mapping[str, Any]) -> str:
    """Fields of a link other than its rate and its delay: buffer, queue, link layer."""
    from elephan.scenario.toml import write_value

    known = ("rate", "delay", "channel", "rate_table", "delay_table")
    return ", ".join(f"{key} = {write_value(value)}" for key, value in link.items() if key not in known)


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _spark(steps: Any) -> str:
    """The means of equal parts of the time, from 0 to the largest."""
    import numpy as np

    carried = np.concatenate([[0.0], np.cumsum(steps.values * steps.lengths)])
    edges = np.linspace(0, steps.times[-1], _COLUMNS + 1)
    means = np.diff(np.interp(edges, steps.times, carried)) / np.diff(edges)
    top = float(means.max()) or 1.0
    marks = "".join(_LEVELS[min(len(_LEVELS) - 1, math.floor(mean / top * len(_LEVELS)))] for mean in means)
    return f"{marks} 0 to {top:.4g} Mbit/s"


def _draw(path: named.NamedPath, ways: dict[str, LinkSpec], length_ps: int, file: Path) -> None:
    """Rates and delays over time, one panel each."""
    import numpy as np

    from elephan.report.figures import COLORS
    from elephan.report.overlays import Line, Overlay, Panel
    from elephan.scenario import courses

    panels = []
    for way, link in ways.items():
        steps = courses.rate_of(link, length_ps)
        panels.append(Panel(f"{way}: rate", "Mbit/s", (_line(Line, steps, f"rate {way}", COLORS[0]),)))
    delays = [
        _line(Line, courses.delay_of(link, length_ps), way, COLORS[i], i) for i, (way, link) in enumerate(ways.items())
    ]
    panels.append(Panel("one-way delay", "ms", tuple(delays)))
    facts = {"path": path.name, "kind": path.kind, "fitted": path.fitted}
    span = (0.0, float(np.float64(length_ps / PS_PER_S)))
    Overlay(f"{path.name}: {path.title}", "", tuple(panels), span=span, provenance=facts).save(file)


def _line(kind: Any, steps: Any, name: str, color: str, dash: int = 0) -> Any:
    """A line with steps: a value holds from the time before."""
    import numpy as np

    values = np.concatenate([steps.values[:1], steps.values])
    return kind(name, steps.times, values, color, dash, steps=True)
