"""The tables of papers' and suites' files: how they are read, their rows, and the grids of their experiments."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from elephan.evaluation.templates import filled, points
from elephan.scenario import ScenarioError, reading
from elephan.scenario.errors import join_path
from elephan.scenario.words import hint

_MOST_BYTES = 4_000_000
Lists = Mapping[str, Sequence[Any]]
"""Lists of values that grids name."""


class Table(BaseModel):
    """A table of a file: frozen, without extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


Grid = dict[str, list[Any] | str]
"""Values by the name of a placeholder, as a list or as the name of one. A key with several names (``"first, second"``)
has a list of values for each of its points."""


class GridTable(Table):
    """A table whose runs are at the points of a grid."""

    grid: Grid = Field(
        default_factory=dict, description="placeholders and their values; each is combined with each cell"
    )
    quick_grid: Grid = Field(
        default_factory=dict, description="values of the grid in a quick evaluation, if these are fewer"
    )

    def points(self, lists: Lists, *, quick: bool) -> Iterator[dict[str, Any]]:
        """The values of the placeholders at each point."""
        grid = self.grid | (self.quick_grid if quick else {})
        yield from points({key: listed(values, lists) for key, values in grid.items()})


def listed(values: list[Any] | str, lists: Lists) -> Sequence[Any]:
    """The values of a grid that are written there, or in the list that it names.

    Raises:
        ScenarioError: there is no such list.
    """
    if not isinstance(values, str):
        return values
    if values not in lists:
        known = f"is not one of the lists {', '.join(lists)}" if lists else "is not a list of values"
        raise ScenarioError(f"'{values}' {known}")
    return lists[values]


def expanded(
    table: Mapping[str, Any], fields: Container[str] | None, *, partly: bool = False
) -> Iterator[dict[str, Any]]:
    """The tables that one table with ``columns`` and ``rows`` stands for; a table without rows stands for itself.

    Each row has a value for each of the columns, and perhaps a table of fields that only this row has. A column that is
    named as one of the ``fields`` (any name if ``None``) sets that field, and each column is a placeholder in the texts
    of the other fields. A row is one table, or one for each of the ``cells``: tables with further fields, perhaps with
    rows of their own. With ``partly``, placeholders that are no columns stay.

    Raises:
        ScenarioError: a row does not fit the columns, or a placeholder is not one.
    """
    kept = {key: value for key, value in table.items() if key not in ("columns", "rows")}
    cells: list[dict[str, Any]] = [{}]
    if isinstance(kept.get("cells"), list | dict):
        each = kept.pop("cells")
        each = each if isinstance(each, list) else [each]
        if not all(isinstance(one, dict) for one in each):
            raise ScenarioError(f"{each!r} is not a list of tables", path="cells")
        cells = [cell for one in each for cell in expanded(one, fields, partly=True)]
    columns, rows = table.get("columns", []), table.get("rows", [[]])
    if not isinstance(columns, list) or not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ScenarioError("not rows; write columns = [NAME, ...] and rows = [[VALUE, ...], ...]", path="rows")
    for i, row in enumerate(rows):
        own = row[-1] if len(row) == len(columns) + 1 else {}
        if len(row) not in (len(columns), len(columns) + 1) or not isinstance(own, dict):
            raise ScenarioError(f"{row}: a row has {', '.join(map(str, columns)) or 'no columns'}", path="rows")
        given = dict(zip(columns, row, strict=False))
        shared = kept | {name: value for name, value in given.items() if fields is None or name in fields}
        for cell in cells:
            try:
                yield filled(shared | cell | own, given, partly=partly) if columns else shared | cell
            except ScenarioError as error:
                raise error.located(path=f"rows[{i}]") from None


def with_rows(stated: Any, table: type[BaseModel], name: str) -> Any:
    """Tables of a file, each that has rows as the tables that it stands for (:func:`expanded`). Placeholders that are
    no columns stay, since they are filled later.

    Args:
        stated: one table or several, as they are written.
        table: the tables' fields; if it takes any field, each column sets one.
        name: the tables' name in the file.
    """
    known = {field.alias or key for key, field in table.model_fields.items()}
    found: list[Any] = []
    for i, one in enumerate(stated if isinstance(stated, list | tuple) else [stated]):
        if not isinstance(one, dict):
            found.append(one)
            continue
        fields = None if table.model_config.get("extra") == "allow" else known
        try:
            found += expanded(one, fields, partly=True)
        except ScenarioError as error:
            raise error.located(path=join_path(name, i)) from None
    return found


