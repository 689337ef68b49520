"""Metrics of many variants of a scenario, without tables and without a store: what a design loop needs.

The engine's threads run the variants and compute the metrics (``crates/metrics``), without the interpreter. Each number
equals that of :func:`elephan.run`, bit for bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from elephan.algorithm import AlgorithmError
from elephan.backends import get as get_backend
from elephan.backends.memory import HEADROOM, MemoryPool, needs_more, outgrown
from elephan.backends.sim import libraries_of
from elephan.metrics.errors import MetricError
from elephan.metrics.registry import get
from elephan.progress import meter
from elephan.runs import execute
from elephan.runs.arguments import with_seed
from elephan.runs.axes import as_text
from elephan.runs.grids import SEED, Seeds, replicates
from elephan.runs.provenance import cores
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.catalog import engine
from elephan.scenario.fields import parse_seed
from elephan.scenario.template import Template

if TYPE_CHECKING:
    import polars as pl

    from elephan.metrics.sweeps import Names

# Polars and NumPy are imported where a frame is made, since a score needs none and waits for their import.

BACKEND = "sim"
_WAIT_S = 0.1
_AHEAD = 4
"""Number of runs of each thread that are stated in advance."""

_encode = msgspec.json.Encoder().encode


class Threads(Protocol):
    """Threads of the engine that run the variants, in this process or in another one."""

    def submit(self, number: int, form: str, libraries: Mapping[int, str], /) -> None:
        """Hand over a run: its number, its canonical form, and the libraries of a user's algorithms by the flow."""

    def collect(self, timeout_s: float, /) -> Sequence[tuple[Any, ...]]:
        """Finished runs: the number, the engine's time, the failure or ``None``, and the numbers."""

    def stop(self) -> None:
        """Stop all runs."""


Maker = Callable[[Sequence[str], int, int, float], Threads]
"""Makes the threads, given the metrics' names, the number of runs at once, their memory and its headroom."""


@dataclass
class Point:
    """A run of a batch.

    Attributes:
        template: the scenario that is changed.
        row: position of its row in the table.
        seed: seed of the random streams.
        changes: fields of the scenario that its row sets.
        values: numbers by column, such as ``goodput_mbps[cubic-1]``.
        whys: reasons for missing numbers, by column.
        failed: the reason if the run failed.
    """

    template: Template
    row: int
    seed: int
    changes: Mapping[str, Any]
    values: dict[str, float] = field(default_factory=dict)
    whys: dict[str, str] = field(default_factory=dict)
    failed: str | None = None

    def number(self, column: str) -> float | None:
        """The number of a column; ``None`` if it is missing."""
        found = self.values.get(column, math.nan)
        return None if math.isnan(found) else found

    def why(self, names: Sequence[str]) -> str | None:
        """Why the numbers of some metrics are missing."""
        from elephan.metrics.sweeps import Row, reasons

        if self.failed is not None:
            return f"the run failed: {self.failed}"
        unsampled = {column: "it has no sample" for column, value in self.values.items() if math.isnan(value)}
        whys = self.whys | unsampled
        return reasons(Row(0, None, dict.fromkeys([*names, *self.values, *whys]), whys))


def batch(
    scenario: Scenario,
    table: Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]] | pl.DataFrame,
    metrics: Names = None,
    *,
    seeds: Seeds = None,
    jobs: int | None = None,
    memory: int | str | None = None,
    progress: bool | None = None,
) -> pl.DataFrame:
    """Run variants of a scenario in the simulator, and return their metrics in a data frame with one row for each run.

    Nothing is saved, and no tables are made, so a run costs little besides the engine's own time. Use
    :func:`elephan.sweep` if the runs themselves are wanted. The columns are those of the table, ``seed``, the metrics,
    and ``why`` with the reasons for missing numbers. A metric of each flow has a column for each flow,
    ``goodput_mbps[cubic-1]``; a metric of a link is that of the bottleneck, and also has a column for each link if
    several are recorded. A time that was not reached is infinite.

    Args:
        scenario: the scenario whose fields are changed.
        table: the values of fields, named as in :meth:`Scenario.replace`: columns of equal length, rows, or a data
            frame.
        metrics: names of metrics over the measurement window; those of a sweep by default.
        seeds: number of seeds of each row, from the scenario's own seed on, or a list of seeds; by default only the
            scenario's own seed, or the column ``seed``.
        jobs: number of simultaneous runs; one per core by default.
        memory: limit on the memory of all simultaneous runs, bytes or ``"8 GB"``; 80 % of the free memory by default.
        progress: true to show the progress, false not to show it; by default it is shown in a notebook and a terminal.

    Raises:
        ScenarioError: the table or the seeds are wrong; a row whose scenario is wrong only has its reason in ``why``.
        MetricError: there is no such metric, or the engine does not compute it.
        KeyboardInterrupt: the user pressed Ctrl-C; no result is returned.
    """
    from elephan.metrics.sweeps import RUN_DEFAULTS

    base, _ = with_seed(scenario)
    chosen = _chosen(RUN_DEFAULTS if metrics is None else metrics)
    rows = _rows_of(table)
    if seeds is not None and any(SEED in row for row in rows):
        raise ScenarioError("is a column; leave the number of seeds out", path=SEED, source="batch")
    runs = replicates(base, seeds)
    pool = MemoryPool(memory, jobs or cores())
    # Replicates are perturbed alike, and differ in their seeds only.
    template = _template(runs[0], pool)
    points = [_point(template, i, row, run.seed) for i, row in enumerate(rows) for run in runs]
    _Batch(chosen, points, pool).run(progress)
    return _frame(rows, points, list(chosen))


