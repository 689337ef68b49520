"""Names of saved runs on the command line: an id, the beginning of an id, a folder, or ``last``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elephan.cli import common
from elephan.cli.tables import printable
from elephan.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from elephan.runs import Run, Store


def folder_of(name: str, store: Store) -> Path | None:
    """The folder of a run, also of a damaged one; ``None`` if no run has this name.

    Raises:
        ScenarioError: several runs match, or ``last`` is given without saved runs.
    """
    from elephan.runs import RunError, index

    try:
        return index.locate(name, store)
    except RunError as error:
        raise ScenarioError(str(error)) from None


def run_of(name: str, store: Store, verb: str) -> Run:
    """The saved run with a name.

    Raises:
        ScenarioError: no run has this name; the message names the most similar name.
        DamagedRunError: the files of the run are damaged.
    """
    from elephan.runs import Run, index

    folder = folder_of(name, store)
    if folder is None:
        raise ScenarioError(f"'{name}' is not a saved run; {index.nearest_run(name, store)}", source=verb)
    return Run.load(folder)


def letters(count: int) -> list[str]:
    """Short names of runs in a table; the names are letters from A to Z, then numbers."""
    return [chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(count)]


def say_which(runs: Sequence[Run]) -> None:
    """Print a line for each run: its letter, its id and its title."""
    for letter, run in zip(letters(len(runs)), runs, strict=True):
        common.say(printable(f"{letter}: {run.id}  {run.manifest.get('title') or ''}").rstrip())
    common.say("")
