"""Metrics of a saved run, for any window and any flows: ``elephan show RUN --metric NAME``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elephan.cli import common
from elephan.scenario import ScenarioError
from elephan.scenario.units import parse_time

if TYPE_CHECKING:
    from elephan.metrics import Metric
    from elephan.runs import Run


@dataclass(frozen=True)
class Asked:
    """Requested metrics of a run.

    Attributes:
        names: names of the metrics.
        window: text of the window's ends; ``None`` for each metric's own default.
        flows: names of flows; empty for all.
        link: name of a link; ``None`` for the bottleneck.
    """

    names: Sequence[str]
    window: tuple[str, str] | None = None
    flows: Sequence[str] = ()
    link: str | None = None

    def __bool__(self) -> bool:
        return bool(self.names or self.window or self.flows or self.link)


def show_numbers(run: Run, asked: Asked, as_json: bool) -> None:
    """Print the requested metrics, each with its unit.

    Raises:
        ScenarioError: there is no such metric, or it is not defined for this run, window, flow or link.
    """
    if not asked.names:
        raise ScenarioError(
            "--window, --flow and --link belong to --metric NAME, --window and --flow to --pcapng and --qlog too",
            source="show",
        )
    values = {name: _value(run, name, asked) for name in asked.names}
    if as_json:
        common.print_json({"id": run.id, "metrics": {name: value for name, (_, value) in values.items()}})
        return
    rows = [
        [name, flow, "never" if math.isinf(number) else number, metric.shown_unit]
        for name, (metric, value) in values.items()
        for flow, number in (value if isinstance(value, dict) else {"": value}).items()
    ]
    common.print_table("", ["metric", "flow", "value", "unit"], rows)


def _value(run: Run, name: str, asked: Asked) -> tuple[Metric, Any]:
    from elephan.metrics import MetricError, get

    try:
        metric = get(name)
        if metric.scope == "link" and asked.flows:
            raise MetricError("this is a metric of a link, and all flows on it are in it")
        if metric.scope != "link" and asked.link is not None:
            raise MetricError("this is a metric of flows, and of no link")
        where = {"link": asked.link} if metric.scope == "link" else {"flows": list(asked.flows) or None}
        try:
            window = None if asked.window is None else tuple(parse_time(end) / 1e12 for end in asked.window)
        except ScenarioError as error:
            raise error.located(path="--window", source="show") from None
        return metric, metric(run, window=window, **where)
    except MetricError as error:
        raise ScenarioError(f"{name}: {error}", source="show") from None
