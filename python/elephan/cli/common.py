"""Helpers that the verbs share: options, one JSON document on stdout, and tables for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from elephan.cli import targets
from elephan.cli.tables import Missing as Missing
from elephan.cli.tables import metric_cell as metric_cell
from elephan.cli.tables import print_table as print_table
from elephan.cli.tables import show_cell as show_cell
from elephan.scenario.errors import ScenarioError
from elephan.scenario.overrides import covers, parse_assignment
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from elephan.scenario import Scenario

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print only one JSON document on stdout.")
store_option = click.option(
    "--store", metavar="DIR", callback=targets.store_folder,
    help="Folder of saved results. [default: $ELEPHAN_STORE, or .elephan/runs]",
)  # fmt: skip
backend_option = click.option(
    "--on", "backend", default="sim", metavar="BACKEND", help="Where to run it. [default: sim]"
)
set_option = click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE",
    help="Change a field of the scenario: flow[0].algorithm=bic, dumbbell.buffer='40 packets', flow[*].start='0 s'.",
)  # fmt: skip


class Count(click.ParamType[int]):
    """A whole number between two bounds, both allowed."""

    name = "N"

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Converts the text to a number."""
        text = str(value).strip()
        if not text.isascii() or not text.removeprefix("-").isdigit() or not self.low <= int(text) <= self.high:
            self.fail(f"'{value}' is not a whole number from {self.low} to {self.high}", param, ctx)
        return int(text)


class Word(click.Choice[str]):
    """A choice between words; the error message for another word names the most similar allowed word."""

    def __init__(self, words: Sequence[str], noun: str) -> None:
        super().__init__(words)
        self.noun = noun

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Converts the text to one of the words."""
        if value not in self.choices:
            self.fail(f"'{value}' is not {self.noun}; {hint(str(value), self.choices)}", param, ctx)
        return str(value)


seeds_option = click.option("--seeds", type=Count(1, 10_000), metavar="N", help="Run this many seeds.")
programs_option = click.option(
    "--allow-programs", is_flag=True, help="Run the programs of the scenario ([[program]]): they are code."
)
jobs_option = click.option(
    "--jobs", type=Count(1, 1024), metavar="N", help="Simultaneous runs. [default: one for each core]"
)


def check_backend(name: str, option: str = "--on") -> None:
    """Reject a backend that does not exist or cannot be loaded; the error names the option."""
    from elephan import backends

    try:
        backends.kind(name)
    except ScenarioError as error:
        raise ScenarioError(error.message, source=option) from None


def parameters_of(assignments: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """Options that set parameters of an algorithm, as a table.

    Raises:
        ScenarioError: a setting has no name or no value.
    """
    return overrides_of(assignments, option, "beta=0.8")


def overrides_of(
    assignments: Sequence[str], option: str = "--set", example: str = "flow[0].algorithm=bic"
) -> dict[str, Any]:
    """``--set`` options as a table of overrides, or those of another option that assigns.

    Raises:
        ScenarioError: a setting has no key or no value.
    """
    overrides: dict[str, Any] = {}
    for text in assignments:
        try:
            key, value = parse_assignment(text, example)
        except ScenarioError as error:
            raise error.located(source=option) from None
        if key in overrides:
            raise ScenarioError(f"'{key}' is set twice; set it once", source=option)
        overrides[key] = value
    return overrides


def load_scenario(path: str, fixed: Mapping[str, Any], point: Mapping[str, Any] | None = None) -> Scenario:
    """A scenario file with the fields that ``--set`` and one point of ``--grid`` change.

    Raises:
        ScenarioError: the scenario is wrong; an error in a field set by an option names the option and not the file.
    """
    from elephan.scenario import Scenario

    point = point or {}
    try:
        return Scenario.load(path, overrides={**fixed, **point})
    except ScenarioError as error:
        for option, changed in (("--grid", point), ("--set", fixed)):
            for key, value in reversed(list(changed.items())):
                if error.source == path and covers(key, error.path):
                    where = "" if error.path == key else error.path
                    raise ScenarioError(error.message, path=where, source=f"{option} {key}={value}") from None
        raise


_documents: TextIO | None = None


@contextmanager
def documents_only() -> Iterator[None]:
    """Reserve stdout for documents within this context; all other output, in any thread, goes to stderr."""
    global _documents
    before, _documents = _documents, sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _documents = before


def print_json(document: Any) -> None:
    """Print one JSON document on stdout; infinite and undefined numbers, which JSON lacks, become null."""
    click.echo(json.dumps(_finite(document), ensure_ascii=False, indent=2), file=_documents)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def console(*, err: bool = False) -> Console:
    """A console of the package rich; output to a pipe is neither wrapped nor colored."""
    from rich.console import Console

    made = Console(stderr=err, highlight=False, soft_wrap=False)
    return made if made.is_terminal else Console(stderr=err, highlight=False, width=max(made.width, 160))


def say(line: str) -> None:
    """Print a line for people on stdout."""
    click.echo(line)


def warn(line: str) -> None:
    """Print a caution for people on stderr."""
    click.echo(f"warning: {line}", err=True)


def save_page(text: str, path: Path, *, no_open: bool, as_json: bool) -> None:
    """Write a page as one file, name it, and open it in a browser unless the user wants none."""
    import webbrowser

    from elephan.writing import whole_file

    with whole_file(path) as place:
        place.write_text(text, encoding="utf-8")
    opened = not no_open and not as_json and webbrowser.open(path.as_uri())
    if as_json:
        print_json({"file": str(path), "bytes": path.stat().st_size})
        return
    say(str(path))
    if not no_open and not opened:
        warn("no browser could be opened; open the file in one")