def evaluated(
    tables: Sequence[tuple[Scenario, Sequence[Mapping[str, Any]]]],
    metrics: Sequence[str],
    *,
    jobs: int | None = None,
    memory: int | str | None = None,
    threads: Maker | None = None,
) -> list[list[Point]]:
    """Run variants of several scenarios at once, and return their numbers: :func:`batch` without a data frame.

    Args:
        tables: scenarios, each with the rows of its table.
        metrics: names of metrics.
        jobs, memory: as in :func:`batch`.
        threads: makes what runs the variants; the engine's threads in this process by default.

    Raises:
        ScenarioError: a scenario is wrong; a row whose scenario is wrong has its reason.
        MetricError: there is no such metric, or the engine does not compute it.
    """
    pool = MemoryPool(memory, jobs or cores())
    found: list[list[Point]] = []
    for scenario, rows in tables:
        base, seed = with_seed(scenario)
        template = _template(base, pool)
        found.append([_point(template, i, row, seed) for i, row in enumerate(rows)])
    _Batch(_chosen(metrics), [point for points in found for point in points], pool, threads).run(progress=False)
    return found


def _template(scenario: Scenario, memory: MemoryPool) -> Template:
    return Template(scenario, get_backend(BACKEND, memory).check)


def _point(template: Template, number: int, row: Mapping[str, Any], seed: int) -> Point:
    changes = {key: value for key, value in row.items() if key != SEED}
    return Point(template, number, parse_seed(row[SEED]) if SEED in row else seed, changes)


def _chosen(names: str | Sequence[str]) -> dict[str, str]:
    """The engine's names of metrics with the given names or aliases.

    The registry, whose definitions are slow to import, is asked for what the engine does not know only.

    Raises:
        MetricError: there is no such metric, or the engine does not compute it.
    """
    known = {name for name, _, _ in engine().metrics()}
    wanted = [names] if isinstance(names, str) else names
    found = {name: name if name in known else get(name).name for name in wanted}
    for name, metric in found.items():
        if metric not in known:
            raise MetricError(f"'{name}' needs the tables of a run; a batch has {', '.join(sorted(known))}")
    return found


