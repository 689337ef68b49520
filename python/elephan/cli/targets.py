"""Checks of output folders and files: a path that cannot be written is rejected before the run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from elephan.scenario.errors import ScenarioError


def writable_folder(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check an option's folder, which must exist or be creatable.

    Raises:
        ScenarioError: the path is a file, or the folder cannot be written.
    """
    if value is not None:
        _check_folder(parameter.opts[0], value, writable=True)
    return value


def store_folder(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check the folder of saved results, or the folder in $ELEPHAN_STORE; a lookup only reads it.

    Raises:
        ScenarioError: a file is in the place of the folder.
    """
    from_environment = os.environ.get("ELEPHAN_STORE")
    if value is not None:
        _check_folder(parameter.opts[0], value, writable=False)
    elif from_environment:
        _check_folder("$ELEPHAN_STORE", from_environment, writable=False)
    return value


def writable_file(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check an option's file: its folder exists, and the file is not a folder.

    Raises:
        ScenarioError: the file cannot be written.
    """
    if value is None:
        return None
    option, path = parameter.opts[0], Path(value)
    if not value:
        raise ScenarioError("'' is not a file's name", source=option)
    if path.is_dir():
        raise ScenarioError(f"'{value}' is a folder; write the name of a file", source=option)
    if not path.parent.is_dir():
        raise ScenarioError(f"'{value}': there is no folder '{path.parent}'", source=option)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ScenarioError(f"'{value}' cannot be written: no permission, or a read-only place", source=option)
    return value


TABLES = (".csv", ".parquet")
PAGE = ".html"


def table_page_or_folder(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check an option's path: a table or a page, by the file's suffix, or a folder.

    Raises:
        ScenarioError: the file has another suffix, or the path cannot be written.
    """
    if value is None or Path(value).is_dir() or value.endswith(os.sep) or not Path(value).suffix:
        return writable_folder(context, parameter, value)
    if Path(value).suffix not in (*TABLES, PAGE):
        endings = f"{', '.join(TABLES)} or {PAGE}"
        message = f"'{value}' ends in '{Path(value).suffix}'; write a file that ends in {endings}, or a folder"
        raise ScenarioError(message, source=parameter.opts[0])
    return writable_file(context, parameter, value)


def _check_folder(option: str, value: str, *, writable: bool) -> None:
    if not value:
        raise ScenarioError("'' is not a folder's name", source=option)
    path = Path(value).absolute()
    there = next(place for place in (path, *path.parents) if os.path.lexists(place))
    if not there.is_dir():
        # The existing file may be a link to a target that does not exist.
        shown = value if there == path else f"{value}': '{there}"
        raise ScenarioError(f"'{shown}' is not a folder; write the name of a folder, or of a new one", source=option)
    if writable and there not in (path, path.parent):
        raise ScenarioError(f"'{value}': there is no folder '{path.parent}'; make it first", source=option)
    if writable and not os.access(there, os.W_OK | os.X_OK):
        raise ScenarioError(f"'{value}' cannot be written: no permission, or a read-only place", source=option)
