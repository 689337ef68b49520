"""Differences of two runs: the fields of their scenarios, and their results."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elephan.runs import tables
from elephan.runs.result import Run, flow_rows
from elephan.scenario import Scenario, ScenarioError

_NOT_RESULTS = frozenset({"name", "algorithm", "undefined"})
_FLOW_FIELDS = (
    "goodput_mbps", "throughput_mbps", "segments_delivered", "retransmits", "loss_events", "ecn_events", "timeouts",
    "rtt_min_ms", "rtt_mean_ms", "rtt_p99_ms", "cwnd_mean", "cwnd_max", "completion_s",
)  # fmt: skip
_MOST_CHECKED = 60
"""Largest number of fields that are compared by meaning; if there are more fields, the texts of the fields are
compared."""


@dataclass(frozen=True)
class Changed:
    """A field or a number that differs between two runs; ``None`` for a missing value."""

    name: str
    first: Any
    second: Any

    @property
    def ratio(self) -> float | None:
        """The second number divided by the first; ``None`` if it is undefined."""
        if not _is_number(self.first) or not _is_number(self.second) or self.first == 0:
            return None
        ratio = self.second / self.first
        return ratio if math.isfinite(ratio) else None


@dataclass(frozen=True)
class Difference:
    """Comparison of two runs.

    Attributes:
        scenario: fields that differ, by their path in the form of ``--set``; also the backend, the seed and the engine
            version.
        results: numbers of the summaries that differ.
        same_tables: true if all tables are equal, value by value.
    """

    scenario: list[Changed]
    results: list[Changed]
    same_tables: bool

    @property
    def equal(self) -> bool:
        """True if neither the scenario nor a result differs."""
        return not self.scenario and not self.results and self.same_tables


def difference(first: Run, second: Run) -> Difference:
    """Compare two runs.

    Raises:
        RunError: the files of a run are damaged.
    """
    numbers = side_by_side([first.summary(), second.summary()])
    return Difference(
        [*_environment(first, second), *scenario_fields(first, second)],
        [Changed(*row) for row in _unequal(*numbers)],
        tables.same_contents(
            first.manifest["tables_sha256"],
            second.manifest["tables_sha256"],
            [lambda: tables.contents_digest(first.tables()), lambda: tables.contents_digest(second.tables())],
        ),
    )


def side_by_side(summaries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The numbers of each summary by name: of each flow or quantile of flows, of each link and source, and the metrics.

    Flows with the same name are the same flow. Names can differ because they include the algorithm. If names differ and
    the numbers of flows are equal, flows are matched by their order.
    """
    columns = {"flow": "name", "algorithm": "algorithm", **{field: field for field in _FLOW_FIELDS}}
    flows = [flow_rows(summary, columns)[1] for summary in summaries]
    names = [[_label(row) for row in rows] for rows in flows]
    if len({len(each) for each in names}) == 1 and len({tuple(each) for each in names}) > 1:
        names = [[str(i) for i in range(1, len(each) + 1)] for each in names]
    return [_numbers(*each) for each in zip(summaries, flows, names, strict=True)]


def _label(row: Mapping[str, Any]) -> str:
    keys = ("name",) if "name" in row else ("group", "algorithm", "quantile")
    return " ".join(str(row[key]) for key in keys if row.get(key) is not None)


def _numbers(summary: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, row in zip(names, flows, strict=True):
        found |= {f"flow {name}: {field}": row.get(field) for field in _FLOW_FIELDS}
    for kind, rows in (("source", summary.get("traffic", [])), ("link", summary["links"])):
        for row in rows:
            found |= {f"{kind} {row['name']}: {field}": row[field] for field in row if field not in _NOT_RESULTS}
    undefined = summary.get("undefined") or {}
    for name, value in summary["metrics"].items():
        if name not in undefined:
            found[name] = "never" if value is None else value
    return found


def _unequal(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in dict.fromkeys([*first, *second]):
        left, right = first.get(name), second.get(name)
        if left != right:
            yield name, left, right


def _environment(first: Run, second: Run) -> list[Changed]:
    facts = [
        {"backend": run.backend, "seed": run.seed, "engine": run.manifest.get("versions", {}).get("engine")}
        for run in (first, second)
    ]
    return [Changed(*row) for row in _unequal(*facts)]


def scenario_fields(first: Run, second: Run) -> list[Changed]:
    """The fields of two scenarios that differ in their meaning, except the title and the seed.

    The compared fields are the fields of the scenario files. The fields of the canonical form are compared instead if a
    file cannot be read any more, or if the files agree and the scenarios do not.
    """
    if first.manifest["scenario_hash"] == second.manifest["scenario_hash"]:
        return []
    try:
        stated = [flat_scenario(run.manifest["scenario_toml"]) for run in (first, second)]
        rows = list(_unequal(*stated))
        if len(rows) <= _MOST_CHECKED:
            rows = [row for row in rows if _matters(first.scenario, second.scenario, row[0], *stated)]
    except (ScenarioError, ValueError):
        rows = []
    if not rows:
        forms = [
            _flat({k: v for k, v in run.canonical.items() if k not in ("title", "seed")}) for run in (first, second)
        ]
        rows = list(_unequal(*forms))
    return [Changed(*row) for row in rows]


def flat_scenario(text: str) -> dict[str, Any]:
    """The fields of a scenario's TOML by their path in the form of ``--set``, without the title and the seed.

    Raises:
        ValueError: it is not TOML.
    """
    return _flat({key: value for key, value in tomllib.loads(text).items() if key not in ("title", "seed")})


def _matters(first: Scenario, second: Scenario, path: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """False if the value does not change the meaning of a scenario, such as a default value that the file states."""
    scenario, value = (first, right[path]) if path in right else (second, left[path])
    try:
        return scenario.with_overrides({path: value}).hash != scenario.hash
    except ScenarioError:
        return True


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    """Values by their path in the form of ``--set``, such as ``flow[0].algorithm``. A list of plain values is one
    value."""
    if isinstance(value, Mapping):
        parts = [_flat(item, f"{path}.{key}" if path else str(key)) for key, item in value.items()]
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        parts = [_flat(item, f"{path}[{i}]") for i, item in enumerate(value)]
    else:
        return {path: value}
    return {key: item for part in parts for key, item in part.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
