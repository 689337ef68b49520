"""Calls of the metrics that are defined in Rust (``crates/metrics``), for runs of any backend.

A function of this package gives such a metric its name, its definition in words, its unit and its source; the engine
computes it, for :func:`elephan.batch` straight from its own tables and here from the tables of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

import msgspec

from elephan.metrics.errors import MetricError, Window
from elephan.runs import tables
from elephan.scenario.catalog import engine
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan._engine import Numbers
    from elephan.runs.result import Run

PS_PER_S = 1e12
T = TypeVar("T")


def number(
    run: Run,
    name: str,
    window: Window | None = None,
    *,
    flows: Sequence[str] | None = None,
    link: str | None = None,
    size_bytes: tuple[float, float] | None = None,
    **settings: float,
) -> float:
    """A metric of a run or of a link.

    Raises:
        MetricError: the metric is not defined for this run, window, flow or link.
    """
    found: float = _value(run, name, window, flows=flows, link=link, size_bytes=size_bytes, **settings)
    return found


def by_flow(run: Run, name: str, window: Window | None = None, flows: Sequence[str] | None = None) -> dict[str, float]:
    """A metric of each flow, in order of start.

    Raises:
        MetricError: the metric is not defined for this run, window or flow.
    """
    found: dict[str, float] = _value(run, name, window, flows=flows)
    return found


def _value(run: Run, name: str, window: Window | None, **arguments: Any) -> Any:
    settings = [(key, float(arguments.pop(key))) for key in list(arguments) if key not in _PLACES]
    given = {"window": None if window is None else (float(window[0]), float(window[1])), "settings": settings}
    flows = arguments.pop("flows")
    given |= arguments | {"flows": None if flows is None else list(flows)}
    return defined(run, lambda numbers: numbers.value(name, given))


_PLACES = frozenset(("flows", "link", "size_bytes"))


def defined(run: Run, compute: Callable[[Numbers], T]) -> T:
    """Result of ``compute`` for the numbers of a run.

    Raises:
        MetricError: it is not defined for this run; the message of an unknown name has the most similar name.
    """
    numbers = run.kept("numbers", lambda: _numbers(run))
    try:
        return compute(numbers)
    except engine().UndefinedError as error:
        message, unknown = error.args
        if unknown is not None:
            kind, name = unknown
            known = names_of(run) if kind == "flow" else numbers.recorded_links()
            message += f"; {hint(name, known)}"
        raise MetricError(message) from None


def _numbers(run: Run) -> Numbers:
    # Kept by the run: with a reference back, which Python's collector cannot see in the engine, no run would be freed.
    known = ref(run)

    def table(name: str) -> Any:
        run = known()
        assert run is not None
        if name == "crowd":
            return tables.for_engine(run.crowd)
        return tables.for_engine(run.arrow(name))

    sources = run.manifest.get("engine_summary", {}).get("traffic", [])
    made: Numbers = engine().Numbers(_json(run.manifest["scenario"]), _json(sources), table)
    return made


def _json(document: Any) -> str:
    return msgspec.json.encode(document).decode()


def measure_window(run: Run) -> Window:
    """The scenario's ``[measure]``, seconds."""
    measure = run.form.measure
    return measure.from_ps / PS_PER_S, measure.to_ps / PS_PER_S


def link_counter(run: Run, link: str, column: str, window: Window) -> float:
    """Increase of a cumulative column of ``links`` over a window.

    Raises:
        MetricError: the link was not recorded, or the window's ends are not sample times.
    """
    return defined(run, lambda numbers: numbers.link_counter(link, column, window))


def recorded_links(run: Run) -> list[str]:
    """Names of the links that have samples, as listed in the scenario."""
    return defined(run, lambda numbers: numbers.recorded_links())


def names_of(run: Run) -> list[str]:
    """Names of a run's flows and sources."""
    return [flow.name for flow in (*run.form.flows, *(source.flow for source in run.form.traffic))]
