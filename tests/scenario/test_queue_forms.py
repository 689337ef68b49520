"""The canonical form of every queue discipline stays as it was stored: its hash names saved results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elephan.scenario import Scenario, catalog

STORED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("queue_forms.json").read_text(encoding="utf-8"))
"""Bottlenecks with the form of their queue and the scenario's hash; each discipline with its defaults and without."""


@pytest.mark.parametrize("row", STORED, ids=lambda row: f"{row['path']['queue']}-{row['hash']}")
def test_the_form_and_the_hash_are_the_stored_ones(row: dict[str, Any]) -> None:
    table = {"duration": "5 s", "dumbbell": row["path"], "flow": [{"algorithm": "cubic"}]}
    scenario = Scenario.from_dict(table)
    form = next(link["queue"] for link in scenario.canonical()["links"] if link["name"] == "bottleneck")
    # Compared as text, since 1 and 1.0 are equal and are two forms.
    assert json.dumps(form, sort_keys=True) == json.dumps(row["form"], sort_keys=True)
    assert scenario.hash == row["hash"]


def kind(row: dict[str, Any]) -> str:
    """The name of a stored discipline, without its preset."""
    return str(row["path"]["queue"].partition(":")[0])


def test_every_discipline_is_stored_with_its_defaults_and_with_each_parameter_given() -> None:
    given: dict[str, list[set[str]]] = {}
    for row in STORED:
        given.setdefault(kind(row), []).append(set(row["path"].get("queue_parameters", {})))
    entries = catalog.queues()
    required = {name: {p["name"] for p in entry["parameters"] if p["required"]} for name, entry in entries.items()}
    assert {name: set.union(*each) for name, each in given.items()} == {
        name: {parameter["name"] for parameter in entry["parameters"]} for name, entry in entries.items()
    }
    assert [name for name, each in given.items() if required[name] not in each] == []


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("taget_ps", 5, r"links\[0\].queue.taget_ps: not a parameter of codel; did you mean 'target_ps'\?"),
        ("target_ps", 1, r"links\[0\].queue.target: 1 ps is not allowed; it must be from 1 ns to 100 s"),
        ("kind", "cobel", r"links\[0\].queue.kind: 'cobel' is not a queue discipline; did you mean 'codel'\?"),
    ],
)
def test_a_form_that_no_scenario_gives_is_refused_by_the_engine(key: str, value: Any, line: str) -> None:
    path = {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "queue": "codel"}
    form = Scenario.from_dict({"duration": "5 s", "dumbbell": path, "flow": [{"algorithm": "cubic"}]}).canonical()
    catalog.engine().check(json.dumps(form))
    form["links"][0]["queue"][key] = value
    for ask in (catalog.engine().check, catalog.engine().run):
        with pytest.raises(ValueError, match=line):
            ask(json.dumps(form))