_Model = TypeVar("_Model", bound=BaseModel)


def read(path: Path, table: type[_Model], missing: str = "no such file") -> _Model:
    """The tables of a file.

    Raises:
        ScenarioError: there is no such file, or it has a mistake; the message has the field and a suggestion.
    """
    try:
        return made(table, _stated(path))
    except FileNotFoundError:
        raise ScenarioError(missing, source=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"not TOML: {str(error)[:1].lower()}{str(error)[1:]}", source=str(path)) from None
    except ScenarioError as error:
        raise error.located(source=str(path)) from None


def _stated(path: Path) -> dict[str, Any]:
    return tomllib.loads(reading.read_text(path, _MOST_BYTES))


def in_file(error: ScenarioError, path: Path) -> ScenarioError:
    """An error about the tables of a file, with the file and the place there."""
    return ScenarioError(error.message, path=_as_written(error.path, _stated(path)), source=error.source or str(path))


def _as_written(path: str, stated: Mapping[str, Any]) -> str:
    """The path of a field in the file: a table that a row stands for (:func:`with_rows`) is named as that row."""
    found = re.match(r"(?:(cells)\.)?([^\[]+)\[(\d+)\]", path)
    if found is None:
        return path
    group, name, number = found.groups()
    tables, left = (stated[group] if group else stated).get(name), int(number)
    for i, one in enumerate(tables if isinstance(tables, list | tuple) else ()):
        count = sum(1 for _ in expanded(one, None, partly=True)) if isinstance(one, dict) else 1
        if left < count:
            row = f".rows[{left * len(one['rows']) // count}]" if "rows" in one else ""
            return f"{join_path(group or '', name, i)}{row}{path[found.end() :]}"
        left -= count
    return path


def known(name: str, names: Iterable[str], what: str, path: str, lister: str = "") -> None:
    """Check a name that a file has for something else.

    Args:
        what: what the known names are.
        path: the field with the name.
        lister: command that lists the known names.

    Raises:
        ScenarioError: the name is not known; the message has the nearest one.
    """
    found = list(names)
    if name not in found:
        raise ScenarioError(f"'{name}' is not {what}; {hint(name, found, lister=lister)}", path=path)


def made(table: type[_Model], values: Mapping[str, Any]) -> _Model:
    """A table with the given values.

    Raises:
        ScenarioError: a field is missing, unknown or wrong.
    """
    try:
        return table(**values)
    except ValidationError as error:
        problem = _first_problem(error, table)
        raise ScenarioError(problem.message, path=_as_written(problem.path, values)) from None


def _first_problem(error: ValidationError, table: type[BaseModel]) -> ScenarioError:
    order = {"extra_forbidden": 0, "elephan": 1}
    found = min(error.errors(include_url=False), key=lambda problem: order.get(problem["type"], 2))
    place, kind = found["loc"], found["type"]
    path = join_path(*place)
    if kind == "extra_forbidden":
        known = [field.alias or name for name, field in _inner(table, place).model_fields.items()]
        return ScenarioError(f"not a field; {hint(str(place[-1]), known)}", path=path)
    if kind == "missing":
        return ScenarioError("missing; it must be written", path=path)
    message = found["msg"]
    if kind != "elephan":
        message = f"{found['input']!r}: {message[:1].lower()}{message[1:]}"
    return ScenarioError(message, path=path)


def _inner(table: type[BaseModel], place: Sequence[int | str]) -> type[BaseModel]:
    """The table within ``table`` whose field is at a place."""
    for step in place[:-1]:
        fields = {field.alias or name: field for name, field in table.model_fields.items()}
        if step in fields:
            table = next(_tables(fields[str(step)].annotation), table)
    return table


def _tables(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _tables(part)
