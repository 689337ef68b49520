"""A failure as a scenario file, and as a criterion of a user's suite."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from elephan import suites
from elephan.design.searching import Found, Search
from elephan.design.space import FIRST, SECOND, capacity_mbps
from elephan.design.trials import BASELINE
from elephan.scenario import ScenarioError
from elephan.scenario.toml import write_toml
from elephan.writing import whole_file

SECTION = "found"
_SUITE = "suite.toml"
_NEW = """id = "{id}"
title = "paths on which an algorithm failed"
citation = "found by elephan search"
quick_note = "quick: the same"

[sections]
"""


def save(result: Search, folder: str | Path) -> Path:
    """Write the scenario of a failure, with its seed, into a folder; the name says what it is.

    Raises:
        OSError: the folder cannot be written.
    """
    found = _found(result)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    target = place / f"{name_of(result)}.toml"
    with whole_file(target) as file:
        file.write_text(found.scenario.to_toml(), encoding="utf-8")
    return target


def name_of(result: Search) -> str:
    """A name for files and criteria: the algorithm, the goal, and the hash of the scenario."""
    plain = re.sub(r"[^a-z0-9]+", "-", result.algorithm.lower()).strip("-")
    return f"{plain}-{result.goal.name}-{_found(result).scenario.hash[:8]}"


def add_to_suite(result: Search, folder: str | Path) -> Path:
    """Add a failure to the suite of a folder, which is made if it does not exist.

    The experiment has ``{algorithm}`` in place of the algorithm, so that any algorithm can be judged by it.

    Raises:
        ScenarioError: the file in the folder is no suite, or has the criterion already.
        OSError: the folder cannot be written.
    """
    place = Path(folder)
    target = place / _SUITE
    known: Collection[str] = ()
    if target.exists():
        known = suites.load(place).experiments  # rejects what is no suite, before it is changed
        text = target.read_text(encoding="utf-8")
    else:
        place.mkdir(parents=True, exist_ok=True)
        text = _NEW.format(id=re.sub(r"\W+", "_", place.resolve().name) or "suite")
    name = name_of(result)
    if name in known:
        raise ScenarioError(f"{target} has '{name}' already", source="--suite")
    if SECTION not in tomllib.loads(text)["sections"]:
        text = re.sub(r"^\[sections\]\n", f'[sections]\n{SECTION} = "found by a search"\n', text, flags=re.MULTILINE)
    added = write_toml({"experiment": [_experiment(result, name)], "criterion": [_criterion(result, name)]})
    with whole_file(target) as file:
        file.write_text(f"{text.rstrip()}\n\n{added}", encoding="utf-8")
    suites.load(place)
    return target


def _experiment(result: Search, name: str) -> dict[str, Any]:
    tables = _found(result).scenario.to_dict()
    tables.pop("title", None)
    tables.pop("seed", None)
    for flow in tables["flow"]:
        if flow["name"] == FIRST or (flow["name"] == SECOND and not result.goal.beside):
            flow["algorithm"] = "{algorithm}"
            flow.pop("parameters", None)
    title = f"{result.goal.text}: {result.algorithm} had {_found(result).value:.3g}"
    return {"id": name, "title": title, "scenario": tables}


def _criterion(result: Search, name: str) -> dict[str, Any]:
    goal, point = result.goal, _found(result).point
    limit = goal.limit
    rows: dict[str, dict[str, Any]] = {
        "harm": {
            "metric": "goodput_mbps", "flows": [SECOND], "relation": "<=", "limit": limit,
            "baseline": {"algorithm": BASELINE, "flows": [SECOND], "as": "lost"},
        },
        "starvation": {"metric": "min_max_ratio", "flows": [FIRST, SECOND], "relation": ">=", "limit": 1 / limit},
        "underuse": {
            "metric": "sum_goodput_mbps", "flows": [FIRST, SECOND], "relation": ">=",
            "limit": float(f"{(1 - limit) * capacity_mbps(point):.4g}"),
        },
        "stall": {
            "metric": "goodput_mbps", "flows": [FIRST], "relation": ">=",
            "limit": float(f"{(1 - limit) * capacity_mbps(point):.4g}"),
        },
        "delay": {"metric": "mean_queue_delay_ms", "relation": "<=", "limit": limit * point["rtt"]},
        "collapse": {"metric": "loss_rate", "relation": "<=", "limit": limit},
    }  # fmt: skip
    return {
        "id": name, "section": SECTION, "force": "should", "experiment": name,
        "text": f"The {goal.text} stays below {limit:g}.", "reason": goal.reason, **rows[goal.name],
    }  # fmt: skip


def _found(result: Search) -> Found:
    if result.found is None:
        raise ScenarioError("the search found nothing", source="search")
    return result.found
