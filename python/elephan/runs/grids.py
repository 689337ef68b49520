"""Grids: the scenarios of a sweep, from one scenario and the values of some fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, overload

from elephan.runs.arguments import with_seed
from elephan.runs.axes import as_text
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.overrides import covers

Axes = Mapping[Any, Any] | Sequence[Mapping[str, Any]]
"""Lists of values by field, or by a tuple of fields; or a list of the points themselves, which all have the same
fields."""

Point = dict[str, Any]
"""A value for each field of a grid."""

Seeds = int | Iterable[int] | None

SEED = "seed"
"""Axis of a sweep for the seeds."""
_SOURCE = "grid"


@dataclass(frozen=True, eq=False)
class Grid(Sequence[Scenario]):
    """The scenarios of a sweep, one for each point and seed; :func:`grid` makes such a grid.

    Attributes:
        keys: fields whose values differ, in the order in which they were given.
        points: value of each of these fields, for each scenario.
        scenarios: the runs; the seeds of a point are consecutive.
    """

    keys: tuple[str, ...]
    points: tuple[Mapping[str, Any], ...]
    scenarios: tuple[Scenario, ...]

    @classmethod
    def of(cls, points: Sequence[Point], state: Callable[[Point], Scenario], seeds: Seeds = None) -> Grid:
        """A grid of points; ``state`` gives the scenario of each point.

        Raises:
            ScenarioError: the scenario or the seeds are wrong.
        """
        if seeds is not None and any(SEED in point for point in points):
            raise ScenarioError("is an axis; leave the number of seeds out", path=SEED, source=_SOURCE)
        chosen = [(point, replicate) for point in points for replicate in replicates(state(point), seeds)]
        keys = tuple(points[0]) if points else ()
        return cls(keys, tuple(point for point, _ in chosen), tuple(scenario for _, scenario in chosen))

    def __len__(self) -> int:
        return len(self.scenarios)

    @overload
    def __getitem__(self, index: int) -> Scenario: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Scenario]: ...
    def __getitem__(self, index: int | slice) -> Scenario | Sequence[Scenario]:
        return self.scenarios[index]

    def __repr__(self) -> str:
        return f"<Grid of {len(self)} scenarios over {', '.join(self.keys) or 'seeds'}>"


def grid(scenario: Scenario, axes: Axes, *, seeds: Seeds = None) -> Grid:
    """The scenarios of a sweep over fields of one scenario.

    Args:
        scenario: the scenario whose fields are changed.
        axes: values of fields, named as in :meth:`Scenario.replace`. Several fields are crossed. Fields that change
            together have a tuple as their key, and tuples as values; a list of tables has the points themselves.
        seeds: number of seeds of each point, from the scenario's own seed on, or a list of seeds; by default only the
            scenario's own seed.

    Raises:
        ScenarioError: an axis has no values, a field or value occurs twice, or a scenario is wrong.
    """
    base, _ = with_seed(scenario)
    return Grid.of(points_of(axes), lambda point: _stated(base, point), seeds)


def points_of(axes: Axes) -> list[Point]:
    """The points of a grid.

    Raises:
        ScenarioError: there are no values, a field or a value occurs twice, or the points differ in their fields.
    """
    if isinstance(axes, Mapping):
        found = [
            dict(pair for row in rows for pair in row) for rows in product(*(_rows(*axis) for axis in axes.items()))
        ]
        named = [name for key in axes for name in ((key,) if isinstance(key, str) else key)]
    else:
        found = [_table(point) for point in axes]
        named = list(found[0]) if found else []
        if not found:
            raise ScenarioError("no points; write at least one table of fields and values", source=_SOURCE)
        for point in found:
            if set(point) != set(named):
                message = (
                    f"a point has the fields {_listed(point)}, and the first has {_listed(named)}; give all the same"
                )
                raise ScenarioError(message, source=_SOURCE)
    check_distinct(named, _SOURCE)
    return found


def _rows(key: Any, values: Any) -> list[tuple[tuple[str, Any], ...]]:
    """The values of an axis as pairs of a field and its value."""
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, tuple) or not names or not all(isinstance(name, str) for name in names):
        raise ScenarioError(f"{key!r} is not a field; write for example 'dumbbell.rtt'", source=_SOURCE)
    path = ", ".join(names)
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ScenarioError(f"{values!r} is not a list of values; write [{values!r}]", path=path, source=_SOURCE)
    chosen = list(values)
    if not chosen:
        raise ScenarioError("no values; write at least one", path=path, source=_SOURCE)
    check_values(chosen, _SOURCE, path)
    if isinstance(key, str):
        return [((key, value),) for value in chosen]
    for row in chosen:
        if not isinstance(row, tuple | list) or len(row) != len(names):
            message = f"{row!r} does not have {len(names)} values, one for each of the fields"
            raise ScenarioError(message, path=path, source=_SOURCE)
    return [tuple(zip(names, row, strict=True)) for row in chosen]


def _table(point: Any) -> Point:
    if not isinstance(point, Mapping) or not all(isinstance(name, str) for name in point):
        raise ScenarioError(
            f"{point!r} is not a point; write a table such as {{'dumbbell.rtt': '10 ms'}}", source=_SOURCE
        )
    return dict(point)


def check_values(values: Sequence[Any], source: str, path: str = "") -> None:
    """Reject an axis that has a value twice.

    Raises:
        ScenarioError: a value occurs twice.
    """
    for i, value in enumerate(values):
        if any(_same(value, earlier) for earlier in values[:i]):
            raise ScenarioError(f"{value!r} is there twice; write each value once", path=path, source=source)


def _same(left: Any, right: Any) -> bool:
    """True if two values are equal in a scenario; 1 and 1.0 are equal, and 1 and true are not equal."""
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def check_distinct(keys: Sequence[str], source: str) -> None:
    """Reject axes that set the same field, since the value of the later axis would silently replace the value of the
    earlier axis.

    Raises:
        ScenarioError: two axes set the same field.
    """
    for one, other in combinations(keys, 2):
        wide, narrow = (one, other) if covers(one, other) else (other, one)
        if covers(wide, narrow):
            raise ScenarioError(
                f"'{narrow}' is an axis too, and both set it; write one of the two", source=f"{source} {wide}"
            )


def replicates(scenario: Scenario, seeds: Seeds) -> list[Scenario]:
    """A scenario with the given number of seeds, counted from its own seed, or with the given seeds; unchanged for
    ``None``.

    Raises:
        ScenarioError: there are no seeds, a seed occurs twice, or the scenario does not depend on the seed.
    """
    if seeds is None:
        return [scenario]
    if isinstance(seeds, int):
        if isinstance(seeds, bool):
            raise ScenarioError(f"{seeds!r} is not a number of seeds", path="seeds", source=_SOURCE)
        return scenario.replicates(seeds)
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise ScenarioError(f"{seeds!r} is neither a number of seeds nor a list of them", path="seeds", source=_SOURCE)
    chosen = list(seeds)
    check_values(chosen, _SOURCE, "seeds")
    return [made.with_seed(seed) for made, seed in zip(scenario.replicates(len(chosen)), chosen, strict=True)]


def _stated(scenario: Scenario, point: Point) -> Scenario:
    """The scenario of a point; an error names the axis that caused it."""
    try:
        return scenario.with_overrides(point)
    except ScenarioError as error:
        for key, value in reversed(point.items()):
            if covers(key, error.path):
                path = "" if error.path == key else error.path
                raise ScenarioError(error.message, path=path, source=f"{_SOURCE} {key}={as_text(value)}") from None
        raise error.located(source=_SOURCE) from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