def _rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a table.

    Raises:
        ScenarioError: it is not a table, or its columns differ in length.
    """
    if hasattr(table, "to_dicts"):
        rows: list[dict[str, Any]] = table.to_dicts()
    elif isinstance(table, Mapping):
        for key, values in table.items():
            if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
                message = f"{values!r} is not a list of values; write [{values!r}]"
                raise ScenarioError(message, path=str(key), source="batch")
        columns = {key: list(values) for key, values in table.items()}
        if len({len(values) for values in columns.values()}) > 1:
            lengths = ", ".join(f"{key} has {len(values)}" for key, values in columns.items())
            raise ScenarioError(
                f"the columns differ in length: {lengths} (elephan.grid crosses values)", source="batch"
            )
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    else:
        rows = []
        for row in table:
            if not isinstance(row, Mapping):
                raise ScenarioError(f"{row!r} is not a row; write a table of fields and values", source="batch")
            rows.append(dict(row))
    for row in rows:
        for key in row:
            if not isinstance(key, str):
                raise ScenarioError(f"{key!r} is not a field; write for example 'dumbbell.rtt'", source="batch")
    return rows


class _Batch:
    """The runs of a batch: this thread states them, the engine's threads run them."""

    def __init__(
        self, metrics: Mapping[str, str], points: Sequence[Point], memory: MemoryPool, threads: Maker | None = None
    ) -> None:
        self._metrics = metrics
        self._names = list(metrics)
        self._points = points
        self._backend = get_backend(BACKEND, memory)
        self._memory = memory
        self._threads = threads or engine().Batch
        self._libraries: dict[int, dict[int, str] | None] = {}
        self._waiting = 0
        self._finished = 0

    def run(self, progress: bool | None) -> None:
        """Run all points, and store their numbers in them."""
        jobs = min(self._memory.runs, len(self._points))
        threads = self._threads(list(self._metrics.values()), jobs, self._memory.all_bytes(), HEADROOM)
        try:
            with meter(show=progress) as told:
                for number, point in enumerate(self._points):
                    self._begin(threads, number, point)
                    while self._waiting >= _AHEAD * jobs:
                        self._collect(threads, told)
                while self._waiting:
                    self._collect(threads, told)
        finally:
            threads.stop()

    def _begin(self, threads: Threads, number: int, point: Point) -> None:
        """Hand a run to the engine's threads; run it here if its algorithm is written in Python."""
        try:
            form = point.template.filled(point.changes)
            libraries = self._libraries_of(point.template)
            if form is None:
                stated = point.template.for_engine(point.changes)
                self._backend.check(stated)
                libraries = libraries_of(stated)
                if libraries is None:
                    self._run_here(point.template.stated(point.changes), point)
                    return
                form = stated.canonical()
        except ScenarioError as error:
            point.failed = str(error)
            self._finished += 1
            return
        threads.submit(number, _encode(form | {"seed": point.seed}).decode(), libraries or {})
        self._waiting += 1

    def _libraries_of(self, template: Template) -> dict[int, str] | None:
        """The libraries of a template, which are those of each form that is filled in."""
        if id(template) not in self._libraries:
            self._libraries[id(template)] = libraries_of(template.scenario)
        return self._libraries[id(template)]

    def _run_here(self, scenario: Scenario, point: Point) -> None:
        from elephan.metrics.reading import recorded_links

        self._finished += 1
        try:
            run = execute.compute(self._backend, scenario, point.seed)
        except Exception as error:  # noqa: BLE001  (one failed run must not end the others)
            point.failed = str(error) or type(error).__name__
            return
        for name in self._metrics:
            metric = get(name)
            places: list[str | None] = [None]
            if metric.scope == "link":
                links = recorded_links(run)
                places += links if len(links) > 1 else []
            for place in places:
                try:
                    found = metric(run) if place is None else metric(run, link=place)
                except MetricError as error:
                    self._missing(point, name, place, str(error))
                    continue
                for flow, value in found.items() if isinstance(found, dict) else [(place, found)]:
                    point.values[_column(name, flow)] = value

    def _collect(self, threads: Threads, told: Callable[[float, float, int, int], object]) -> None:
        for number, _, failed, entries in threads.collect(_WAIT_S):
            self._waiting -= 1
            self._finished += 1
            point = self._points[number]
            if failed is not None:
                point.failed = self._reason(point, *failed)
            for place, of, value, why in entries:
                if why is not None:
                    self._missing(point, self._names[place], of, why)
                else:
                    point.values[_column(self._names[place], of)] = value
        told(self._finished, len(self._points), self._finished, len(self._points))

    def _missing(self, point: Point, name: str, of: str | None, why: str) -> None:
        point.whys[_column(name, of)] = why

    def _reason(self, point: Point, kind: str, text: str) -> str:
        """The reason of a failure, as :func:`elephan.run` states it."""
        if kind == "needs":
            return str(needs_more(int(text) << 20, self._memory))
        if kind == "memory":
            return str(outgrown(text, self._memory))
        if kind == "algorithm":
            flow, callback, time_s, why = json.loads(text)
            stated = point.template.stated(point.changes)
            name = [*stated.flow_names, *stated.sources][flow]
            return str(AlgorithmError(name, callback, time_s, f"RuntimeError: {why}", ""))
        if kind == "scenario":
            try:
                point.template.stated(point.changes)
            except ScenarioError as error:
                return str(error)
        return f"a defect of Elephan: {text}" if kind == "defect" else text


def _column(name: str, of: str | None) -> str:
    return name if of is None else f"{name}[{of}]"


def _frame(rows: Sequence[Mapping[str, Any]], points: Sequence[Point], names: Sequence[str]) -> pl.DataFrame:
    """One row for each point."""
    import polars as pl

    columns: dict[str, pl.Series] = {}
    for key in dict.fromkeys(key for row in rows for key in row if key != SEED):
        values = [point.changes.get(key) for point in points]
        plain = {type(value) for value in values} - {type(None)} in ({int}, {float}, {int, float}, {bool}, {str})
        columns[key] = pl.Series(key, values if plain else list(map(as_text, values)), strict=False)
    columns[SEED] = pl.Series([point.seed for point in points], dtype=pl.Int64)
    found = dict.fromkeys(column for point in points for column in (*point.values, *point.whys))
    for name in names:
        own = [column for column in found if column == name or column.startswith(f"{name}[")] or [name]
        # Without a value for the run as a whole, the column only shows that every run failed.
        single = [column for column in own if any(column in point.values for point in points)]
        for column in single or [name]:
            numbers = [point.values.get(column, math.nan) for point in points]
            columns[column] = pl.Series([None if math.isnan(x) else x for x in numbers], dtype=pl.Float64)
    columns["why"] = pl.Series([point.why(names) for point in points], dtype=pl.String)
    return pl.DataFrame(columns)
