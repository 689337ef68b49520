"""Completion in bash, zsh and fish: of verbs, of options, and of values such as names of algorithms.

A shell requests completions by ``$_ELEPHAN_COMPLETE``. click completes verbs and options. This module completes values,
by the option or by the argument's name in the help text. The user waits for each completion, so no slow module is
imported: the names of metrics are read from the source text of their modules, and runs from the names of their folders.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, shell_complete, split_arg_string

VARIABLE = "_ELEPHAN_COMPLETE"
MOST_RUNS = 50
"""Largest number of offered runs; the newest runs are offered, and more letters of an id select among older runs."""

_RUN_ID = re.compile(r"[0-9a-f]{8,}-.+-s\d+")
_METRIC = re.compile(r'^@metric\(\s*"(\w+)"', re.MULTILINE)
_ALIASES = re.compile(r"^@metric\([^@]*?aliases=\(([^)]*)\)", re.MULTILINE)
Item = CompletionItem[str]
Source = Callable[[click.Context, str], Iterable[str | Item]]


def answer(cli: click.Command) -> int:
    """Print on stdout the completions that a shell requests; returns the exit status."""
    return shell_complete(cli, {}, "elephan", VARIABLE, os.environ[VARIABLE])


class _Bash(BashComplete):
    """Completion in Bash. Bash splits words at ``:`` and ``=``, so the parts of names such as ``cubic:linux`` are
    joined."""

    source_template = BashComplete.source_template.replace(
        'COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD',
        'COMP_LINE="$COMP_LINE" COMP_POINT=$COMP_POINT',
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, split as the shell does, and the incomplete word at the cursor."""
        line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
        words = split_arg_string(line)
        incomplete = "" if not line or line[-1].isspace() else words.pop()
        self._kept = max(incomplete.rfind(":"), incomplete.rfind("=")) + 1
        self._incomplete = incomplete
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        """A completion without its beginning up to ``:`` or ``=``; Bash takes this beginning for an earlier word."""
        value = str(item.value)
        if value.startswith(self._incomplete):
            value = value[self._kept :]
        return f"{item.type},{value}"


add_completion_class(_Bash)


# ---- names ----


def algorithms(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Algorithms and their presets."""
    from elephan.scenario import catalog, transports

    known = catalog.algorithms() | transports.listing()
    return [Item(name, help=str(known[name.partition(":")[0]]["title"])) for name in catalog.spellings(known)]


def queues(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Queue disciplines."""
    from elephan.scenario import catalog

    return [Item(name, help=str(entry["title"])) for name, entry in catalog.all_queues().items()]


def metrics(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Metrics, read from the source text, since importing them takes half a second."""
    found: list[str] = []
    for file in (files("elephan") / "metrics").iterdir():
        if file.name.endswith(".py"):
            text = file.read_text(encoding="utf-8")
            found += [*_METRIC.findall(text), *re.findall(r"\w+", " ".join(_ALIASES.findall(text)))]
    return sorted(found)


def backends(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Backends: the built-in backends, then the backends of installed packages."""
    from importlib.metadata import entry_points

    built_in = ("sim", "model", "kernel", "linux", "quic")
    return [*built_in, *(point.name for point in entry_points(group="elephan.backends") if point.name not in built_in)]


def papers(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Papers, by their folders."""
    folder = files("elephan") / "papers"
    return sorted(place.name for place in folder.iterdir() if (place / "__init__.py").is_file())


def suites(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Suites, by their folders; the user's folders if no suite matches."""
    folder = files("elephan") / "suites"
    known = sorted(place.name for place in folder.iterdir() if (place / "suite.toml").is_file())
    return known if any(name.startswith(incomplete) for name in known) else folders(context, incomplete)


def runs(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Saved runs with their titles, and ``last``."""
    root = Path(str(context.params.get("store") or os.environ.get("ELEPHAN_STORE") or ".elephan/runs"))
    try:
        with os.scandir(root) as entries:
            found = [entry for entry in entries if entry.name.startswith(incomplete) and _RUN_ID.fullmatch(entry.name)]
    except OSError:
        found = []
    if len(found) > MOST_RUNS:
        found.sort(key=lambda entry: entry.stat().st_mtime_ns, reverse=True)
    items = [Item(entry.name, help=_title(Path(entry.path))) for entry in found[:MOST_RUNS]]
    return ["last", *sorted(items, key=lambda item: item.value)] if items else []


def _title(folder: Path) -> str | None:
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return None
    return str(manifest.get("title") or "") or None if isinstance(manifest, dict) else None


def paths(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Named paths and imported recordings."""
    from elephan.scenario import named

    return [*(Item(name, help=path.title) for name, path in named.shipped().items()), *named.imported_names()]


def scenarios(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Scenario files and folders; any file if there is no scenario file."""
    folder, begin = os.path.split(incomplete)
    try:
        names = sorted(entry.name for entry in os.scandir(folder or ".") if entry.name.startswith(begin))
    except OSError:
        names = []
    found = [os.path.join(folder, name) for name in names if name.endswith(".toml")]  # noqa: PTH118 (as typed)
    return found or [Item(incomplete, type="file")]


def folders(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Folders, which the shell itself completes."""
    return [Item(incomplete, type="dir")]


def any_file(context: click.Context, incomplete: str) -> Iterable[str | Item]:
    """Files, which the shell itself completes."""
    return [Item(incomplete, type="file")]


def words(*allowed: str) -> Source:
    """Source of a fixed list of words."""
    return lambda context, incomplete: allowed


def listed(source: Source) -> Source:
    """Source of a list of names separated by commas; the last name is completed."""

    def complete(context: click.Context, incomplete: str) -> Iterable[str | Item]:
        before, comma, _ = incomplete.rpartition(",")
        done = before.split(",")
        names = (item if isinstance(item, str) else item.value for item in source(context, incomplete))
        return [before + comma + name for name in names if name not in done]

    return complete


def any_of(*sources: Source) -> Source:
    """Source of names of several kinds; files only if no other name matches."""

    def complete(context: click.Context, incomplete: str) -> Iterable[str | Item]:
        found = [item for source in sources for item in source(context, incomplete)]
        plain = [item for item in found if isinstance(item, str) or item.type == "plain"]
        return plain if any(_value(item).startswith(incomplete) for item in plain) else found

    return complete


KINDS = ("algorithms", "papers", "suites", "queues", "channels", "metrics", "stacks", "backends")
ARGUMENTS: dict[str, Source] = {
    "SCENARIO.toml": scenarios,
    "RUN…|SCENARIO.toml…": any_of(scenarios, runs),
    "RUN…|NAME": any_of(runs, algorithms, queues, metrics, papers),
    "A": runs,
    "B": runs,
    "[RUN]…": runs,
    "RUN…": runs,
    "ALG…": algorithms,
    "ID": papers,
    "[KIND]": words(*KINDS),
    "PATH": paths,
    "FOLDER": folders,
}
"""Sources of the values of arguments, by the argument's name in the help text."""

OPTIONS: dict[str, Source] = {
    "--on": backends,
    "--metric": metrics,
    "--algorithm": algorithms,
    "--algorithms": listed(algorithms),
    "--rivals": listed(algorithms),
    "--queue": queues,
    "--prefer": words("balanced", "goodput", "delay", "fairness", "short-flows"),
    "--suite": suites,
    "--against": algorithms,
    "--what": listed(words("cwnd", "rate", "rtt", "queue")),
    "--by": words("run", "flow"),
    "--size": words("column", "page"),
    "--at": words("sender", "receiver"),
    "--scenario": scenarios,
    "--path": paths,
}
"""Sources of the values of options; for other options the metavars ``DIR`` and ``FILE`` select folders and files."""


def source_of(param: click.Parameter) -> Source | None:
    """Source of the values of an option or an argument; ``None`` if there is no source."""
    metavar = param.metavar or ""
    if isinstance(param, click.Argument):
        return ARGUMENTS.get(metavar)
    known = next((OPTIONS[opt] for opt in param.opts if opt in OPTIONS), None)
    return known or {"DIR": folders, "FILE": any_file, "FILE|DIR": any_file}.get(metavar)


def attach(command: click.Command) -> click.Command:
    """Attach completions to the options and arguments of a command and of its verbs."""
    for param in command.params:
        source = source_of(param)
        if source is not None:
            param._custom_shell_complete = _completing(source)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            attach(inner)
    return command


def _completing(source: Source) -> Callable[[click.Context, click.Parameter, str], list[Item]]:
    def complete(context: click.Context, param: click.Parameter, incomplete: str) -> list[Item]:
        found = [item if isinstance(item, CompletionItem) else Item(item) for item in source(context, incomplete)]
        return [item for item in found if item.type != "plain" or item.value.startswith(incomplete)]

    return complete


def _value(item: str | Item) -> str:
    return item if isinstance(item, str) else item.value
